/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer of JSON: every command's JSON goes through it, so that its rules hold everywhere
 * (doc/json.md).
 *
 *	struct json j = JSON_INIT(&out);
 *	json_object(&j);
 *	json_member_text(&j, "event", name);
 *	json_key(&j, "args");
 *	json_array(&j);
 *	json_u64(&j, count);
 *	json_end(&j, ']');
 *	json_end(&j, '}');
 *	json_end_line(&j);
 *
 * What is written is strict JSON (RFC 8259) in UTF-8, whatever bytes come from the traced world:
 * - a byte that is not part of valid UTF-8 becomes the character of its number: 0xe9 is \u00e9, as
 * ISO 8859-1 reads it;
 * - controls (C0, DEL, C1) and characters that turn the direction of text are escaped as \uXXXX:
 * they never reach a terminal raw;
 * - an integer beyond 2^53 - 1 in either direction is a string of its digits. JSON's numbers are
 * doubles for many readers (JavaScript,
 *   jq before 1.7), which would round it silently (RFC 7493, 2.2);
 * - what no number is (NaN, infinity) is null.
 */
#ifndef PANTRACE_BASE_JSON_H
#define PANTRACE_BASE_JSON_H

#include "base/strbuf.h"

#define JSON_MOST ((1ull << 53) - 1) /* the largest integer that is written as a number */

struct json {
	struct strbuf *out;
	bool spaced; /* ", " between members and ": " after keys, as bpftrace does */
	bool has_value; /* a value came before: write a comma first */
};

#define JSON_INIT(to)       \
	{                   \
		.out = (to) \
	}
#define JSON_SPACED_INIT(to)                \
	{                                   \
		.out = (to), .spaced = true \
	}

void json_object(struct json *j);
void json_array(struct json *j);
/* close: '}' or ']'. */
void json_end(struct json *j, char close);
/* After a complete value; another one may follow. */
void json_end_line(struct json *j);

void json_key(struct json *j, const char *name);
void json_key_bytes(struct json *j, const char *name, size_t n);

void json_string(struct json *j, const char *s, size_t n);
/* NUL-terminated; NULL is null. */
void json_text(struct json *j, const char *s);
void json_u64(struct json *j, u64 v);
void json_s64(struct json *j, s64 v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* The shortest number that reads back as v. */
void json_double(struct json *j, double v);
/* An address or a bit mask: "0xffff...". */
void json_hex(struct json *j, u64 v);
/* A number that is already formatted: "12.345". */
void json_decimal(struct json *j, const char *digits, size_t n);
/* Call before the caller itself appends a value to `out`: writes the comma. */
void json_hole(struct json *j);

/* "key": value */
void json_member_text(struct json *j, const char *key, const char *s);
void json_member_string(struct json *j, const char *key, const char *s, size_t n);
void json_member_u64(struct json *j, const char *key, u64 v);
void json_member_s64(struct json *j, const char *key, s64 v);
void json_member_bool(struct json *j, const char *key, bool v);

/* ---- for printers that are too quick for the above ---- */

/* Is the number written as a number, not as a string? */
static inline bool json_u64_is_number(u64 v)
{
	return v <= JSON_MOST;
}

static inline bool json_s64_is_number(s64 v)
{
	return v >= -(s64)JSON_MOST && v <= (s64)JSON_MOST;
}

/* Does a string need no escapes (printable ASCII without quotes and backslashes)? */
bool json_is_plain(const char *s, size_t n);

#endif
