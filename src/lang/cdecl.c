/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/cdecl.h"

#include "lang/constants.h"

/* A declarator: its name and what it makes of the base type. */
struct declarator {
	const char *name;
	const struct type *type;
	struct span span;
};

static const struct type *parse_specifier(struct parser *p, struct c_attributes *attributes);
static void parse_declarator(struct parser *p, const struct type *base, struct declarator *ret);

static bool is_word(const struct token *t, const char *word)
{
	return t->kind == TOKEN_NAME && str_eq(t->text, word);
}

/* To the end of brackets; the current token is the opening one. */
static void skip_brackets(struct parser *p)
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

/* --- constant expressions --- */

static bool constant_name(void *arg, const char *name, s64 *ret)
{
	struct parser *p = arg;

	return type_find_enumerator(p->types, name, ret) || constant_find(name, ret);
}

/* sizeof(type) -> an integer, so that the evaluator need not know types. */
static bool read_sizeof(struct parser *p, struct token_list *out)
{
	const struct token word = parse_next(p);
	struct c_attributes ignored = {0};
	struct declarator d;
	const struct type *base;
	struct token t = {.kind = TOKEN_INTEGER, .span = word.span, .text = "sizeof"};

	if (!parse_open(p, '('))
		return false;
	base = parse_specifier(p, &ignored);
	if (!base)
		return false;
	parse_declarator(p, base, &d);
	if (!parse_close(p, ')'))
		return false;
	t.value = d.type->size;
	vector_push(out, t);
	return true;
}

/* Everything up to one of the terminators outside of brackets. */
static s64 parse_constant(struct parser *p, const char *terminators)
{
	struct token_list tokens = {0};
	const struct span at = parse_peek(p, 0)->span;
	int depth = 0;
	s64 value = 0;

	while (!p->failed) {
		const struct token *t = parse_peek(p, 0);

		if (t->kind == TOKEN_END)
			break;
		if (t->kind == TOKEN_PUNCT && t->punct < 0x80) {
			if (!depth && strchr(terminators, (int)t->punct))
				break;
			depth += t->punct == '(' ? 1 : t->punct == ')' ? -1 : 0;
		}
		if (is_word(t, "sizeof")) {
			read_sizeof(p, &tokens);
			continue;
		}
		vector_push(&tokens, *t);
		parse_next(p);
	}
	if (!p->failed && constant_expression(p->arena, p->diag, tokens.items, tokens.len, at,
					      constant_name, p, &value) < 0)
		p->failed = true;
	vector_free(&tokens);
	return value;
}

/* --- attributes --- */

static void parse_attribute(struct parser *p, struct c_attributes *a)
{
	const struct token word = parse_expect_kind(p, TOKEN_NAME, "name of an attribute");
	const char *name = word.kind == TOKEN_NAME ? word.text : "";

	if (str_eq(name, "packed") || str_eq(name, "__packed__")) {
		a->is_packed = true;
	} else if (str_eq(name, "aligned") || str_eq(name, "__aligned__")) {
		s64 align = 16; /* the largest that the ABI knows */

		if (parse_is(p, '(')) {
			parse_open(p, '(');
			align = parse_constant(p, ")");
			parse_close(p, ')');
		}
		if (align < 1 || align > 4096 || (align & (align - 1)))
			parse_error(p, word.span, "alignment must be a power of two up to 4096");
		a->align = MAX(a->align, (u32)align);
	} else if (parse_is(p, '(')) {
		skip_brackets(p);
	}
}

static void parse_attributes(struct parser *p, struct c_attributes *a)
{
	while (!p->failed) {
		if (parse_accept_name(p, "__packed")) {
			a->is_packed = true;
		} else if (parse_accept_name(p, "__attribute__") ||
			   parse_accept_name(p, "__attribute")) {
			if (!parse_open(p, '(') || !parse_open(p, '('))
				return;
			while (!p->failed && !parse_is(p, ')')) {
				if (!parse_accept(p, ','))
					parse_attribute(p, a);
			}
			parse_close(p, ')');
			parse_close(p, ')');
		} else if (parse_accept_name(p, "_Alignas") || parse_accept_name(p, "alignas")) {
			if (!parse_open(p, '('))
				return;
			a->align = MAX(a->align, (u32)parse_constant(p, ")"));
			parse_close(p, ')');
		} else {
			return;
		}
	}
}

/* --- struct, union, enum --- */

static struct type *script_type(struct parser *p, enum type_kind kind, const char *key,
				const char *tag)
{
	struct type *t = key ? hashmap_gets(&p->types->named, key) : NULL;

	/* What the cache has from elsewhere stays as it is: the script's definition is another
	 * type. */
	if (t && t->kind == kind && !t->is_complete && !t->complete)
		return t;
	t = type_new(p->types, kind);
	t->name = tag ? arena_strdup(&p->types->arena, tag) : NULL;
	return t;
}

static bool is_incomplete(struct parser *p, const struct type *t)
{
	if (t->kind == TYPE_VOID || t->kind == TYPE_FUNCTION)
		return true;
	return type_is_record(t) && !t->is_complete &&
	       (!t->complete || type_complete(p->types, t) < 0);
}

static void parse_member_declarator(struct parser *p, const struct type *base,
				    const struct c_attributes *before, struct c_member *ret)
{
	struct declarator d = {.type = base, .span = parse_peek(p, 0)->span};

	*ret = (struct c_member){.bits = UINT32_MAX, .attributes = *before, .span = d.span};
	if (!parse_is(p, ':') && !parse_is(p, ';'))
		parse_declarator(p, base, &d);
	ret->m.name = d.name;
	ret->m.type = d.type;
	if (parse_accept(p, ':')) {
		const s64 bits = parse_constant(p, ";,}");

		ret->bits = (u32)bits;
		if (!p->failed && (!type_is_integer(d.type) || bits < 0 ||
				   bits > (s64)d.type->size * 8 || (!bits && d.name)))
			parse_error(p, d.span, "invalid bit-field: %" PRId64 " bits", bits);
	}
	parse_attributes(p, &ret->attributes);
	if (!p->failed && ret->bits == UINT32_MAX && is_incomplete(p, d.type))
		parse_error(p, d.span, "member '%s' has an incomplete type", d.name ? d.name : "");
}

/* Is this member declaration without a name an anonymous struct or union? */
static bool is_anonymous(const struct c_member *m)
{
	return !m->m.name && m->bits == UINT32_MAX &&
	       (m->m.type->kind == TYPE_STRUCT || m->m.type->kind == TYPE_UNION) &&
	       !m->m.type->name;
}

typedef VECTOR(struct c_member) member_list;

static bool name_is_taken(const member_list *members, const char *name)
{
	for (size_t i = 0; name && i < members->len; i++)
		if (members->items[i].m.name && str_eq(members->items[i].m.name, name))
			return true;
	return false;
}

static void parse_members(struct parser *p, member_list *members)
{
	while (!p->failed && !parse_is(p, '}')) {
		struct c_attributes before = {0};
		const struct type *base;

		if (parse_accept(p, ';'))
			continue;
		base = parse_specifier(p, &before);
		if (!base)
			return;
		do {
			struct c_member m;

			parse_member_declarator(p, base, &before, &m);
			if (p->failed)
				return;
			if (!m.m.name && m.bits == UINT32_MAX && !is_anonymous(&m))
				break; /* `struct x { ... };` within another declares the tag only
					*/
			if (name_is_taken(members, m.m.name))
				parse_error(p, m.span, "duplicate member '%s'", m.m.name);
			vector_push(members, m);
		} while (parse_accept(p, ','));
		if (!parse_is(p, '}')) /* clang lets the last ';' be left out */
			parse_expect(p, ';');
	}
}

static void define_record(struct parser *p, struct type *t, const char *key, struct span at,
			  struct c_attributes *a)
{
	member_list members = {0};

	if (parse_enter(p)) {
		parse_open(p, '{');
		parse_members(p, &members);
		parse_close(p, '}');
		parse_leave(p);
	}
	parse_attributes(p, a);
	if (!p->failed && cdecl_layout(p, t, members.items, (u32)members.len, a) == 0 && key)
		hashmap_puts(&p->types->named, key, t);
	vector_free(&members);
}

static void define_enum(struct parser *p, struct type *t)
{
	VECTOR(struct type_enumerator) list = {0};
	s64 next = 0, low = 0, high = 0;

	parse_open(p, '{');
	while (!p->failed && !parse_is(p, '}')) {
		const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of an enumerator");

		if (p->failed)
			break;
		if (parse_accept(p, '='))
			next = parse_constant(p, ",}");
		vector_push(&list, (struct type_enumerator){
					   arena_strdup(&p->types->arena, name.text), next});
		low = MIN(low, next);
		high = MAX(high, next);
		next = (s64)((u64)next + 1);
		/* Known to the expressions that follow in the same enum. */
		t->enumerators = list.items;
		t->count = (u32)list.len;
		t->is_complete = true;
		if (!parse_accept(p, ','))
			break;
	}
	parse_close(p, '}');
	t->enumerators = list.len ? arena_memdup(&p->types->arena, list.items,
						 list.len * sizeof(*list.items))
				  : NULL;
	t->count = (u32)list.len;
	t->is_complete = true;
	t->is_signed = low < 0;
	t->size = low < INT32_MIN || high > (low < 0 ? (s64)INT32_MAX : (s64)UINT32_MAX) ? 8 : 4;
	t->align = t->size;
	vector_free(&list);
}

/* struct|union|enum [attributes] [tag] [{ ... }] [attributes] */
static const struct type *parse_tagged(struct parser *p)
{
	const struct token word = parse_next(p);
	const enum type_kind kind = is_word(&word, "struct")  ? TYPE_STRUCT
				    : is_word(&word, "union") ? TYPE_UNION
							      : TYPE_ENUM;
	struct c_attributes a = {0};
	const char *tag = NULL, *key = NULL;
	const struct type *known;
	struct type *t;

	parse_attributes(p, &a);
	if (parse_peek(p, 0)->kind == TOKEN_NAME) {
		tag = parse_next(p).text;
		key = arena_printf(&p->types->arena, "%s %s", word.text, tag);
		parse_attributes(p, &a);
	}
	if (!parse_is(p, '{')) {
		if (!tag) {
			parse_unexpected(p, "'{'");
			return NULL;
		}
		known = type_named(p->types, key);
		if (known)
			return known;
		t = script_type(p, kind, key, tag); /* a forward declaration */
		if (kind == TYPE_ENUM)
			t->size = t->align = 4;
		hashmap_puts(&p->types->named, key, t);
		return t;
	}
	if (key && hashmap_gets(&p->defined, key))
		parse_error(p, word.span, "redefinition of '%s'", key);
	if (key)
		hashmap_puts(&p->defined, key, p);
	t = script_type(p, kind, key, tag);
	if (kind == TYPE_ENUM) {
		/* In the store from the start: enumerators may refer to those before them. */
		hashmap_puts(&p->types->named,
			     key ? key
				 : arena_printf(&p->types->arena, "enum #%u.%u", word.span.file,
						word.span.begin),
			     t);
		define_enum(p, t);
		parse_attributes(p, &a);
	} else {
		if (key && !hashmap_gets(&p->types->named, key))
			hashmap_puts(&p->types->named, key, t); /* for pointers to itself */
		define_record(p, t, key, word.span, &a);
	}
	return t;
}

/* --- specifiers --- */

static bool is_ignored_word(const struct token *t)
{
	static const char *const words[] = {
		"const",     "volatile",	"restrict", "__restrict", "__const",
		"register",  "__user",		"__kernel", "__percpu",	  "__rcu",
		"__iomem",   "__extension__",	"static",   "extern",	  "inline",
		"__inline",  "__always_inline", "_Atomic",  "__bitwise",  "__force",
		"__private", "__must_check"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word(t, words[i]))
			return true;
	return false;
}

static bool is_integer_word(const struct token *t)
{
	static const char *const words[] = {"unsigned", "signed",     "long",	"short", "int",
					    "char",	"__signed__", "double", "float"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word(t, words[i]))
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
		longs += is_word(&word, "long");
		is_float |= is_word(&word, "double") || is_word(&word, "float");
		strbuf_addf(&name, name.len ? " %s" : "%s",
			    is_word(&word, "__signed__") ? "signed" : word.text);
	}
	t = is_float ? NULL : type_named(p->types, name.data);
	if (is_float) {
		struct type *f = type_new(p->types, TYPE_FLOAT);

		f->size = f->align = is_word(&first, "float") ? 4 : longs ? 16 : 8;
		f->name = arena_strdup(&p->types->arena, name.data);
		f->is_complete = true;
		t = f;
	}
	if (!t)
		parse_error(p, first.span, "unknown type '%s'", name.data);
	strbuf_release(&name);
	return t;
}

static const struct type *parse_specifier(struct parser *p, struct c_attributes *attributes)
{
	const struct type *t = NULL;

	while (!p->failed) {
		const struct token *word = parse_peek(p, 0);

		parse_attributes(p, attributes);
		word = parse_peek(p, 0);
		if (is_ignored_word(word)) {
			parse_next(p);
			continue;
		}
		if (t)
			break;
		if (word->kind != TOKEN_NAME) {
			parse_unexpected(p, "type name");
		} else if (is_word(word, "struct") || is_word(word, "union") ||
			   is_word(word, "enum")) {
			t = parse_tagged(p);
		} else if (is_integer_word(word)) {
			t = integer_words(p);
		} else {
			t = is_word(word, "void") ? type_void() : type_named(p->types, word->text);
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
		count = parse_constant(p, "]");
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
		skip_brackets(p); /* the parameters: only pointers to functions can be members */
		return function_type(p, base);
	}
	return parse_arrays(p, base);
}

/* A '(' that begins a nested declarator, not parameters. */
static bool is_nested(struct parser *p)
{
	const struct token *t = parse_peek(p, 1);

	return parse_is(p, '(') && t->kind == TOKEN_PUNCT && (t->punct == '*' || t->punct == '(');
}

static void parse_declarator(struct parser *p, const struct type *base, struct declarator *ret)
{
	struct c_attributes ignored = {0};
	size_t inner, after;

	*ret = (struct declarator){.type = base, .span = parse_peek(p, 0)->span};
	if (!base || !parse_enter(p))
		return;
	while (!p->failed && (parse_is(p, '*') || is_ignored_word(parse_peek(p, 0)))) {
		if (parse_next(p).kind == TOKEN_PUNCT)
			ret->type = base = type_pointer(p->types, base, SPACE_UNKNOWN);
		parse_attributes(p, &ignored);
	}
	if (is_nested(p)) {
		/* The inside applies to what the suffix makes of the base: read it again when that
		 * is known. */
		inner = p->at;
		skip_brackets(p);
		ret->type = parse_suffix(p, base);
		after = p->at;
		p->at = inner;
		if (parse_open(p, '(')) {
			parse_declarator(p, ret->type, ret);
			parse_close(p, ')');
		}
		p->at = p->failed ? p->at : after;
	} else {
		if (parse_peek(p, 0)->kind == TOKEN_NAME &&
		    !is_word(parse_peek(p, 0), "__attribute__")) {
			const struct token name = parse_next(p);

			ret->name = arena_strdup(&p->types->arena, name.text);
			ret->span = name.span;
		}
		ret->type = parse_suffix(p, base);
	}
	parse_leave(p);
}

/* --- top level --- */

static void define_typedef(struct parser *p, const struct declarator *d)
{
	struct type *t;

	if (!d->name) {
		parse_unexpected(p, "name");
		return;
	}
	/* The same type under another name; the original keeps its own. */
	if (type_is_record(d->type) && !d->type->is_complete && !d->type->complete) {
		t = (struct type *)d->type; /* declared only: its definition may follow */
	} else {
		t = arena_memdup(&p->types->arena, d->type, sizeof(*t));
		t->alias = d->name;
	}
	hashmap_puts(&p->types->named, d->name, t);
}

/* Functions and variables of a header: to the ';' or over the body. */
static void skip_declaration(struct parser *p)
{
	while (!p->failed) {
		const struct token *t = parse_peek(p, 0);
		const u32 punct = t->kind == TOKEN_PUNCT ? t->punct : 0;

		if (t->kind == TOKEN_END)
			return;
		if (punct == '{') {
			skip_brackets(p);
			parse_accept(p, ';');
			return;
		}
		if (punct == '(' || punct == '[')
			skip_brackets(p);
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
	const bool is_typedef = parse_accept_name(p, "typedef");
	const struct type *base;

	if (p->seen_probe) {
		parse_error(p, begin,
			    "syntax error, C definitions must appear before probes and functions");
		return;
	}
	if (!is_typedef && !begins_type(p)) {
		skip_declaration(p);
		return;
	}
	base = parse_specifier(p, &a);
	while (!p->failed && !parse_is(p, ';')) {
		struct declarator d;

		if (!is_typedef && lenient) {
			skip_declaration(p);
			return;
		}
		if (!is_typedef) /* the ';' may be left out */
			break;
		parse_declarator(p, base, &d);
		parse_attributes(p, &a);
		if (!p->failed)
			define_typedef(p, &d);
		if (!parse_accept(p, ','))
			break;
	}
	if (is_typedef)
		parse_expect(p, ';');
	else
		parse_accept(p, ';');
}
