/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/constants.h"
#include "lang/syntax/internal.h"

static struct expr *leaf(struct parser *p, enum expr_kind kind)
{
	const struct token t = parse_next(p);
	struct expr *e = parse_new(p, kind, t.span);

	e->name_span = t.span;
	if (t.kind == TOKEN_NAME || t.kind == TOKEN_VARIABLE || t.kind == TOKEN_MAP)
		e->name = t.text;
	if (t.kind == TOKEN_INTEGER || t.kind == TOKEN_POSITIONAL) {
		e->integer = (s64)t.value;
		e->is_unsigned_literal =
			t.is_unsigned || (t.kind == TOKEN_INTEGER && t.value > INT64_MAX);
	}
	if (t.kind == TOKEN_STRING) {
		e->string.data = t.text;
		e->string.len = t.len;
	}
	e->is_count = t.kind == TOKEN_COUNT;
	return parse_node(p, e, 0);
}

/*
 * A constant that a system header would #define; definitions of BTF or the script itself take
 * precedence.
 */
static bool is_header_constant(struct parser *p, const char *name, s64 *ret)
{
	s64 ignored;

	if (p->options->as_written || !constant_find(name, ret))
		return false;
	return !type_find_enumerator(p->types, name, &ignored);
}

/* --- ( ... ) --- */

static struct expr *parse_cast(struct parser *p, struct expr *e)
{
	u32 height;

	e->kind = EXPR_CAST;
	e->type_name = parse_type_name(p);
	height = p->height;
	parse_close(p, ')');
	e->left = parse_unary(p);
	return parse_node(p, e, MAX(height, p->height));
}

static struct expr *parse_record(struct parser *p, struct expr *e)
{
	expr_list values = {0};
	VECTOR(const char *) names = {0};
	u32 height = 0;

	e->kind = EXPR_RECORD;
	while (!p->failed) {
		const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of a field");

		if (p->failed)
			break;
		for (size_t i = 0; i < names.len; i++)
			if (str_eq(names.items[i], name.text))
				parse_error(p, name.span,
					    "syntax error, Named argument list already contains "
					    "name: %s",
					    name.text);
		parse_expect(p, '=');
		vector_push(&names, name.text);
		vector_push(&values, parse_expr(p));
		height = MAX(height, p->height);
		if (!parse_accept(p, ',') || parse_is(p, ')'))
			break;
	}
	parse_close(p, ')');
	e->nargs = (u32)values.len;
	e->args = parse_list_done(p, values.items, values.len * sizeof(*values.items));
	e->names = parse_list_done(p, names.items, names.len * sizeof(*names.items));
	vector_free(&values);
	vector_free(&names);
	return parse_node(p, e, height);
}

static struct expr *parse_tuple(struct parser *p, struct expr *e, struct expr *first, u32 height)
{
	u32 n;
	struct expr **args;

	e->kind = EXPR_TUPLE;
	if (!parse_args(p, ')', e, height))
		return NULL;
	n = e->nargs + 1;
	args = arena_new_array(p->arena, struct expr *, n);
	args[0] = first;
	if (e->nargs)
		memcpy(args + 1, e->args, e->nargs * sizeof(*args));
	e->args = args;
	e->nargs = n;
	return parse_node(p, e, p->height);
}

static struct expr *parse_parens(struct parser *p)
{
	struct expr *e = parse_new(p, EXPR_TUPLE, parse_peek(p, 0)->span), *inner;
	const bool in_predicate = p->in_predicate;
	const struct token *t;

	if (!parse_open(p, '('))
		return NULL;
	t = parse_peek(p, 1);
	if (parse_is(p, ')')) {
		parse_close(p, ')');
		return parse_node(p, e, 0);
	}
	if (parse_peek(p, 0)->kind == TOKEN_NAME && t->kind == TOKEN_PUNCT && t->punct == '=')
		return parse_record(p, e);
	if (parse_looks_like_cast(p))
		return parse_cast(p, e);
	p->in_predicate = false;
	inner = parse_expr(p);
	p->in_predicate = in_predicate;
	if (p->failed)
		return NULL;
	if (parse_accept(p, ','))
		return parse_tuple(p, e, inner, p->height);
	parse_close(p, ')');
	inner->in_parens = true; /* omitted in messages */
	if (p->options->as_written)
		inner->span = parse_span_since(p, e->span);
	return inner;
}

/* --- words --- */

static struct expr *parse_typeof_value(struct parser *p)
{
	struct expr *e = parse_new(p, EXPR_TYPEOF, parse_peek(p, 0)->span);

	e->type_name = parse_type_name(p);
	return parse_node(p, e, p->height);
}

/* sizeof, typeinfo: one type or expression. */
static struct expr *parse_sizeof(struct parser *p)
{
	const struct token word = parse_next(p);
	struct expr *e = parse_new(p, EXPR_SIZEOF, word.span);

	if (!parse_open(p, '('))
		return NULL;
	parse_type_or_expr(p, ')', &e->type_name, &e->left);
	parse_close(p, ')');
	return parse_node(p, e, p->height);
}

static struct expr *parse_typeinfo(struct parser *p)
{
	const struct token word = parse_next(p);
	struct expr *call = parse_new(p, EXPR_CALL, word.span), *arg;
	struct type_name *type = NULL;

	call->name = word.text;
	call->name_span = word.span;
	if (!parse_open(p, '('))
		return NULL;
	arg = parse_new(p, EXPR_TYPEOF, parse_peek(p, 0)->span);
	parse_type_or_expr(p, ')', &type, &arg->left);
	if (!type) {
		type = arena_new(p->arena, struct type_name);
		type->span = arg->span;
		type->typeof_expr = arg->left;
		arg->left = NULL;
	}
	arg->type_name = type;
	parse_node(p, arg, p->height);
	parse_close(p, ')');
	call->args = arena_new(p->arena, struct expr *);
	call->args[0] = arg;
	call->nargs = 1;
	return parse_node(p, call, p->height);
}

static struct expr *parse_offsetof(struct parser *p)
{
	const struct token word = parse_next(p);
	struct expr *e = parse_new(p, EXPR_OFFSETOF, word.span);
	struct strbuf path = STRBUF_INIT;
	struct span at;
	u32 height;

	if (!parse_open(p, '('))
		return NULL;
	parse_type_or_expr(p, ',', &e->type_name, &e->left);
	height = p->height;
	parse_expect(p, ',');
	at = parse_peek(p, 0)->span;
	do {
		strbuf_addstr(&path, path.len ? "." : "");
		strbuf_addstr(&path, p->failed				    ? ""
				     : parse_peek(p, 0)->kind == TOKEN_NAME ? parse_peek(p, 0)->text
									    : "");
		parse_expect_kind(p, TOKEN_NAME, "field name");
	} while (parse_accept(p, '.'));
	e->name = arena_strdup(p->arena, path.data);
	e->name_span = parse_span_since(p, at);
	strbuf_release(&path);
	parse_close(p, ')');
	return parse_node(p, e, height);
}

static struct expr *parse_comptime(struct parser *p)
{
	const struct token word = parse_next(p);
	struct expr *e = parse_new(p, EXPR_COMPTIME, word.span);

	e->left = parse_unary(p);
	return parse_node(p, e, p->height);
}

static struct expr *parse_bool(struct parser *p)
{
	struct expr *e = leaf(p, EXPR_BOOL);

	e->integer = str_eq(e->name, "true");
	return e;
}

static struct expr *parse_word(struct parser *p)
{
	static const struct {
		const char *word;
		struct expr *(*parse)(struct parser *p);
		bool needs_paren;
	} rows[] = {
		{"if", parse_if, false},
		{"sizeof", parse_sizeof, true},
		{"offsetof", parse_offsetof, true},
		{"__builtin_offsetof", parse_offsetof, true},
		{"typeinfo", parse_typeinfo, true},
		{"comptime", parse_comptime, false},
		{"typeof", parse_typeof_value, true},
		{"true", parse_bool, false},
		{"false", parse_bool, false},
	};
	const struct token *after = parse_peek(p, 1);
	const bool paren = after->kind == TOKEN_PUNCT && after->punct == '(';
	struct expr *e;
	s64 value;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse_is_name(p, rows[i].word) && (paren || !rows[i].needs_paren))
			return rows[i].parse(p);
	e = leaf(p, EXPR_NAME);
	if (parse_is(p, '(')) {
		e->kind = EXPR_CALL;
		parse_open(p, '(');
		if (!parse_args(p, ')', e, 0))
			return NULL;
		return parse_node(p, e, p->height);
	}
	if (!p->failed && is_header_constant(p, e->name, &value)) {
		e->kind = EXPR_INTEGER;
		e->integer = value;
	}
	return e;
}

static struct expr *parse_block_value(struct parser *p)
{
	struct expr *e = parse_new(p, EXPR_BLOCK, parse_peek(p, 0)->span);

	e->block = parse_block(p, &e->left);
	return parse_node(p, e, p->height);
}

struct expr *parse_primary(struct parser *p)
{
	static const enum expr_kind leaves[] = {
		[TOKEN_INTEGER] = EXPR_INTEGER,	  [TOKEN_STRING] = EXPR_STRING,
		[TOKEN_VARIABLE] = EXPR_VARIABLE, [TOKEN_POSITIONAL] = EXPR_POSITIONAL,
		[TOKEN_COUNT] = EXPR_POSITIONAL,  [TOKEN_MAP] = EXPR_MAP,
	};
	const struct token *t = parse_peek(p, 0);

	if (p->failed)
		return NULL;
	switch (t->kind) {
	case TOKEN_INTEGER:
	case TOKEN_STRING:
	case TOKEN_VARIABLE:
	case TOKEN_POSITIONAL:
	case TOKEN_COUNT:
	case TOKEN_MAP:
		return leaf(p, leaves[t->kind]);
	case TOKEN_NAME:
		return parse_word(p);
	case TOKEN_PUNCT:
		if (t->punct == '(')
			return parse_parens(p);
		if (t->punct == '{')
			return parse_block_value(p);
		break;
	default:
		break;
	}
	parse_unexpected(p, "expression");
	return NULL;
}
