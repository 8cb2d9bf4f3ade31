// SPDX-License-Identifier: GPL-2.0-or-later
/* The writer of JSON: what every command's --json rests on. */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/json.h"
#include "tap.h"

static const char *string_of(const char *s, size_t n)
{
	static struct strbuf sb = STRBUF_INIT;
	struct json j = JSON_INIT(&sb);

	strbuf_reset(&sb);
	json_string(&j, s, n);
	return sb.data;
}

static void test_structure(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct json j = JSON_INIT(&sb), spaced = JSON_SPACED_INIT(&sb);

	for (int i = 0; i < 2; i++) {
		struct json *w = i ? &spaced : &j;

		strbuf_reset(&sb);
		json_object(w);
		json_member_text(w, "a\"b", NULL);
		json_key(w, "list");
		json_array(w);
		json_u64(w, 1);
		json_array(w);
		json_end(w, ']');
		json_object(w);
		json_end(w, '}');
		json_bool(w, true);
		json_hex(w, 0xffff888000001000);
		json_end(w, ']');
		json_member_bool(w, "no", false);
		json_end(w, '}');
		json_end_line(w);
		json_object(w);
		json_end(w, '}');
		is_str(sb.data,
		       i ? "{\"a\\\"b\": null, \"list\": [1,[], {},true,\"0xffff888000001000\"], "
			   "\"no\": "
			   "false}\n{}"
			 : "{\"a\\\"b\":null,\"list\":[1,[],{},true,\"0xffff888000001000\"],\"no\":"
			   "false}\n{}",
		       i ? "with blanks, as bpftrace" : "commas are where they belong");
	}
	strbuf_release(&sb);
}

static void test_integers(void)
{
	static const struct {
		s64 v;
		const char *text;
	} rows[] = {
		{0, "0"},
		{-1, "-1"},
		{(1ll << 53) - 1, "9007199254740991"},
		{1ll << 53, "\"9007199254740992\""},
		{1ll << 60,
		 "\"1152921504606846976\""}, /* a double holds it, but its neighbours round to it */
		{-((1ll << 53) - 1), "-9007199254740991"},
		{-(1ll << 53), "\"-9007199254740992\""},
		{INT64_MIN, "\"-9223372036854775808\""},
	};
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json j = JSON_INIT(&sb);

		strbuf_reset(&sb);
		json_s64(&j, rows[i].v);
		is_str(sb.data, rows[i].text, "the integer");
		ok(json_s64_is_number(rows[i].v) == (sb.data[0] != '"'), "and the quick way knows");
		if (rows[i].v < 0)
			continue;
		j = (struct json)JSON_INIT(&sb);
		strbuf_reset(&sb);
		json_u64(&j, (u64)rows[i].v);
		is_str(sb.data, rows[i].text, "without sign");
	}
	strbuf_release(&sb);
}

static void test_doubles(void)
{
	static const double values[] = {0.1, 1.0 / 3, 1e300, -2.5, 5e-324, 123456789.125};
	struct strbuf sb = STRBUF_INIT;
	struct json j = JSON_INIT(&sb);

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		strbuf_reset(&sb);
		j = (struct json)JSON_INIT(&sb);
		json_double(&j, values[i]);
		ok(strtod(sb.data, NULL) == values[i], "%s reads back", sb.data);
	}
	strbuf_reset(&sb);
	j = (struct json)JSON_INIT(&sb);
	json_array(&j);
	json_double(&j, NAN);
	json_double(&j, -INFINITY);
	json_double(&j, 0.1);
	json_end(&j, ']');
	is_str(sb.data, "[null,null,0.1]", "what is no number is null");
	strbuf_release(&sb);
}

static void test_strings(void)
{
	is_str(string_of("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10),
	       "\"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "UTF-8 stays");
	is_str(string_of("\0\1\n\t\r\x1f\x7f\"\\", 9),
	       "\"\\u0000\\u0001\\n\\t\\r\\u001f\\u007f\\\"\\\\\"", "C0, DEL, quotes");
	is_str(string_of("\xe9"
			 "a\xff\xc3",
			 4),
	       "\"\\u00e9a\\u00ff\\u00c3\"",
	       "bytes that are no UTF-8 are characters of their number");
	is_str(string_of("\xed\xa0\x80\xc0\x80", 5), "\"\\u00ed\\u00a0\\u0080\\u00c0\\u0080\"",
	       "nor are surrogates and longer forms");
}

static bool is_control(u32 code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* Every code point of the Basic Multilingual Plane: escaped in both media, or in neither. */
static void test_controls(void)
{
	struct strbuf line = STRBUF_INIT;
	u32 wrong = 0;

	for (u32 code = 0x80; code < 0x10000; code++) {
		char utf8[4];
		const size_t n = code < 0x800 ? 2 : 3;
		bool escaped;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		if (n == 2) {
			utf8[0] = (char)(0xc0 | code >> 6);
		} else {
			utf8[0] = (char)(0xe0 | code >> 12);
			utf8[1] = (char)(0x80 | (code >> 6 & 0x3f));
		}
		utf8[n - 1] = (char)(0x80 | (code & 0x3f));
		escaped = string_of(utf8, n)[1] == '\\';
		strbuf_reset(&line);
		escape_line(&line, utf8, n);
		wrong += escaped != is_control(code) || escaped != (line.data[0] == '\\');
	}
	ok(!wrong,
	   "controls and turns of direction are escaped, on terminals and in JSON alike (%u not)",
	   wrong);
	strbuf_release(&line);
}

int main(void)
{
	test_structure();
	test_integers();
	test_doubles();
	test_strings();
	test_controls();
	return tap_done();
}
