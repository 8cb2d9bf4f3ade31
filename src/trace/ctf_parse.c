/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TSDL -> types, by recursive descent. What a field's length or alternative depends on is looked up
 * while its struct is being read: the names before it, from the innermost struct outwards.
 * References to other scopes stay open for ctf_resolve.c.
 */
#include <stdio.h>

#include "base/hashmap.h"
#include "trace/ctf_lex.h"
#include "trace/ctf_metadata.h"

#define DEPTH_MAX  32
#define FIELDS_MAX 65536

typedef VECTOR(struct ctf_field) field_vector;

struct scope {
	const field_vector *fields;
	const struct scope *outer;
};

struct parser {
	struct ctf_metadata *m;
	struct ctf_lexer lexer;
	struct ctf_token token, next;
	struct hashmap names; /* "uint32_t", "struct x", "enum x", "variant x" -> struct ctf_type */
	struct diag *d;
	const char *file;
	bool failed;
	int depth;
	const struct scope *scope;
	const char
		*declarator; /* the last word of "unsigned int x" when it was read with the type */
};

static void advance(struct parser *p)
{
	p->token = p->next;
	ctf_lex(&p->lexer, &p->next);
}

PRINTF_LIKE(2, 3) static void *fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;
	char message[256];

	if (!p->failed) {
		va_start(ap, fmt);
		vsnprintf(message, sizeof(message), fmt, ap);
		va_end(ap);
		diag_error(p->d, NO_SPAN, "%s:%u: %s", p->file, p->token.line, message);
	}
	p->failed = true;
	return NULL;
}

static bool is_char(const struct parser *p, char c)
{
	return p->token.kind == CTF_TOKEN_CHAR && p->token.c == c;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token.kind == CTF_TOKEN_WORD && str_eq(p->token.text, word);
}

static bool take_char(struct parser *p, char c)
{
	if (!is_char(p, c))
		return false;
	advance(p);
	return true;
}

static bool want_char(struct parser *p, char c)
{
	if (take_char(p, c))
		return true;
	fail(p, "'%c' expected", c);
	return false;
}

static bool take_word(struct parser *p, const char *word)
{
	if (!is_word(p, word))
		return false;
	advance(p);
	return true;
}

/* ---- values: 5, -5, "text", true, clock.monotonic.value ---- */

struct value {
	bool is_number;
	s64 number;
	const char *text;
};

static const char *dotted(struct parser *p)
{
	const char *text = p->token.text;

	if (p->token.kind != CTF_TOKEN_WORD)
		return fail(p, "a name expected");
	advance(p);
	while ((is_char(p, '.') || p->token.kind == CTF_TOKEN_ARROW) &&
	       p->next.kind == CTF_TOKEN_WORD && strlen(text) < 1024) {
		text = arena_printf(&p->m->arena, "%s.%s", text, p->next.text);
		advance(p);
		advance(p);
	}
	return text;
}

static struct value value_parse(struct parser *p)
{
	struct value v = {0};
	const bool minus = take_char(p, '-');

	if (!minus)
		take_char(p, '+');
	if (p->token.kind == CTF_TOKEN_NUMBER) {
		v.is_number = true;
		v.number = (s64)(minus ? 0 - p->token.number : p->token.number);
		advance(p);
	} else if (p->token.kind == CTF_TOKEN_TEXT) {
		v.text = p->token.text;
		advance(p);
	} else {
		v.text = dotted(p);
	}
	return v;
}

static bool truth(struct parser *p, const struct value *v)
{
	if (v->is_number)
		return v->number != 0;
	return v->text && (str_eq(v->text, "true") || str_eq(v->text, "TRUE"));
}

static enum ctf_byte_order order_of(struct parser *p, const struct value *v)
{
	if (v->text && (str_eq(v->text, "be") || str_eq(v->text, "network")))
		return CTF_BIG;
	if (v->text && str_eq(v->text, "le"))
		return CTF_LITTLE;
	if (!v->text || !str_eq(v->text, "native"))
		fail(p, "byte_order is le, be, network or native");
	return CTF_NATIVE;
}

static u32 align_of(struct parser *p, const struct value *v)
{
	if (!v->is_number || v->number < 1 || v->number > 1 << 20 ||
	    (v->number & (v->number - 1))) {
		fail(p, "an alignment is a power of two");
		return 1;
	}
	return (u32)v->number;
}

/* ---- types ---- */

static struct ctf_type *type_parse(struct parser *p, bool declarator_follows);
static struct ctf_type *field_list(struct parser *p, struct ctf_type *t);

static struct ctf_type *new_type(struct parser *p, enum ctf_kind kind)
{
	struct ctf_type *t = arena_new(&p->m->arena, struct ctf_type);

	t->kind = kind;
	t->reference_slot = CTF_NO_SLOT;
	t->align = 1;
	return t;
}

static u8 base_of(struct parser *p, const struct value *v)
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
	fail(p, "unknown base of an integer");
	return 10;
}

/* "clock.NAME.value" */
static const char *clock_of(struct parser *p, const struct value *v)
{
	const size_t n = v->text ? strlen(v->text) : 0;

	if (n < 13 || !str_starts(v->text, "clock.") || !str_eq(v->text + n - 6, ".value"))
		return fail(p, "map wants clock.NAME.value");
	return arena_strndup(&p->m->arena, v->text + 6, n - 12);
}

static bool integer_attribute(struct parser *p, struct ctf_type *t, const char *key,
			      const struct value *v, bool *aligned)
{
	if (str_eq(key, "size")) {
		if (!v->is_number || v->number < 1 || v->number > 64)
			return fail(p, "integers have 1 to 64 bits");
		t->size = (u32)v->number;
	} else if (str_eq(key, "align")) {
		t->align = align_of(p, v);
		*aligned = true;
	} else if (str_eq(key, "signed")) {
		t->is_signed = truth(p, v);
	} else if (str_eq(key, "byte_order")) {
		t->byte_order = order_of(p, v);
	} else if (str_eq(key, "base")) {
		t->base = base_of(p, v);
	} else if (str_eq(key, "encoding")) {
		t->is_text = v->text && !str_eq(v->text, "none");
	} else if (str_eq(key, "map")) {
		t->clock = clock_of(p, v);
	}
	return true;
}

static bool attributes(struct parser *p, struct ctf_type *t, u32 *exponent, u32 *mantissa,
		       bool *aligned)
{
	while (!p->failed && !take_char(p, '}')) {
		const char *key = dotted(p);
		struct value v;

		if (!key || !want_char(p, '='))
			return false;
		v = value_parse(p);
		if (exponent && str_eq(key, "exp_dig"))
			*exponent = v.number > 0 && v.number < 64 ? (u32)v.number : 0;
		else if (mantissa && str_eq(key, "mant_dig"))
			*mantissa = v.number > 0 && v.number < 128 ? (u32)v.number : 0;
		else if (t->kind != CTF_STRING && !integer_attribute(p, t, key, &v, aligned))
			return false;
		take_char(p, ';');
	}
	return !p->failed;
}

static struct ctf_type *integer_parse(struct parser *p)
{
	struct ctf_type *t = new_type(p, CTF_INTEGER);
	bool aligned = false;

	t->base = 10;
	if (!want_char(p, '{') || !attributes(p, t, NULL, NULL, &aligned))
		return NULL;
	if (!t->size)
		return fail(p, "an integer without a size");
	if (!aligned)
		t->align = t->size % 8 ? 1 : 8;
	return t;
}

static struct ctf_type *float_parse(struct parser *p)
{
	struct ctf_type *t = new_type(p, CTF_FLOAT);
	u32 exponent = 0, mantissa = 0;
	bool aligned = false;

	if (!want_char(p, '{') || !attributes(p, t, &exponent, &mantissa, &aligned))
		return NULL;
	t->size = exponent + mantissa;
	if (t->size != 32 && t->size != 64)
		return fail(p, "floating point of %u bits: only 32 and 64 can be read", t->size);
	if (!aligned)
		t->align = 8;
	return t;
}

static struct ctf_type *string_parse(struct parser *p)
{
	struct ctf_type *t = new_type(p, CTF_STRING);
	bool aligned = false;

	t->align = 8;
	if (take_char(p, '{') && !attributes(p, t, NULL, NULL, &aligned))
		return NULL;
	return t;
}

static struct ctf_type *named(struct parser *p, const char *what, const char *name)
{
	char *key = arena_printf(&p->m->arena, "%s%s%s", what, *what ? " " : "", name);
	struct ctf_type *t = hashmap_gets(&p->names, key);

	return t ? t : fail(p, "unknown type '%.200s'", key);
}

static void name_put(struct parser *p, const char *what, const char *name, struct ctf_type *t)
{
	hashmap_puts(&p->names, arena_printf(&p->m->arena, "%s%s%s", what, *what ? " " : "", name),
		     t);
}

static bool mapping_list(struct parser *p, struct ctf_type *t)
{
	VECTOR(struct ctf_mapping) list = {0};
	s64 next = 0;

	while (!p->failed && !is_char(p, '}')) {
		struct ctf_mapping mapping = {.label = p->token.text, .low = next, .high = next};

		if (p->token.kind != CTF_TOKEN_WORD && p->token.kind != CTF_TOKEN_TEXT) {
			fail(p, "a label expected");
			break;
		}
		advance(p);
		if (take_char(p, '=')) {
			mapping.low = mapping.high = value_parse(p).number;
			if (p->token.kind == CTF_TOKEN_DOTS) {
				advance(p);
				mapping.high = value_parse(p).number;
			}
		}
		next = (s64)((u64)mapping.high + 1);
		vector_push(&list, mapping);
		if (!take_char(p, ','))
			break;
	}
	t->count = (u32)list.len;
	t->mappings = arena_memdup(&p->m->arena, list.items, list.len * sizeof(*list.items));
	vector_free(&list);
	return want_char(p, '}');
}

static struct ctf_type *enum_parse(struct parser *p)
{
	struct ctf_type *t = new_type(p, CTF_ENUM);
	const char *name = NULL;

	if (p->token.kind == CTF_TOKEN_WORD) {
		name = p->token.text;
		advance(p);
	}
	if (take_char(p, ':')) {
		t->element = type_parse(p, false);
	} else if (!is_char(p, '{')) {
		return name ? named(p, "enum", name) : fail(p, "an enum without name or labels");
	} else {
		t->element = named(p, "", "int");
	}
	if (!t->element)
		return NULL;
	if (t->element->kind != CTF_INTEGER)
		return fail(p, "the container of an enum is an integer");
	if (!want_char(p, '{') || !mapping_list(p, t))
		return NULL;
	t->align = t->element->align;
	t->size = t->element->size;
	t->is_signed = t->element->is_signed;
	t->base = t->element->base;
	if (name)
		name_put(p, "enum", name, t);
	return t;
}

static struct ctf_type *struct_parse(struct parser *p)
{
	struct ctf_type *t = new_type(p, CTF_STRUCT);
	const char *name = NULL;

	if (p->token.kind == CTF_TOKEN_WORD && !is_word(p, "align")) {
		name = p->token.text;
		advance(p);
	}
	if (!is_char(p, '{'))
		return name ? named(p, "struct", name) : fail(p, "a struct without name or fields");
	if (!field_list(p, t))
		return NULL;
	if (is_word(p, "align") && p->next.kind == CTF_TOKEN_CHAR && p->next.c == '(') {
		struct value v;

		advance(p);
		advance(p);
		v = value_parse(p);
		t->align = MAX(t->align, align_of(p, &v));
		if (!want_char(p, ')'))
			return NULL;
	}
	if (name)
		name_put(p, "struct", name, t);
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

static struct ctf_field *lookup(const struct scope *scope, const char *path)
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
static struct ctf_type *bind(struct parser *p, struct ctf_type *t)
{
	struct ctf_field *f = t->reference ? lookup(p->scope, t->reference) : NULL;
	struct ctf_type *copy;

	if (!f || t->reference_slot != CTF_NO_SLOT)
		return t;
	if (f->type->kind != CTF_INTEGER && f->type->kind != CTF_ENUM)
		return fail(p, "'%.100s' is neither an integer nor an enum", t->reference);
	if (t->kind == CTF_VARIANT && f->type->kind != CTF_ENUM)
		return fail(p, "the tag '%.100s' is not an enum", t->reference);
	copy = arena_memdup(&p->m->arena, t, sizeof(*t));
	if (f->slot == CTF_NO_SLOT)
		f->slot = p->m->nr_slots++;
	copy->reference_slot = f->slot;
	copy->tag = f->type;
	return copy;
}

static struct ctf_type *variant_parse(struct parser *p)
{
	struct ctf_type *t;
	const char *name = NULL, *tag = NULL;

	if (p->token.kind == CTF_TOKEN_WORD) {
		name = p->token.text;
		advance(p);
	}
	if (take_char(p, '<')) {
		tag = dotted(p);
		if (!tag || !want_char(p, '>'))
			return NULL;
	}
	if (is_char(p, '{')) {
		t = new_type(p, CTF_VARIANT);
		if (!field_list(p, t))
			return NULL;
		t->align = 1;
		if (name)
			name_put(p, "variant", name, t);
	} else {
		t = name ? named(p, "variant", name) : fail(p, "a variant without name or options");
	}
	if (!t || !tag)
		return t;
	t = arena_memdup(&p->m->arena, t, sizeof(*t));
	t->reference = tag;
	t->reference_slot = CTF_NO_SLOT;
	return bind(p, t);
}

/* ---- declarations ---- */

static struct ctf_type *words_parse(struct parser *p, bool declarator_follows)
{
	const char *words[8];
	size_t n = 0;
	struct strbuf key = STRBUF_INIT;
	struct ctf_type *t;

	while (p->token.kind == CTF_TOKEN_WORD && n < ARRAY_SIZE(words)) {
		words[n++] = p->token.text;
		advance(p);
	}
	if (declarator_follows && n > 1)
		p->declarator = words[--n];
	if (!n)
		return fail(p, "a type expected");
	for (size_t i = 0; i < n; i++)
		if (!str_eq(words[i], "const"))
			strbuf_addf(&key, "%s%s", key.len ? " " : "", words[i]);
	t = named(p, "", key.data);
	strbuf_release(&key);
	return t;
}

static struct ctf_type *type_parse(struct parser *p, bool declarator_follows)
{
	static const struct {
		const char *word;
		struct ctf_type *(*parse)(struct parser *p);
	} kinds[] = {{"integer", integer_parse}, {"floating_point", float_parse},
		     {"string", string_parse},	 {"enum", enum_parse},
		     {"struct", struct_parse},	 {"variant", variant_parse}};
	struct ctf_type *t = NULL;
	size_t i;

	if (++p->depth > DEPTH_MAX) {
		p->depth--;
		return fail(p, "types are nested too deeply");
	}
	p->declarator = NULL;
	take_word(p, "const");
	for (i = 0; i < ARRAY_SIZE(kinds) && !is_word(p, kinds[i].word); i++)
		;
	if (i < ARRAY_SIZE(kinds)) {
		advance(p);
		t = kinds[i].parse(p);
		p->declarator = NULL;
	} else {
		t = words_parse(p, declarator_follows);
	}
	p->depth--;
	return p->failed ? NULL : t;
}

/* NAME[3][length]: the last brackets are the innermost. */
static struct ctf_type *brackets(struct parser *p, struct ctf_type *element)
{
	struct ctf_type *t;

	if (!take_char(p, '['))
		return element;
	t = new_type(p, CTF_SEQUENCE);
	if (p->token.kind == CTF_TOKEN_NUMBER) {
		t->kind = CTF_ARRAY;
		if (p->token.number > UINT32_MAX)
			return fail(p, "an array that long");
		t->count = (u32)p->token.number;
		advance(p);
	} else {
		t->reference = dotted(p);
	}
	if (p->failed || !want_char(p, ']'))
		return NULL;
	if (++p->depth > DEPTH_MAX)
		return fail(p, "types are nested too deeply");
	t->element = brackets(p, element);
	p->depth--;
	if (!t->element)
		return NULL;
	t->align = t->element->align;
	return t->kind == CTF_SEQUENCE ? bind(p, t) : t;
}

static const char *declarator(struct parser *p)
{
	const char *name = p->declarator;

	p->declarator = NULL;
	if (name)
		return name;
	if (p->token.kind != CTF_TOKEN_WORD)
		return fail(p, "a field's name expected");
	name = p->token.text;
	advance(p);
	return name;
}

static void typealias(struct parser *p)
{
	struct ctf_type *t = type_parse(p, false);
	struct strbuf name = STRBUF_INIT;

	if (t && p->token.kind != CTF_TOKEN_ASSIGN)
		fail(p, "':=' expected");
	advance(p);
	while (!p->failed && p->token.kind == CTF_TOKEN_WORD) {
		strbuf_addf(&name, "%s%s", name.len ? " " : "", p->token.text);
		advance(p);
	}
	if (!p->failed && want_char(p, ';'))
		name_put(p, "", name.data, t);
	strbuf_release(&name);
}

static void typedef_parse(struct parser *p)
{
	struct ctf_type *t = type_parse(p, true);
	const char *name = t ? declarator(p) : NULL;

	t = name ? brackets(p, t) : NULL;
	if (t && want_char(p, ';'))
		name_put(p, "", name, t);
}

/* "{ ... }" of a struct or variant. */
static struct ctf_type *field_list(struct parser *p, struct ctf_type *t)
{
	field_vector fields = {0};
	const struct scope scope = {&fields, p->scope};

	if (!want_char(p, '{'))
		return NULL;
	p->scope = &scope;
	while (!p->failed && !is_char(p, '}')) {
		struct ctf_type *type, *whole;

		if (take_word(p, "typealias")) {
			typealias(p);
			continue;
		}
		if (take_word(p, "typedef")) {
			typedef_parse(p);
			continue;
		}
		type = type_parse(p, true);
		if (!type ||
		    (!p->declarator && take_char(p, ';'))) /* "struct x { ... };" declares only */
			continue;
		do {
			struct ctf_field field = {.name = declarator(p), .slot = CTF_NO_SLOT};

			whole = field.name ? brackets(p, type) : NULL;
			if (whole && whole->reference_slot == CTF_NO_SLOT)
				whole = bind(p, whole);
			if (!whole || fields.len >= FIELDS_MAX) {
				fail(p, "too many fields");
				break;
			}
			field.type = whole;
			field.shown = field.name + (field.name[0] == '_');
			t->align = MAX(t->align, whole->align);
			vector_push(&fields, field);
		} while (take_char(p, ','));
		want_char(p, ';');
	}
	p->scope = scope.outer;
	if (!p->failed) {
		t->count = (u32)fields.len;
		t->fields = arena_memdup(&p->m->arena, fields.items,
					 fields.len * sizeof(*fields.items));
	}
	vector_free(&fields);
	return want_char(p, '}') ? t : NULL;
}

/* ---- blocks ---- */

/* One line of a block: KEY = value or KEY := type. False at the end. */
struct line {
	const char *key;
	struct value value;
	struct ctf_type *type; /* of := */
};

static bool block_line(struct parser *p, struct line *ret)
{
	while (!p->failed && !is_char(p, '}')) {
		if (take_word(p, "typealias")) {
			typealias(p);
		} else if (take_word(p, "typedef")) {
			typedef_parse(p);
		} else if ((is_word(p, "struct") || is_word(p, "enum") || is_word(p, "variant")) &&
			   p->next.kind == CTF_TOKEN_WORD) {
			type_parse(p, false);
			want_char(p, ';');
		} else {
			*ret = (struct line){.key = dotted(p)};
			if (!ret->key)
				return false;
			if (p->token.kind == CTF_TOKEN_ASSIGN) {
				advance(p);
				ret->type = type_parse(p, false);
			} else if (want_char(p, '=')) {
				ret->value = value_parse(p);
			}
			return !p->failed && want_char(p, ';');
		}
	}
	want_char(p, '}');
	take_char(p, ';');
	return false;
}

static bool uuid_parse(const char *text, u8 ret[16])
{
	unsigned int n = 0;

	for (; text && *text && n < 32; text++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, *text | 32);

		if (*text == '-')
			continue;
		if (!digit)
			return false;
		ret[n / 2] = (u8)(ret[n / 2] << 4 | (digit - digits));
		n++;
	}
	return n == 32;
}

static const struct ctf_type *want_struct(struct parser *p, const struct line *line)
{
	if (!line->type || line->type->kind != CTF_STRUCT)
		return fail(p, "%.100s is a struct", line->key);
	return line->type;
}

static void trace_block(struct parser *p)
{
	struct line line;

	while (block_line(p, &line)) {
		if (str_eq(line.key, "minor"))
			p->m->minor = (u32)line.value.number;
		else if (str_eq(line.key, "major") && line.value.number != 1)
			fail(p, "CTF %lld: only CTF 1 can be read", (long long)line.value.number);
		else if (str_eq(line.key, "uuid"))
			p->m->has_uuid = uuid_parse(line.value.text, p->m->uuid);
		else if (str_eq(line.key, "byte_order"))
			p->m->byte_order = order_of(p, &line.value);
		else if (str_eq(line.key, "packet.header"))
			p->m->packet_header = want_struct(p, &line);
	}
}

static void env_block(struct parser *p)
{
	struct line line;

	while (block_line(p, &line)) {
		struct ctf_env env = {.name = line.key,
				      .text = line.value.is_number ? NULL : line.value.text,
				      .number = line.value.number};

		vector_push(&p->m->env, env);
	}
}

static void clock_block(struct parser *p)
{
	struct ctf_clock *clock = arena_new(&p->m->arena, struct ctf_clock);
	struct line line;

	clock->frequency = 1000000000u;
	while (block_line(p, &line)) {
		if (str_eq(line.key, "name"))
			clock->name = line.value.text;
		else if (str_eq(line.key, "freq"))
			clock->frequency = (u64)line.value.number;
		else if (str_eq(line.key, "offset_s"))
			clock->offset_s = (u64)line.value.number;
		else if (str_eq(line.key, "offset"))
			clock->offset = (u64)line.value.number;
		else if (str_eq(line.key, "absolute"))
			clock->absolute = truth(p, &line.value);
		else if (str_eq(line.key, "uuid"))
			clock->has_uuid = uuid_parse(line.value.text, clock->uuid);
	}
	if (!clock->frequency)
		fail(p, "a clock with the frequency 0");
	if (!clock->name)
		clock->name = "";
	vector_push(&p->m->clocks, clock);
}

static void stream_block(struct parser *p)
{
	struct ctf_stream_class *s = arena_new(&p->m->arena, struct ctf_stream_class);
	struct line line;

	vector_push(&p->m->streams, s); /* found by whoever releases it */
	while (block_line(p, &line)) {
		if (str_eq(line.key, "id"))
			s->id = (u64)line.value.number;
		else if (str_eq(line.key, "packet.context"))
			s->packet_context = want_struct(p, &line);
		else if (str_eq(line.key, "event.header"))
			s->event_header = want_struct(p, &line);
		else if (str_eq(line.key, "event.context"))
			s->event_context = want_struct(p, &line);
	}
}

static void event_block(struct parser *p)
{
	struct ctf_event_class *e = arena_new(&p->m->arena, struct ctf_event_class);
	struct line line;

	e->name = "";
	while (block_line(p, &line)) {
		if (str_eq(line.key, "name") && line.value.text)
			e->name = line.value.text;
		else if (str_eq(line.key, "id"))
			e->id = (u64)line.value.number;
		else if (str_eq(line.key, "stream_id"))
			e->stream_id = (u64)line.value.number;
		else if (str_eq(line.key, "loglevel"))
			e->loglevel = line.value.number, e->has_loglevel = true;
		else if (str_eq(line.key, "context"))
			e->context = want_struct(p, &line);
		else if (str_eq(line.key, "fields"))
			e->fields = want_struct(p, &line);
	}
	vector_push(&p->m->all_events, e);
}

static void callsite_block(struct parser *p)
{
	struct line line;

	while (block_line(p, &line))
		;
}

static void top(struct parser *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct parser *p);
	} blocks[] = {{"trace", trace_block}, {"env", env_block},
		      {"clock", clock_block}, {"stream", stream_block},
		      {"event", event_block}, {"callsite", callsite_block}};

	if (take_char(p, ';'))
		return;
	if (take_word(p, "typealias")) {
		typealias(p);
		return;
	}
	if (take_word(p, "typedef")) {
		typedef_parse(p);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		if (!is_word(p, blocks[i].word) || p->next.kind != CTF_TOKEN_CHAR ||
		    p->next.c != '{')
			continue;
		advance(p);
		advance(p);
		blocks[i].parse(p);
		return;
	}
	if (!type_parse(p, false))
		fail(p, "a block or a type expected");
	want_char(p, ';');
}

static struct ctf_metadata *parse_text(const char *name, const char *text, size_t size,
				       struct diag *d)
{
	struct ctf_metadata *m = xzalloc(sizeof(*m));
	struct parser p = {
		.m = m,
		.lexer = {.at = text,
			  .end = text + size,
			  .line = 1,
			  .arena = &m->arena,
			  .scratch = STRBUF_INIT},
		.d = d,
		.file = name,
	};
	struct ctf_type *integer = new_type(&p, CTF_INTEGER);

	/* the container of enums that name none */
	integer->size = 32;
	integer->align = 8;
	integer->is_signed = true;
	integer->base = 10;
	name_put(&p, "", "int", integer);
	ctf_lex(&p.lexer, &p.next);
	advance(&p);
	while (!p.failed && p.token.kind != CTF_TOKEN_END)
		top(&p);
	hashmap_release(&p.names);
	strbuf_release(&p.lexer.scratch);
	if (p.failed || ctf_metadata_resolve(m, d)) {
		ctf_metadata_release(m);
		return NULL;
	}
	return m;
}

/* ---- metadata in packets (CTF 1.8, 7.1) ---- */

#define METADATA_MAGIC	0x75d11d57u
#define METADATA_HEADER 37

static u32 word_of(const u8 *p, bool swap)
{
	u32 word;

	memcpy(&word, p, 4);
	return swap ? __builtin_bswap32(word) : word;
}

static int unpack(const char *data, size_t size, bool swap, struct strbuf *text)
{
	while (size >= METADATA_HEADER) {
		const u8 *h = (const u8 *)data;
		const u64 content = word_of(h + 24, swap) / 8, packet = word_of(h + 28, swap) / 8;

		if (word_of(h, swap) != METADATA_MAGIC || content < METADATA_HEADER ||
		    content > packet || packet > size)
			return -EBADMSG;
		if (h[32] || h[33] || h[34]) /* compression, encryption, checksum */
			return -EOPNOTSUPP;
		strbuf_add(text, data + METADATA_HEADER, content - METADATA_HEADER);
		data += packet;
		size -= packet;
	}
	return size ? -EBADMSG : 0;
}

struct ctf_metadata *ctf_metadata_parse(const char *name, const char *data, size_t size,
					struct diag *d)
{
	const bool packets = size >= 4 && word_of((const u8 *)data, false) == METADATA_MAGIC;
	const bool swapped = size >= 4 && word_of((const u8 *)data, true) == METADATA_MAGIC;
	struct strbuf text = STRBUF_INIT;
	struct ctf_metadata *m;
	int rc;

	if (size && *data == 0x1e) {
		diag_error(d, NO_SPAN, "%s: CTF 2; only CTF 1.8 can be read", name);
		diag_hint(d, "lttng create --trace-format=ctf-1.8");
		return NULL;
	}
	if (!packets && !swapped)
		return parse_text(name, data, size, d);
	rc = unpack(data, size, swapped, &text);
	if (rc)
		diag_error(d, NO_SPAN, "%s: %s", name,
			   rc == -EBADMSG ? "a damaged packet of metadata"
					  : "metadata that is compressed, encrypted or summed");
	m = rc ? NULL : parse_text(name, text.data, text.len, d);
	strbuf_release(&text);
	return m;
}
