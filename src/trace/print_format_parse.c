/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a print format are C as the preprocessor left it: casts, conditionals,
 * arithmetic, statement expressions of min() and max(). Recursive descent over the text; no token
 * list.
 */
#include <ctype.h>
#include <stdio.h>

#include "trace/print_format_internal.h"

#define MAX_DEPTH 256
#define MAX_NODES 20000
/* Steps to evaluate one argument: a local variable that is used twice is computed twice. */
#define MAX_STEPS 100000

static const struct pf_type type_s32 = {.value = PF_NUMBER, .size = 4, .is_signed = true};
static const struct pf_type type_u64 = {.value = PF_NUMBER, .size = 8, .is_signed = false};

void pf_refuse(struct pf_parser *p, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (p->refused)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->refused = arena_strdup(p->arena, text);
}

struct pf_node *pf_new(struct pf_parser *p, u8 kind, struct pf_type type)
{
	struct pf_node *n = arena_new(p->arena, struct pf_node);

	if (++p->nodes > MAX_NODES)
		pf_refuse(p, "too long");
	n->kind = kind;
	n->type = type;
	return n;
}

/* ---- tokens ---- */

static void skip_blanks(struct pf_parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

bool pf_accept(struct pf_parser *p, const char *token)
{
	const size_t len = strlen(token);

	skip_blanks(p);
	if (strncmp(p->at, token, len))
		return false;
	p->at += len;
	return true;
}

bool pf_expect(struct pf_parser *p, const char *token)
{
	if (pf_accept(p, token))
		return true;
	pf_refuse(p, "'%s' expected before '%.20s'", token, p->at);
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t pf_word(struct pf_parser *p, const char **ret)
{
	size_t len = 0;

	skip_blanks(p);
	*ret = p->at;
	if (isdigit((unsigned char)*p->at))
		return 0;
	while (is_word(p->at[len]))
		len++;
	p->at += len;
	return len;
}

static bool word_is(const char *w, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(w, name, len);
}

static char escape_of(struct pf_parser *p)
{
	static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v\0";
	const char c = *p->at++;
	const char *found;

	if (c == 'x') {
		char *end;
		const char v = (char)strtoul(p->at, &end, 16);

		p->at = end;
		return v;
	}
	if (c >= '0' && c <= '7') {
		unsigned int v = 0;

		p->at--;
		for (int i = 0; i < 3 && *p->at >= '0' && *p->at <= '7'; i++)
			v = v * 8 + (unsigned int)(*p->at++ - '0');
		return (char)v;
	}
	if (!c) {
		p->at--;
		return '\\';
	}
	found = strchr(from, c);
	return found ? to[found - from] : c;
}

char *pf_parse_string(struct pf_parser *p, u32 *ret_len)
{
	char *out;
	u32 len = 0;

	skip_blanks(p);
	if (*p->at != '"')
		return NULL;
	out = arena_alloc(p->arena, strlen(p->at) + 1);
	while (*p->at == '"') {
		p->at++;
		while (*p->at && *p->at != '"') {
			char c = *p->at++;

			if (c == '\\')
				c = escape_of(p);
			out[len++] = c;
		}
		if (!*p->at) {
			pf_refuse(p, "a string does not end");
			break;
		}
		p->at++;
		skip_blanks(p);
	}
	out[len] = '\0';
	*ret_len = len;
	return out;
}

static struct pf_node *number(struct pf_parser *p)
{
	struct pf_type t = type_s32;
	bool decimal, is_unsigned = false, is_long = false;
	struct pf_node *n;
	char *end;
	u64 v;

	decimal = p->at[0] != '0';
	v = strtoull(p->at, &end, 0);
	for (; *end && strchr("uUlL", *end); end++) {
		is_unsigned |= *end == 'u' || *end == 'U';
		is_long |= *end == 'l' || *end == 'L';
	}
	p->at = end;
	/* C11 6.4.4.1: the first type that holds it. */
	if (is_long || v > UINT32_MAX || (v > INT32_MAX && decimal && !is_unsigned))
		t.size = 8;
	t.is_signed = !is_unsigned && v <= (t.size == 8 ? (u64)INT64_MAX : (u64)INT32_MAX);
	n = pf_new(p, PF_CONST, t);
	n->number = v;
	return n;
}

static struct pf_node *character(struct pf_parser *p)
{
	struct pf_node *n = pf_new(p, PF_CONST, type_s32);
	char c = *++p->at;

	p->at += c != 0;
	if (c == '\\')
		c = escape_of(p);
	n->number = (u64)(s64)c;
	pf_expect(p, "'");
	return n;
}

/* ---- types ---- */

static const struct {
	const char *name;
	u8 size;
	bool is_signed;
} named_types[] = {
	{"u8", 1, false},
	{"u16", 2, false},
	{"u32", 4, false},
	{"u64", 8, false},
	{"s8", 1, true},
	{"s16", 2, true},
	{"s32", 4, true},
	{"s64", 8, true},
	{"__u8", 1, false},
	{"__u16", 2, false},
	{"__u32", 4, false},
	{"__u64", 8, false},
	{"__s8", 1, true},
	{"__s16", 2, true},
	{"__s32", 4, true},
	{"__s64", 8, true},
	{"__le16", 2, false},
	{"__le32", 4, false},
	{"__le64", 8, false},
	{"__be16", 2, false},
	{"__be32", 4, false},
	{"__be64", 8, false},
	{"uint8_t", 1, false},
	{"uint16_t", 2, false},
	{"uint32_t", 4, false},
	{"uint64_t", 8, false},
	{"int8_t", 1, true},
	{"int16_t", 2, true},
	{"int32_t", 4, true},
	{"int64_t", 8, true},
	{"size_t", 8, false},
	{"ssize_t", 8, true},
	{"uintptr_t", 8, false},
	{"pid_t", 4, true},
	{"dev_t", 4, false},
	{"loff_t", 8, true},
	{"sector_t", 8, false},
	{"bool", 1, false},
	{"_Bool", 1, false},
	{"gfp_t", 4, false},
	{"umode_t", 2, false},
	{"ino_t", 8, false},
	{"phys_addr_t", 8, false},
	{"dma_addr_t", 8, false},
	{"resource_size_t", 8, false},
	{"blk_opf_t", 4, false},
	{"ktime_t", 8, true},
	{"off_t", 8, true},
	{"uid_t", 4, false},
	{"gid_t", 4, false},
	{"uint", 4, false},
	{"ulong", 8, false},
	{"isolate_mode_t", 4, false},
	{"time64_t", 8, true},
	{"blk_status_t", 1, false},
	{"vm_fault_t", 4, false},
	{"unchar", 1, false},
};

/* What was seen of a type so far. */
struct specifiers {
	bool any, is_unsigned, is_signed, is_char, is_short, is_void;
	u8 longs;
	struct pf_type named;
	bool has_named;
	const struct type *record;
};

static void type_of_store(const struct type *t, struct specifiers *s)
{
	s->any = s->has_named = true;
	if (type_is_record(t)) {
		s->record = t;
		return;
	}
	s->named = (struct pf_type){
		.value = PF_NUMBER, .size = (u8)MIN(t->size, 8u), .is_signed = t->is_signed};
	if (t->kind == TYPE_POINTER)
		s->named.is_pointer = true;
}

static bool tagged_type(struct pf_parser *p, const char *keyword, struct specifiers *s)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	char spelled[160];
	const struct type *t;

	if (!len || snprintf(spelled, sizeof(spelled), "%s %.*s", keyword, (int)len, w) >=
			    (int)sizeof(spelled))
		return false;
	t = type_named(p->store, spelled);
	s->any = s->has_named = true;
	s->named = (struct pf_type){.value = PF_NUMBER, .size = 4, .is_signed = false};
	if (t && t->size)
		type_of_store(t, s);
	else if (keyword[0] != 'e')
		s->is_void = true; /* only pointers to it can be used */
	return true;
}

static bool typedef_name(struct pf_parser *p, const char *w, size_t len, struct specifiers *s)
{
	const struct type *t;
	char *name;

	for (size_t i = 0; i < ARRAY_SIZE(named_types); i++)
		if (word_is(w, len, named_types[i].name)) {
			s->any = s->has_named = true;
			s->named = (struct pf_type){.value = PF_NUMBER,
						    .size = named_types[i].size,
						    .is_signed = named_types[i].is_signed};
			return true;
		}
	if (len < 3 || memcmp(w + len - 2, "_t", 2))
		return false;
	name = xstrndup(w, len);
	t = type_named(p->store, name);
	free(name);
	if (!t || !t->size || (!type_is_record(t) && !type_is_scalar(t)))
		return false;
	type_of_store(t, s);
	return true;
}

/* One word of a type; false: it is something else. */
static bool type_word(struct pf_parser *p, const char *w, size_t len, struct specifiers *s)
{
	static const char *const ignored[] = {"const",	   "volatile", "__user",     "__force",
					      "__bitwise", "register", "__restrict", "__iomem",
					      "static",	   "__rcu",    "__private"};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (word_is(w, len, ignored[i]))
			return true;
	if (word_is(w, len, "unsigned"))
		return s->any = s->is_unsigned = true;
	if (word_is(w, len, "signed") || word_is(w, len, "int"))
		return s->any = s->is_signed = true;
	if (word_is(w, len, "char"))
		return s->any = s->is_char = true;
	if (word_is(w, len, "short"))
		return s->any = s->is_short = true;
	if (word_is(w, len, "void"))
		return s->any = s->is_void = true;
	if (word_is(w, len, "long")) {
		s->longs++;
		return s->any = true;
	}
	if (word_is(w, len, "struct"))
		return tagged_type(p, "struct", s);
	if (word_is(w, len, "union"))
		return tagged_type(p, "union", s);
	if (word_is(w, len, "enum"))
		return tagged_type(p, "enum", s);
	return !s->any && typedef_name(p, w, len, s);
}

static struct pf_type base_of(const struct specifiers *s)
{
	struct pf_type t = {.value = PF_NUMBER, .size = 4, .is_signed = !s->is_unsigned};

	if (s->has_named)
		t = s->named;
	else if (s->is_char)
		t.size = 1;
	else if (s->is_short)
		t.size = 2;
	else if (s->longs)
		t.size = 8;
	return t;
}

/* Reads a type name ("const struct foo *"). False, with nothing read, if there is none. */
static bool parse_type(struct pf_parser *p, struct pf_type *ret)
{
	struct specifiers s = {0};
	const char *const start = p->at, *before, *w;
	struct pf_type t;
	u32 stars = 0;
	size_t len;

	for (;;) {
		skip_blanks(p);
		before = p->at;
		len = pf_word(p, &w);
		if (!len || !type_word(p, w, len, &s))
			break;
	}
	p->at = before;
	if (!s.any) {
		p->at = start;
		return false;
	}
	while (pf_accept(p, "*") || pf_accept(p, "const ") || pf_accept(p, "const*"))
		stars += p->at[-1] == '*';
	t = base_of(&s);
	if (stars == 1) {
		t = (struct pf_type){.value = PF_NUMBER,
				     .size = 8,
				     .is_pointer = true,
				     .element_size = s.is_void && !s.has_named ? 1 : (u8)t.size,
				     .element_signed = t.is_signed,
				     .element = s.record};
		if (s.record || (s.is_void && s.has_named))
			t.element_size = 0;
	} else if (stars) {
		t = (struct pf_type){
			.value = PF_NUMBER, .size = 8, .is_pointer = true, .element_size = 8};
	} else {
		t.element = s.record;
	}
	*ret = t;
	return true;
}

/* ---- fields ---- */

static struct pf_type element_type(const struct type *t)
{
	struct pf_type r = {.value = PF_BYTES, .size = 8};

	if (type_is_record(t)) {
		r.element = t;
	} else {
		r.element_size = t->size <= 8 ? (u8)t->size : 0;
		r.element_signed = t->is_signed;
	}
	return r;
}

struct pf_node *pf_field_node(struct pf_parser *p, const struct type_member *m)
{
	const struct type *t = m->type;
	struct pf_node *n;
	u32 end = m->offset + (m->is_data_loc ? 4 : t->size);

	/* Arguments of system calls are whole registers, whatever the type of the parameter. */
	if (p->is_syscall && m->offset >= 16 && !m->is_data_loc && type_is_scalar(t)) {
		n = pf_new(p, PF_LOAD, pf_integer(8, false));
		n->offset = m->offset;
		p->fixed_end = MAX(p->fixed_end, m->offset + 8);
		return n;
	}
	if (m->is_data_loc || m->is_rel_loc) {
		struct pf_type type = element_type(t->kind == TYPE_ARRAY ? t->element : t);

		n = pf_new(p, m->is_rel_loc ? PF_RELATIVE : PF_DYNAMIC, type);
		end = m->offset + 4;
	} else if (t->kind == TYPE_ARRAY) {
		n = pf_new(p, PF_PLACE, element_type(t->element));
		n->bytes = t->size;
	} else if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8) {
		n = pf_new(p, PF_PLACE, element_type(t));
		n->bytes = t->size;
	} else if (type_is_record(t)) {
		/* Small structs (sockaddr-like ids): a place, and a number where one is wanted. */
		n = pf_new(p, PF_PLACE, element_type(t));
		n->bytes = t->size;
	} else {
		n = pf_new(p, PF_LOAD,
			   (struct pf_type){.value = PF_NUMBER,
					    .size = (u8)t->size,
					    .is_signed = t->is_signed});
		if (t->kind == TYPE_POINTER) {
			n->type.is_pointer = true;
			n->type.is_signed = false;
			n->type.element_size = t->element && t->element->kind == TYPE_INT
						       ? (u8)t->element->size
						       : 0;
			n->type.element =
				t->element && type_is_record(t->element) ? t->element : NULL;
		}
	}
	n->offset = m->offset;
	p->fixed_end = MAX(p->fixed_end, end);
	return n;
}

const struct type_member *pf_member(struct pf_parser *p, const char *name, size_t len)
{
	static const char prefix[] = "__data_loc_";

	for (u32 i = 0; i < p->record->count; i++)
		if (word_is(name, len, p->record->members[i].name))
			return &p->record->members[i];
	if (len > sizeof(prefix) && !memcmp(name, prefix, sizeof(prefix) - 1))
		return pf_member(p, name + sizeof(prefix) - 1, len - (sizeof(prefix) - 1));
	return NULL;
}

/* "->name" behind REC was read up to the name. */
static struct pf_node *record_field(struct pf_parser *p)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type_member *m = len ? pf_member(p, w, len) : NULL;
	struct pf_node *n;

	if (!m) {
		pf_refuse(p, "no field '%.*s'", (int)len, w);
		return NULL;
	}
	if (len > 11 && !memcmp(w, "__data_loc_", 11)) { /* the descriptor itself */
		n = pf_new(p, PF_LOAD, pf_integer(4, false));
		n->offset = m->offset;
		p->fixed_end = MAX(p->fixed_end, m->offset + 4);
		return n;
	}
	return pf_field_node(p, m);
}

/* A member of a struct that lies in the record. */
static struct pf_node *struct_member(struct pf_parser *p, struct pf_node *base)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type_member *m;
	struct pf_node *n, *place;
	char *name;
	u32 offset;

	if (!len || base->type.value != PF_BYTES || !base->type.element) {
		pf_refuse(p, "member '%.*s' of something outside of the record", (int)len, w);
		return NULL;
	}
	name = xstrndup(w, len);
	m = type_find_member(p->store, base->type.element, name, &offset);
	free(name);
	if (!m || m->bit_size) {
		pf_refuse(p, "no member '%.*s'", (int)len, w);
		return NULL;
	}
	place = pf_new(p, PF_ADVANCE,
		       element_type(m->type->kind == TYPE_ARRAY ? m->type->element : m->type));
	place->a = base;
	place->number = 1; /* bytes a step */
	place->b = pf_new(p, PF_CONST, type_u64);
	place->b->number = offset;
	if (m->type->kind == TYPE_ARRAY || type_is_record(m->type))
		return place;
	n = pf_new(p, PF_ELEMENT,
		   (struct pf_type){.value = PF_NUMBER,
				    .size = (u8)m->type->size,
				    .is_signed = m->type->is_signed});
	n->a = place;
	return n;
}

/* ---- expressions ---- */

static struct pf_node *index_node(struct pf_parser *p, struct pf_node *base, struct pf_node *index)
{
	struct pf_node *n;

	if (!base || !index)
		return NULL;
	if (base->type.value != PF_BYTES || !base->type.element_size) {
		pf_refuse(p, "an index into something outside of the record");
		return NULL;
	}
	n = pf_new(p, PF_ELEMENT,
		   (struct pf_type){.value = PF_NUMBER,
				    .size = base->type.element_size,
				    .is_signed = base->type.element_signed});
	if (base->kind == PF_PLACE && base->bytes != UINT32_MAX && index->kind == PF_CONST &&
	    index->number < base->bytes / n->type.size) {
		n->kind = PF_LOAD;
		n->offset = base->offset + (u32)index->number * n->type.size;
		return n;
	}
	n->a = base;
	n->b = index;
	return n;
}

static struct pf_node *local_value(struct pf_parser *p, const char *w, size_t len)
{
	for (struct pf_local *l = p->locals; l; l = l->next)
		if (l->len == len && !memcmp(l->name, w, len))
			return l->value;
	return NULL;
}

static struct pf_node *identifier(struct pf_parser *p)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type *t = NULL;
	struct pf_node *n;
	char *name;
	s64 value;

	if (!len) {
		pf_refuse(p, "not understood: '%.20s'", p->at);
		return NULL;
	}
	if (word_is(w, len, "REC")) {
		n = pf_new(p, PF_PLACE,
			   (struct pf_type){.value = PF_BYTES,
					    .size = 8,
					    .element_size = 1,
					    .element = p->record});
		n->bytes = UINT32_MAX;
		return n;
	}
	n = local_value(p, w, len);
	if (n)
		return n;
	skip_blanks(p);
	if (*p->at == '(') {
		p->at++;
		return pf_parse_call(p, w, len);
	}
	if (word_is(w, len, "NULL") || word_is(w, len, "false") || word_is(w, len, "true")) {
		n = pf_new(p, PF_CONST, type_s32);
		n->number = w[0] == 't';
		return n;
	}
	name = xstrndup(w, len);
	if (p->store->lookup_enumerator)
		t = p->store->lookup_enumerator(p->store, name, &value);
	free(name);
	if (t) {
		n = pf_new(p, PF_CONST,
			   (struct pf_type){.value = PF_NUMBER,
					    .size = (u8)MAX(t->size, 4u),
					    .is_signed = value < 0 || value <= INT32_MAX});
		n->number = (u64)value;
		return n;
	}
	n = pf_new(p, PF_VARIABLE, type_u64);
	n->type.unknown = true;
	n->text = w;
	n->text_len = (u32)len;
	return n;
}

/* "({ int x = (a); int y = (b); x < y ? x : y; })": min() and max(). "({" was read. */
static struct pf_node *statements(struct pf_parser *p)
{
	struct pf_local *outer = p->locals;
	struct pf_node *n = NULL;

	while (!p->refused && !pf_accept(p, "}")) {
		struct pf_type t;
		const char *w;
		size_t len;

		if (!parse_type(p, &t)) {
			n = pf_parse_expression(p);
			pf_expect(p, ";");
			continue;
		}
		len = pf_word(p, &w);
		if (!len || !pf_expect(p, "="))
			return NULL;
		n = pf_parse_expression(p);
		if (!n || !pf_expect(p, ";"))
			return NULL;
		if (n->type.value == PF_NUMBER && t.value == PF_NUMBER) {
			struct pf_node *cast = pf_new(p, PF_CAST, t);

			cast->a = n;
			n = cast;
		}
		p->locals = arena_memdup(p->arena, &(struct pf_local){p->locals, w, len, n},
					 sizeof(struct pf_local));
	}
	p->locals = outer;
	return pf_expect(p, ")") ? n : NULL;
}

static struct pf_node *primary(struct pf_parser *p)
{
	struct pf_node *n;

	skip_blanks(p);
	if (*p->at == '(') {
		p->at++;
		if (pf_accept(p, "{"))
			return statements(p);
		n = pf_parse_expression(p);
		return n && pf_expect(p, ")") ? n : NULL;
	}
	if (*p->at == '"') {
		n = pf_new(p, PF_LITERAL, (struct pf_type){.value = PF_TEXT, .size = 8});
		n->text = pf_parse_string(p, &n->text_len);
		return n;
	}
	if (*p->at == '\'')
		return character(p);
	if (isdigit((unsigned char)*p->at))
		return number(p);
	return identifier(p);
}

static struct pf_node *postfix(struct pf_parser *p)
{
	struct pf_node *n = primary(p);

	while (n && !p->refused) {
		if (pf_accept(p, "[")) {
			struct pf_node *index = pf_parse_expression(p);

			n = index && pf_expect(p, "]") ? index_node(p, n, index) : NULL;
		} else if (pf_accept(p, "->")) {
			n = n->kind == PF_PLACE && n->bytes == UINT32_MAX ? record_field(p)
									  : struct_member(p, n);
		} else if (*p->at == '.' && is_word(p->at[1]) &&
			   !isdigit((unsigned char)p->at[1])) {
			p->at++;
			n = struct_member(p, n);
		} else {
			break;
		}
	}
	return n;
}

static struct pf_node *unary(struct pf_parser *p);

/* "(type)" was read: what follows as that type. */
static struct pf_node *cast_to(struct pf_parser *p, struct pf_type t, struct pf_node *a)
{
	struct pf_node *n;

	if (!a)
		return NULL;
	if (a->type.value == PF_TEXT)
		return a;
	if (a->type.value == PF_BYTES) {
		if (!t.is_pointer) {
			/* (unsigned long)array: its address is not in the record. */
			pf_refuse(p, "an address of the kernel's buffer as a number");
			return NULL;
		}
		n = arena_memdup(p->arena, a, sizeof(*a));
		n->type.element_size = t.element_size;
		n->type.element_signed = t.element_signed;
		n->type.element = t.element;
		return n;
	}
	n = pf_new(p, PF_CAST, t);
	n->type.unknown = a->type.unknown;
	n->a = a;
	return n;
}

static struct pf_node *size_of(struct pf_parser *p)
{
	struct pf_node *n = pf_new(p, PF_CONST, type_u64), *a;
	const bool paren = pf_accept(p, "(");
	struct pf_type t;

	if (paren && parse_type(p, &t)) {
		n->number = t.element && !t.is_pointer ? t.element->size : t.size;
		if (!n->number)
			pf_refuse(p, "sizeof of an unknown type");
	} else {
		a = paren ? pf_parse_expression(p) : unary(p);
		if (!a)
			return NULL;
		n->number = a->kind == PF_PLACE	    ? a->bytes
			    : a->kind == PF_LITERAL ? a->text_len + 1
						    : a->type.size;
	}
	return !paren || pf_expect(p, ")") ? n : NULL;
}

/* sizeof(REC->array[0]) needs no value, *x of the record is an element. */
static struct pf_node *address_or_deref(struct pf_parser *p, char op)
{
	struct pf_node *a = unary(p), *n, *zero;

	if (!a)
		return NULL;
	if (op == '*') {
		zero = pf_new(p, PF_CONST, type_s32);
		return index_node(p, a, zero);
	}
	if (a->kind == PF_PLACE || a->type.value == PF_BYTES)
		return a;
	if (a->kind == PF_LOAD) {
		n = pf_new(p, PF_PLACE,
			   (struct pf_type){.value = PF_BYTES,
					    .size = 8,
					    .element_size = a->type.size,
					    .element_signed = a->type.is_signed});
		n->offset = a->offset;
		n->bytes = a->type.size;
		return n;
	}
	if (a->kind == PF_ELEMENT) {
		n = pf_new(p, PF_ADVANCE, a->a->type);
		n->a = a->a;
		n->b = a->b ? a->b : pf_new(p, PF_CONST, type_s32);
		n->number = a->type.size;
		return n;
	}
	pf_refuse(p, "an address of something outside of the record");
	return NULL;
}

static struct pf_type promoted(struct pf_type t)
{
	if (t.size < 4)
		return (struct pf_type){
			.value = PF_NUMBER, .size = 4, .is_signed = true, .unknown = t.unknown};
	t.element = NULL;
	return t;
}

static struct pf_node *unary_node(struct pf_parser *p, char op, struct pf_node *a)
{
	struct pf_node *n;

	if (!a)
		return NULL;
	if (a->type.value != PF_NUMBER && op != '!') {
		pf_refuse(p, "'%c' of text", op);
		return NULL;
	}
	n = pf_new(p, PF_UNARY, op == '!' ? type_s32 : promoted(a->type));
	n->type.is_pointer = false;
	n->type.unknown = a->type.unknown;
	n->op = (u8)op;
	n->a = a;
	return n;
}

static struct pf_node *unary(struct pf_parser *p)
{
	struct pf_node *n = NULL;
	struct pf_type t;
	const char *start;

	if (p->depth >= MAX_DEPTH) {
		pf_refuse(p, "nested too deeply");
		return NULL;
	}
	p->depth++;
	skip_blanks(p);
	start = p->at;
	if (str_starts(p->at, "sizeof") && !is_word(p->at[6])) {
		p->at += 6;
		n = size_of(p);
	} else if (*p->at == '(') {
		p->at++;
		if (parse_type(p, &t) && pf_accept(p, ")")) {
			n = cast_to(p, t, unary(p));
		} else {
			p->at = start;
			n = postfix(p);
		}
	} else if (*p->at == '&' || *p->at == '*') {
		const char op = *p->at++;

		n = address_or_deref(p, op);
	} else if (*p->at && strchr("-+~!", *p->at)) {
		const char op = *p->at++;

		n = unary(p);
		if (op != '+')
			n = unary_node(p, op, n);
	} else {
		n = postfix(p);
	}
	p->depth--;
	return p->refused ? NULL : n;
}

/* The usual arithmetic conversions. */
static struct pf_type common_type(struct pf_type a, struct pf_type b)
{
	struct pf_type r;

	a = promoted(a);
	b = promoted(b);
	r = a.size > b.size ? a : b.size > a.size ? b : a.is_signed ? b : a;
	r.is_pointer = false;
	r.unknown = a.unknown | b.unknown;
	return r;
}

static struct pf_node *advance_node(struct pf_parser *p, u8 op, struct pf_node *a,
				    struct pf_node *b)
{
	struct pf_node *n;

	if (b->type.value != PF_NUMBER || (op != '+' && op != '-')) {
		pf_refuse(p, "arithmetic with text");
		return NULL;
	}
	n = pf_new(p, PF_ADVANCE, a->type);
	n->a = a;
	n->b = op == '-' ? unary_node(p, '-', b) : b;
	n->number = a->type.element_size ? a->type.element_size
		    : a->type.element	 ? a->type.element->size
					 : 1;
	return n;
}

/* pointer + number: in steps of what it points to. */
static struct pf_node *scale(struct pf_parser *p, struct pf_node *pointer, struct pf_node *n)
{
	const u64 step =
		pointer->type.element ? pointer->type.element->size : pointer->type.element_size;
	struct pf_node *product, *factor;

	if (step == 1)
		return n;
	if (!step && !pointer->type.unknown)
		pf_refuse(p, "arithmetic with a pointer to an unknown type");
	factor = pf_new(p, PF_CONST, type_u64);
	factor->number = step;
	product = pf_new(p, PF_BINARY, type_u64);
	product->op = '*';
	product->a = n;
	product->b = factor;
	return product;
}

static struct pf_node *binary_node(struct pf_parser *p, u8 op, struct pf_node *a, struct pf_node *b)
{
	struct pf_node *n;

	if (!a || !b)
		return NULL;
	if (a->type.value == PF_BYTES && (op == '+' || op == '-'))
		return advance_node(p, op, a, b);
	if (b->type.value == PF_BYTES && op == '+')
		return advance_node(p, op, b, a);
	if ((a->type.value != PF_NUMBER || b->type.value != PF_NUMBER) && op != PF_EQ &&
	    op != PF_NE && op != PF_AND && op != PF_OR) {
		pf_refuse(p, "arithmetic with text");
		return NULL;
	}
	if (op == '+' || op == '-') {
		if (a->type.is_pointer && !b->type.is_pointer)
			b = scale(p, a, b);
		else if (b->type.is_pointer && !a->type.is_pointer)
			a = scale(p, b, a);
	}
	n = pf_new(p, PF_BINARY, type_s32);
	n->op = op;
	n->a = a;
	n->b = b;
	if (op == PF_SHL || op == PF_SHR)
		n->type = promoted(a->type);
	else if (op < PF_LE && op != '<' && op != '>')
		n->type = common_type(a->type, b->type);
	n->type.unknown = a->type.unknown | b->type.unknown;
	if (a->type.is_pointer && (op == '+' || op == '-') && !b->type.is_pointer)
		n->type = a->type;
	return n;
}

static const struct binary_operator {
	const char *spelled;
	u8 op, level;
	char not_before; /* a longer operator begins like this */
} binary_operators[] = {
	{"||", PF_OR, 1, 0}, {"&&", PF_AND, 2, 0}, {"|", '|', 3, '|'},	 {"^", '^', 4, 0},
	{"&", '&', 5, '&'},  {"==", PF_EQ, 6, 0},  {"!=", PF_NE, 6, 0},	 {"<=", PF_LE, 7, 0},
	{">=", PF_GE, 7, 0}, {"<<", PF_SHL, 8, 0}, {">>", PF_SHR, 8, 0}, {"<", '<', 7, 0},
	{">", '>', 7, 0},    {"+", '+', 9, 0},	   {"-", '-', 9, 0},	 {"*", '*', 10, 0},
	{"/", '/', 10, 0},   {"%", '%', 10, 0},
};

static const struct binary_operator *peek_operator(struct pf_parser *p)
{
	skip_blanks(p);
	for (size_t i = 0; i < ARRAY_SIZE(binary_operators); i++) {
		const struct binary_operator *o = &binary_operators[i];
		const size_t len = strlen(o->spelled);

		if (!strncmp(p->at, o->spelled, len) &&
		    (!o->not_before || p->at[len] != o->not_before))
			return o;
	}
	return NULL;
}

static struct pf_node *binary(struct pf_parser *p, u8 level)
{
	struct pf_node *n = unary(p);
	const struct binary_operator *o;

	while (n && !p->refused && (o = peek_operator(p)) && o->level >= level) {
		p->at += strlen(o->spelled);
		n = binary_node(p, o->op, n, binary(p, o->level + 1));
	}
	return n;
}

static struct pf_node *cond_node(struct pf_parser *p, struct pf_node *a, struct pf_node *b,
				 struct pf_node *c)
{
	const struct pf_node *yes = b ? b : a;
	struct pf_node *n;
	struct pf_type t;

	if (!c)
		return NULL;
	if (yes->type.value == PF_NUMBER && c->type.value == PF_NUMBER) {
		t = common_type(yes->type, c->type);
		t.is_pointer = yes->type.is_pointer || c->type.is_pointer;
	} else {
		/* A text and NULL, or texts of two kinds. */
		t = yes->type.value == PF_NUMBER ? c->type : yes->type;
		if (yes->type.value != c->type.value)
			t.value = PF_TEXT;
	}
	t.unknown = yes->type.unknown | c->type.unknown;
	n = pf_new(p, PF_COND, t);
	n->a = a;
	n->b = b;
	n->c = c;
	return n;
}

struct pf_node *pf_parse_expression(struct pf_parser *p)
{
	struct pf_node *n, *b = NULL;

	if (p->depth >= MAX_DEPTH) {
		pf_refuse(p, "nested too deeply");
		return NULL;
	}
	p->depth++;
	n = binary(p, 1);
	if (n && pf_accept(p, "?")) {
		if (!pf_accept(p, ":")) {
			b = pf_parse_expression(p);
			if (!b || !pf_expect(p, ":"))
				return NULL;
		}
		n = cond_node(p, n, b, pf_parse_expression(p));
	}
	p->depth--;
	return p->refused ? NULL : n;
}

/* A local variable makes a tree that shares parts. */
static u32 steps_of(struct pf_node *n)
{
	u64 sum = 1;

	if (!n)
		return 0;
	if (!n->steps) {
		sum += (u64)steps_of(n->a) + steps_of(n->b) + steps_of(n->c);
		if (n->args)
			for (u32 i = 0; i < n->count; i++)
				sum += steps_of(n->args[i]);
		n->steps = (u32)MIN(sum, MAX_STEPS + 1ull);
	}
	return n->steps;
}

struct pf_node *pf_parse_argument(struct pf_parser *p)
{
	struct pf_node *n = pf_parse_expression(p);

	if (n && steps_of(n) > MAX_STEPS) {
		pf_refuse(p, "too long");
		return NULL;
	}
	return n;
}

static bool depends_on_record(const struct pf_node *n)
{
	if (!n)
		return false;
	if (n->kind != PF_CONST && n->kind != PF_UNARY && n->kind != PF_BINARY &&
	    n->kind != PF_COND && n->kind != PF_CAST && n->kind != PF_SWAP)
		return true;
	return depends_on_record(n->a) || depends_on_record(n->b) || depends_on_record(n->c);
}

bool pf_constant(struct pf_parser *p, const struct pf_node *n, u64 *ret)
{
	const struct pf_run nothing = {0};

	if (!n || depends_on_record(n)) {
		pf_refuse(p, "not a constant");
		return false;
	}
	*ret = pf_eval(&nothing, n);
	return !p->refused;
}
