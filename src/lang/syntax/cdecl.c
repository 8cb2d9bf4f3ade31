/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions at the head of a script: specifiers and declarators. */
#include "lang/syntax/cdecl_internal.h"

bool cdecl_is_word(const struct token *t, const char *word)
{
	return t->kind == TOKEN_NAME && str_eq(t->text, word);
}

/* Skips to the closing bracket; the current token is the opening one. */
void cdecl_skip_brackets(struct parser *p)
{
	int depth = 0;

	while (!p->failed) {
		const struct token t = parse_next(p);

		if (t.kind == TOKEN_END) {
			parse_error(p, t.span,
				    "syntax error, unexpected end of file, expected ')'");
			return;
		}
		if (t.kind == TOKEN_PUNCT)
			depth += strchr("([{", (int)t.punct) && t.punct < 0x80	 ? 1
				 : strchr(")]}", (int)t.punct) && t.punct < 0x80 ? -1
										 : 0;
		if (depth <= 0)
			return;
	}
}

/* The same for braces whose contents do not matter, macros included. */
void cdecl_skip_body(struct parser *p)
{
	p->pp.is_raw = true;
	cdecl_skip_brackets(p);
	p->pp.is_raw = false;
}

/* --- specifiers --- */

static bool is_ignored_word(const struct token *t)
{
	static const char *const words[] = {
		"const",	"volatile",	   "restrict",	   "__restrict",    "__const",
		"register",	"__user",	   "__kernel",	   "__percpu",	    "__rcu",
		"__iomem",	"__extension__",   "static",	   "extern",	    "inline",
		"__inline",	"__always_inline", "_Atomic",	   "__bitwise",	    "__force",
		"__private",	"__must_check",	   "__restrict__", "__const__",	    "__volatile",
		"__volatile__", "__inline__",	   "_Noreturn",	   "_Thread_local", "__thread"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (cdecl_is_word(t, words[i]))
			return true;
	return false;
}

static bool is_integer_word(const struct token *t)
{
	static const char *const words[] = {"unsigned", "signed",  "long",	 "short",
					    "int",	"char",	   "__signed__", "double",
					    "float",	"__int128"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (cdecl_is_word(t, words[i]))
			return true;
	return false;
}

static const struct type *integer_words(struct parser *p)
{
	struct strbuf name = STRBUF_INIT;
	const struct token first = *parse_peek(p, 0);
	const struct type *t;
	bool is_float = false;
	u32 longs = 0;

	while (!p->failed &&
	       (is_integer_word(parse_peek(p, 0)) || is_ignored_word(parse_peek(p, 0)))) {
		const struct token word = parse_next(p);

		if (is_ignored_word(&word))
			continue;
		longs += cdecl_is_word(&word, "long");
		is_float |= cdecl_is_word(&word, "double") || cdecl_is_word(&word, "float");
		strbuf_addf(&name, name.len ? " %s" : "%s",
			    cdecl_is_word(&word, "__signed__") ? "signed" : word.text);
	}
	t = is_float			    ? NULL
	    : strstr(name.data, "__int128") ? type_int(16, !strstr(name.data, "unsigned"))
					    : type_named(p->types, name.data);
	if (is_float) {
		struct type *f = type_new(p->types, TYPE_FLOAT);

		f->size = f->align = cdecl_is_word(&first, "float") ? 4 : longs ? 16 : 8;
		f->name = arena_strdup(&p->types->arena, name.data);
		f->is_complete = true;
		t = f;
	}
	if (!t)
		parse_error(p, first.span, "unknown type '%s'", name.data);
	strbuf_release(&name);
	return t;
}

static const struct type *new_simple(struct parser *p, enum type_kind kind, const char *name,
				     u32 size, u32 align)
{
	struct type *t = type_new(p->types, kind);

	t->name = name;
	t->size = size;
	t->align = align;
	t->is_complete = true;
	return t;
}

/* Types that are built into compilers; NULL = none of them. */
static const struct type *compiler_type(struct parser *p, const char *name)
{
	static const struct {
		const char *name;
		u32 size;
	} floats[] = {{"_Float32", 4},	 {"_Float64", 8},    {"_Float32x", 8}, {"_Float64x", 16},
		      {"_Float128", 16}, {"__float128", 16}, {"_Float16", 2},  {"__bf16", 2}};

	for (size_t i = 0; i < ARRAY_SIZE(floats); i++)
		if (str_eq(name, floats[i].name))
			return new_simple(p, TYPE_FLOAT, floats[i].name, floats[i].size,
					  floats[i].size);
	if (str_eq(name, "__int128_t") || str_eq(name, "__uint128_t"))
		return type_int(16, name[2] == 'i');
	if (str_eq(name, "__builtin_va_list"))
		return type_array(p->types, type_int(8, false), sizeof(__builtin_va_list) / 8);
	return str_eq(name, "_Bool") ? type_bool() : NULL;
}

/* typeof(type), typeof(((type *)0)->member) */
static const struct type *parse_typeof(struct parser *p)
{
	parse_next(p);
	if (cdecl_begins_type_name(p, 1))
		return cdecl_type_in_parens(p);
	return cdecl_null_member(p);
}

static bool is_typeof(const struct token *t)
{
	return cdecl_is_word(t, "typeof") || cdecl_is_word(t, "__typeof__") ||
	       cdecl_is_word(t, "__typeof");
}

bool cdecl_begins_type_name(struct parser *p, u32 ahead)
{
	const struct token *t = parse_peek(p, ahead);

	if (t->kind != TOKEN_NAME)
		return false;
	return is_ignored_word(t) || is_integer_word(t) || is_typeof(t) ||
	       cdecl_is_word(t, "struct") || cdecl_is_word(t, "union") ||
	       cdecl_is_word(t, "enum") || cdecl_is_word(t, "void") ||
	       type_named(p->types, t->text) || compiler_type(p, t->text);
}

const struct type *cdecl_specifier(struct parser *p, struct c_attributes *attributes)
{
	const struct type *t = NULL;

	while (!p->failed) {
		const struct token *word = parse_peek(p, 0);

		cdecl_attributes(p, attributes);
		word = parse_peek(p, 0);
		if (is_ignored_word(word)) {
			parse_next(p);
			continue;
		}
		if (t)
			break;
		if (word->kind != TOKEN_NAME) {
			parse_unexpected(p, "type name");
		} else if (cdecl_is_word(word, "struct") || cdecl_is_word(word, "union") ||
			   cdecl_is_word(word, "enum")) {
			t = cdecl_tagged(p);
		} else if (is_integer_word(word)) {
			t = integer_words(p);
		} else if (is_typeof(word)) {
			t = parse_typeof(p);
			if (!t)
				return NULL;
		} else {
			t = cdecl_is_word(word, "void") ? type_void()
							: type_named(p->types, word->text);
			t = t ? t : compiler_type(p, word->text);
			if (!t)
				parse_error(p, word->span, "unknown type '%s'", word->text);
			parse_next(p);
		}
	}
	return p->failed ? NULL : t;
}

/* --- declarators --- */

static const struct type *parse_arrays(struct parser *p, const struct type *element)
{
	s64 count = 0;

	if (!parse_is(p, '[') || !parse_enter(p))
		return element;
	parse_open(p, '[');
	if (!parse_is(p, ']'))
		count = cdecl_constant(p, "]");
	parse_close(p, ']');
	if (!p->failed && (count < 0 || (u64)count * MAX(element->size, 1u) > CDECL_MAX_SIZE ||
			   count > CDECL_MAX_SIZE))
		parse_error(p, parse_peek(p, 0)->span, "invalid size of array: %" PRId64, count);
	element = parse_arrays(p, element);
	parse_leave(p);
	if (p->failed)
		return element;
	if (element->kind == TYPE_VOID || (u64)count * element->size > CDECL_MAX_SIZE) {
		parse_error(p, parse_peek(p, 0)->span, "invalid array");
		return element;
	}
	return type_array(p->types, element, (u32)count);
}

static const struct type *function_type(struct parser *p, const struct type *result)
{
	struct type *t = type_new(p->types, TYPE_FUNCTION);

	t->element = result;
	t->is_complete = true;
	return t;
}

static const struct type *parse_suffix(struct parser *p, const struct type *base)
{
	if (parse_is(p, '(')) {
		cdecl_skip_brackets(
			p); /* the parameters: only pointers to functions can be members */
		return function_type(p, base);
	}
	return parse_arrays(p, base);
}

/* A '(' that begins a nested declarator, not parameters. */
static bool is_nested(struct parser *p)
{
	const struct token *t = parse_peek(p, 1), *after;

	if (!parse_is(p, '('))
		return false;
	if (t->kind != TOKEN_NAME)
		return t->kind == TOKEN_PUNCT && (t->punct == '*' || t->punct == '(');
	after = parse_peek(p, 2); /* (name) */
	return after->kind == TOKEN_PUNCT && after->punct == ')' && !cdecl_begins_type_name(p, 1);
}

void cdecl_declarator(struct parser *p, const struct type *base, struct c_declarator *ret)
{
	struct c_attributes ignored = {0};
	size_t inner, after;

	*ret = (struct c_declarator){.type = base, .span = parse_peek(p, 0)->span};
	if (!base || !parse_enter(p))
		return;
	while (!p->failed && (parse_is(p, '*') || is_ignored_word(parse_peek(p, 0)))) {
		if (parse_next(p).kind == TOKEN_PUNCT)
			ret->type = base = type_pointer(p->types, base, SPACE_UNKNOWN);
		cdecl_attributes(p, &ignored);
	}
	if (is_nested(p)) {
		/*
		 * The inner declarator applies to the base with its suffix: parse it again when
		 * that is known.
		 */
		inner = p->at;
		cdecl_skip_brackets(p);
		ret->type = parse_suffix(p, base);
		after = p->at;
		p->at = inner;
		if (parse_open(p, '(')) {
			cdecl_declarator(p, ret->type, ret);
			parse_close(p, ')');
		}
		p->at = p->failed ? p->at : after;
	} else {
		if (parse_peek(p, 0)->kind == TOKEN_NAME &&
		    !cdecl_is_word(parse_peek(p, 0), "__attribute__")) {
			const struct token name = parse_next(p);

			ret->name = arena_strdup(&p->types->arena, name.text);
			ret->span = name.span;
		}
		ret->type = parse_suffix(p, base);
	}
	parse_leave(p);
}

/* --- top level --- */

static void define_typedef(struct parser *p, const struct c_declarator *d,
			   const struct c_attributes *a)
{
	struct type *t;

	if (!d->name) {
		parse_unexpected(p, "name");
		return;
	}
	/* The same type under another name; the original keeps its own. */
	if (type_is_record(d->type) && !d->type->is_complete && !d->type->complete) {
		t = (struct type *)d->type; /* only declared; its definition may follow */
	} else {
		const struct type *is = a->mode && type_is_integer(d->type)
						? type_int(a->mode, d->type->is_signed)
						: d->type;

		t = arena_memdup(&p->types->arena, is, sizeof(*t));
		t->alias = d->name;
		if (a->align)
			t->align = a->align;
	}
	hashmap_puts(&p->types->named, d->name, t);
}

void parse_skip_declaration(struct parser *p)
{
	while (!p->failed) {
		const struct token *t = parse_peek(p, 0);
		const u32 punct = t->kind == TOKEN_PUNCT ? t->punct : 0;

		if (t->kind == TOKEN_END)
			return;
		if (punct == '{') {
			cdecl_skip_body(p);
			parse_accept(p, ';');
			return;
		}
		if (punct == '(' || punct == '[')
			cdecl_skip_brackets(p);
		else
			parse_next(p);
		if (punct == ';')
			return;
	}
}

static bool begins_type(struct parser *p)
{
	return parse_is_name(p, "struct") || parse_is_name(p, "union") || parse_is_name(p, "enum");
}

void parse_c_definition(struct parser *p, bool lenient)
{
	struct c_attributes a = {0};
	const struct span begin = parse_peek(p, 0)->span;
	const struct type *base;
	bool is_typedef;

	while (lenient && parse_accept_name(p, "__extension__"))
		;
	is_typedef = parse_accept_name(p, "typedef");
	if (p->seen_probe) {
		parse_error(p, begin,
			    "syntax error, C definitions must appear before probes and functions");
		return;
	}
	if (!is_typedef && !begins_type(p)) {
		parse_skip_declaration(p);
		return;
	}
	base = cdecl_specifier(p, &a);
	while (!p->failed && !parse_is(p, ';')) {
		struct c_declarator d;

		if (!is_typedef && lenient) {
			parse_skip_declaration(p);
			return;
		}
		if (!is_typedef) /* the ';' may be left out */
			break;
		cdecl_declarator(p, base, &d);
		cdecl_attributes(p, &a);
		if (!p->failed)
			define_typedef(p, &d, &a);
		if (!parse_accept(p, ','))
			break;
	}
	if (is_typedef)
		parse_expect(p, ';');
	else
		parse_accept(p, ';');
}
