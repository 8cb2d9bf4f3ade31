/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/printf_format.h"
#include "tap.h"

static struct arena arena;

static u32 parse(const char *text, struct format *f)
{
	u32 n = UINT32_MAX;
	const char *error = format_parse(&arena, text, strlen(text), f, &n);

	ok(!error, "'%s' parses", text);
	return n;
}

static void test_literals(void)
{
	struct format f;

	is_int(parse("", &f), 0, "empty: no arguments");
	is_int(f.nparts, 0, "empty: no parts");
	is_int(parse("100%% sure %", &f), 0, "percent signs: no arguments");
	is_int(f.nparts, 1, "one literal");
	is_str(f.parts[0].text, "100% sure %", "%% resolved, a lone % kept");
	is_int(parse("%y %5 %-", &f), 0, "unknown conversions are text");
	is_str(f.parts[0].text, "%y %5 %-", "as written");
}

static void test_parts(void)
{
	struct format f;
	const struct format_part *p;

	is_int(parse("a%-10sb%+08.3lldc%#hhx|% i", &f), 4, "four arguments");
	is_int(f.nparts, 8, "eight parts");
	p = f.parts;
	is_str(p[0].text, "a", "literal first");
	is_str(p[1].text, "%-10s", "as written");
	ok(p[1].left && p[1].width == 10 && p[1].precision == -1 && p[1].conversion == 's',
	   "%%-10s");
	ok(p[3].plus && p[3].zero && p[3].width == 8 && p[3].precision == 3 &&
		   p[3].length_bytes == 8,
	   "%%+08.3lld");
	ok(p[5].alternate && p[5].length_bytes == 1 && p[5].conversion == 'x', "%%#hhx");
	ok(p[6].kind == CONVERSION_LITERAL, "literal between");
	is_int(parse("% i", &f), 1, "space flag");
	ok(f.parts[0].space && f.parts[0].conversion == 'i', "%% i");
}

static void test_lengths(void)
{
	static const struct {
		const char *text;
		u8 bytes;
	} rows[] = {{"%d", 0},	 {"%hhd", 1}, {"%hd", 2}, {"%ld", 8},
		    {"%lld", 8}, {"%jd", 8},  {"%zu", 8}, {"%td", 8}};
	struct format f;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		parse(rows[i].text, &f);
		is_int(f.parts[0].length_bytes, rows[i].bytes, rows[i].text);
	}
}

static void test_buffers(void)
{
	struct format f;

	is_int(parse("%r%rx%rh%gr%rr", &f), 5, "buffer conversions");
	ok(!f.parts[0].r_mode && !f.parts[0].is_hex_escape, "%%r");
	ok(f.parts[1].r_mode == 'x' && f.parts[1].is_hex_escape, "%%rx");
	is_int(f.parts[2].r_mode, 'h', "%rh");
	is_int(f.parts[3].r_mode, 'g', "%gr");
	is_str(f.parts[5].text, "r", "%rr is %r and an r");
}

static void test_stars(void)
{
	struct format f;

	is_int(parse("%*.*s %d", &f), 4, "two stars, a string, a number");
	is_int(f.parts[0].width, -2, "width from an argument");
	is_int(f.parts[0].precision, -2, "precision from an argument");
	is_int(f.parts[0].argument, 2, "the value comes after both");
	is_int(f.parts[2].argument, 3, "the next one after that");
}

static void complain(const char *text, const struct type *const *types, u32 n, const char *want)
{
	struct format f;
	u32 count, at;

	if (format_parse(&arena, text, strlen(text), &f, &count))
		ok(0, "'%s' parses", text);
	else
		is_str(format_check(&arena, &f, types, n, &at), want, text);
}

static void test_checks(void)
{
	struct type_store store;
	const struct type *string, *number, *buffer;

	type_store_init(&store);
	string = type_string(&store, 5);
	number = type_int(4, true);
	buffer = type_buffer(&store, 8);
#define TYPES(...)                            \
	(const struct type *[]){__VA_ARGS__}, \
		sizeof((const struct type *[]){__VA_ARGS__}) / sizeof(void *)
	complain("%d", NULL, 0, "not enough arguments for format string (0 supplied, 1 expected)");
	complain("x", TYPES(number),
		 "too many arguments for format string (1 supplied, 0 expected)");
	complain("%d", TYPES(string), "unsupported format specifier for type 'string[5]': d");
	complain("%rx", TYPES(number), "unsupported format specifier for type 'int32': rx");
	complain("%f", TYPES(number), "unsupported format specifier: f");
	complain("%s", TYPES(type_none()), "unable to print none type for specifier: s");
	complain("%*d", TYPES(string, number),
		 "the argument for '*' in '%*d' must be an integer (string[5] provided)");
	complain("%d %s %r", TYPES(number, string, buffer), NULL);
	complain("%s %s %s", TYPES(number, string, buffer), NULL);
	complain("%*.*x", TYPES(number, number, number), NULL);
	complain("%p%c", TYPES(type_pointer(&store, type_void(), SPACE_USER), type_bool()), NULL);
	complain("%d", TYPES(type_simple(TYPE_COUNT)), NULL);
	type_store_release(&store);
}

static void test_limits(void)
{
	struct format f;
	u32 n;
	const char *text = "%99999999999999999999d";

	ok(format_parse(&arena, text, strlen(text), &f, &n) != NULL, "a huge width is refused");
	text = "%.70000s";
	ok(format_parse(&arena, text, strlen(text), &f, &n) != NULL, "a huge precision is refused");
	ok(!format_parse(&arena, "a\0%d", 4, &f, &n) && n == 1, "a NUL inside is text");
}

int main(void)
{
	test_literals();
	test_parts();
	test_lengths();
	test_buffers();
	test_stars();
	test_checks();
	test_limits();
	arena_release(&arena);
	return tap_done();
}
