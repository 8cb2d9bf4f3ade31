/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/internal.h"
#include "lang/check/thread_local.h"

struct expr *parse_new(struct parser *p, enum expr_kind kind, struct span begin)
{
	struct expr *e = arena_new(p->arena, struct expr);

	e->kind = kind;
	e->span = begin;
	return e;
}

struct expr *parse_node(struct parser *p, struct expr *e, u32 children_height)
{
	e->span = parse_span_since(p, e->span);
	p->height = children_height + 1;
	if (p->height > LANG_MAX_DEPTH)
		parse_error(p, e->span, "syntax error, nested too deeply (limit %d)",
			    LANG_MAX_DEPTH);
	return e;
}

enum op parse_binary_operator(const struct token *t, int *ret_precedence)
{
	static const struct {
		u32 punct;
		enum op op;
		int precedence;
	} rows[] = {
		{PUNCT('|', '|'), OP_LOR, 1},
		{PUNCT('&', '&'), OP_LAND, 2},
		{'|', OP_OR, 3},
		{'^', OP_XOR, 4},
		{'&', OP_AND, 5},
		{PUNCT('=', '='), OP_EQ, 6},
		{PUNCT('!', '='), OP_NE, 6},
		{'~', OP_MATCH, 6},
		{'<', OP_LT, 7},
		{'>', OP_GT, 7},
		{PUNCT('<', '='), OP_LE, 7},
		{PUNCT('>', '='), OP_GE, 7},
		{PUNCT('<', '<'), OP_SHL, 8},
		{PUNCT('>', '>'), OP_SHR, 8},
		{'+', OP_ADD, 9},
		{'-', OP_SUB, 9},
		{'*', OP_MUL, 10},
		{'/', OP_DIV, 10},
		{'%', OP_MOD, 10},
	};

	for (size_t i = 0; t->kind == TOKEN_PUNCT && i < ARRAY_SIZE(rows); i++)
		if (rows[i].punct == t->punct) {
			*ret_precedence = rows[i].precedence;
			return rows[i].op;
		}
	return OP_NONE;
}

/* The '/' that closes a predicate stands before '{'; no expression may begin there. */
static bool closes_predicate(struct parser *p)
{
	const struct token *after;

	if (!p->in_predicate || !parse_is(p, '/'))
		return false;
	after = parse_peek(p, 1);
	return after->kind == TOKEN_PUNCT && after->punct == '{';
}

static struct expr *new_constant(struct parser *p, enum expr_kind kind, const struct expr *like)
{
	struct expr *e = parse_new(p, kind, like->span);

	e->name_span = like->span;
	return e;
}

static struct expr *new_call(struct parser *p, const char *name, const struct expr *like, u32 nargs)
{
	struct expr *e = new_constant(p, EXPR_CALL, like);

	e->name = name;
	e->nargs = nargs;
	e->args = arena_new_array(p->arena, struct expr *, nargs);
	e->args[0] = like->left;
	e->args[1] = like->right;
	return e;
}

/*
 * text ~ "pattern": "x" is a comparison, "x*" and "*x*" are calls of strncmp() and strcontains(),
 * for which all executors are fit.
 */
static struct expr *parse_match(struct parser *p, struct expr *e)
{
	struct expr *const pattern = e->right;
	const char *const text = pattern->kind == EXPR_STRING ? pattern->string.data : NULL;
	const u32 len = pattern->string.len;
	const bool head = text && len && text[0] == '*';
	const bool tail = text && len > 1 && text[len - 1] == '*';
	struct expr *zero;

	if (!text) {
		parse_error(p, pattern->span, "syntax error, ~ takes a pattern in quotes");
		return e;
	}
	pattern->string.len = len - head - tail;
	pattern->string.data = arena_strndup(p->arena, text + head, pattern->string.len);
	if (strpbrk(pattern->string.data, "*?[") || (head && !tail && len > 1)) {
		parse_error(p, pattern->span,
			    "a pattern here is \"text\", \"text*\" or \"*text*\"");
		return e;
	}
	e->op = OP_EQ;
	if (!pattern->string.len && head) {
		e = new_constant(p, EXPR_BOOL, e);
		e->integer = 1;
	} else if (head) {
		e = new_call(p, "strcontains", e, 2);
	} else if (tail) {
		e->left = new_call(p, "strncmp", e, 3);
		e->left->args[2] = new_constant(p, EXPR_INTEGER, pattern);
		e->left->args[2]->integer = pattern->string.len;
		zero = new_constant(p, EXPR_INTEGER, pattern);
		e->right = zero;
	}
	return e;
}

static struct expr *parse_binary(struct parser *p, int min_precedence)
{
	struct expr *left;

	if (!parse_enter(p))
		return NULL;
	left = parse_unary(p);
	while (!p->failed) {
		const u32 left_height = p->height;
		int precedence;
		const enum op op = parse_binary_operator(parse_peek(p, 0), &precedence);
		struct expr *e;

		if (op == OP_NONE || precedence < min_precedence || closes_predicate(p))
			break;
		parse_next(p);
		e = parse_new(p, EXPR_BINARY, left->span);
		e->op = op;
		e->left = left;
		e->right = parse_binary(p, precedence + 1);
		left = parse_node(p, e, MAX(left_height, p->height));
		if (op == OP_MATCH && !p->failed && !p->options->as_written)
			left = parse_match(p, e);
	}
	parse_leave(p);
	return left;
}

struct expr *parse_expr(struct parser *p)
{
	struct expr *condition, *e;
	u32 height;

	if (!parse_enter(p))
		return NULL;
	condition = parse_binary(p, 1);
	height = p->height;
	if (p->failed || !parse_accept(p, '?')) {
		parse_leave(p);
		p->height = height;
		return condition;
	}
	e = parse_new(p, EXPR_TERNARY, condition->span);
	e->condition = condition;
	if (!parse_is(p, ':')) {
		e->left = parse_expr(p);
		height = MAX(height, p->height);
	}
	parse_expect(p, ':');
	e->right = parse_expr(p);
	parse_leave(p);
	return parse_node(p, e, MAX(height, p->height));
}

static bool can_increment(const struct expr *e)
{
	return e->kind == EXPR_VARIABLE || e->kind == EXPR_MAP ||
	       (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP);
}

static enum op unary_operator(struct parser *p)
{
	const struct token *t = parse_peek(p, 0);

	if (t->kind != TOKEN_PUNCT)
		return OP_NONE;
	switch (t->punct) {
	case '-':
		return OP_NEG;
	case '!':
		return OP_NOT;
	case '~':
		return OP_BITNOT;
	case '*':
		return OP_DEREF;
	case '&':
		return OP_ADDRESS;
	case PUNCT('+', '+'):
		return OP_ADD;
	case PUNCT('-', '-'):
		return OP_SUB;
	default:
		return OP_NONE;
	}
}

struct expr *parse_unary(struct parser *p)
{
	const enum op op = unary_operator(p);
	const struct span begin = parse_peek(p, 0)->span;
	struct expr *e;

	if (!parse_enter(p))
		return NULL;
	if (op == OP_NONE) {
		e = parse_primary(p);
		if (!p->failed)
			e = parse_postfix(p, e);
		parse_leave(p);
		return e;
	}
	parse_next(p);
	e = parse_new(p, op == OP_ADD || op == OP_SUB ? EXPR_INCREMENT : EXPR_UNARY, begin);
	e->op = op;
	e->left = parse_unary(p);
	parse_leave(p);
	if (p->failed)
		return NULL;
	if (e->kind == EXPR_INCREMENT && !can_increment(e->left))
		parse_error(p, e->left->span,
			    "syntax error, increment/decrement requires a variable or map");
	if (op == OP_ADDRESS && e->left->kind != EXPR_VARIABLE && e->left->kind != EXPR_MAP)
		parse_error(p, e->left->span,
			    "syntax error, address-of operator (&) can only be used on a map or "
			    "variable");
	return parse_node(p, e, p->height);
}

/* --- behind a primary --- */

static struct expr *parse_member(struct parser *p, struct expr *left, bool is_arrow)
{
	struct expr *e = parse_new(p, EXPR_MEMBER, left->span);
	const u32 height = p->height;
	const struct token t = *parse_peek(p, 0);

	e->left = left;
	e->is_arrow = is_arrow;
	if (t.kind == TOKEN_INTEGER && !is_arrow) {
		for (const char *s = t.text; *s; s++)
			if (!lex_is_digit(*s))
				parse_error(p, t.span, "syntax error, invalid tuple index '%s'",
					    t.text);
		e->name = arena_printf(p->arena, "%" PRIu64, t.value);
		e->integer = (s64)t.value;
	} else if (t.kind == TOKEN_NAME) {
		e->name = t.text;
	} else {
		parse_unexpected(p, is_arrow ? "field name after '->'" : "field name after '.'");
		return NULL;
	}
	e->name_span = t.span;
	parse_next(p);
	if (left->kind == EXPR_NAME && str_eq(left->name, "self") && t.kind == TOKEN_NAME &&
	    !p->options->as_written)
		e = thread_local_element(p->arena, t.text, parse_span_since(p, left->span));
	return parse_node(p, e, height);
}

bool parse_args(struct parser *p, char close, struct expr *call, u32 height)
{
	expr_list args = {0};

	while (!p->failed && !parse_is(p, (u8)close)) {
		vector_push(&args, parse_expr(p));
		height = MAX(height, p->height);
		if (!parse_accept(p, ','))
			break;
		if (close == ')' && parse_is(p, ')') && call->kind == EXPR_CALL)
			parse_unexpected(p, "expression");
	}
	parse_close(p, close);
	call->nargs = (u32)args.len;
	call->args = parse_list_done(p, args.items, args.len * sizeof(*args.items));
	vector_free(&args);
	p->height = height;
	return !p->failed;
}

static struct expr *parse_index(struct parser *p, struct expr *left)
{
	struct expr *e = parse_new(p, EXPR_INDEX, left->span);
	const u32 height = p->height;

	e->left = left;
	if (!parse_open(p, '['))
		return NULL;
	if (parse_is(p, ']'))
		parse_unexpected(p, "expression");
	if (!parse_args(p, ']', e, height))
		return NULL;
	return parse_node(p, e, p->height);
}

struct expr *parse_postfix(struct parser *p, struct expr *e)
{
	while (!p->failed) {
		const struct token *t = parse_peek(p, 0);

		if (t->kind != TOKEN_PUNCT)
			break;
		if (t->punct == '[') {
			e = parse_index(p, e);
		} else if (t->punct == '.' || t->punct == PUNCT('-', '>')) {
			const bool is_arrow = t->punct != '.';

			parse_next(p);
			e = parse_member(p, e, is_arrow);
		} else if (t->punct == PUNCT('+', '+') || t->punct == PUNCT('-', '-')) {
			struct expr *left = e;

			if (!can_increment(left)) {
				parse_error(p, t->span,
					    "syntax error, increment/decrement requires a variable "
					    "or map");
				break;
			}
			e = parse_new(p, EXPR_INCREMENT, left->span);
			e->op = t->punct == PUNCT('+', '+') ? OP_ADD : OP_SUB;
			e->is_postfix = true;
			e->left = left;
			parse_next(p);
			e = parse_node(p, e, p->height);
		} else {
			break;
		}
	}
	return p->failed ? NULL : e;
}
