/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's symbols (scripts/kallsyms.c), as the text of /proc/kallsyms. Where the tables are is
 * in VMCOREINFO since Linux 6.0.
 *
 *	names		of each symbol: how many tokens (above 127: 7 bits, then the upper ones),
 *			then a byte for each; the first letter of the name is the symbol's type
 *	token_index	where the text of each of 256 tokens begins in token_table
 *	offsets		s32 of each symbol, to relative_base; how they count: see address_of()
 */
#include <elf.h>

#include "trace/vmcore/kernel_internal.h"

#define SYMBOLS_MAX	(4u << 20)
#define MODULE_NAME_MAX 64
#define SYMBOL_MAX	512
#define TOKENS		256u
#define TOKEN_MAX	512u

struct tables {
	u64 names, count, tokens, token_index, offsets, base;
	char *token[TOKENS];
	s32 *offset;
	bool absolute_percpu;
};

/* Bytes in a row, a page at a time. */
struct stream {
	struct dead_kernel *kernel;
	u64 at;
	u8 page[DEAD_PAGE];
	size_t pos, len;
	int error;
};

static u8 next_byte(struct stream *s)
{
	if (s->pos == s->len) {
		s->len = DEAD_PAGE - s->at % DEAD_PAGE;
		s->pos = 0;
		s->error = s->error ?: dead_read(s->kernel, s->at, s->page, s->len);
		s->at += s->len;
	}
	return s->error ? 0 : s->page[s->pos++];
}

/* ---- the kernel's own ---- */

static int find_tables(const struct dead_kernel *k, struct tables *t)
{
	const struct {
		const char *key;
		u64 *value;
	} rows[] = {
		{"SYMBOL(kallsyms_names)", &t->names},
		{"SYMBOL(kallsyms_num_syms)", &t->count},
		{"SYMBOL(kallsyms_token_table)", &t->tokens},
		{"SYMBOL(kallsyms_token_index)", &t->token_index},
		{"SYMBOL(kallsyms_offsets)", &t->offsets},
		{"SYMBOL(kallsyms_relative_base)", &t->base},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!dead_info_hex(k, rows[i].key, rows[i].value))
			return -ENOKEY;
	return 0;
}

static int read_tables(struct dead_kernel *k, struct tables *t)
{
	u16 index[TOKENS];
	u32 count;
	int err = find_tables(k, t);

	if (!err)
		err = dead_read(k, t->count, &count, sizeof(count));
	if (!err)
		err = dead_u64(k, t->base, &t->base);
	if (!err)
		err = dead_read(k, t->token_index, index, sizeof(index));
	if (err)
		return err;
	if (count > SYMBOLS_MAX)
		return -EINVAL;
	t->count = count;
	for (u32 i = 0; i < TOKENS; i++)
		if (!(t->token[i] = dead_string(k, t->tokens + index[i], TOKEN_MAX)))
			return -EINVAL;
	t->offset = xreallocarray(NULL, count + 1, sizeof(*t->offset));
	return dead_read(k, t->offsets, t->offset, count * sizeof(*t->offset));
}

/*
 * Offsets count from relative_base on; where the kernel is built with KALLSYMS_ABSOLUTE_PERCPU only
 * negative ones do, backwards, and others are addresses.
 */
static u64 address_of(const struct tables *t, u32 i)
{
	const s32 offset = t->offset[i];

	if (!t->absolute_percpu)
		return t->base + (u32)offset;
	return offset < 0 ? t->base - 1 - (u64)(s64)offset : (u64)offset;
}

/* The name, with its type before it. False: damaged. */
static bool next_name(struct stream *s, const struct tables *t, struct strbuf *out)
{
	u32 tokens = next_byte(s);

	if (tokens & 0x80)
		tokens = (tokens & 0x7f) | (u32)next_byte(s) << 7;
	strbuf_reset(out);
	while (tokens-- && !s->error && out->len <= SYMBOL_MAX)
		strbuf_addstr(out, t->token[next_byte(s)]);
	return !s->error && out->len > 1 && out->len <= SYMBOL_MAX && !strchr(out->data, '\n');
}

static int each_name(struct dead_kernel *k, const struct tables *t,
		     int (*fn)(void *arg, const struct tables *t, u32 i, const char *name),
		     void *arg)
{
	struct stream s = {.kernel = k, .at = t->names};
	struct strbuf name = STRBUF_INIT;
	int err = 0;

	for (u32 i = 0; i < t->count && !err; i++)
		err = next_name(&s, t, &name) ? fn(arg, t, i, name.data) : s.error ?: -EINVAL;
	strbuf_release(&name);
	return err;
}

static int print_name(void *arg, const struct tables *t, u32 i, const char *name)
{
	struct strbuf *const out = arg;

	strbuf_addf(out, "%016" PRIx64 " %c %s\n", address_of(t, i), *name, name + 1);
	return out->len > DEAD_TEXT_MAX ? -EINVAL : 0;
}

/* Stops (1) at the symbol whose address VMCOREINFO also has. */
static int is_start(void *arg, const struct tables *t, u32 i, const char *name)
{
	if (!str_eq(name + 1, "_stext"))
		return 0;
	*(u64 *)arg = address_of(t, i);
	return 1;
}

/* A symbol with a known address shows which way the offsets count. */
static int choose_counting(struct dead_kernel *k, struct tables *t)
{
	u64 start, found = 0;

	if (!dead_info_hex(k, "SYMBOL(_stext)", &start))
		return -ENOKEY;
	for (u32 way = 0; way < 2; way++) {
		int rc;

		t->absolute_percpu = way;
		rc = each_name(k, t, is_start, &found);
		if (rc < 0 || (rc && found == start))
			return MIN(rc, 0);
	}
	return -EINVAL;
}

int dead_kallsyms_read(struct dead_kernel *k, struct strbuf *out)
{
	struct tables t = {0};
	int err = read_tables(k, &t);

	if (!err)
		err = choose_counting(k, &t);
	if (!err)
		err = each_name(k, &t, print_name, out);
	for (u32 i = 0; i < TOKENS; i++)
		free(t.token[i]);
	free(t.offset);
	return err;
}

/* ---- modules ---- */

struct modules {
	struct dead_kernel *kernel;
	struct strbuf *out;
};

/* One symbol of a module; names are looked up at the end, one by one. */
static void print_symbol(const struct modules *m, const char *module, const Elf64_Sym *sym,
			 u64 strings, u8 type)
{
	char *const name = dead_string(m->kernel, strings + sym->st_name, SYMBOL_MAX);

	if (name && *name && type > ' ' && type < 0x7f && !strpbrk(name, "\n\t "))
		strbuf_addf(m->out, "%016" PRIx64 " %c %s\t[%s]\n", (u64)sym->st_value, type, name,
			    module);
	free(name);
}

static void print_table(const struct modules *m, const char *module, u64 table)
{
	struct dead_kernel *const k = m->kernel;
	u64 symbols, strings, types, count;

	if (dead_member(k, table, F(mod_kallsyms, symtab), &symbols) ||
	    dead_member(k, table, F(mod_kallsyms, strtab), &strings) ||
	    dead_member(k, table, F(mod_kallsyms, typetab), &types) ||
	    dead_member(k, table, F(mod_kallsyms, num_symtab), &count))
		return;
	for (u64 i = 1; i < MIN(count, (u64)SYMBOLS_MAX); i++) {
		Elf64_Sym sym;
		u8 type;

		if (m->out->len > DEAD_TEXT_MAX ||
		    dead_read(k, symbols + i * sizeof(sym), &sym, sizeof(sym)) ||
		    dead_read(k, types + i, &type, sizeof(type)))
			return;
		if (sym.st_shndx != SHN_UNDEF)
			print_symbol(m, module, &sym, strings, type);
	}
}

static int print_module(void *arg, u64 module)
{
	const struct modules *const m = arg;
	char *const name = dead_string(m->kernel, module + dead_offset(m->kernel, F(module, name)),
				       MODULE_NAME_MAX);
	u64 table;

	if (name && *name && !strpbrk(name, "\n\t ]") &&
	    !dead_member(m->kernel, module, F(module, kallsyms), &table) && table)
		print_table(m, name, table);
	free(name);
	return 0;
}

void dead_kallsyms_read_modules(struct dead_kernel *k, struct strbuf *out)
{
	struct modules m = {k, out};
	const u64 head = dead_symbol(k, "modules");

	if (head)
		dead_each(k, head, F(module, list), false, print_module, &m);
}
