/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/lower/program_btf.h"

#include <ctype.h>
#include <linux/btf.h>

/* Ids of the types that every blob begins with. */
enum { TYPE_ID_LONG = 1, TYPE_ID_INT, TYPE_ID_POINTER, TYPE_ID_FIRST_FUNCTION };

struct source_lines {
	u32 *starts; /* byte offset of each line */
	u32 *strings; /* offset of its text in the string section, 0 = not there yet */
	u32 count;
	u32 name; /* of the source, in the string section */
};

struct builder {
	struct arena *arena;
	const struct diag *sources;
	struct strbuf types, strings;
	struct source_lines *lines; /* per source; starts NULL = not looked at yet */
};

static u32 add_string(struct builder *b, const char *s, size_t len)
{
	const u32 offset = (u32)b->strings.len;

	/* A NUL in a script's line would end the string early; that is all right. */
	strbuf_add(&b->strings, s, len);
	strbuf_addch(&b->strings, '\0');
	return offset;
}

/* The kernel accepts C identifiers only (btf_name_valid_identifier()). */
static u32 add_identifier(struct builder *b, const char *name)
{
	char clean[128];
	size_t n = 0;

	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		clean[n++] = '_';
	for (; *name && n < sizeof(clean) - 1; name++)
		clean[n++] = isalnum((unsigned char)*name) ? *name : '_';
	return add_string(b, clean, n);
}

static void add_type(struct builder *b, u32 name, u32 kind, u32 vlen, u32 size_or_type)
{
	const struct btf_type t = {
		.name_off = name, .info = kind << 24 | vlen, .size = size_or_type};

	strbuf_add(&b->types, &t, sizeof(t));
}

static void add_int(struct builder *b, const char *name, u32 size)
{
	const u32 encoding = (u32)BTF_INT_SIGNED << 24 | size * 8;

	add_type(b, add_identifier(b, name), BTF_KIND_INT, 0, size);
	strbuf_add(&b->types, &encoding, sizeof(encoding));
}

/* Returns the id of the FUNC. */
static u32 add_function(struct builder *b, const struct program_btf_function *f, u32 index,
			u32 *next_id)
{
	const u32 nparams = index ? f->nparams : 1;
	char name[16];

	add_type(b, 0, BTF_KIND_FUNC_PROTO, nparams, TYPE_ID_INT);
	for (u32 i = 0; i < nparams; i++) {
		struct btf_param param = {.type = index ? TYPE_ID_LONG : TYPE_ID_POINTER};

		snprintf(name, sizeof(name), index ? "arg%u" : "context", i);
		param.name_off = add_identifier(b, name);
		strbuf_add(&b->types, &param, sizeof(param));
	}
	add_type(b, add_identifier(b, f->name), BTF_KIND_FUNC, BTF_FUNC_STATIC, *next_id);
	*next_id += 2;
	return *next_id - 1;
}

static struct source_lines *source_lines(struct builder *b, u16 file)
{
	struct source_lines *l = &b->lines[file];
	const struct source *s = &b->sources->sources.items[file];
	u32 n = 1;

	if (l->starts)
		return l;
	for (size_t i = 0; i < s->len; i++)
		n += s->text[i] == '\n';
	l->starts = arena_new_array(b->arena, u32, n);
	l->strings = arena_new_array(b->arena, u32, n);
	l->count = 1;
	for (size_t i = 0; i < s->len; i++)
		if (s->text[i] == '\n')
			l->starts[l->count++] = (u32)i + 1;
	l->name = add_string(b, s->name ? s->name : "script", strlen(s->name ? s->name : "script"));
	return l;
}

/* 0-based line of an offset. */
static u32 find_line(const struct source_lines *l, u32 offset)
{
	u32 low = 0, high = l->count;

	while (high - low > 1) {
		const u32 middle = (low + high) / 2;

		if (l->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static u32 line_string(struct builder *b, u16 file, struct source_lines *l, u32 line)
{
	const struct source *s = &b->sources->sources.items[file];
	const u32 start = l->starts[line];
	const size_t end = line + 1 < l->count ? l->starts[line + 1] - 1 : s->len;

	if (!l->strings[line])
		l->strings[line] = add_string(b, s->text + start, end > start ? end - start : 0);
	return l->strings[line];
}

static bool place(struct builder *b, struct span at, struct bpf_line_info *ret)
{
	struct source_lines *l;
	u32 line;

	if (!b->sources || at.file >= b->sources->sources.len ||
	    at.begin > b->sources->sources.items[at.file].len)
		return false;
	if (b->sources->sources.items[at.file].is_expansion)
		at.file = b->sources->sources.items[at.file].origin;
	l = source_lines(b, at.file);
	line = find_line(l, at.begin);
	ret->file_name_off = l->name;
	ret->line_off = line_string(b, at.file, l, line);
	ret->line_col = (line + 1) << 10 | MIN(at.begin - l->starts[line] + 1, 1023u);
	return true;
}

/* Code that the back end made itself, such as the look-up of scratch memory, belongs to the first
 * line after it. */
static void first_place(struct builder *b, const struct bpf_code *code, u32 from, u32 to,
			struct bpf_line_info *ret)
{
	for (u32 i = from; i < to; i++)
		if (place(b, code->spans[i], ret))
			return;
}

/*
 * One entry wherever the place changes. The kernel wants one at the start of every function and
 * none in the second half of a LD_IMM64 (check_btf_line()).
 */
static void build_lines(struct builder *b, const struct program_btf_function *functions,
			u32 nfunctions, struct bpf_code *code)
{
	struct bpf_line_info current = {0}, previous = {0};
	struct span last = NO_SPAN;
	u32 f = 0;

	current.file_name_off = current.line_off = add_string(b, "", 0);
	code->line_info = arena_new_array(b->arena, struct bpf_line_info, code->count);
	for (u32 i = 0; i < code->count; i++) {
		const struct span at = code->spans[i];
		bool starts = f < nfunctions && functions[f].insn == i;

		f += starts;
		if (starts)
			first_place(b, code, i, f < nfunctions ? functions[f].insn : code->count,
				    &current);
		if (i && !code->insns[i].code)
			continue;
		if (at.begin != last.begin || at.file != last.file) {
			place(b, at, &current);
			last = at;
		}
		if (!starts && current.line_col == previous.line_col &&
		    current.line_off == previous.line_off)
			continue;
		current.insn_off = i;
		code->line_info[code->nline_info++] = previous = current;
	}
}

void program_btf_build(struct arena *a, const struct program_btf_function *functions,
		       u32 nfunctions, const struct diag *sources, struct bpf_code *code)
{
	struct builder b = {
		.arena = a, .sources = sources, .types = STRBUF_INIT, .strings = STRBUF_INIT};
	struct btf_header header = {
		.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(header)};
	u32 next_id = TYPE_ID_FIRST_FUNCTION;
	char *blob;

	b.lines = arena_new_array(a, struct source_lines, sources ? sources->sources.len + 1 : 1);
	add_string(&b, "", 0);
	add_int(&b, "long", 8);
	add_int(&b, "int", 4);
	add_type(&b, 0, BTF_KIND_PTR, 0, 0);
	code->func_info = arena_new_array(a, struct bpf_func_info, nfunctions);
	code->nfunc_info = nfunctions;
	for (u32 i = 0; i < nfunctions; i++) {
		code->func_info[i].insn_off = functions[i].insn;
		code->func_info[i].type_id = add_function(&b, &functions[i], i, &next_id);
	}
	build_lines(&b, functions, nfunctions, code);
	header.type_len = (u32)b.types.len;
	header.str_off = (u32)b.types.len;
	header.str_len = (u32)b.strings.len;
	code->btf_size = (u32)(sizeof(header) + b.types.len + b.strings.len);
	code->btf = blob = arena_alloc(a, code->btf_size);
	memcpy(blob, &header, sizeof(header));
	memcpy(blob + sizeof(header), b.types.data, b.types.len);
	memcpy(blob + sizeof(header) + b.types.len, b.strings.data, b.strings.len);
	strbuf_release(&b.types);
	strbuf_release(&b.strings);
}
