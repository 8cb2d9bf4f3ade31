/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constant expressions of C, for #if, array sizes, enumerators and widths of bit-fields. */
#include "lang/syntax/internal.h"
#include "lang/syntax/preprocess.h"

struct evaluation {
	struct arena *arena;
	struct diag *diag;
	const struct token *t, *end;
	struct span at;
	constant_name_fn name;
	void *arg;
	int depth;
	bool wide; /* #if: all is intmax_t or uintmax_t */
	bool failed;
};

/* An integer of C: `value` has the sign or the zeroes above its bytes. */
struct number {
	s64 value;
	u8 bytes; /* 4 or 8 */
	bool is_unsigned;
};

static struct number evaluate(struct evaluation *e, int min_precedence);

static bool next_is(const struct evaluation *e, u32 punct)
{
	return e->t < e->end && e->t->kind == TOKEN_PUNCT && e->t->punct == punct;
}

static struct number fail(struct evaluation *e, const char *what)
{
	if (!e->failed)
		diag_error(e->diag, e->t < e->end ? e->t->span : e->at, "syntax error, %s", what);
	e->failed = true;
	return (struct number){.bytes = 4};
}

/* Cut to its bytes; what has less than an int is one then. */
static struct number convert(struct evaluation *e, s64 value, u32 bytes, bool is_unsigned)
{
	struct number n = {.bytes = e->wide || bytes >= 8 ? 8 : 4};
	const u32 cut = bytes < 8 && !e->wide ? 64 - 8 * bytes : 0;

	n.value = (s64)((u64)value << cut);
	n.value = is_unsigned ? (s64)((u64)n.value >> cut) : n.value >> cut;
	n.is_unsigned = is_unsigned && (bytes >= 4 || e->wide);
	return n;
}

/* The first of int, unsigned (not of decimals), long, unsigned long that has room. */
static struct number literal(struct evaluation *e, const struct token *t)
{
	const u64 v = t->value;
	const char *text = t->text ? t->text : "";
	const bool is_long = strpbrk(text, "lL") || str_eq(text, "sizeof"),
		   is_unsigned = t->is_unsigned || str_eq(text, "sizeof"),
		   is_decimal = text[0] != '0' && !is_unsigned;

	if (!is_long && !is_unsigned && v <= INT32_MAX)
		return convert(e, (s64)v, 4, false);
	if (!is_long && !is_decimal && v <= UINT32_MAX)
		return convert(e, (s64)v, 4, true);
	return convert(e, (s64)v, 8, is_unsigned || v > INT64_MAX);
}

static struct number primary(struct evaluation *e)
{
	const struct token *t = e->t;
	struct number n;
	s64 v = 0;

	if (t >= e->end)
		return fail(e, "expected a constant expression");
	if (next_is(e, '(')) {
		e->t++;
		n = evaluate(e, 0);
		if (!next_is(e, ')'))
			return fail(e, "expected ')' in constant expression");
		e->t++;
		return n;
	}
	if (t->kind == TOKEN_INTEGER) {
		e->t++;
		if (t->text && str_eq(t->text, "0")) /* a character, or zero */
			return convert(e, (s64)t->value, 4, false);
		return literal(e, t);
	}
	if (t->kind != TOKEN_NAME)
		return fail(e, arena_printf(e->arena, "unexpected %s in constant expression",
					    token_describe(e->arena, t)));
	if (!e->name(e->arg, t->text, &v))
		return fail(e, arena_printf(e->arena, "'%s' is not a constant", t->text));
	e->t++;
	if (v >= INT32_MIN && v <= INT32_MAX)
		return convert(e, v, 4, false);
	return convert(e, v, v >= 0 && v <= UINT32_MAX ? 4 : 8, v >= 0 && v <= UINT32_MAX);
}

static struct number unary(struct evaluation *e)
{
	const struct token *t = e->t;
	const bool is_cast = t < e->end && t->kind == TOKEN_OTHER && !t->text;
	struct number n;

	if (!is_cast && (t >= e->end || t->kind != TOKEN_PUNCT || t->punct > 0xff ||
			 !strchr("-+!~", (int)t->punct)))
		return primary(e);
	if (++e->depth > LANG_MAX_DEPTH)
		return fail(e, "constant expression is too deep");
	e->t++;
	n = unary(e);
	e->depth--;
	if (is_cast)
		return convert(e, t->value == 1 && t->len ? n.value != 0 : n.value, (u32)t->value,
			       t->is_unsigned);
	if (t->punct == '!')
		return convert(e, !n.value, 4, false);
	return convert(e,
		       t->punct == '-'	 ? (s64)(0 - (u64)n.value)
		       : t->punct == '~' ? ~n.value
					 : n.value,
		       n.bytes, n.is_unsigned);
}

static s64 divide(struct evaluation *e, enum op op, struct number a, struct number b)
{
	if (!b.value) {
		fail(e, "division by zero in constant expression");
		return 0;
	}
	if (a.is_unsigned)
		return op == OP_DIV ? (s64)((u64)a.value / (u64)b.value)
				    : (s64)((u64)a.value % (u64)b.value);
	if (b.value == -1) /* INT64_MIN / -1 overflows */
		return op == OP_DIV ? (s64)(0 - (u64)a.value) : 0;
	return op == OP_DIV ? a.value / b.value : a.value % b.value;
}

static s64 compute(struct evaluation *e, enum op op, struct number a, struct number b)
{
	const u64 x = (u64)a.value, y = (u64)b.value;
	const bool less = a.is_unsigned ? x < y : a.value < b.value;

	switch (op) {
	case OP_ADD:
		return (s64)(x + y);
	case OP_SUB:
		return (s64)(x - y);
	case OP_MUL:
		return (s64)(x * y);
	case OP_DIV:
	case OP_MOD:
		return divide(e, op, a, b);
	case OP_AND:
		return a.value & b.value;
	case OP_OR:
		return a.value | b.value;
	case OP_XOR:
		return a.value ^ b.value;
	case OP_SHL:
		return (s64)(x << (y & 63));
	case OP_SHR:
		return a.is_unsigned ? (s64)(x >> (y & 63)) : a.value >> (y & 63);
	case OP_LAND:
		return a.value && b.value;
	case OP_LOR:
		return a.value || b.value;
	case OP_EQ:
		return x == y;
	case OP_NE:
		return x != y;
	case OP_LT:
		return less;
	case OP_LE:
		return less || x == y;
	case OP_GT:
		return !less && x != y;
	case OP_GE:
		return !less;
	default:
		return 0;
	}
}

/* The usual arithmetic conversions, then the operation. */
static struct number apply(struct evaluation *e, enum op op, struct number a, struct number b)
{
	const u8 bytes = MAX(a.bytes, b.bytes);
	const bool is_unsigned =
		(a.is_unsigned && a.bytes == bytes) || (b.is_unsigned && b.bytes == bytes);

	if (op == OP_SHL || op == OP_SHR)
		return convert(e, compute(e, op, a, b), a.bytes, a.is_unsigned);
	if (op == OP_LAND || op == OP_LOR)
		return convert(e, compute(e, op, a, b), 4, false);
	a = convert(e, a.value, bytes, is_unsigned);
	b = convert(e, b.value, bytes, is_unsigned);
	if (op >= OP_EQ && op <= OP_GE)
		return convert(e, compute(e, op, a, b), 4, false);
	return convert(e, compute(e, op, a, b), bytes, is_unsigned);
}

static struct number evaluate(struct evaluation *e, int min_precedence)
{
	struct number n;

	if (e->failed || ++e->depth > LANG_MAX_DEPTH)
		return fail(e, "constant expression is too deep");
	n = unary(e);
	while (!e->failed && e->t < e->end) {
		int precedence;
		const enum op op = parse_binary_operator(e->t, &precedence);
		struct number right;

		if (op == OP_NONE || precedence < min_precedence)
			break;
		e->t++;
		right = evaluate(e, precedence + 1);
		if (!e->failed)
			n = apply(e, op, n, right);
	}
	if (!e->failed && min_precedence == 0 && next_is(e, '?')) {
		struct number yes, no;

		e->t++;
		yes = evaluate(e, 0);
		if (!next_is(e, ':'))
			return fail(e, "expected ':' in constant expression");
		e->t++;
		no = evaluate(e, 0);
		n = n.value ? yes : no;
	}
	e->depth--;
	return n;
}

int constant_expression(struct arena *arena, struct diag *diag, const struct token *tokens,
			size_t n, struct span at, bool wide, constant_name_fn name, void *arg,
			s64 *ret)
{
	struct evaluation e = {.arena = arena,
			       .diag = diag,
			       .t = tokens,
			       .end = n ? tokens + n : tokens,
			       .at = at,
			       .wide = wide,
			       .name = name,
			       .arg = arg};
	const s64 v = evaluate(&e, 0).value;

	if (!e.failed && e.t < e.end)
		fail(&e, arena_printf(arena, "unexpected %s in constant expression",
				      token_describe(arena, e.t)));
	if (e.failed)
		return -EINVAL;
	*ret = v;
	return 0;
}
