/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constant expressions of C, for #if, array sizes, enumerators and widths of bit-fields. */
#include "lang/parse_internal.h"
#include "lang/preprocess.h"

struct evaluation {
	struct arena *arena;
	struct diag *diag;
	const struct token *t, *end;
	struct span at;
	constant_name_fn name;
	void *arg;
	int depth;
	bool failed;
};

static s64 evaluate(struct evaluation *e, int min_precedence);

static bool next_is(const struct evaluation *e, u32 punct)
{
	return e->t < e->end && e->t->kind == TOKEN_PUNCT && e->t->punct == punct;
}

static s64 fail(struct evaluation *e, const char *what)
{
	if (!e->failed)
		diag_error(e->diag, e->t < e->end ? e->t->span : e->at, "syntax error, %s", what);
	e->failed = true;
	return 0;
}

static s64 primary(struct evaluation *e)
{
	const struct token *t = e->t;
	s64 v = 0;

	if (t >= e->end)
		return fail(e, "expected a constant expression");
	if (next_is(e, '(')) {
		e->t++;
		v = evaluate(e, 0);
		if (!next_is(e, ')'))
			return fail(e, "expected ')' in constant expression");
		e->t++;
		return v;
	}
	if (t->kind == TOKEN_INTEGER) {
		e->t++;
		return (s64)t->value;
	}
	if (t->kind != TOKEN_NAME)
		return fail(e, arena_printf(e->arena, "unexpected %s in constant expression",
					    token_describe(e->arena, t)));
	if (!e->name(e->arg, t->text, &v))
		return fail(e, arena_printf(e->arena, "'%s' is not a constant", t->text));
	e->t++;
	return v;
}

static s64 unary(struct evaluation *e)
{
	s64 v;
	u32 op;

	if (e->t >= e->end || e->t->kind != TOKEN_PUNCT || !strchr("-+!~", (int)e->t->punct) ||
	    e->t->punct > 0xff)
		return primary(e);
	if (++e->depth > LANG_MAX_DEPTH)
		return fail(e, "constant expression is too deep");
	op = e->t++->punct;
	v = unary(e);
	e->depth--;
	return op == '-' ? (s64)(0 - (u64)v) : op == '!' ? !v : op == '~' ? ~v : v;
}

static s64 apply(struct evaluation *e, enum op op, s64 a, s64 b)
{
	switch (op) {
	case OP_ADD:
		return (s64)((u64)a + (u64)b);
	case OP_SUB:
		return (s64)((u64)a - (u64)b);
	case OP_MUL:
		return (s64)((u64)a * (u64)b);
	case OP_DIV:
	case OP_MOD:
		if (!b)
			return fail(e, "division by zero in constant expression");
		if (b == -1) /* INT64_MIN / -1 overflows */
			return op == OP_DIV ? (s64)(0 - (u64)a) : 0;
		return op == OP_DIV ? a / b : a % b;
	case OP_AND:
		return a & b;
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_SHL:
		return (s64)((u64)a << (b & 63));
	case OP_SHR:
		return a >> (b & 63);
	case OP_LAND:
		return a && b;
	case OP_LOR:
		return a || b;
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GT:
		return a > b;
	case OP_GE:
		return a >= b;
	default:
		return 0;
	}
}

static s64 evaluate(struct evaluation *e, int min_precedence)
{
	s64 v;

	if (e->failed || ++e->depth > LANG_MAX_DEPTH)
		return fail(e, "constant expression is too deep");
	v = unary(e);
	while (!e->failed && e->t < e->end) {
		int precedence;
		const enum op op = parse_binary_operator(e->t, &precedence);
		s64 right;

		if (op == OP_NONE || precedence < min_precedence)
			break;
		e->t++;
		right = evaluate(e, precedence + 1);
		if (!e->failed)
			v = apply(e, op, v, right);
	}
	if (!e->failed && min_precedence == 0 && next_is(e, '?')) {
		s64 yes, no;

		e->t++;
		yes = evaluate(e, 0);
		if (!next_is(e, ':'))
			return fail(e, "expected ':' in constant expression");
		e->t++;
		no = evaluate(e, 0);
		v = v ? yes : no;
	}
	e->depth--;
	return v;
}

int constant_expression(struct arena *arena, struct diag *diag, const struct token *tokens,
			size_t n, struct span at, constant_name_fn name, void *arg, s64 *ret)
{
	struct evaluation e = {.arena = arena,
			       .diag = diag,
			       .t = tokens,
			       .end = n ? tokens + n : tokens,
			       .at = at,
			       .name = name,
			       .arg = arg};
	const s64 v = evaluate(&e, 0);

	if (!e.failed && e.t < e.end)
		fail(&e, arena_printf(arena, "unexpected %s in constant expression",
				      token_describe(arena, e.t)));
	if (e.failed)
		return -EINVAL;
	*ret = v;
	return 0;
}
