// SPDX-License-Identifier: MIT
/* Events that a program names at run time: what bindings for other languages use. */
#include "internal.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS	  16
#define HASH_SIZE 4096

struct dynamic_event {
	struct pantrace_event event;
	struct pantrace_event *next;
	struct dynamic_event *same_hash;
	unsigned char types[FIELDS + 1];
	char strings[]; /* provider, name, fields as given, names of fields */
};

static struct dynamic_event *by_hash[HASH_SIZE]; /* of provider and name */

static const struct {
	const char *name;
	unsigned char type;
} types[] = {
	{"i8", PANTRACE_T_I8},
	{"u8", PANTRACE_T_U8},
	{"i16", PANTRACE_T_I16},
	{"u16", PANTRACE_T_U16},
	{"i32", PANTRACE_T_I32},
	{"u32", PANTRACE_T_U32},
	{"i64", PANTRACE_T_I64},
	{"u64", PANTRACE_T_U64},
	{"f32", PANTRACE_T_F32},
	{"f64", PANTRACE_T_F64},
	{"bool", PANTRACE_T_BOOL},
	{"ptr", PANTRACE_T_PTR},
	{"string", PANTRACE_T_STRING},
	{"text", PANTRACE_T_TEXT},
	{"x8", PANTRACE_T_U8 | PANTRACE_T_HEX},
	{"x16", PANTRACE_T_U16 | PANTRACE_T_HEX},
	{"x32", PANTRACE_T_U32 | PANTRACE_T_HEX},
	{"x64", PANTRACE_T_U64 | PANTRACE_T_HEX},
};

static const unsigned char sizes[PANTRACE_T_STRING] = {
	[PANTRACE_T_I8] = 1,  [PANTRACE_T_U8] = 1,  [PANTRACE_T_I16] = 2, [PANTRACE_T_U16] = 2,
	[PANTRACE_T_I32] = 4, [PANTRACE_T_U32] = 4, [PANTRACE_T_I64] = 8, [PANTRACE_T_U64] = 8,
	[PANTRACE_T_F32] = 4, [PANTRACE_T_F64] = 8, [PANTRACE_T_PTR] = 8, [PANTRACE_T_BOOL] = 1,
};

static bool is_identifier(const char *text, size_t n)
{
	if (!n || n > 200 || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
}

static unsigned char type_named(const char *name, size_t n)
{
	unsigned char sequence = 0;

	if (n > 4 && !memcmp(name, "seq_", 4)) {
		sequence = PANTRACE_T_SEQUENCE;
		name += 4;
		n -= 4;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == n && !memcmp(types[i].name, name, n))
			return sequence && (types[i].type & PANTRACE_T_ELEMENT) > PANTRACE_T_F64
				       ? 0
				       : sequence | types[i].type;
	return 0;
}

/* "a:i32, b:string" into types, and "a,b" into NAMES, which is as long as FIELDS. */
static int fields_take(const char *fields, unsigned char *ret_types, char *names)
{
	unsigned int n = 0;

	while (*fields) {
		const char *colon, *end;
		size_t space;

		fields += strspn(fields, " ");
		colon = fields + strcspn(fields, ":,");
		end = colon + strcspn(colon, ",");
		space = (size_t)(end - colon) > 1 ? strspn(colon + 1, " ") : 0;
		if (n == FIELDS)
			return E2BIG;
		if (*colon != ':' || !is_identifier(fields, (size_t)(colon - fields)))
			return EINVAL;
		ret_types[n] = type_named(colon + 1 + space, strcspn(colon + 1 + space, " ,"));
		if (!ret_types[n++])
			return EINVAL;
		memcpy(names, fields, (size_t)(colon - fields));
		names += colon - fields;
		*names++ = ',';
		fields = end + (*end == ',');
	}
	if (n)
		names[-1] = 0;
	return 0;
}

static struct dynamic_event *of(const struct pantrace_event *event)
{
	return (struct dynamic_event *)event;
}

struct pantrace_event *pt_dynamic_next(const struct pantrace_event *event)
{
	return of(event)->next;
}

/* FNV-1a. */
static unsigned int hash_of(const char *provider, const char *name)
{
	uint32_t hash = 0x811c9dc5;

	for (; *provider; provider++)
		hash = (hash ^ (unsigned char)*provider) * 0x01000193;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x01000193;
	return (hash ^ hash >> 16) % HASH_SIZE;
}

static struct pantrace_event *find(unsigned int hash, const char *provider, const char *name,
				   const char *fields)
{
	for (struct dynamic_event *one = by_hash[hash]; one; one = one->same_hash) {
		struct pantrace_event *const event = &one->event;

		if (!strcmp(event->provider, provider) && !strcmp(event->name, name) &&
		    !strcmp(event->name + strlen(event->name) + 1, fields))
			return event;
	}
	return NULL;
}

struct pantrace_event *pantrace_dynamic(const char *provider, const char *name, const char *fields,
					int level)
{
	const size_t n1 = provider ? strlen(provider) : 0, n2 = name ? strlen(name) : 0;
	const size_t n3 = fields ? strlen(fields) : 0;
	struct pantrace_event *found = NULL;
	struct dynamic_event *made;
	unsigned int hash;
	char *to;
	int rc = EINVAL;

	if (!is_identifier(provider, n1) || !is_identifier(name, n2) || !fields || level < 0 ||
	    level > PANTRACE_DEBUG)
		goto fail;
	rc = -pt_state_get();
	if (rc)
		goto fail;
	rc = ENOMEM;
	made = calloc(1, sizeof(*made) + n1 + n2 + 2 * n3 + 4);
	if (!made)
		goto fail;
	to = made->strings;
	made->event.provider = memcpy(to, provider, n1);
	made->event.name = memcpy(to += n1 + 1, name, n2);
	memcpy(to += n2 + 1, fields, n3);
	made->event.fields = to += n3 + 1;
	made->event.types = made->types;
	made->event.level = (uint32_t)level;
	rc = fields_take(fields, made->types, to);
	if (rc) {
		free(made);
		goto fail;
	}
	pt_lock();
	hash = hash_of(provider, name);
	found = find(hash, provider, name, fields);
	if (!found) {
		made->same_hash = by_hash[hash];
		by_hash[hash] = made;
		made->next = pt_dynamic_first();
		found = &made->event;
		pt_dynamic_add(found);
		made = NULL;
	}
	pt_unlock();
	free(made);
	return found;
fail:
	errno = rc;
	return NULL;
}

int pantrace_dynamic_enabled(const struct pantrace_event *event)
{
	return event && __atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE);
}

void pantrace_dynamic_emit(const struct pantrace_event *event, const struct pantrace_value *values)
{
	unsigned char record[24 + FIELDS * (PANTRACE_STRING_MAX + 8)] __attribute__((aligned(8)));
	unsigned char *to = record + 12;
	const unsigned char *type;

	if (!pantrace_dynamic_enabled(event))
		return;
	for (type = event->types; *type; type++, values++) {
		unsigned char *const end = to + PANTRACE_STRING_MAX;
		const float narrow = (float)values->value.f;
		const unsigned char element = *type & PANTRACE_T_ELEMENT;

		if (*type & PANTRACE_T_SEQUENCE) {
			to = pantrace_put_sequence(to, end, values->value.p, values->n,
						   sizes[element]);
		} else if (*type == PANTRACE_T_STRING) {
			to = pantrace_put_string(to, end, values->value.p);
		} else if (*type == PANTRACE_T_TEXT) {
			to = pantrace_put_text(to, end, values->value.p, values->n);
		} else {
			memcpy(to, *type == PANTRACE_T_F32 ? (const void *)&narrow : &values->value,
			       sizes[element]);
			to += sizes[element];
		}
	}
	pantrace_emit(event, record, (size_t)(to - record));
}
