/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lays out whole scripts: what stands outside of blocks, and the check that the result means the
 * same.
 */
#include "lang/fmt/script.h"

#include "base/vector.h"
#include "lang/fmt/internal.h"
#include "lang/syntax/parse.h"

/* --- items --- */

static void format_probe(struct formatter *f, const struct probe *p, struct format_lines *out)
{
	if (p->label)
		lines_addf(out, "%s = ", p->label);
	for (u32 i = 0; i < p->nattach; i++) {
		const bool is_last = i + 1 == p->nattach;
		const u32 next = !is_last	? p->attach_points[i + 1].span.begin
				 : p->predicate ? p->predicate->span.begin
						: p->body->span.begin;

		format_source(f, p->attach_points[i].span, out);
		if (!is_last)
			lines_add(out, ",");
		marks_flush(f, next, out);
		lines_break(out);
	}
	if (p->predicate) {
		struct format_lines predicate;

		lines_init(&predicate);
		f->base = p->predicate->span.begin - 1;
		format_value(f, p->predicate, FORMAT_WIDTH, true, &predicate);
		lines_add(out, "/");
		lines_append(out, &predicate);
		lines_add(out, "/");
		lines_settle(out);
		marks_flush(f, p->body->span.begin, out);
		lines_break(out);
	}
	format_braces(f, p->body, NULL, FORMAT_WIDTH - FORMAT_INDENT, out);
}

/* The block of a macro or function, behind its head. */
static void format_body(struct formatter *f, const struct block *b, const struct expr *value,
			struct format_lines *out)
{
	marks_flush(f, b->span.begin, out);
	lines_break(out);
	format_braces(f, b, value, FORMAT_WIDTH - FORMAT_INDENT, out);
}

static void format_macro(struct formatter *f, const struct macro *m, struct format_lines *out)
{
	lines_addf(out, "macro %s(", m->name);
	for (u32 i = 0; i < m->nparams; i++) {
		lines_add(out, i ? ", " : "");
		format_source(f, m->params[i]->name_span, out);
	}
	lines_add(out, ")");
	format_body(f, m->body, m->value, out);
}

static void format_subprogram(struct formatter *f, const struct subprogram *s,
			      struct format_lines *out)
{
	lines_addf(out, "fn %s(", s->name);
	for (u32 i = 0; i < s->nparams; i++) {
		lines_addf(out, "%s$%s : ", i ? ", " : "", s->param_names[i]);
		format_type(f, s->param_types[i], FORMAT_WIDTH, out);
	}
	lines_add(out, ") : ");
	format_type(f, s->return_type, FORMAT_WIDTH, out);
	format_body(f, s->body, NULL, out);
}

static void format_map(struct formatter *f, const struct map_declaration *m,
		       struct format_lines *out)
{
	marks_hoist(f, m->span.begin, m->size->span.begin, out);
	lines_addf(out, "let @%s = %s(", m->name, m->type);
	format_value(f, m->size, FORMAT_WIDTH, true, out);
	lines_add(out, ");");
}

static void format_config(struct formatter *f, const struct ast *ast,
			  const struct script_item *item, struct format_lines *out)
{
	struct format_lines entries;

	lines_init(&entries);
	lines_add(out, "config = {");
	if (item->index < item->end)
		marks_trail(f, ast->configs[item->index].span.begin, out);
	for (u32 i = item->index; i < item->end; i++) {
		const struct config_entry *c = &ast->configs[i];

		if (i > item->index)
			lines_break(&entries);
		marks_lead(f, c->span.begin, &entries);
		marks_hoist(f, c->span.begin, c->value->span.begin, &entries);
		lines_addf(&entries, "%s = ", c->name);
		format_value(f, c->value, FORMAT_WIDTH, true, &entries);
		lines_add(&entries, ";");
		marks_trail(f, i + 1 < item->end ? c[1].span.begin : item->span.end, &entries);
	}
	if (marks_in(f, item->span.begin, item->span.end)) {
		lines_break(&entries);
		marks_lead(f, item->span.end, &entries);
	}
	lines_append_indented(out, &entries);
	lines_add(out, "}");
}

/* As it was written, line by line. */
static void format_verbatim(const struct formatter *f, struct span at, struct format_lines *out)
{
	const char *text = f->text + at.begin, *const end = f->text + at.end;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		if (text != f->text + at.begin)
			lines_break(out);
		lines_addn(out, text, (size_t)(stop - text));
		text = stop + 1;
	}
}

static void format_c(struct formatter *f, struct span at, struct format_lines *out)
{
	format_verbatim(f, at, out);
	if (f->text[at.end - 1] != ';')
		lines_add(out, ";");
}

static void format_import(struct formatter *f, struct span at, struct format_lines *out)
{
	const char *begin = memchr(f->text + at.begin, '"', at.end - at.begin);
	const char *end = memrchr(f->text + at.begin, '"', at.end - at.begin);

	marks_hoist(f, at.begin, at.end, out);
	lines_add(out, "import ");
	lines_addn(out, begin, (size_t)(end - begin) + 1);
	lines_add(out, ";");
}

static void format_item(struct formatter *f, const struct ast *ast, const struct script_item *item,
			struct format_lines *out)
{
	switch (item->kind) {
	case ITEM_PROBE:
		format_probe(f, &ast->probes[item->index], out);
		break;
	case ITEM_MACRO:
		format_macro(f, &ast->macros[item->index], out);
		break;
	case ITEM_SUBPROGRAM:
		format_subprogram(f, &ast->subprograms[item->index], out);
		break;
	case ITEM_MAP:
		format_map(f, &ast->maps[item->index], out);
		break;
	case ITEM_IMPORT:
		format_import(f, item->span, out);
		break;
	case ITEM_CONFIG:
		format_config(f, ast, item, out);
		break;
	case ITEM_C:
		format_c(f, item->span, out);
		break;
	}
}

/* --- all of them --- */

static void find_marks(struct formatter *f, const struct ast *ast)
{
	VECTOR(struct span) opaque = {0};

	for (u32 i = 0; i < ast->nitems; i++) {
		const struct script_item *item = &ast->items[i];
		const struct probe *p = item->kind == ITEM_PROBE ? &ast->probes[item->index] : NULL;

		if (item->kind == ITEM_C)
			vector_push(&opaque, item->span);
		for (u32 a = 0; p && a < p->nattach; a++)
			vector_push(&opaque, p->attach_points[a].span);
	}
	marks_scan(f, opaque.items, opaque.len);
	vector_free(&opaque);
}

static void format_all(struct formatter *f, const struct ast *ast, struct format_lines *out)
{
	if (f->len >= 2 && f->text[0] == '#' && f->text[1] == '!') {
		const char *end = memchr(f->text, '\n', f->len);

		lines_addn(out, f->text, end ? (size_t)(end - f->text) : f->len);
		lines_break(out);
	}
	for (u32 i = 0; i < ast->nitems; i++) {
		const struct script_item *item = &ast->items[i];
		const u32 next = i + 1 < ast->nitems ? item[1].span.begin : f->len;
		struct format_lines one;

		marks_lead(f, item->span.begin, out);
		lines_init(&one);
		f->base = item->span.begin;
		format_item(f, ast, item, &one);
		lines_settle(&one);
		marks_drop_blanks(f, item->span.begin, item->span.end);
		marks_trail(f, next, &one);
		lines_append(out, &one);
		lines_break(out);
	}
	marks_lead(f, f->len, out);
	while (out->len > 1 && !out->items[out->len - 2].text.len)
		out->len--; /* blank lines at the end */
	if (out->len > 1 && !out->items[0].text.len) /* and the one at the begin */
		memmove(out->items, out->items + 1, --out->len * sizeof(*out->items));
}

static int parse(struct arena *arena, struct diag *diag, u16 file, struct strbuf *ret_dump,
		 struct ast *ret)
{
	static const struct parse_options options = {.as_written = true};
	struct type_store types;
	int err;

	type_store_init(&types);
	err = parse_script(arena, &types, diag, file, &options, ret);
	type_store_release(&types);
	if (!err)
		ast_dump(ret_dump, ret, false);
	return err;
}

/* Does the text parse to this tree? NULL, or why not. */
static const char *difference(struct arena *arena, const struct strbuf *dump,
			      const struct strbuf *text)
{
	struct diag diag = DIAG_INIT;
	struct strbuf again = STRBUF_INIT;
	struct ast ast;
	const char *why = NULL;

	if (parse(arena, &diag, diag_add_source(&diag, "", text->data, text->len), &again, &ast) <
	    0)
		why = arena_printf(arena, "the result is none: %s",
				   diag.messages.len ? diag.messages.items[0].text : "");
	else if (again.len != dump->len || memcmp(again.data, dump->data, dump->len) != 0)
		why = "the result would not mean the same";
	strbuf_release(&again);
	diag_release(&diag);
	return why;
}

int script_format(struct diag *diag, u16 file, struct strbuf *out)
{
	const struct source *source = &diag->sources.items[file];
	struct arena arena = ARENA_INIT;
	struct formatter f = {.arena = &arena, .text = source->text, .len = (u32)source->len};
	struct strbuf dump = STRBUF_INIT, text = STRBUF_INIT;
	struct format_lines lines;
	const char *why;
	struct ast ast;
	int err = parse(&arena, diag, file, &dump, &ast);

	if (!err) {
		lines_init(&lines);
		find_marks(&f, &ast);
		format_all(&f, &ast, &lines);
		lines_print(&lines, &text);
		lines_release(&lines);
		vector_free(&f.marks);
	}
	why = err ? NULL : difference(&arena, &dump, &text);
	if (why) {
		diag_error(diag, NO_SPAN, "the script %s is not laid out: %s", source->name, why);
		err = -EINVAL;
	}
	if (!err)
		strbuf_add(out, text.data, text.len);
	strbuf_release(&text);
	strbuf_release(&dump);
	arena_release(&arena);
	return err;
}
