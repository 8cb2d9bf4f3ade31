/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values, histograms and maps as text and JSON; expectations are those of bpftrace's own tests. */
#include "view/printf_text.h"
#include "tap.h"
#include "view/histogram.h"
#include "view/map_view.h"

static struct type_store types;
static struct value_printer printer;

static const char *text_of(const struct type *t, const void *data)
{
	static struct strbuf sb = STRBUF_INIT;

	strbuf_reset(&sb);
	value_text(&printer, &sb, t, data);
	return sb.data;
}

static const char *json_of(const struct type *t, const void *data)
{
	static struct strbuf sb = STRBUF_INIT;

	struct json j = JSON_SPACED_INIT(&sb);

	strbuf_reset(&sb);
	value_json(&printer, &j, t, data);
	return sb.data;
}

static void test_scalars(void)
{
	s64 minus = -5;
	u64 big = UINT64_MAX, pointer = 0xffff888000001000, one = 1;
	u8 yes = 1;

	is_str(text_of(type_int(8, true), &minus), "-5", "s64");
	is_str(text_of(type_int(1, true), &minus), "-5", "s8");
	is_str(text_of(type_int(1, false), &minus), "251", "u8");
	is_str(text_of(type_int(8, false), &big), "18446744073709551615", "u64");
	is_str(json_of(type_int(8, false), &big), "\"18446744073709551615\"",
	       "u64 that no double holds is a JSON string");
	is_str(text_of(type_bool(), &yes), "true", "bool");
	is_str(json_of(type_bool(), &yes), "true", "bool in JSON");
	is_str(text_of(type_pointer(&types, type_void(), SPACE_KERNEL), &pointer),
	       "0xffff888000001000", "pointer");
	is_str(json_of(type_pointer(&types, type_void(), SPACE_KERNEL), &one), "1",
	       "pointer is a number in JSON");
}

static void test_strings(void)
{
	const struct type *t = type_string(&types, 8);

	is_str(text_of(t, "ab\0cdef"), "ab", "string ends at NUL");
	is_str(text_of(t, "a\033[1mb\0"), "a\\x1b[1mb", "control characters are escaped");
	is_str(json_of(t, "a\"b\n\0\0\0"), "\"a\\\"b\\n\"", "JSON string");
	printer.trunc_trailer = "..";
	is_str(text_of(t, "abcdefgh"), "abcdefgh..", "a string without NUL was cut");
	printer.trunc_trailer = NULL;
}

static void test_compounds(void)
{
	const struct type *ints[] = {type_int(8, true), type_int(8, true)};
	const struct type *pair = type_tuple(&types, ints, 2);
	const char *names[] = {"m", "n"};
	const struct type *record = type_record(&types, names, ints, 2);
	const struct type *nested_types[] = {type_int(8, true), pair};
	const struct type *nested = type_tuple(&types, nested_types, 2);
	const struct type *array = type_array(&types, type_int(4, true), 3);
	s64 values[] = {1, 2, 3};
	s32 small[] = {1, 2, 3};
	struct {
		u32 length;
		char data[12];
	} buffer = {5, "a\xff"
		       "bc\n"};

	is_str(text_of(pair, values), "(1, 2)", "tuple");
	is_str(json_of(pair, values), "[1,2]", "tuple in JSON");
	is_str(text_of(record, values), "{ .m = 1, .n = 2 }", "record");
	is_str(json_of(record, values), "{\"m\": 1, \"n\": 2}", "record in JSON");
	is_str(text_of(nested, values), "(1, (2, 3))", "nested tuple");
	is_str(json_of(nested, values), "[1,[2,3]]", "nested tuple in JSON");
	is_str(text_of(array, small), "[1,2,3]", "array");
	is_str(json_of(array, small), "[1,2,3]", "array in JSON");
	is_str(text_of(type_buffer(&types, 12), &buffer), "a\\xffbc\\x0a", "buffer");
	buffer.length = 1000;
	ok(strlen(text_of(type_buffer(&types, 12), &buffer)) < 60,
	   "a buffer's length is not believed beyond its size");
}

static const char *hist_of(const struct type *t, const u64 *buckets, u32 n, bool is_json)
{
	static struct strbuf sb = STRBUF_INIT;
	struct histogram h = {.type = t, .buckets = buckets, .nbuckets = n};
	struct json j = JSON_SPACED_INIT(&sb);

	strbuf_reset(&sb);
	if (is_json)
		histogram_json(&j, &h);
	else
		histogram_text(&sb, &h);
	return sb.data;
}

static void test_histograms(void)
{
	u64 log2[66] = {[0] = 1, [3] = 2, [4] = 1, [6] = 1};
	u64 wide[66] = {[3] = 1, [13] = 1};
	u64 linear[8] = {[0] = 1, [2] = 2, [4] = 1, [6] = 1};

	is_str(hist_of(type_hist(&types, 0), log2, 66, false),
	       "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
	       "[0]                    0 |                                                    |\n"
	       "[1]                    0 |                                                    |\n"
	       "[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
	       "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
	       "[8, 16)                0 |                                                    |\n"
	       "[16, 32)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n",
	       "hist");
	is_str(hist_of(type_lhist(&types, 0, 10, 2), linear, 8, false),
	       "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
	       "[0, 2)                 0 |                                                    |\n"
	       "[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
	       "[4, 6)                 0 |                                                    |\n"
	       "[6, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
	       "[8, 10)                0 |                                                    |\n"
	       "[10, ...)              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n",
	       "lhist");
	ok(strstr(hist_of(type_hist(&types, 0), wide, 66, false), "\n[2K, 4K) ") != NULL,
	   "hist labels with a unit");
	ok(strstr(hist_of(type_hist(&types, 0), wide, 66, true),
		  "{\"min\": 2048, \"max\": 4095, \"count\": 1}]") != NULL,
	   "JSON has closed intervals");
	is_str(hist_of(type_hist(&types, 0), log2, 0, true), "[]", "an empty histogram in JSON");
	log2[64] = 1;
	ok(strstr(hist_of(type_hist(&types, 0), log2, 66, false), "[4E, 8E)") != NULL,
	   "the last bucket of positive numbers");
}

static const char *map_text(struct map_view *m, bool is_json,
			    const struct map_print_options *options)
{
	static struct output out = {.fd = -1, .buffering = OUTPUT_FULL, .text = STRBUF_INIT};

	out.is_json = is_json;
	strbuf_reset(&out.text);
	map_view_sort(m);
	map_view_print(&printer, &out, m, options);
	return out.text.data;
}

static void test_maps(void)
{
	static const struct map_print_options all = {0}, two = {.top = 2, .divisor = 10};
	const struct type *key = type_string(&types, 4);
	struct map_row rows[] = {
		{.key = (const u8 *)"d\0\0", .total = 40, .count = 1},
		{.key = (const u8 *)"a\0\0", .total = 10, .count = 1},
		{.key = (const u8 *)"c\0\0", .total = 30, .count = 1},
	};
	struct map_view m = {
		.name = "", .key = key, .value = type_simple(TYPE_AVG), .rows = rows, .nrows = 3};
	struct map_row none = {.total = 6, .count = 3};
	struct map_view scalar = {.name = "stats",
				  .key = type_none(),
				  .value = type_simple(TYPE_STATS),
				  .rows = &none,
				  .nrows = 1};

	is_str(map_text(&m, false, &all), "@[a]: 10\n@[c]: 30\n@[d]: 40\n",
	       "a map is sorted by value");
	is_str(map_text(&m, false, &two), "@[c]: 3\n@[d]: 4\n", "top and divisor");
	is_str(map_text(&m, true, &two),
	       "{\"type\": \"stats\", \"data\": {\"@\": {\"c\": 3, \"d\": 4}}}\n",
	       "the same in JSON");
	is_str(map_text(&scalar, false, &all), "@stats: { .count = 3, .average = 2, .total = 6 }\n",
	       "stats");
	is_str(map_text(&scalar, true, &all),
	       "{\"type\": \"stats\", \"data\": {\"@stats\": {\"count\": 3, \"average\": 2, "
	       "\"total\": 6}}}\n",
	       "stats in JSON");
	scalar.nrows = 0;
	is_str(map_text(&scalar, false, &all), "@stats: { .count = 0, .average = 0, .total = 0 }\n",
	       "a scalar that was never set");
}

static const char *formatted(const char *literal, const struct format_part *part,
			     const struct type *t, const void *data)
{
	static struct strbuf sb = STRBUF_INIT;
	struct format_part parts[2] = {
		{.kind = CONVERSION_LITERAL, .text = literal, .len = (u32)strlen(literal)}, *part};
	struct format f = {.parts = parts, .nparts = 2};
	const struct type *payload = type_tuple(&types, &t, 1);

	parts[1].kind = CONVERSION_ARGUMENT;
	strbuf_reset(&sb);
	format_text(&printer, &sb, &f, payload, data);
	return sb.data;
}

static void test_formats(void)
{
	u64 x = 0x12345678abcdef;
	s32 minus = -1;

	is_str(formatted("a=",
			 &(struct format_part){.text = "%hx",
					       .len = 3,
					       .conversion = 'x',
					       .length_bytes = 2,
					       .width = -1,
					       .precision = -1},
			 type_int(8, false), &x),
	       "a=cdef", "%hx");
	is_str(formatted("",
			 &(struct format_part){.text = "%x",
					       .len = 2,
					       .conversion = 'x',
					       .width = -1,
					       .precision = -1},
			 type_int(8, false), &x),
	       "12345678abcdef", "%x shows the whole value");
	printer.is_compatible = true;
	is_str(formatted("",
			 &(struct format_part){.text = "%x",
					       .len = 2,
					       .conversion = 'x',
					       .width = -1,
					       .precision = -1},
			 type_int(8, false), &x),
	       "78abcdef", "%x as bpftrace");
	printer.is_compatible = false;
	is_str(formatted("",
			 &(struct format_part){.text = "%x",
					       .len = 2,
					       .conversion = 'x',
					       .width = -1,
					       .precision = -1},
			 type_int(4, true), &minus),
	       "ffffffff", "%x of a negative int");
	is_str(formatted("[",
			 &(struct format_part){.text = "%-6s",
					       .len = 4,
					       .conversion = 's',
					       .left = true,
					       .width = 6,
					       .precision = -1},
			 type_string(&types, 8), "ab\0\0\0\0\0"),
	       "[ab    ", "%-6s");
	is_str(formatted("[",
			 &(struct format_part){.text = "%6.1s",
					       .len = 5,
					       .conversion = 's',
					       .width = 6,
					       .precision = 1},
			 type_string(&types, 8), "ab\0\0\0\0\0"),
	       "[     a", "%6.1s");
	is_str(formatted("",
			 &(struct format_part){.text = "%04x",
					       .len = 4,
					       .conversion = 'x',
					       .zero = true,
					       .width = 4,
					       .precision = -1},
			 type_int(1, false), "\2"),
	       "0002", "%04x");
}

/* Our own number formatter against the C library's. */
static void test_numbers(void)
{
	static const char *const flags[] = {"", "-", "0", "+", " ", "#", "-#", "0#", "0+", "-+"};
	static const char conversions[] = "diuoxX";
	static const s64 values[] = {0, 1, -1, 42, -42, 1000000, INT64_MAX, INT64_MIN};
	static const int widths[] = {-1, 0, 1, 5, 12, 30}, precisions[] = {-1, 0, 1, 8};
	int bad = 0, n = 0;

	for (size_t i = 0; i < 10 * 6 * 8 * 6 * 4; i++) {
		const char *f = flags[i % 10];
		char c = conversions[i / 10 % 6], spec[64], width[16] = "", precision[16] = "",
		     want[128];
		s64 v = values[i / 60 % 8];
		int w = widths[i / 480 % 6], pr = precisions[i / 2880];
		struct format_part part = {.text = "%ll",
					   .len = 3,
					   .conversion = c,
					   .length_bytes = 8,
					   .width = w,
					   .precision = pr};
		const char *got;

		part.left = strchr(f, '-') != NULL;
		part.zero = strchr(f, '0') != NULL;
		part.plus = strchr(f, '+') != NULL;
		part.space = strchr(f, ' ') != NULL;
		part.alternate = strchr(f, '#') != NULL;
		if (w >= 0)
			snprintf(width, sizeof(width), "%d", w);
		if (pr >= 0)
			snprintf(precision, sizeof(precision), ".%d", pr);
		snprintf(spec, sizeof(spec), "%%%s%s%sll%c", f, width, precision, c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(want, sizeof(want), spec, (long long)v);
#pragma GCC diagnostic pop
		got = formatted("", &part, type_int(8, true), &v);
		n++;
		if (strcmp(got, want) && bad++ < 5)
			printf("# %s of %lld: got '%s', want '%s'\n", spec, (long long)v, got,
			       want);
	}
	ok(!bad, "%d numbers are formatted as by printf(3)", n);
}

int main(void)
{
	type_store_init(&types);
	printer = (struct value_printer){.types = &types};
	test_scalars();
	test_strings();
	test_compounds();
	test_histograms();
	test_maps();
	test_formats();
	test_numbers();
	value_printer_release(&printer);
	type_store_release(&types);
	return tap_done();
}
