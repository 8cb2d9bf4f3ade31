/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements and blocks laid out. */
#include "lang/fmt/internal.h"

static void format_stmt(struct formatter *f, const struct stmt *s, size_t max,
			struct format_lines *out);

/* --- blocks --- */

/* Where the first thing within the braces begins. */
static u32 first_inside(const struct block *b, const struct expr *value)
{
	return b->count ? b->stmts[0]->span.begin : value ? value->span.begin : b->span.end - 1;
}

/* What stands within the braces; value may be NULL. */
static void format_block(struct formatter *f, const struct block *b, const struct expr *value,
			 size_t max, struct format_lines *out)
{
	const u32 end = b->span.end - 1;
	const u32 outer = f->base;

	for (u32 i = 0; i < b->count; i++) {
		struct format_lines one;
		const u32 limit = i + 1 < b->count ? b->stmts[i + 1]->span.begin
				  : value	   ? value->span.begin
						   : end;

		lines_init(&one);
		format_stmt(f, b->stmts[i], max, &one);
		marks_trail(f, limit, &one);
		if (i)
			lines_break(out);
		lines_append(out, &one);
	}
	if (value) {
		if (b->count)
			lines_break(out);
		marks_lead(f, value->span.begin, out);
		f->base = value->span.begin;
		format_value(f, value, max, true, out);
		f->base = outer;
		lines_settle(out);
		marks_trail(f, end, out);
	}
	if (marks_in(f, b->span.begin, end)) {
		if (!lines_last_empty(out))
			lines_break(out);
		marks_lead(f, end, out);
		while (out->len > 1 && !out->items[out->len - 2].text.len)
			out->len--; /* blank lines before the brace */
	}
	marks_drop_blanks(f, b->span.begin, end);
}

/* "{", the comment after it, the block. */
static void open_block(struct formatter *f, const struct block *b, const struct expr *value,
		       size_t max, struct format_lines *open, struct format_lines *inside)
{
	lines_init(open);
	lines_init(inside);
	lines_add(open, "{");
	marks_trail(f, first_inside(b, value), open);
	format_block(f, b, value, max, inside);
}

/* The block on lines of its own, if there is anything in it. */
static void close_block(struct format_lines *open, struct format_lines *inside,
			struct format_lines *out)
{
	const bool is_commented = open->must_break;

	lines_append(out, open);
	if (is_commented && !lines_count(inside))
		lines_break(out);
	lines_append_indented(out, inside);
	lines_add(out, "}");
}

void format_braces(struct formatter *f, const struct block *b, const struct expr *value, size_t max,
		   struct format_lines *out)
{
	struct format_lines open, inside;

	open_block(f, b, value, max, &open, &inside);
	close_block(&open, &inside, out);
}

/* `{ inside }` */
static void close_short(struct format_lines *open, struct format_lines *inside,
			struct format_lines *out)
{
	lines_append(out, open);
	lines_add(out, " ");
	lines_append(out, inside);
	lines_add(out, " }");
}

void format_scope(struct formatter *f, const struct block *b, const struct expr *value, size_t max,
		  struct format_lines *out)
{
	struct format_lines open, inside;

	open_block(f, b, value, max - FORMAT_INDENT, &open, &inside);
	if (open.must_break || inside.must_break || lines_count(&inside) != 1 ||
	    lines_width(&inside) > max)
		close_block(&open, &inside, out);
	else
		close_short(&open, &inside, out);
}

/* --- if --- */

/* One `if`, of a statement or of a value. */
struct branch {
	const struct expr *condition;
	const struct block *body, *else_body;
	const struct expr *value, *else_value;
	bool has_else;
};

static struct branch branch_of_stmt(const struct stmt *s)
{
	return (struct branch){.condition = s->condition,
			       .body = s->body,
			       .else_body = s->else_body,
			       .has_else = s->else_body != NULL};
}

static struct branch branch_of_value(const struct expr *e)
{
	return (struct branch){.condition = e->condition,
			       .body = e->left->block,
			       .value = e->left->left,
			       .else_body = e->right ? e->right->block : NULL,
			       .else_value = e->right ? e->right->left : NULL,
			       .has_else = e->right != NULL};
}

/* `else if`: in the source, no block follows the else. */
static bool next_branch(const struct formatter *f, struct branch *b)
{
	if (!b->has_else || f->text[b->else_body->span.begin] == '{')
		return false;
	*b = b->else_value ? branch_of_value(b->else_value)
			   : branch_of_stmt(b->else_body->stmts[0]);
	return true;
}

/* `if a { x } else { y }`, on one line if it fits. */
static void format_choice(struct formatter *f, const struct branch *b, size_t max,
			  struct format_lines *condition, struct format_lines *out)
{
	struct format_lines open[2], inside[2];
	const size_t width = lines_width(condition) + 8;
	bool is_short;

	open_block(f, b->body, b->value, max - FORMAT_INDENT, &open[0], &inside[0]);
	open_block(f, b->else_body, b->else_value, max - FORMAT_INDENT, &open[1], &inside[1]);
	is_short = width + lines_width(&inside[0]) <= max && lines_count(condition) <= 1;
	for (int i = 0; i < 2; i++)
		is_short &= !open[i].must_break && !inside[i].must_break &&
			    lines_count(&inside[i]) == 1;
	lines_add(out, "if ");
	lines_append(out, condition);
	for (int i = 0; i < 2; i++) {
		lines_add(out, i ? " else " : " ");
		if (is_short)
			close_short(&open[i], &inside[i], out);
		else
			close_block(&open[i], &inside[i], out);
	}
}

static void format_condition(struct formatter *f, const struct expr *e, size_t max,
			     struct format_lines *out)
{
	format_value(f, e, max - 5, e->kind == EXPR_COMPTIME, out);
}

static void format_if(struct formatter *f, struct branch b, size_t max, struct format_lines *out)
{
	struct format_lines condition;

	lines_init(&condition);
	format_condition(f, b.condition, max, &condition);
	if (b.value && b.else_value && f->text[b.else_body->span.begin] == '{') {
		format_choice(f, &b, max, &condition, out);
		return;
	}
	lines_add(out, "if ");
	lines_append(out, &condition);
	for (;;) {
		lines_add(out, " ");
		format_braces(f, b.body, b.value, max - FORMAT_INDENT, out);
		if (!next_branch(f, &b))
			break;
		lines_add(out, " else if ");
		lines_init(&condition);
		format_condition(f, b.condition, max, &condition);
		lines_append(out, &condition);
	}
	if (b.has_else) {
		lines_add(out, " else ");
		format_braces(f, b.else_body, b.else_value, max - FORMAT_INDENT, out);
	}
}

void format_if_value(struct formatter *f, const struct expr *e, size_t max,
		     struct format_lines *out)
{
	format_if(f, branch_of_value(e), max, out);
}

/* --- the others --- */

/* `target op= value`: target is in out already. is_loose: a block begins where the statement does,
 * not below its brace. */
static void format_assigned(struct formatter *f, const struct expr *e, enum op op, bool is_loose,
			    size_t max, struct format_lines *out)
{
	const size_t used = lines_width(out) + strlen(op_names[op]) + 3;
	struct format_lines value;
	bool is_kept;

	lines_addf(out, " %s= ", op_names[op]);
	lines_init(&value);
	is_kept = format_value(f, e, max - used, true, &value);
	if (is_loose && !is_kept &&
	    (e->kind == EXPR_BLOCK || e->kind == EXPR_IF || e->kind == EXPR_TERNARY))
		lines_append_loose(out, &value);
	else
		lines_append(out, &value);
	lines_add(out, ";");
}

static void format_let(struct formatter *f, const struct stmt *s, size_t max,
		       struct format_lines *out)
{
	lines_add(out, "let ");
	format_source(f, s->target->name_span, out);
	if (s->type_name) {
		lines_add(out, " : ");
		format_type(f, s->type_name, max, out);
	}
	if (s->value)
		format_assigned(f, s->value, OP_NONE, true, max, out);
	else
		lines_add(out, ";");
}

/* Always in parentheses; an expression that is kept as written may have its own. */
static void format_in_parens(struct formatter *f, const struct expr *e, size_t max, bool is_bare,
			     struct format_lines *out)
{
	struct format_lines value;
	bool has_parens;

	lines_init(&value);
	has_parens = format_value(f, e, max, is_bare, &value) && e->in_parens;
	lines_add(out, has_parens ? "" : "(");
	lines_append(out, &value);
	lines_add(out, has_parens ? "" : ")");
}

static void format_loop(struct formatter *f, const struct stmt *s, size_t max,
			struct format_lines *out)
{
	const bool is_unroll = s->kind == STMT_UNROLL;

	lines_add(out, is_unroll ? "unroll " : "while ");
	if (is_unroll)
		format_in_parens(f, s->condition, max - 11, false, out);
	else
		format_value(f, s->condition, max - 8, false, out);
	lines_add(out, " ");
	format_braces(f, s->body, NULL, max - FORMAT_INDENT, out);
}

static void format_bound(struct formatter *f, const struct expr *e, size_t max,
			 struct format_lines *out)
{
	const bool is_literal = e->kind == EXPR_INTEGER || e->kind == EXPR_STRING ||
				e->kind == EXPR_BOOL || e->kind == EXPR_POSITIONAL;

	if (is_literal)
		format_value(f, e, max, true, out);
	else
		format_in_parens(f, e, max - 4, true, out);
}

static void format_for(struct formatter *f, const struct stmt *s, size_t max,
		       struct format_lines *out)
{
	lines_add(out, "for ");
	format_source(f, s->target->name_span, out);
	lines_add(out, " : ");
	if (s->kind == STMT_FOR_RANGE) {
		format_bound(f, s->range_begin, max, out);
		lines_add(out, "..");
		format_bound(f, s->range_end, max, out);
	} else {
		format_value(f, s->value, max, false, out);
	}
	lines_add(out, " ");
	format_braces(f, s->body, NULL, max - FORMAT_INDENT, out);
}

static void format_return(struct formatter *f, const struct stmt *s, struct format_lines *out)
{
	lines_add(out, "return");
	if (s->value) {
		lines_add(out, " ");
		format_value(f, s->value, SIZE_MAX / 2, false, out); /* never broken */
	}
	lines_add(out, ";");
}

static void format_assignment(struct formatter *f, const struct stmt *s, size_t max,
			      struct format_lines *out)
{
	format_value(f, s->target, max, true, out);
	format_assigned(f, s->value, s->op, s->target->kind != EXPR_NAME, max, out);
}

static void format_kind(struct formatter *f, const struct stmt *s, size_t max,
			struct format_lines *out)
{
	switch (s->kind) {
	case STMT_EXPR:
		/* Without parentheses an `if` or a block would end the statement. */
		format_value(f, s->value, max,
			     s->value->kind != EXPR_IF && s->value->kind != EXPR_BLOCK, out);
		lines_add(out, ";");
		break;
	case STMT_ASSIGN:
		format_assignment(f, s, max, out);
		break;
	case STMT_LET:
		format_let(f, s, max, out);
		break;
	case STMT_IF:
		format_if(f, branch_of_stmt(s), max, out);
		break;
	case STMT_WHILE:
	case STMT_UNROLL:
		format_loop(f, s, max, out);
		break;
	case STMT_FOR_MAP:
	case STMT_FOR_RANGE:
		format_for(f, s, max, out);
		break;
	case STMT_BREAK:
		lines_add(out, "break;");
		break;
	case STMT_CONTINUE:
		lines_add(out, "continue;");
		break;
	case STMT_RETURN:
		format_return(f, s, out);
		break;
	case STMT_BLOCK:
		format_scope(f, s->body, NULL, max, out);
		break;
	}
}

/*
 * Comments between the words of a statement that belong to none of its parts are moved before it;
 * those before a body, into it.
 */
static void hoist(struct formatter *f, const struct stmt *s, struct format_lines *out)
{
	const struct expr *const parts[] = {s->target, s->condition, s->value, s->range_begin,
					    s->range_end};
	u32 pos = s->span.begin;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i])
			continue;
		marks_hoist(f, pos, parts[i]->span.begin, out);
		pos = parts[i]->span.end;
	}
	if (!s->body && pos < s->span.end)
		marks_hoist(f, pos, s->span.end, out);
}

static void format_stmt(struct formatter *f, const struct stmt *s, size_t max,
			struct format_lines *out)
{
	const u32 outer = f->base;
	struct format_lines one;

	marks_lead(f, s->span.begin, out);
	hoist(f, s, out);
	lines_init(&one);
	f->base = s->span.begin;
	format_kind(f, s, max, &one);
	f->base = outer;
	lines_settle(&one);
	marks_drop_blanks(f, s->span.begin, s->span.end);
	lines_append(out, &one);
}
