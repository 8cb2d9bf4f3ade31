/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct, union and enum with their members, and the attributes of definitions. */
#include "lang/syntax/cdecl_internal.h"

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
			align = cdecl_constant(p, ")");
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
		cdecl_skip_brackets(p);
	}
}

void cdecl_attributes(struct parser *p, struct c_attributes *a)
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
			a->align = MAX(a->align, (u32)cdecl_constant(p, ")"));
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

bool cdecl_is_incomplete(struct parser *p, const struct type *t)
{
	if (t->kind == TYPE_VOID || t->kind == TYPE_FUNCTION)
		return true;
	return type_is_record(t) && !t->is_complete &&
	       (!t->complete || type_complete(p->types, t) < 0);
}

static void parse_member_declarator(struct parser *p, const struct type *base,
				    const struct c_attributes *before, struct c_member *ret)
{
	struct c_declarator d = {.type = base, .span = parse_peek(p, 0)->span};

	*ret = (struct c_member){.bits = UINT32_MAX, .attributes = *before, .span = d.span};
	if (!parse_is(p, ':') && !parse_is(p, ';'))
		cdecl_declarator(p, base, &d);
	ret->m.name = d.name;
	ret->m.type = d.type;
	if (parse_accept(p, ':')) {
		const s64 bits = cdecl_constant(p, ";,}");

		ret->bits = (u32)bits;
		if (!p->failed && (!type_is_integer(d.type) || bits < 0 ||
				   bits > (s64)d.type->size * 8 || (!bits && d.name)))
			parse_error(p, d.span, "invalid bit-field: %" PRId64 " bits", bits);
	}
	cdecl_attributes(p, &ret->attributes);
	if (!p->failed && ret->bits == UINT32_MAX && cdecl_is_incomplete(p, d.type))
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
		base = cdecl_specifier(p, &before);
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

static void define_record(struct parser *p, struct type *t, const char *key, struct c_attributes *a)
{
	member_list members = {0};

	if (parse_enter(p)) {
		parse_open(p, '{');
		parse_members(p, &members);
		parse_close(p, '}');
		parse_leave(p);
	}
	cdecl_attributes(p, a);
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

		cdecl_attributes(p, &ignored);
		if (p->failed)
			break;
		if (parse_accept(p, '='))
			next = cdecl_constant(p, ",}");
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
const struct type *cdecl_tagged(struct parser *p)
{
	const struct token word = parse_next(p);
	const enum type_kind kind = cdecl_is_word(&word, "struct")  ? TYPE_STRUCT
				    : cdecl_is_word(&word, "union") ? TYPE_UNION
								    : TYPE_ENUM;
	struct c_attributes a = {0};
	const char *tag = NULL, *key = NULL;
	const struct type *known;
	struct type *t;

	cdecl_attributes(p, &a);
	if (parse_peek(p, 0)->kind == TOKEN_NAME) {
		tag = parse_next(p).text;
		key = arena_printf(&p->types->arena, "%s %s", word.text, tag);
		cdecl_attributes(p, &a);
	}
	if (parse_is(p, '{') && key && is_of_kernel(p, word.span.file)) {
		known = type_named(p->types, key);
		if (known &&
		    !cdecl_is_incomplete(p, known)) { /* BTF has it as this kernel was built */
			cdecl_skip_body(p);
			cdecl_attributes(p, &a);
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
		cdecl_attributes(p, &a);
	} else {
		if (key && !hashmap_gets(&p->types->named, key))
			hashmap_puts(&p->types->named, key, t); /* for pointers to itself */
		define_record(p, t, key, &a);
		if (p->failed && key && hashmap_gets(&p->types->named, key) == t)
			hashmap_puts(&p->types->named, key, NULL); /* not a type without members */
	}
	return t;
}
