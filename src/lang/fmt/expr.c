/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lays out expressions: parentheses wherever an operand is no primary expression, lists broken
 * where they are too wide.
 */
#include "base/vector.h"
#include "lang/fmt/internal.h"
#include "lang/syntax/lex.h"

#define MANY_OPERANDS 16

void format_source(struct formatter *f, struct span at, struct format_lines *out)
{
	lines_addn(out, f->text + at.begin, at.end - at.begin);
}

bool format_is_primitive(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_INTEGER:
	case EXPR_STRING:
	case EXPR_BOOL:
	case EXPR_NAME:
	case EXPR_VARIABLE:
	case EXPR_MAP:
	case EXPR_INDEX:
	case EXPR_MEMBER:
	case EXPR_CALL:
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_TYPEOF:
	case EXPR_POSITIONAL:
		return true;
	case EXPR_COMPTIME:
		return format_is_primitive(e->left);
	default:
		return false;
	}
}

/* --- lists --- */

struct list {
	VECTOR(struct format_lines) items;
	VECTOR(size_t) widths;
	size_t total;
};

static void list_add(struct list *list, struct format_lines *item)
{
	const size_t width = lines_width(item);

	vector_push(&list->items, *item);
	vector_push(&list->widths, width);
	list->total += width;
}

/*
 * Where to break the list: the last line takes as many items as fit, then the line before it. If a
 * single item is too wide nothing is broken.
 */
static void list_breaks(const struct list *list, size_t max, bool *ret)
{
	size_t width = 0;

	for (size_t i = 0; i < list->widths.len; i++)
		if (list->widths.items[i] > max)
			return;
	for (size_t i = list->widths.len; i-- > 0;) {
		if (width + list->widths.items[i] > max) {
			ret[i + 1] = true;
			width = 0;
		}
		width += list->widths.items[i];
	}
}

/* Joins the items, which bring their separators along, and releases them. */
static void list_join(struct formatter *f, struct list *list, size_t max, struct format_lines *out)
{
	bool *breaks = arena_new_array(f->arena, bool, list->items.len + 1);
	struct format_lines all;

	lines_init(&all);
	if (list->total >= max)
		list_breaks(list, max, breaks);
	for (size_t i = 0; i < list->items.len; i++) {
		if (breaks[i])
			lines_break(&all);
		lines_append(&all, &list->items.items[i]);
	}
	vector_free(&list->items);
	vector_free(&list->widths);
	*out = all;
}

static void format_args(struct formatter *f, const struct expr *e, size_t max,
			struct format_lines *out)
{
	struct list list = {0};

	for (u32 i = 0; i < e->nargs; i++) {
		const bool is_last = i + 1 == e->nargs;
		const size_t room = is_last ? max : max - 1;
		struct format_lines item;

		lines_init(&item);
		if (e->names) {
			lines_addf(&item, "%s=", e->names[i]);
			format_expr(f, e->args[i], room - strlen(e->names[i]) - 1, false, &item);
		} else {
			format_expr(f, e->args[i], room, true, &item);
		}
		if (!is_last)
			lines_add(&item, ", ");
		list_add(&list, &item);
	}
	list_join(f, &list, max, out);
}

/* --- operators --- */

static int precedence_of(enum op op)
{
	static const int rows[] = {
		[OP_LOR] = 1, [OP_LAND] = 2, [OP_OR] = 3,    [OP_XOR] = 4, [OP_AND] = 5,
		[OP_EQ] = 6,  [OP_NE] = 6,   [OP_MATCH] = 6, [OP_LT] = 7,  [OP_GT] = 7,
		[OP_LE] = 7,  [OP_GE] = 7,   [OP_SHL] = 8,   [OP_SHR] = 8, [OP_ADD] = 9,
		[OP_SUB] = 9, [OP_MUL] = 10, [OP_DIV] = 10,  [OP_MOD] = 10};

	return op < ARRAY_SIZE(rows) ? rows[op] : 0;
}

/* A comparison needs no parentheses beside operators of lower precedence. */
static bool is_plain_comparison(const struct expr *e, enum op outer, bool is_right)
{
	if (e->kind != EXPR_BINARY)
		return false;
	if (precedence_of(e->op) != precedence_of(OP_EQ) &&
	    precedence_of(e->op) != precedence_of(OP_LT))
		return false;
	return precedence_of(e->op) >= precedence_of(outer) + is_right;
}

/*
 * a && b && c is one list; a + b + c is (a + b) + c, unless the parentheses would be nested too
 * deeply to be parsed again.
 */
static bool is_one_list(const struct expr *e)
{
	const struct expr *left = e->left;
	u32 n = 0;

	while (left->kind == EXPR_BINARY && precedence_of(left->op) == precedence_of(e->op)) {
		left = left->left;
		n++;
	}
	return e->op == OP_LAND || e->op == OP_LOR || n >= MANY_OPERANDS;
}

static void format_binary(struct formatter *f, const struct expr *e, size_t max,
			  struct format_lines *out)
{
	VECTOR(const struct expr *) operands = {0};
	VECTOR(enum op) ops = {0};
	const bool is_list = is_one_list(e);
	const struct expr *left = e;
	struct list list = {0};

	do {
		vector_push(&operands, left->right);
		vector_push(&ops, left->op);
		left = left->left;
	} while (is_list && left->kind == EXPR_BINARY &&
		 precedence_of(left->op) == precedence_of(e->op));
	vector_push(&operands, left);
	for (size_t i = operands.len; i-- > 0;) {
		const struct expr *operand = operands.items[i];
		const bool is_first = i + 1 == operands.len;
		struct format_lines item;

		lines_init(&item);
		format_expr(f, operand, i ? max - 1 : max,
			    is_plain_comparison(operand, e->op, !is_first), &item);
		if (i)
			lines_addf(&item, " %s ", op_names[ops.items[i - 1]]);
		list_add(&list, &item);
	}
	vector_free(&operands);
	vector_free(&ops);
	list_join(f, &list, max, out);
}

static void format_unary(struct formatter *f, const struct expr *e, size_t max,
			 struct format_lines *out)
{
	char op[4];

	if (e->kind == EXPR_UNARY)
		snprintf(op, sizeof(op), "%s", op_names[e->op]);
	else
		snprintf(op, sizeof(op), "%s%s", op_names[e->op], op_names[e->op]);
	if (!e->is_postfix)
		lines_add(out, op);
	format_expr(f, e->left, max - strlen(op), false, out);
	if (e->is_postfix)
		lines_add(out, op);
}

static void format_ternary(struct formatter *f, const struct expr *e, size_t max,
			   struct format_lines *out)
{
	struct format_lines parts[3];
	const struct expr *const exprs[] = {e->condition, e->left, e->right};
	size_t width = 8;

	for (int i = 0; i < 3; i++) {
		lines_init(&parts[i]);
		if (exprs[i])
			format_expr(f, exprs[i], i ? max - 2 : max, false, &parts[i]);
		width += lines_width(&parts[i]);
	}
	lines_append(out, &parts[0]);
	if (width > max) {
		lines_break(out);
		lines_add(out, e->left ? "? " : "?");
		lines_append(out, &parts[1]);
		if (e->left)
			lines_break(out);
		lines_add(out, ": ");
	} else {
		lines_add(out, e->left ? " ? " : " ?");
		lines_append(out, &parts[1]);
		lines_add(out, e->left ? " : " : ": ");
	}
	lines_append(out, &parts[2]);
}

/* --- types --- */

/* The end of the comment at pos, or pos itself. */
static u32 behind_comment(const struct formatter *f, u32 pos, u32 end)
{
	const char *text = f->text + pos, *close;

	if (end - pos < 2 || text[0] != '/' || (text[1] != '/' && text[1] != '*'))
		return pos;
	close = text[1] == '/' ? memchr(text, '\n', end - pos)
			       : memmem(text + 2, end - pos - 2, "*/", 2);
	return close ? (u32)(close - f->text) + (text[1] == '*' ? 2 : 1) : end;
}

/* The text between two places without comments, and without blanks except between words. */
static void squeezed(const struct formatter *f, u32 begin, u32 end, struct format_lines *out)
{
	bool gap = false;
	char before = '\0';

	while (begin < end) {
		const u32 behind = behind_comment(f, begin, end);
		const char c = f->text[begin];

		if (behind != begin || lex_is_blank(c)) {
			begin = behind != begin ? behind : begin + 1;
			gap = true;
			continue;
		}
		if (lex_is_name(c) && (before == '*' || (gap && lex_is_name(before))))
			lines_add(out, " ");
		lines_addn(out, &c, 1);
		before = c;
		gap = false;
		begin++;
	}
}

/* ident[0] would be parsed as an array type. */
static bool needs_parens_as_type(const struct expr *e)
{
	if (e->kind != EXPR_INDEX)
		return false;
	while (e->kind == EXPR_INDEX)
		e = e->left;
	return e->kind == EXPR_NAME;
}

static void format_as_type(struct formatter *f, const struct expr *e, size_t max,
			   struct format_lines *out)
{
	const bool parens = needs_parens_as_type(e);

	if (parens)
		lines_add(out, "(");
	format_expr(f, e, max, true, out);
	if (parens)
		lines_add(out, ")");
}

static bool is_typeof(const struct formatter *f, u32 begin, u32 end)
{
	return end - begin > 6 && !memcmp(f->text + begin, "typeof", 6) &&
	       !lex_is_name(f->text[begin + 6]);
}

void format_type(struct formatter *f, const struct type_name *t, size_t max,
		 struct format_lines *out)
{
	const struct expr *inner = t->typeof_expr;

	for (const struct type_name *i = t->inner; i && !inner; i = i->inner)
		inner = i->typeof_expr;
	if (!inner) {
		squeezed(f, t->span.begin, t->span.end, out);
	} else if (!is_typeof(f, t->span.begin, t->span.end)) {
		format_as_type(f, inner, max, out);
	} else {
		squeezed(f, t->span.begin, inner->span.begin, out);
		format_as_type(f, inner, max - 8, out);
		squeezed(f, inner->span.end, t->span.end, out);
	}
}

static void format_type_or_expr(struct formatter *f, const struct type_name *t,
				const struct expr *e, size_t max, struct format_lines *out)
{
	if (t)
		format_type(f, t, max, out);
	else
		format_as_type(f, e, max, out);
}

/* --- the rest --- */

/* name( list ), the list on lines of its own if it is too wide even when broken. */
static void enclose(struct format_lines *out, struct format_lines *list, char close, bool is_wide)
{
	if (is_wide)
		lines_append_indented(out, list);
	else
		lines_append(out, list);
	lines_addn(out, &close, 1);
}

static void format_call(struct formatter *f, const struct expr *e, size_t max,
			struct format_lines *out)
{
	const size_t room = max - (strlen(e->name) + 2);
	struct format_lines args;
	bool is_wide;

	format_args(f, e, room, &args);
	is_wide = lines_width(&args) > max;
	lines_addf(out, "%s(", e->name);
	enclose(out, &args, ')', is_wide);
}

static void format_index(struct formatter *f, const struct expr *e, size_t max,
			 struct format_lines *out)
{
	struct format_lines key;
	bool is_wide;

	format_expr(f, e->left, max - 1, false, out);
	if (e->left->kind == EXPR_MAP) {
		format_args(f, e, max - (e->nargs > 1 ? 2 : 1) * FORMAT_INDENT, &key);
	} else {
		lines_init(&key);
		format_expr(f, e->args[0], max - FORMAT_INDENT, false, &key);
	}
	is_wide = lines_width(out) + lines_width(&key) + 2 > max;
	lines_add(out, "[");
	enclose(out, &key, ']', is_wide);
}

static void format_member(struct formatter *f, const struct expr *e, size_t max,
			  struct format_lines *out)
{
	format_expr(f, e->left, max - (strlen(e->name) + 1), false, out);
	lines_addf(out, "%s%s", e->is_arrow ? "->" : ".", e->name);
}

static void format_tuple(struct formatter *f, const struct expr *e, size_t max,
			 struct format_lines *out)
{
	struct format_lines items;
	bool is_wide;

	format_args(f, e, max - FORMAT_INDENT, &items);
	if (e->kind == EXPR_TUPLE && e->nargs == 1)
		lines_add(&items, ",");
	is_wide = lines_count(&items) > 1;
	lines_add(out, "(");
	enclose(out, &items, ')', e->kind == EXPR_RECORD && is_wide);
}

static void format_cast(struct formatter *f, const struct expr *e, size_t max,
			struct format_lines *out)
{
	lines_add(out, "(");
	format_type(f, e->type_name, max, out);
	lines_add(out, ")");
	format_expr(f, e->left, max - lines_width(out), false, out);
}

/* What stands inside of the parentheses, if there are any. */
static void format_inner(struct formatter *f, const struct expr *e, size_t max,
			 struct format_lines *out)
{
	switch (e->kind) {
	case EXPR_INTEGER:
	case EXPR_STRING:
	case EXPR_BOOL:
	case EXPR_NAME:
	case EXPR_VARIABLE:
	case EXPR_MAP:
	case EXPR_POSITIONAL:
		format_source(f, e->name_span, out);
		break;
	case EXPR_INDEX:
		format_index(f, e, max, out);
		break;
	case EXPR_MEMBER:
		format_member(f, e, max, out);
		break;
	case EXPR_UNARY:
	case EXPR_INCREMENT:
		format_unary(f, e, max, out);
		break;
	case EXPR_BINARY: {
		struct format_lines list;

		format_binary(f, e, max, &list);
		lines_append(out, &list);
		break;
	}
	case EXPR_TERNARY:
		format_ternary(f, e, max, out);
		break;
	case EXPR_CALL:
		format_call(f, e, max, out);
		break;
	case EXPR_CAST:
		format_cast(f, e, max, out);
		break;
	case EXPR_SIZEOF:
		lines_add(out, "sizeof(");
		format_type_or_expr(f, e->type_name, e->left, max - 8, out);
		lines_add(out, ")");
		break;
	case EXPR_OFFSETOF:
		lines_add(out, "offsetof(");
		format_type_or_expr(f, e->type_name, e->left, max, out);
		lines_addf(out, ", %s)", e->name);
		break;
	case EXPR_TYPEOF:
		format_type_or_expr(f, e->type_name, e->left, max, out);
		break;
	case EXPR_TUPLE:
	case EXPR_RECORD:
		format_tuple(f, e, max, out);
		break;
	case EXPR_BLOCK:
		format_scope(f, e->block, e->left, max, out);
		break;
	case EXPR_IF:
		format_if_value(f, e, max, out);
		break;
	case EXPR_COMPTIME:
		lines_add(out, "comptime ");
		format_expr(f, e->left, max - 9, false, out);
		break;
	}
}

void format_expr(struct formatter *f, const struct expr *e, size_t max, bool is_bare,
		 struct format_lines *out)
{
	const bool parens = !is_bare && e->kind != EXPR_TUPLE && !format_is_primitive(e);
	struct format_lines inner;

	lines_init(&inner);
	if (parens)
		lines_add(&inner, "(");
	if (parens || e->kind == EXPR_TUPLE)
		max -= 2;
	if (parens && e->kind != EXPR_BLOCK) {
		struct format_lines body;

		lines_init(&body);
		format_inner(f, e, max, &body);
		lines_append(&inner, &body);
	} else {
		format_inner(f, e, max, &inner);
	}
	if (parens)
		lines_add(&inner, ")");
	lines_append(out, &inner);
}
