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
static bool begins_type_name(struct parser *p, u32 ahead);
static bool is_incomplete(struct parser *p, const struct type *t);
static s64 parse_constant(struct parser *p, const char *terminators);

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

/* The same for braces whose inside does not matter, not even its macros. */
static void skip_body(struct parser *p)
{
	p->pp.is_raw = true;
	skip_brackets(p);
	p->pp.is_raw = false;
}

/* --- constant expressions --- */

static bool constant_name(void *arg, const char *name, s64 *ret)
{
	struct parser *p = arg;
	const s64 *known = hashmap_gets(&p->enumerators, name);

	if (known)
		*ret = *known;
	return known || type_find_enumerator(p->types, name, ret) || constant_find(name, ret);
}

/* `type` in parentheses; NULL if it is none (no error), or after an error. The ')' is consumed. */
static const struct type *parse_type_in_parens(struct parser *p)
{
	struct c_attributes ignored = {0};
	struct declarator d;
	const struct type *base;

	if (!begins_type_name(p, 1) || !parse_open(p, '('))
		return NULL;
	base = parse_specifier(p, &ignored);
	if (!base)
		return NULL;
	parse_declarator(p, base, &d);
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
			*ret_offset += (u64)parse_constant(p, "]") * t->size;
			parse_close(p, ']');
		}
	} while (!p->failed && parse_accept(p, '.'));
	return p->failed ? NULL : t;
}

/* ((type *)0)->member in parentheses, as in sizeof. */
static const struct type *parse_null_member(struct parser *p)
{
	const struct type *t;
	u64 offset;
	u32 parens = 0;

	while (parse_is(p, '(') && !begins_type_name(p, 1) && parse_open(p, '('))
		parens++;
	t = parse_type_in_parens(p);
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
		if (is_word(t, words[i]))
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
		type = p->failed ? NULL : parse_specifier(p, &ignored);
		parse_expect(p, ',');
		if (type)
			parse_designator(p, type, &t.value);
		parse_close(p, ')');
	} else {
		type = begins_type_name(p, 1) ? parse_type_in_parens(p) : parse_null_member(p);
		if (type && is_incomplete(p, type))
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

	if (!parse_is(p, '(') || !begins_type_name(p, 1))
		return false;
	type = parse_type_in_parens(p);
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
		if (is_word(t, "__extension__")) {
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

/* --- attributes --- */

/* mode(DI), mode(__word__): bytes. 0 = none of an integer. */
static u32 mode_size(const char *mode)
{
	static const struct {
		const char *name;
		u32 bytes;
	} modes[] = {{"QI", 1},	 {"HI", 2},   {"SI", 4},   {"DI", 8},
		     {"TI", 16}, {"byte", 1}, {"word", 8}, {"pointer", 8}};
	const size_t n = mode ? strspn(mode, "_") : 0;

	for (size_t i = 0; mode && i < ARRAY_SIZE(modes); i++)
		if (!strncmp(mode + n, modes[i].name, strlen(modes[i].name)) &&
		    strspn(mode + n + strlen(modes[i].name), "_") ==
			    strlen(mode + n + strlen(modes[i].name)))
			return modes[i].bytes;
	return 0;
}

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
		if (align < 1 || align > 65536 || (align & (align - 1)))
			parse_error(p, word.span, "alignment must be a power of two up to 65536");
		a->align = MAX(a->align, (u32)align);
	} else if (str_eq(name, "mode") || str_eq(name, "__mode__")) {
		parse_open(p, '(');
		a->mode = mode_size(parse_expect_kind(p, TOKEN_NAME, "name of a mode").text);
		parse_close(p, ')');
	} else if (str_eq(name, "vector_size") || str_eq(name, "__vector_size__")) {
		parse_error(p, word.span, "vectors are not supported");
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
		if (parse_is_name(p, "_Static_assert")) {
			parse_skip_declaration(p);
			continue;
		}
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

		struct c_attributes ignored = {0};
		s64 *known;

		parse_attributes(p, &ignored);
		if (p->failed)
			break;
		if (parse_accept(p, '='))
			next = parse_constant(p, ",}");
		known = arena_new(p->arena, s64);
		*known = next;
		hashmap_puts(&p->enumerators, name.text, known);
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

static bool is_of_kernel(const struct parser *p, u16 file)
{
	const struct included_file *f = preprocess_included(&p->pp, file);

	return f && f->is_kernel;
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
	if (parse_is(p, '{') && key && is_of_kernel(p, word.span.file)) {
		known = type_named(p->types, key);
		if (known && !is_incomplete(p, known)) { /* BTF has it as this kernel was built */
			skip_body(p);
			parse_attributes(p, &a);
			return known;
		}
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
		if (p->failed && key && hashmap_gets(&p->types->named, key) == t)
			hashmap_puts(&p->types->named, key, NULL); /* not a type without members */
	}
	return t;
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
		if (is_word(t, words[i]))
			return true;
	return false;
}

static bool is_integer_word(const struct token *t)
{
	static const char *const words[] = {"unsigned", "signed",  "long",	 "short",
					    "int",	"char",	   "__signed__", "double",
					    "float",	"__int128"};

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
	t = is_float			    ? NULL
	    : strstr(name.data, "__int128") ? type_int(16, !strstr(name.data, "unsigned"))
					    : type_named(p->types, name.data);
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

/* Types that a compiler knows by itself; NULL = none of them. */
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
	if (begins_type_name(p, 1))
		return parse_type_in_parens(p);
	return parse_null_member(p);
}

static bool is_typeof(const struct token *t)
{
	return is_word(t, "typeof") || is_word(t, "__typeof__") || is_word(t, "__typeof");
}

static bool begins_type_name(struct parser *p, u32 ahead)
{
	const struct token *t = parse_peek(p, ahead);

	if (t->kind != TOKEN_NAME)
		return false;
	return is_ignored_word(t) || is_integer_word(t) || is_typeof(t) || is_word(t, "struct") ||
	       is_word(t, "union") || is_word(t, "enum") || is_word(t, "void") ||
	       type_named(p->types, t->text) || compiler_type(p, t->text);
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
		} else if (is_typeof(word)) {
			t = parse_typeof(p);
			if (!t)
				return NULL;
		} else {
			t = is_word(word, "void") ? type_void() : type_named(p->types, word->text);
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
	const struct token *t = parse_peek(p, 1), *after;

	if (!parse_is(p, '('))
		return false;
	if (t->kind != TOKEN_NAME)
		return t->kind == TOKEN_PUNCT && (t->punct == '*' || t->punct == '(');
	after = parse_peek(p, 2); /* (name) */
	return after->kind == TOKEN_PUNCT && after->punct == ')' && !begins_type_name(p, 1);
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

static void define_typedef(struct parser *p, const struct declarator *d,
			   const struct c_attributes *a)
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
			skip_body(p);
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
	base = parse_specifier(p, &a);
	while (!p->failed && !parse_is(p, ';')) {
		struct declarator d;

		if (!is_typedef && lenient) {
			parse_skip_declaration(p);
			return;
		}
		if (!is_typedef) /* the ';' may be left out */
			break;
		parse_declarator(p, base, &d);
		parse_attributes(p, &a);
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
