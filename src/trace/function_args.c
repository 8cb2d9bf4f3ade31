/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/function_args.h"

#include "trace/number_text.h"

/* Registers that the kernel records (FTRACE_REGS_MAX_ARGS). */
#define MAX_ARGS 6

static const struct type *prototype(struct function_args *f, const char *name)
{
	struct btf_function found;
	bool is_new;
	void **place = hashmap_put(&f->functions, name, strlen(name), &is_new);

	if (is_new)
		*place = f->btf && !btf_find_function(f->btf, NULL, name, &found)
				 ? (void *)found.type
				 : (void *)type_none();
	return *place == (void *)type_none() ? NULL : *place;
}

static void print_value(const struct type *t, u64 v, struct strbuf *out)
{
	if (t->kind == TYPE_ENUM || (t->kind == TYPE_INT && t->is_signed)) {
		text_signed(out, (s64)v);
		return;
	}
	if (t->kind == TYPE_STRUCT || t->kind == TYPE_UNION) {
		strbuf_addstr(out, t->kind == TYPE_STRUCT ? "(STRUCT)[0x" : "(UNION)[0x");
		text_hex(out, v);
		strbuf_addch(out, ']');
		return;
	}
	strbuf_addstr(out, "0x");
	text_hex(out, v);
}

void function_args_print(struct function_args *f, struct symbol_table *symbols, u64 function,
			 const u8 *args, size_t count, struct strbuf *out)
{
	struct strbuf name = STRBUF_INIT;
	const struct type *t;

	symbol_print(symbols, function, SYMBOL_PLAIN, &name);
	t = prototype(f, name.data);
	strbuf_release(&name);
	strbuf_addch(out, '(');
	for (u32 i = 0; t && i < t->count; i++) {
		u64 v;

		if (i)
			strbuf_addstr(out, ", ");
		if (i == MAX_ARGS || i >= count) {
			strbuf_addstr(out, "...");
			break;
		}
		memcpy(&v, args + i * 8, sizeof(v));
		if (t->members[i].name) {
			strbuf_addstr(out, t->members[i].name);
			strbuf_addch(out, '=');
		}
		print_value(t->members[i].type, v, out);
	}
	strbuf_addch(out, ')');
}

void function_args_release(struct function_args *f)
{
	hashmap_release(&f->functions);
}
