/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/annotation.h"

#include <stdio.h>

#include "base/cursor.h"
#include "trace/writers/protobuf.h"

enum {
	ANNOTATION_BOOL = 2,
	ANNOTATION_UNSIGNED = 3,
	ANNOTATION_SIGNED = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_MEMBER = 11,
	ANNOTATION_ELEMENT = 12,
};

#define DEPTH_MOST 32 /* of nested objects: deeper ones are left out */

struct text {
	const char *at, *end;
	unsigned int depth;
};

static bool take(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static void add_code(struct strbuf *out, u32 code)
{
	if (code < 0x80) {
		strbuf_addch(out, (char)code);
	} else if (code < 0x800) {
		strbuf_addch(out, (char)(0xc0 | code >> 6));
		strbuf_addch(out, (char)(0x80 | (code & 0x3f)));
	} else {
		strbuf_addch(out, (char)(0xe0 | code >> 12));
		strbuf_addch(out, (char)(0x80 | (code >> 6 & 0x3f)));
		strbuf_addch(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* From after the opening quote to after the closing one. */
static void string_of(struct text *t, struct strbuf *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	while (t->at < t->end && *t->at != '"') {
		const char c = *t->at++;
		const char *special;
		char digits[5] = {0};

		if (c != '\\' || t->at == t->end) {
			strbuf_addch(ret, c);
			continue;
		}
		special = strchr(from, *t->at);
		if (special && *special) {
			strbuf_addch(ret, to[special - from]);
			t->at++;
		} else if (t->end - t->at >= 5) {
			memcpy(digits, t->at + 1, 4);
			add_code(ret, (u32)strtoul(digits, NULL, 16));
			t->at += 5;
		} else {
			t->at = t->end;
		}
	}
	take(t, '"');
}

static void add_number(struct strbuf *out, struct text *t)
{
	const char *const begin = t->at;
	char digits[64];
	size_t n;

	while (t->at < t->end && !strchr(",]}", *t->at))
		t->at++;
	n = MIN((size_t)(t->at - begin), sizeof(digits) - 1);
	memcpy(digits, begin, n);
	digits[n] = 0;
	if (strpbrk(digits, ".eE"))
		protobuf_double(out, ANNOTATION_DOUBLE, strtod(digits, NULL));
	else if (*digits == '-')
		protobuf_u64(out, ANNOTATION_SIGNED, (u64)strtoll(digits, NULL, 10));
	else
		protobuf_u64(out, ANNOTATION_UNSIGNED, strtoull(digits, NULL, 10));
}

static void add_value(struct strbuf *out, struct text *t);

static void add_members(struct strbuf *out, u32 field, struct text *t)
{
	struct strbuf name = STRBUF_INIT;
	bool goes_on = true;

	while (goes_on && take(t, '"')) {
		size_t begin;

		strbuf_reset(&name);
		string_of(t, &name);
		take(t, ':');
		begin = protobuf_begin(out, field);
		protobuf_string(out, ANNOTATION_NAME, name.data, name.len);
		add_value(out, t);
		protobuf_end(out, begin);
		goes_on = take(t, ',');
	}
	take(t, '}');
	strbuf_release(&name);
}

static void add_elements(struct strbuf *out, struct text *t)
{
	bool goes_on = t->at < t->end && *t->at != ']';

	while (goes_on) {
		const size_t begin = protobuf_begin(out, ANNOTATION_ELEMENT);

		add_value(out, t);
		protobuf_end(out, begin);
		goes_on = take(t, ',');
	}
	take(t, ']');
}

/* Nothing is added for null. */
static void add_value(struct strbuf *out, struct text *t)
{
	struct strbuf text = STRBUF_INIT;

	if (++t->depth > DEPTH_MOST) {
		t->at = t->end;
	} else if (take(t, '"')) {
		string_of(t, &text);
		protobuf_string(out, ANNOTATION_STRING, text.data, text.len);
	} else if (take(t, '{')) {
		add_members(out, ANNOTATION_MEMBER, t);
	} else if (take(t, '[')) {
		add_elements(out, t);
	} else if (t->at < t->end && (*t->at == 't' || *t->at == 'f')) {
		protobuf_u64(out, ANNOTATION_BOOL, *t->at == 't');
		t->at += MIN(*t->at == 't' ? 4 : 5, t->end - t->at);
	} else if (t->at < t->end && *t->at == 'n') {
		t->at += MIN(4, t->end - t->at);
	} else {
		add_number(out, t);
	}
	t->depth--;
	strbuf_release(&text);
}

void annotations_add(struct strbuf *out, u32 field, const char *json, size_t n)
{
	struct text t = {json, json + n, 0};

	if (take(&t, '{'))
		add_members(out, field, &t);
}
