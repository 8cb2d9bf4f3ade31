// SPDX-License-Identifier: MIT
/*
 * Derives the names of fields from the text of the arguments: "r->id, PT_STRN(url, n)" gives r_id
 * and url. The text is split at commas outside of brackets and quotes, as the compiler does. The
 * tool uses this for events that it finds in files.
 */
#define PANTRACE_NO_SITES
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_  64 /* bytes of a field's name, with the NUL */
#define RECORD_MAX 16384 /* bytes of an event's record */

/* The comma, bracket or NUL that ends the argument at P. */
static const char *argument_end(const char *p)
{
	int depth = 0;
	char quote = 0;

	for (; *p; p++) {
		if (quote) {
			if (*p == '\\' && p[1])
				p++;
			else if (*p == quote)
				quote = 0;
		} else if (*p == '"' || *p == '\'') {
			quote = *p;
		} else if (strchr("([{", *p)) {
			depth++;
		} else if (strchr(")]}", *p)) {
			if (!depth--)
				break;
		} else if (*p == ',' && !depth) {
			break;
		}
	}
	return p;
}

/* Makes an identifier of TEXT..END. */
static void identifier(const char *text, const char *end, char name[NAME_MAX_])
{
	size_t n = 0;

	for (; text < end && n < NAME_MAX_ - 4; text++) {
		if (isalnum((unsigned char)*text) || *text == '_')
			name[n++] = *text;
		else if (n && name[n - 1] != '_')
			name[n++] = '_';
	}
	while (n && name[n - 1] == '_')
		n--;
	if (!n)
		name[n++] = 'f';
	name[n] = 0;
}

static const char *behind(const char *text, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(text, word, n) ? NULL : text + n;
}

static const char *skip_spaces(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* The name of the argument at TEXT, as the wrappers of pantrace.h give it; *RET_MEMBERS is where
 * those of a structure begin. */
static void argument_name(const char *text, char name[NAME_MAX_], const char **ret_members)
{
	static const char *const first[] = {"PT_STRN(", "PT_SEQ(", "PT_ARRAY("};
	bool named = false;
	const char *inner;

	text = skip_spaces(text);
	inner = behind(text, "PT_HEX(");
	if (inner)
		text = skip_spaces(inner);
	while ((inner = behind(text, "PT_NAMED("))) {
		if (!named)
			identifier(inner, argument_end(inner), name);
		named = true;
		text = argument_end(inner);
		text = skip_spaces(*text == ',' ? text + 1 : text);
	}
	inner = behind(text, "PT_STRUCT(");
	if (inner) {
		if (!named)
			identifier(inner, argument_end(inner), name);
		inner = argument_end(inner);
		*ret_members = *inner == ',' ? inner + 1 : inner;
		return;
	}
	inner = behind(text, "PT_ENUM(");
	if (inner) {
		inner = argument_end(inner);
		text = *inner == ',' ? inner + 1 : inner;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		if (behind(text, first[i]))
			text += strlen(first[i]);
	*ret_members = "";
	if (!named)
		identifier(text, argument_end(text), name);
}

/*
 * CTF puts '_' before each name, and readers remove it. babeltrace2 2.0 compares a new name as
 * written with earlier ones without it, so that "id" after "_id" counts as taken, too.
 */
static bool name_taken(const char *name, const char *before)
{
	return !strcmp(before, name) || (*before == '_' && !strcmp(before + 1, name));
}

struct maker {
	const unsigned char *types;
	const struct pantrace_enum *const *enums;
	char *to, *end;
	uint32_t nr;
	bool full;
};

/*
 * Without printf(), for speed: a program may have 10,000 events, which are all switched on at once.
 */
static void put(struct maker *m, const char *text, size_t n)
{
	if (n >= (size_t)(m->end - m->to) - 1) {
		m->full = true;
		return;
	}
	memcpy(m->to, text, n);
	m->to += n;
}

static void put_char(struct maker *m, char c)
{
	put(m, &c, 1);
}

static void put_string(struct maker *m, const char *text)
{
	put(m, text, strlen(text) + 1);
}

static void put_enum(struct maker *m, const struct pantrace_enum *names)
{
	for (uint32_t i = 0; i < names->n; i++) {
		const char *name = names->values[i].name;
		char number[24];

		if (!name) { /* the end of a range, of which the one before was the begin */
			put(m, number,
			    (size_t)snprintf(number, sizeof(number), "...%lld",
					     names->values[i].value));
			continue;
		}
		name = strrchr(name, ':'); /* Colour::red */
		put(m, ",", i > 0);
		for (name = name ? name + 1 : names->values[i].name; *name; name++)
			put_char(m, strchr(",=\"\\\n", *name) ? '_' : *name);
		put(m, number,
		    (size_t)snprintf(number, sizeof(number), "=%lld", names->values[i].value));
	}
}

/* Adds one list of fields, up to its end; recursive for those of structures. */
static void put_fields(struct maker *m, const char *text, int depth)
{
	char names[16][NAME_MAX_];
	unsigned int n = 0;

	while (*m->types && *m->types != PANTRACE_T_STRUCT_END && !m->full) {
		const unsigned char type = *m->types++, kind = type & PANTRACE_T_KIND;
		char *const name = names[n < 16 ? n++ : 15];
		const char *members;
		size_t length;

		argument_name(text, name, &members);
		length = strlen(name);
		for (unsigned int i = 0, number = 2; i + 1 < n; i++) {
			if (!name_taken(name, names[i]))
				continue;
			snprintf(name + length, NAME_MAX_ - length, "%u", number++ % 100);
			i = (unsigned int)-1; /* the new name may be taken, too */
		}
		put_char(m, (char)type);
		put_string(m, name);
		m->nr++;
		if (kind == PANTRACE_T_ENUM) {
			put_enum(m, *m->enums++);
			put_char(m, 0);
		} else if (kind == PANTRACE_T_ARRAY) {
			char number[8];

			snprintf(number, sizeof(number), "%u", m->types[0] | m->types[1] << 8);
			put_string(m, number);
			m->types += 2;
		} else if (type == PANTRACE_T_STRUCT && depth < 3) {
			put_fields(m, members, depth + 1);
			put_char(m, PANTRACE_T_STRUCT_END);
			put_char(m, 0);
			m->nr++;
			m->types += *m->types == PANTRACE_T_STRUCT_END;
		}
		text = argument_end(text);
		text += *text == ',';
	}
}

/* The record of EVENT, valid until the next call, or NULL when it would be too long. The lock is
 * held. */
struct pantrace_event_record *pt_event_record(const struct pantrace_event *event)
{
	static union {
		struct pantrace_event_record record;
		char bytes[RECORD_MAX];
	} buffer;
	struct maker m = {
		.types = event->types,
		.enums = event->enums,
		.to = buffer.record.strings,
		.end = buffer.bytes + sizeof(buffer) - 16,
	};

	memset(&buffer.record, 0, sizeof(buffer.record));
	put(&m, event->provider, strnlen(event->provider, 255));
	put_char(&m, 0);
	put(&m, event->name, strnlen(event->name, 255));
	put_char(&m, 0);
	if (event->types && *event->types != PANTRACE_T_GATE)
		put_fields(&m, event->fields ? event->fields : "", 0);
	if (m.full || m.nr > PANTRACE_FIELDS)
		return NULL;
	buffer.record.nr_fields = m.nr;
	buffer.record.level = event->level;
	buffer.record.size = (uint32_t)((size_t)(m.to - buffer.bytes + 7) & ~7ul);
	memset(m.to, 0, buffer.record.size - (size_t)(m.to - buffer.bytes));
	return &buffer.record;
}

void pt_event_fields(const struct pantrace_event *event, char *ret, size_t size)
{
	const struct pantrace_event_record *record = pt_event_record(event);
	const char *p;
	size_t n = 0;

	*ret = 0;
	if (!record)
		return;
	p = record->strings;
	p += strlen(p) + 1;
	p += strlen(p) + 1;
	for (uint32_t i = 0; i < record->nr_fields && n < size; i++) {
		const unsigned char type = (unsigned char)*p++;

		n += (size_t)snprintf(ret + n, size - n, " %u:%s", type, p);
		p += strlen(p) + 1;
		if (!pantrace_type_has_extra(type))
			continue;
		if (n < size)
			n += (size_t)snprintf(ret + n, size - n, ":%s", p);
		for (char *c = ret; c < ret + size && *c; c++) /* labels may have spaces */
			if (c > ret && *c == ' ' && !isdigit((unsigned char)c[1]))
				*c = '_';
		p += strlen(p) + 1;
	}
}

void pt_event_full(const struct pantrace_event *event, char ret[2 * PT_RULE_GLOB])
{
	const size_t n1 = strnlen(event->provider, PT_RULE_GLOB - 1),
		     n2 = strnlen(event->name, PT_RULE_GLOB - 1);

	memcpy(ret, event->provider, n1);
	ret[n1] = ':';
	memcpy(ret + n1 + 1, event->name, n2);
	ret[n1 + 1 + n2] = 0;
}

uint8_t pt_event_level(const struct pantrace_event *event)
{
	return (uint8_t)(event->level > PANTRACE_DEBUG ? PANTRACE_DEBUG : event->level);
}
