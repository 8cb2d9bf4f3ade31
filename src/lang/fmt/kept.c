/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions that are kept as written, because of comments inside or because their meaning is
 * ambiguous.
 */
#include "lang/fmt/internal.h"
#include "lang/syntax/internal.h"
#include "lang/syntax/lex.h"

struct look {
	struct formatter *f;
	u32 pos; /* checked up to here */
	bool keep;
};

/* `(name) - 1` is a subtraction, or a cast if name is a type; only the kernel's types tell. */
static bool is_ambiguous(const struct expr *e)
{
	return e->kind == EXPR_BINARY && (e->op == OP_SUB || e->op == OP_MUL || e->op == OP_AND) &&
	       e->left->kind == EXPR_NAME && e->left->in_parens &&
	       !parse_is_value_word(e->left->name);
}

static bool look_at(void *arg, struct expr *e)
{
	struct look *l = arg;

	l->keep |= is_ambiguous(e);
	if (e->kind != EXPR_BLOCK || l->f->text[e->block->span.begin] != '{')
		return !l->keep;
	/* Comments between the statements of a block are handled there. */
	l->keep |= marks_in(l->f, l->pos, e->block->span.begin);
	l->pos = e->block->span.end;
	return false;
}

/* An expression with comments inside is kept as written, and so is the one that contains it. */
static bool is_kept(struct formatter *f, const struct expr *e)
{
	struct look l = {.f = f, .pos = e->span.begin};

	ast_each_expr_in((struct expr *)(uintptr_t)e, look_at, &l);
	return l.keep || marks_in(f, l.pos, e->span.end);
}

/*
 * The column of a position, with tabs of 8. Counted from the last position that was asked for, if
 * that is before it.
 */
static int column_of(struct formatter *f, u32 pos)
{
	if (pos < f->column_pos) {
		for (f->column_pos = pos; f->column_pos; f->column_pos--)
			if (f->text[f->column_pos - 1] == '\n')
				break;
		f->column = 0;
	}
	for (; f->column_pos < pos; f->column_pos++) {
		const char c = f->text[f->column_pos];

		f->column = c == '\n' ? 0 : c == '\t' ? (f->column / 8 + 1) * 8 : f->column + 1;
	}
	return f->column;
}

/* As written, with continuation lines moved along with the statement. */
static void format_kept(struct formatter *f, const struct expr *e, struct format_lines *out)
{
	const int base = column_of(f, f->base);
	struct format_lines body;
	u32 pos = e->span.begin;
	bool is_continued =
		false; /* the line before ends with a backslash: this may be the rest of a string */

	lines_init(&body);
	while (pos < e->span.end) {
		const char *newline = memchr(f->text + pos, '\n', e->span.end - pos);
		const u32 stop = newline ? (u32)(newline - f->text) : e->span.end;
		struct format_line *line;

		if (pos != e->span.begin)
			lines_break(&body);
		line = &vector_last(&body);
		line->flush_left = is_continued;
		line->is_kept = true;
		if (pos != e->span.begin && !is_continued) {
			while (pos < stop && lex_is_blank(f->text[pos]))
				pos++;
			line->indent = MAX(column_of(f, pos) - base, 0);
		}
		is_continued = stop > pos && f->text[stop - 1] == '\\';
		lines_addn(&body, f->text + pos, stop - pos);
		pos = stop + 1;
	}
	body.items[0].is_kept = false;
	marks_done(f, e->span.begin, e->span.end);
	lines_append(out, &body);
}

bool format_value(struct formatter *f, const struct expr *e, size_t max, bool is_bare,
		  struct format_lines *out)
{
	const bool parens =
		!is_bare && !e->in_parens && e->kind != EXPR_TUPLE && !format_is_primitive(e);

	if (!is_kept(f, e)) {
		format_expr(f, e, max, is_bare, out);
		return false;
	}
	if (parens)
		lines_add(out, "(");
	format_kept(f, e, out);
	if (parens)
		lines_add(out, ")");
	return true;
}
