/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"

/*
 * Separates a value from the one before. In arrays, bpftrace writes no blank before values that are
 * not objects.
 */
static void separate(struct json *j, bool with_blank)
{
	if (j->has_value)
		strbuf_add(j->out, ", ", j->spaced && with_blank ? 2 : 1);
	j->has_value = true;
}

static void open(struct json *j, char c)
{
	separate(j, c == '{');
	strbuf_addch(j->out, c);
	j->has_value = false;
}

void json_object(struct json *j)
{
	open(j, '{');
}

void json_array(struct json *j)
{
	open(j, '[');
}

void json_end(struct json *j, char close)
{
	strbuf_addch(j->out, close);
	j->has_value = true;
}

void json_end_line(struct json *j)
{
	strbuf_addch(j->out, '\n');
	j->has_value = false;
}

static void quote(struct json *j, const char *s, size_t n)
{
	strbuf_addch(j->out, '"');
	if (json_is_plain(s, n))
		strbuf_add(j->out, s, n);
	else
		escape_json(j->out, s, n);
	strbuf_addch(j->out, '"');
}

void json_key_bytes(struct json *j, const char *name, size_t n)
{
	separate(j, true);
	quote(j, name, n);
	strbuf_add(j->out, ": ", j->spaced ? 2 : 1);
	j->has_value = false;
}

void json_key(struct json *j, const char *name)
{
	json_key_bytes(j, name, strlen(name));
}

void json_string(struct json *j, const char *s, size_t n)
{
	separate(j, false);
	quote(j, s, n);
}

void json_null(struct json *j)
{
	json_decimal(j, "null", 4);
}

void json_text(struct json *j, const char *s)
{
	if (s)
		json_string(j, s, strlen(s));
	else
		json_null(j);
}

static void integer(struct json *j, u64 magnitude, bool is_negative)
{
	const bool is_number = json_u64_is_number(magnitude);
	char digits[24], *p = digits + sizeof(digits);

	if (!is_number)
		*--p = '"';
	do
		*--p = (char)('0' + magnitude % 10);
	while (magnitude /= 10);
	if (is_negative)
		*--p = '-';
	if (!is_number)
		*--p = '"';
	json_decimal(j, p, (size_t)(digits + sizeof(digits) - p));
}

void json_u64(struct json *j, u64 v)
{
	integer(j, v, false);
}

void json_s64(struct json *j, s64 v)
{
	integer(j, v < 0 ? 0 - (u64)v : (u64)v, v < 0);
}

void json_bool(struct json *j, bool v)
{
	if (v)
		json_decimal(j, "true", 4);
	else
		json_decimal(j, "false", 5);
}

void json_double(struct json *j, double v)
{
	char text[32];

	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	json_decimal(j, text, strlen(text));
}

void json_hex(struct json *j, u64 v)
{
	char text[24];

	json_string(j, text, (size_t)snprintf(text, sizeof(text), "0x%" PRIx64, v));
}

void json_decimal(struct json *j, const char *digits, size_t n)
{
	separate(j, false);
	strbuf_add(j->out, digits, n);
}

void json_hole(struct json *j)
{
	separate(j, false);
}

void json_member_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}

void json_member_string(struct json *j, const char *key, const char *s, size_t n)
{
	json_key(j, key);
	json_string(j, s, n);
}

void json_member_u64(struct json *j, const char *key, u64 v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_member_s64(struct json *j, const char *key, s64 v)
{
	json_key(j, key);
	json_s64(j, v);
}

void json_member_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

bool json_is_plain(const char *s, size_t n)
{
	u8 odd = 0;

	for (size_t i = 0; i < n; i++) {
		const u8 c = (u8)s[i];

		odd |= (u8)(c - 0x20) >= 0x5f || c == '"' || c == '\\';
	}
	return !odd;
}
