/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Constant expressions in definitions: sizes of arrays, widths of bit-fields, values of
 * enumerators.
 */
#include "lang/syntax/cdecl_internal.h"
#include "lang/syntax/constants.h"

static bool constant_name(void *arg, const char *name, s64 *ret)
{
	struct parser *p = arg;
	const s64 *known = hashmap_gets(&p->enumerators, name);

	if (known)
		*ret = *known;
	return known || type_find_enumerator(p->types, name, ret) || constant_find(name, ret);
}

/* `type` in parentheses; NULL if it is none (no error), or after an error. The ')' is consumed. */
const struct type *cdecl_type_in_parens(struct parser *p)
{
	struct c_attributes ignored = {0};
	struct c_declarator d;
	const struct type *base;

	if (!cdecl_begins_type_name(p, 1) || !parse_open(p, '('))
		return NULL;
	base = cdecl_specifier(p, &ignored);
	if (!base)
		return NULL;
	cdecl_declarator(p, base, &d);
	parse_close(p, ')');
	if (!p->failed && d.name)
		parse_error(p, d.span, "syntax error, unexpected '%s' behind a type", d.name);
	return p->failed ? NULL : d.type;
}

/* .a.b of a type: what it is, and where. NULL after an error. */
static const struct type *parse_designator(struct parser *p, const struct type *t, u64 *ret_offset)
{
	*ret_offset = 0;
	do {
		const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of a member");
		const struct type_member *m = NULL;
		u32 offset = 0;

		if (!p->failed && type_is_record(t) && type_complete(p->types, t) == 0)
			m = type_find_member(p->types, t, name.text, &offset);
		if (!m) {
			parse_error(p, name.span, "there is no member '%s'", name.text);
			return NULL;
		}
		*ret_offset += offset;
		t = m->type;
		while (!p->failed && parse_is(p, '[') && t->kind == TYPE_ARRAY) {
			parse_open(p, '[');
			t = t->element;
			*ret_offset += (u64)cdecl_constant(p, "]") * t->size;
			parse_close(p, ']');
		}
	} while (!p->failed && parse_accept(p, '.'));
	return p->failed ? NULL : t;
}

/* ((type *)0)->member in parentheses, as in sizeof. */
const struct type *cdecl_null_member(struct parser *p)
{
	const struct type *t;
	u64 offset;
	u32 parens = 0;

	while (parse_is(p, '(') && !cdecl_begins_type_name(p, 1) && parse_open(p, '('))
		parens++;
	t = cdecl_type_in_parens(p);
	if (!t || t->kind != TYPE_POINTER || parse_peek(p, 0)->kind != TOKEN_INTEGER)
		parse_unexpected(p, "type");
	t = p->failed ? NULL : t->element;
	if (t)
		parse_next(p);
	for (; t && parens > 1; parens--)
		parse_close(p, ')');
	parse_expect(p, PUNCT('-', '>'));
	t = t && !p->failed ? parse_designator(p, t, &offset) : NULL;
	if (t)
		parse_close(p, ')');
	return p->failed ? NULL : t;
}

static bool is_one_of_words(const struct token *t, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cdecl_is_word(t, words[i]))
			return true;
	return false;
}

/* sizeof(type), alignof(type), offsetof(type, member) -> an integer. False: it is none of them. */
static bool read_measure(struct parser *p, struct token_list *out)
{
	static const char *const sizes[] = {"sizeof"},
				 *const aligns[] = {"_Alignof", "__alignof__", "__alignof",
						    "alignof"},
				 *const offsets[] = {"offsetof", "__builtin_offsetof"};
	const struct token word = *parse_peek(p, 0);
	const bool is_size = is_one_of_words(&word, sizes, ARRAY_SIZE(sizes)),
		   is_align = is_one_of_words(&word, aligns, ARRAY_SIZE(aligns)),
		   is_offset = is_one_of_words(&word, offsets, ARRAY_SIZE(offsets));
	struct token t = {.kind = TOKEN_INTEGER, .span = word.span, .text = "sizeof"};
	struct c_attributes ignored = {0};
	const struct type *type;

	if (!is_size && !is_align && !is_offset)
		return false;
	parse_next(p);
	if (is_offset) {
		parse_open(p, '(');
		type = p->failed ? NULL : cdecl_specifier(p, &ignored);
		parse_expect(p, ',');
		if (type)
			parse_designator(p, type, &t.value);
		parse_close(p, ')');
	} else {
		type = cdecl_begins_type_name(p, 1) ? cdecl_type_in_parens(p)
						    : cdecl_null_member(p);
		if (type && cdecl_is_incomplete(p, type))
			parse_error(p, word.span, "the type has no size yet");
		t.value = !type ? 0 : is_align ? type_align(type) : type->size;
	}
	if (!p->failed)
		vector_push(out, t);
	return true;
}

/* (type) before a value, so that the evaluator need not know types. False: it is none. */
static bool read_cast(struct parser *p, struct token_list *out)
{
	struct token t = {.kind = TOKEN_OTHER, .span = parse_peek(p, 0)->span};
	const struct type *type;

	if (!parse_is(p, '(') || !cdecl_begins_type_name(p, 1))
		return false;
	type = cdecl_type_in_parens(p);
	if (!type)
		return true;
	if (!type_is_integer(type) && type->kind != TYPE_POINTER)
		parse_error(p, t.span, "only integers can be in a constant expression");
	t.value = type->kind == TYPE_POINTER ? 8 : type->size;
	t.is_unsigned = type->kind == TYPE_POINTER || !type->is_signed;
	t.len = type_is(type, TYPE_BOOL);
	vector_push(out, t);
	return true;
}

/* Everything up to one of the terminators outside of brackets. */
s64 cdecl_constant(struct parser *p, const char *terminators)
{
	struct token_list tokens = {0};
	const struct span at = parse_peek(p, 0)->span;
	int depth = 0;
	s64 value = 0;

	while (!p->failed) {
		const struct token *t = parse_peek(p, 0);

		if (t->kind == TOKEN_END)
			break;
		if (cdecl_is_word(t, "__extension__")) {
			parse_next(p);
			continue;
		}
		if (read_measure(p, &tokens) || read_cast(p, &tokens))
			continue;
		if (t->kind == TOKEN_PUNCT && t->punct < 0x80) {
			if (!depth && strchr(terminators, (int)t->punct))
				break;
			depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
		}
		vector_push(&tokens, *t);
		parse_next(p);
	}
	if (!p->failed && constant_expression(p->arena, p->diag, tokens.items, tokens.len, at,
					      false, constant_name, p, &value) < 0)
		p->failed = true;
	vector_free(&tokens);
	return value;
}
