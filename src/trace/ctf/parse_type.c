/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types and declarations of TSDL. What a field's length or alternative depends on is looked up
 * while its struct is being read: the names before it, from the innermost struct outwards.
 * References to other scopes stay open for trace/ctf/resolve.c.
 */
#include "trace/ctf/parse.h"

#define DEPTH_MAX  32
#define FIELDS_MAX 65536

typedef VECTOR(struct ctf_field) tsdl_fields;

struct tsdl_scope {
	const tsdl_fields *fields;
	const struct tsdl_scope *outer;
};

static struct ctf_type *field_list(struct tsdl_parser *p, struct ctf_type *t);

struct ctf_type *tsdl_new_type(struct tsdl_parser *p, enum ctf_kind kind)
{
	struct ctf_type *t = arena_new(&p->m->arena, struct ctf_type);

	t->kind = kind;
	t->reference_slot = CTF_NO_SLOT;
	t->align = 1;
	return t;
}

static u8 base_of(struct tsdl_parser *p, const struct tsdl_value *v)
{
	static const struct {
		const char *name;
		u8 base;
	} names[] = {{"decimal", 10},	  {"dec", 10}, {"d", 10}, {"i", 10},	 {"u", 10},
		     {"hexadecimal", 16}, {"hex", 16}, {"x", 16}, {"X", 16},	 {"p", 16},
		     {"octal", 8},	  {"oct", 8},  {"o", 8},  {"binary", 2}, {"b", 2}};

	if (v->is_number &&
	    (v->number == 2 || v->number == 8 || v->number == 10 || v->number == 16))
		return (u8)v->number;
	for (size_t i = 0; v->text && i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i].name, v->text))
			return names[i].base;
	tsdl_fail(p, "unknown base of an integer");
	return 10;
}

/* "clock.NAME.value" */
static const char *clock_of(struct tsdl_parser *p, const struct tsdl_value *v)
{
	const size_t n = v->text ? strlen(v->text) : 0;

	if (n < 13 || !str_starts(v->text, "clock.") || !str_eq(v->text + n - 6, ".value"))
		return tsdl_fail(p, "map wants clock.NAME.value");
	return arena_strndup(&p->m->arena, v->text + 6, n - 12);
}

static bool integer_attribute(struct tsdl_parser *p, struct ctf_type *t, const char *key,
			      const struct tsdl_value *v, bool *aligned)
{
	if (str_eq(key, "size")) {
		if (!v->is_number || v->number < 1 || v->number > 64)
			return tsdl_fail(p, "integers have 1 to 64 bits");
		t->size = (u32)v->number;
	} else if (str_eq(key, "align")) {
		t->align = tsdl_align(p, v);
		*aligned = true;
	} else if (str_eq(key, "signed")) {
		t->is_signed = tsdl_truth(p, v);
	} else if (str_eq(key, "byte_order")) {
		t->byte_order = tsdl_order(p, v);
	} else if (str_eq(key, "base")) {
		t->base = base_of(p, v);
	} else if (str_eq(key, "encoding")) {
		t->is_text = v->text && !str_eq(v->text, "none");
	} else if (str_eq(key, "map")) {
		t->clock = clock_of(p, v);
	}
	return true;
}

static bool attributes(struct tsdl_parser *p, struct ctf_type *t, u32 *exponent, u32 *mantissa,
		       bool *aligned)
{
	while (!p->failed && !tsdl_take_char(p, '}')) {
		const char *key = tsdl_dotted(p);
		struct tsdl_value v;

		if (!key || !tsdl_want_char(p, '='))
			return false;
		v = tsdl_value(p);
		if (exponent && str_eq(key, "exp_dig"))
			*exponent = v.number > 0 && v.number < 64 ? (u32)v.number : 0;
		else if (mantissa && str_eq(key, "mant_dig"))
			*mantissa = v.number > 0 && v.number < 128 ? (u32)v.number : 0;
		else if (t->kind != CTF_STRING && !integer_attribute(p, t, key, &v, aligned))
			return false;
		tsdl_take_char(p, ';');
	}
	return !p->failed;
}

static struct ctf_type *integer_parse(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_INTEGER);
	bool aligned = false;

	t->base = 10;
	if (!tsdl_want_char(p, '{') || !attributes(p, t, NULL, NULL, &aligned))
		return NULL;
	if (!t->size)
		return tsdl_fail(p, "an integer without a size");
	if (!aligned)
		t->align = t->size % 8 ? 1 : 8;
	return t;
}

static struct ctf_type *float_parse(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_FLOAT);
	u32 exponent = 0, mantissa = 0;
	bool aligned = false;

	if (!tsdl_want_char(p, '{') || !attributes(p, t, &exponent, &mantissa, &aligned))
		return NULL;
	t->size = exponent + mantissa;
	if (t->size != 32 && t->size != 64)
		return tsdl_fail(p, "floating point of %u bits: only 32 and 64 can be read",
				 t->size);
	if (!aligned)
		t->align = 8;
	return t;
}

static struct ctf_type *string_parse(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_STRING);
	bool aligned = false;

	t->align = 8;
	if (tsdl_take_char(p, '{') && !attributes(p, t, NULL, NULL, &aligned))
		return NULL;
	return t;
}

static struct ctf_type *named(struct tsdl_parser *p, const char *what, const char *name)
{
	char *key = arena_printf(&p->m->arena, "%s%s%s", what, *what ? " " : "", name);
	struct ctf_type *t = hashmap_gets(&p->names, key);

	return t ? t : tsdl_fail(p, "unknown type '%.200s'", key);
}

void tsdl_name_put(struct tsdl_parser *p, const char *what, const char *name, struct ctf_type *t)
{
	hashmap_puts(&p->names, arena_printf(&p->m->arena, "%s%s%s", what, *what ? " " : "", name),
		     t);
}

static bool mapping_list(struct tsdl_parser *p, struct ctf_type *t)
{
	VECTOR(struct ctf_mapping) list = {0};
	s64 next = 0;

	while (!p->failed && !tsdl_is_char(p, '}')) {
		struct ctf_mapping mapping = {.label = p->token.text, .low = next, .high = next};

		if (p->token.kind != CTF_TOKEN_WORD && p->token.kind != CTF_TOKEN_TEXT) {
			tsdl_fail(p, "a label expected");
			break;
		}
		tsdl_advance(p);
		if (tsdl_take_char(p, '=')) {
			mapping.low = mapping.high = tsdl_value(p).number;
			if (p->token.kind == CTF_TOKEN_DOTS) {
				tsdl_advance(p);
				mapping.high = tsdl_value(p).number;
			}
		}
		next = (s64)((u64)mapping.high + 1);
		vector_push(&list, mapping);
		if (!tsdl_take_char(p, ','))
			break;
	}
	t->count = (u32)list.len;
	t->mappings = arena_memdup(&p->m->arena, list.items, list.len * sizeof(*list.items));
	vector_free(&list);
	return tsdl_want_char(p, '}');
}

static struct ctf_type *enum_parse(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_ENUM);
	const char *name = NULL;

	if (p->token.kind == CTF_TOKEN_WORD) {
		name = p->token.text;
		tsdl_advance(p);
	}
	if (tsdl_take_char(p, ':')) {
		t->element = tsdl_type(p, false);
	} else if (!tsdl_is_char(p, '{')) {
		return name ? named(p, "enum", name)
			    : tsdl_fail(p, "an enum without name or labels");
	} else {
		t->element = named(p, "", "int");
	}
	if (!t->element)
		return NULL;
	if (t->element->kind != CTF_INTEGER)
		return tsdl_fail(p, "the container of an enum is an integer");
	if (!tsdl_want_char(p, '{') || !mapping_list(p, t))
		return NULL;
	t->align = t->element->align;
	t->size = t->element->size;
	t->is_signed = t->element->is_signed;
	t->base = t->element->base;
	if (name)
		tsdl_name_put(p, "enum", name, t);
	return t;
}

static struct ctf_type *struct_parse(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_STRUCT);
	const char *name = NULL;

	if (p->token.kind == CTF_TOKEN_WORD && !tsdl_is_word(p, "align")) {
		name = p->token.text;
		tsdl_advance(p);
	}
	if (!tsdl_is_char(p, '{'))
		return name ? named(p, "struct", name)
			    : tsdl_fail(p, "a struct without name or fields");
	if (!field_list(p, t))
		return NULL;
	if (tsdl_is_word(p, "align") && p->next.kind == CTF_TOKEN_CHAR && p->next.c == '(') {
		struct tsdl_value v;

		tsdl_advance(p);
		tsdl_advance(p);
		v = tsdl_value(p);
		t->align = MAX(t->align, tsdl_align(p, &v));
		if (!tsdl_want_char(p, ')'))
			return NULL;
	}
	if (name)
		tsdl_name_put(p, "struct", name, t);
	return t;
}

/* ---- what lengths and tags refer to ---- */

static struct ctf_field *field_named(struct ctf_field *fields, size_t count, const char *name,
				     size_t n)
{
	while (count--)
		if (!strncmp(fields[count].name, name, n) && !fields[count].name[n])
			return &fields[count];
	return NULL;
}

static struct ctf_field *lookup(const struct tsdl_scope *scope, const char *path)
{
	for (; scope; scope = scope->outer) {
		size_t n = strcspn(path, ".");
		struct ctf_field *f =
			field_named(scope->fields->items, scope->fields->len, path, n);
		const char *rest = path;

		while (f && rest[n]) {
			rest += n + 1;
			n = strcspn(rest, ".");
			f = f->type->kind == CTF_STRUCT
				    ? field_named(f->type->fields, f->type->count, rest, n)
				    : NULL;
		}
		if (f)
			return f;
	}
	return NULL;
}

/* With the reference bound if the field is in sight; the fields of a struct move while it is read,
 * so that slots are given to fields here and now. */
static struct ctf_type *bind(struct tsdl_parser *p, struct ctf_type *t)
{
	struct ctf_field *f = t->reference ? lookup(p->scope, t->reference) : NULL;
	struct ctf_type *copy;

	if (!f || t->reference_slot != CTF_NO_SLOT)
		return t;
	if (f->type->kind != CTF_INTEGER && f->type->kind != CTF_ENUM)
		return tsdl_fail(p, "'%.100s' is neither an integer nor an enum", t->reference);
	if (t->kind == CTF_VARIANT && f->type->kind != CTF_ENUM)
		return tsdl_fail(p, "the tag '%.100s' is not an enum", t->reference);
	copy = arena_memdup(&p->m->arena, t, sizeof(*t));
	if (f->slot == CTF_NO_SLOT)
		f->slot = p->m->nr_slots++;
	copy->reference_slot = f->slot;
	copy->tag = f->type;
	return copy;
}

static struct ctf_type *variant_parse(struct tsdl_parser *p)
{
	struct ctf_type *t;
	const char *name = NULL, *tag = NULL;

	if (p->token.kind == CTF_TOKEN_WORD) {
		name = p->token.text;
		tsdl_advance(p);
	}
	if (tsdl_take_char(p, '<')) {
		tag = tsdl_dotted(p);
		if (!tag || !tsdl_want_char(p, '>'))
			return NULL;
	}
	if (tsdl_is_char(p, '{')) {
		t = tsdl_new_type(p, CTF_VARIANT);
		if (!field_list(p, t))
			return NULL;
		t->align = 1;
		if (name)
			tsdl_name_put(p, "variant", name, t);
	} else {
		t = name ? named(p, "variant", name)
			 : tsdl_fail(p, "a variant without name or options");
	}
	if (!t || !tag)
		return t;
	t = arena_memdup(&p->m->arena, t, sizeof(*t));
	t->reference = tag;
	t->reference_slot = CTF_NO_SLOT;
	return bind(p, t);
}

/* ---- declarations ---- */

static struct ctf_type *words_parse(struct tsdl_parser *p, bool declarator_follows)
{
	const char *words[8];
	size_t n = 0;
	struct strbuf key = STRBUF_INIT;
	struct ctf_type *t;

	while (p->token.kind == CTF_TOKEN_WORD && n < ARRAY_SIZE(words)) {
		words[n++] = p->token.text;
		tsdl_advance(p);
	}
	if (declarator_follows && n > 1)
		p->declarator = words[--n];
	if (!n)
		return tsdl_fail(p, "a type expected");
	for (size_t i = 0; i < n; i++)
		if (!str_eq(words[i], "const"))
			strbuf_addf(&key, "%s%s", key.len ? " " : "", words[i]);
	t = named(p, "", key.data);
	strbuf_release(&key);
	return t;
}

struct ctf_type *tsdl_type(struct tsdl_parser *p, bool declarator_follows)
{
	static const struct {
		const char *word;
		struct ctf_type *(*parse)(struct tsdl_parser *p);
	} kinds[] = {{"integer", integer_parse}, {"floating_point", float_parse},
		     {"string", string_parse},	 {"enum", enum_parse},
		     {"struct", struct_parse},	 {"variant", variant_parse}};
	struct ctf_type *t = NULL;
	size_t i;

	if (++p->depth > DEPTH_MAX) {
		p->depth--;
		return tsdl_fail(p, "types are nested too deeply");
	}
	p->declarator = NULL;
	tsdl_take_word(p, "const");
	for (i = 0; i < ARRAY_SIZE(kinds) && !tsdl_is_word(p, kinds[i].word); i++)
		;
	if (i < ARRAY_SIZE(kinds)) {
		tsdl_advance(p);
		t = kinds[i].parse(p);
		p->declarator = NULL;
	} else {
		t = words_parse(p, declarator_follows);
	}
	p->depth--;
	return p->failed ? NULL : t;
}

/* NAME[3][length]: the last brackets are the innermost. */
static struct ctf_type *brackets(struct tsdl_parser *p, struct ctf_type *element)
{
	struct ctf_type *t;

	if (!tsdl_take_char(p, '['))
		return element;
	t = tsdl_new_type(p, CTF_SEQUENCE);
	if (p->token.kind == CTF_TOKEN_NUMBER) {
		t->kind = CTF_ARRAY;
		if (p->token.number > UINT32_MAX)
			return tsdl_fail(p, "an array that long");
		t->count = (u32)p->token.number;
		tsdl_advance(p);
	} else {
		t->reference = tsdl_dotted(p);
	}
	if (p->failed || !tsdl_want_char(p, ']'))
		return NULL;
	if (++p->depth > DEPTH_MAX)
		return tsdl_fail(p, "types are nested too deeply");
	t->element = brackets(p, element);
	p->depth--;
	if (!t->element)
		return NULL;
	t->align = t->element->align;
	return t->kind == CTF_SEQUENCE ? bind(p, t) : t;
}

static const char *declarator(struct tsdl_parser *p)
{
	const char *name = p->declarator;

	p->declarator = NULL;
	if (name)
		return name;
	if (p->token.kind != CTF_TOKEN_WORD)
		return tsdl_fail(p, "a field's name expected");
	name = p->token.text;
	tsdl_advance(p);
	return name;
}

void tsdl_typealias(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_type(p, false);
	struct strbuf name = STRBUF_INIT;

	if (t && p->token.kind != CTF_TOKEN_ASSIGN)
		tsdl_fail(p, "':=' expected");
	tsdl_advance(p);
	while (!p->failed && p->token.kind == CTF_TOKEN_WORD) {
		strbuf_addf(&name, "%s%s", name.len ? " " : "", p->token.text);
		tsdl_advance(p);
	}
	if (!p->failed && tsdl_want_char(p, ';'))
		tsdl_name_put(p, "", name.data, t);
	strbuf_release(&name);
}

void tsdl_typedef(struct tsdl_parser *p)
{
	struct ctf_type *t = tsdl_type(p, true);
	const char *name = t ? declarator(p) : NULL;

	t = name ? brackets(p, t) : NULL;
	if (t && tsdl_want_char(p, ';'))
		tsdl_name_put(p, "", name, t);
}

/* "{ ... }" of a struct or variant. */
static struct ctf_type *field_list(struct tsdl_parser *p, struct ctf_type *t)
{
	tsdl_fields fields = {0};
	const struct tsdl_scope scope = {&fields, p->scope};

	if (!tsdl_want_char(p, '{'))
		return NULL;
	p->scope = &scope;
	while (!p->failed && !tsdl_is_char(p, '}')) {
		struct ctf_type *type, *whole;

		if (tsdl_take_word(p, "typealias")) {
			tsdl_typealias(p);
			continue;
		}
		if (tsdl_take_word(p, "typedef")) {
			tsdl_typedef(p);
			continue;
		}
		type = tsdl_type(p, true);
		if (!type || (!p->declarator &&
			      tsdl_take_char(p, ';'))) /* "struct x { ... };" declares only */
			continue;
		do {
			struct ctf_field field = {.name = declarator(p), .slot = CTF_NO_SLOT};

			whole = field.name ? brackets(p, type) : NULL;
			if (whole && whole->reference_slot == CTF_NO_SLOT)
				whole = bind(p, whole);
			if (!whole || fields.len >= FIELDS_MAX) {
				tsdl_fail(p, "too many fields");
				break;
			}
			field.type = whole;
			field.shown = field.name + (field.name[0] == '_');
			t->align = MAX(t->align, whole->align);
			vector_push(&fields, field);
		} while (tsdl_take_char(p, ','));
		tsdl_want_char(p, ';');
	}
	p->scope = scope.outer;
	if (!p->failed) {
		t->count = (u32)fields.len;
		t->fields = arena_memdup(&p->m->arena, fields.items,
					 fields.len * sizeof(*fields.items));
	}
	vector_free(&fields);
	return tsdl_want_char(p, '}') ? t : NULL;
}
