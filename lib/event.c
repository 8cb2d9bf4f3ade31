// SPDX-License-Identifier: MIT
/*
 * Ids of events, and names of fields from the text of the arguments: "r->id, PT_STRN(url, n)" gives
 * r_id and url. The text is split at commas outside brackets and quotes, as the compiler did.
 */
#include "internal.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_ 64 /* bytes of a field's name, with the NUL */

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
			depth--;
		} else if (*p == ',' && depth <= 0) {
			break;
		}
	}
	return p;
}

/* Makes an identifier of TEXT..END; the wrappers of pantrace.h name a field by their first argument. */
static void field_name(const char *text, const char *end, char name[NAME_MAX_])
{
	static const char *const wrappers[] = { "PT_NAMED(", "PT_STRN(", "PT_SEQ(" };
	size_t n = 0;

	while (text < end && isspace((unsigned char)*text))
		text++;
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
		const size_t length = strlen(wrappers[i]);

		if ((size_t)(end - text) > length && !memcmp(text, wrappers[i], length)) {
			text += length;
			end = argument_end(text) < end ? argument_end(text) : end;
			break;
		}
	}
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

static bool taken(const char *first, const char *end, const char *name)
{
	for (; first < end; first += strlen(first) + 1) {
		first++; /* the type */
		if (!strcmp(first, name))
			return true;
	}
	return false;
}

union record_buffer {
	struct pantrace_event_record record;
	char bytes[sizeof(struct pantrace_event_record) + 2 * 256 + 16 * (NAME_MAX_ + 1) + 8];
};

static void record_make(const struct pantrace_event *event, union record_buffer *buffer)
{
	const char *text = event->fields ? event->fields : "";
	const unsigned char *types = event->types;
	char *to = buffer->record.strings, *fields;

	memset(buffer, 0, sizeof(*buffer));
	to += snprintf(to, 256, "%.255s", event->provider) + 1;
	to += snprintf(to, 256, "%.255s", event->name) + 1;
	fields = to;
	for (; types && *types && buffer->record.nr_fields < 16; types++) {
		const char *end = argument_end(text);
		char name[NAME_MAX_];
		size_t length;

		field_name(text, end, name);
		length = strlen(name);
		for (unsigned int i = 2; taken(fields, to, name) && i < 100; i++)
			snprintf(name + length, NAME_MAX_ - length, "%u", i);
		*to++ = (char)*types;
		to += snprintf(to, NAME_MAX_, "%s", name) + 1;
		buffer->record.nr_fields++;
		text = *end ? end + 1 : end;
	}
	buffer->record.size =
		(uint32_t)((sizeof(buffer->record) + (size_t)(to - buffer->record.strings) + 7) & ~7ul);
}

void pt_event_fields(const struct pantrace_event *event, char *ret, size_t size)
{
	union record_buffer buffer;
	const char *p;
	size_t n = 0;

	record_make(event, &buffer);
	p = buffer.record.strings;
	p += strlen(p) + 1;
	p += strlen(p) + 1;
	*ret = 0;
	for (uint32_t i = 0; i < buffer.record.nr_fields && n < size; i++) {
		const unsigned char type = (unsigned char)*p++;

		n += (size_t)snprintf(ret + n, size - n, " %u:%s", type, p);
		p += strlen(p) + 1;
	}
}

uint32_t pt_event_id(struct pantrace_event *event)
{
	union record_buffer buffer;
	int id;

	if (event->id)
		return event->id;
	record_make(event, &buffer);
	buffer.record.id = 1; /* an event's; the number is given below */
	id = pt_record_append(&buffer.record);
	if (id < 0)
		return 0;
	__atomic_store_n(&event->id, (uint32_t)id, __ATOMIC_RELEASE);
	return (uint32_t)id;
}

uint8_t pt_event_level(const struct pantrace_event *event)
{
	(void)event;
	return 13; /* LTTng's TRACE_DEBUG_LINE, its default */
}
