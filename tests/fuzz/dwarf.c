/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information: any bytes as an ELF file of DWARF, and as a program with a .dwo or .dwp beside
 * it. Such an input begins with 'o' or 'p' and the program's length, u32; the program's units are
 * in the working directory, split.dwo.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/debug/evaluate.h"
#include "binary/debug/lines.h"
#include "binary/debug/listing.h"
#include "binary/debug/unwind.h"
#include "binary/debug/variable.h"
#include "binary/elf/internal.h"
#include "types/type.h"
#include "view/value.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#define PROGRAM "program"

/* libdw 0.188 forgets some of its trees when a unit is damaged; nothing of ours. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libdw\n";
}

static void put(const char *name, const u8 *data, size_t len)
{
	FILE *f = fopen(name, "w");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		abort();
}

static void prepare(void)
{
	static bool is_done;
	char directory[64];

	if (is_done)
		return;
	is_done = true;
	snprintf(directory, sizeof(directory), "/dev/shm/dwarf-fuzz-%d", (int)getpid());
	if (mkdir(directory, 0700) || chdir(directory))
		abort();
}

static void complete_all(struct type_store *types, const struct type *t, u32 depth)
{
	if (!t || depth > 4 || type_complete(types, t))
		return;
	complete_all(types, t->element, depth + 1);
	for (u32 i = 0; i < t->count && i < 32; i++)
		if (t->kind == TYPE_STRUCT || t->kind == TYPE_UNION)
			complete_all(types, t->members[i].type, depth + 1);
}

static int on_address(void *arg, u64 address)
{
	*(u64 *)arg += address;
	return 0;
}

/* What a reader of steps relies on: operands are there, and never too many. */
static void check_steps(const struct access *a)
{
	u32 depth = 0;

	if ((a->result == ACCESS_NONE) != (a->reason != NULL) || a->count > ACCESS_MAX_STEPS)
		abort();
	for (u32 i = 0; i < a->count; i++) {
		const u8 op = a->steps[i].op;

		if (op <= ACCESS_STATIC ? ++depth > ACCESS_MAX_STACK
		    : op < ACCESS_PLUS	? !depth
					: depth-- < 2)
			abort();
	}
	if (a->result != ACCESS_NONE && depth != 1)
		abort();
}

/* Any registers, and a memory that they point into; what is read is printed. */
static void evaluate(struct type_store *types, const struct debug_variable *v)
{
	struct value_printer printer = {.types = types};
	struct strbuf text = STRBUF_INIT;
	static u8 memory[256];
	struct known_thread thread = {.known = 0xfffff,
				      .memory = {memory, (uintptr_t)memory, sizeof(memory)}};
	u8 *value;

	for (u32 i = 0; i < THREAD_REGISTERS; i++)
		thread.registers[i] = (uintptr_t)memory + 16 * i;
	if (!v->type->size || v->type->size > 512)
		return;
	value = xmalloc(v->type->size);
	if (!access_evaluate(&v->access, &thread, value, v->type->size))
		value_text(&printer, &text, v->type, value);
	value_printer_release(&printer);
	strbuf_release(&text);
	free(value);
}

static int on_variable(void *arg, const struct debug_variable *v)
{
	struct type_store *types = arg;
	const struct location l = debug_location(&types->arena, &v->access, v->type, 0);

	check_steps(&v->access);
	if (!v->name || (l.kind == LOCATION_NONE && !l.access->reason))
		abort();
	complete_all(types, v->type, 0);
	evaluate(types, v);
	return 0;
}

struct entries {
	struct elf_file *file;
	u64 sum;
	u32 count;
};

static int on_entry(void *arg, const struct debug_entry *e)
{
	struct entries *q = arg;
	u32 nearest;

	debug_each_line_of(q->file, e, e->line + 1, on_address, &q->sum, &nearest);
	return ++q->count > 64;
}

static void ask_address(struct elf_file *f, struct type_store *types, u64 address)
{
	const struct debug_point point = {f, address, address % 2 ? "f" : NULL};
	struct debug_inline inlines[8], outer;
	struct debug_function function;
	struct unwind_saved saved[UNWIND_REGISTERS];
	struct debug_variable variable;
	struct access passed;
	const char *file;
	u32 line;

	debug_each_variable(&point, types,
			    DEBUG_LOCALS | DEBUG_STATICS | DEBUG_EXTERNALS | DEBUG_CALLERS,
			    on_variable, types);
	debug_each_variable(&point, types,
			    DEBUG_LOCALS | DEBUG_CALLERS | DEBUG_WITH_CODE | DEBUG_FROM_CALLER,
			    on_variable, types);
	if (!debug_passed(&(struct debug_call){f, address + 5, f, f->entry}, &types->arena, 112,
			  &passed))
		check_steps(&passed);
	debug_variable_named(&point, types, "p", &variable);
	unwind_saved_at(f, address, saved);
	debug_function_of_line(f, address, "a.c", 7);
	debug_line_at(f, address, &file, &line);
	debug_inlines_at(f, address, inlines, ARRAY_SIZE(inlines), &outer);
	if (!debug_function_at(f, address, types, &function)) {
		complete_all(types, function.args, 0);
		complete_all(types, function.retval, 0);
	}
}

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	u64 *next = arg;

	if (next[0] < 16)
		next[1 + next[0]++] = s->address;
	return 0;
}

static void ask_listings(struct elf_file *f)
{
	static const char *const sources[] = {"a.c", "typed.c", "calls.c", "frames.c"};
	static const char *const functions[] = {"main", "work", "point_sum", "*"};
	struct debug_listing l;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		debug_list_file(f, sources[i], 1, UINT32_MAX, &l);
		debug_listing_release(&l);
		debug_list_function(f, functions[i], NULL, 0, UINT32_MAX, &l);
		debug_listing_release(&l);
	}
}

static void ask(struct elf_file *f)
{
	static const char *const names[] = {"struct point", "union u", "enum color", "name_t"};
	struct type_store types;
	static const char *const functions[] = {"*", "main", "ns::f"};
	u64 places[17] = {0}, sum = 0;
	u32 line;

	type_store_init(&types);
	elf_file_each_symbol(f, on_symbol, places);
	for (u64 i = 0; i < places[0]; i++) {
		ask_address(f, &types, places[1 + i]);
		ask_address(f, &types, places[1 + i] + 7);
	}
	ask_address(f, &types, f->entry);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		complete_all(&types, debug_type_named(f, &types, names[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		debug_each_entry(f, functions[i], on_entry, &(struct entries){.file = f});
	debug_each_address(f, "a.c", 3, 0, on_address, &sum, &line);
	debug_each_address(f, "typed.c", 12, 2, on_address, &sum, &line);
	ask_listings(f);
	type_store_release(&types);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const bool is_split = len > 5 && (*data == 'o' || *data == 'p');
	size_t program = len;
	struct elf_file *f;
	u8 *copy;

	prepare();
	if (is_split) {
		u32 n;

		memcpy(&n, data + 1, sizeof(n));
		program = MIN((size_t)n, len - 5);
		unlink("split.dwo");
		unlink(PROGRAM ".dwp");
		put(*data == 'o' ? "split.dwo" : PROGRAM ".dwp", data + 5 + program,
		    len - 5 - program);
		data += 5;
	}
	copy = xmalloc(program + 1);
	memcpy(copy, data, program);
	if (elf_file_open_buffer(copy, program, PROGRAM, &f))
		return 0;
	ask(f);
	elf_file_close(f);
	return 0;
}
