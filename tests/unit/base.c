/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "base/nearest.h"
#include "base/options.h"
#include "base/sort.h"
#include "tap.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static void test_glob(void)
{
	static const struct {
		const char *pattern, *s;
		bool want;
	} rows[] = {
		{"vfs_*", "vfs_read", true},
		{"vfs_*", "vf", false},
		{"*read*", "vfs_read", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"*", "", true},
		{"", "x", false},
		{"a*b*c", "a__b__b_c", true},
		{"a*b*c", "a__b__b_", false},
		{"x[", "x[", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(glob_match(rows[i].pattern, rows[i].s), rows[i].want, rows[i].pattern);
}

static void test_escape(void)
{
	struct strbuf sb = STRBUF_INIT;

	escape_terminal(&sb, "a\033[31mb\n\xc3\xa9\xff\xc2\x9b", 13);
	is_str(sb.data, "a\\x1b[31mb\n\xc3\xa9\\xff\\xc2\\x9b",
	       "terminal: escapes, C1 and invalid bytes are made visible");
	strbuf_reset(&sb);
	escape_terminal(&sb,
			"\xe2\x80\xae"
			"txt",
			6);
	is_str(sb.data, "\\xe2\\x80\\xaetxt", "terminal: bidi override is made visible");
	strbuf_reset(&sb);
	escape_line(&sb, "a\tb\n", 4);
	is_str(sb.data, "a\\x09b\\x0a", "line: newline and tab too");
	strbuf_reset(&sb);
	escape_json(&sb, "\"\\\n\x01\xff", 5);
	is_str(sb.data, "\\\"\\\\\\n\\u0001\\u00ff", "json");
	strbuf_reset(&sb);
	escape_xml(&sb, "<a b='\"&\">\n\t\033\xc2\x9b\xe2\x80\xaex\xff\xc3\xa9", 22);
	is_str(sb.data,
	       "&lt;a b=&#39;&quot;&amp;&quot;&gt;\n\t\\x1b\\xc2\\x9b\\xe2\\x80\\xaex\\xff\xc3\xa9",
	       "xml: entities; controls, what turns text around, and bytes that are none");
	strbuf_release(&sb);
}

static void test_strbuf(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_add_hex(&sb, "", 0);
	is_str(sb.data, "", "digits of nothing");
	strbuf_add_hex(&sb, "\0\x7f\xa0\xff", 4);
	strbuf_add_hex(&sb, "\1", 1);
	is_str(sb.data, "007fa0ff01", "two digits a byte");
	strbuf_release(&sb);
}

static void test_hashmap(void)
{
	struct hashmap m = {0};
	char key[32];
	int good = 0;

	for (long i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "k%ld", i);
		hashmap_puts(&m, key, (void *)(i + 1));
	}
	for (long i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "k%ld", i);
		good += hashmap_gets(&m, key) == (void *)(i + 1);
	}
	is_int(good, 1000, "hashmap keeps 1000 keys");
	ok(!hashmap_gets(&m, "none"), "absent key");
	is_str(m.entries[999].key, "k999", "insertion order");
	hashmap_release(&m);
	m.keys_stay = true;
	hashmap_puts(&m, key, key);
	ok(m.entries->key == key && hashmap_gets(&m, key) == key, "a key that stays is not copied");
	hashmap_release(&m);
}

static void test_sort(void)
{
	struct {
		u32 place;
		u64 number;
	} rows[1000];
	u32 good = 0;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i].place = i;
		rows[i].number = 0xffffffff81000000 + (u64)(i * 7919 % 100) * 0x3333333333;
	}
	sort_by_number(rows, ARRAY_SIZE(rows), sizeof(*rows), sizeof(u64));
	for (u32 i = 1; i < ARRAY_SIZE(rows); i++)
		good += rows[i - 1].number < rows[i].number ||
			(rows[i - 1].number == rows[i].number && rows[i - 1].place < rows[i].place);
	is_int(good, ARRAY_SIZE(rows) - 1, "rows are sorted, and equal ones stay in their order");
	sort_by_number(NULL, 0, sizeof(*rows), 0);
}

static void test_diag(void)
{
	struct diag d = DIAG_INIT;
	static const char text[] = "BEGIN { prnitf(\"x\") }\n";
	static const char *const names[] = {"print", "printf", "str"};
	u16 file = diag_add_source(&d, "stdin", text, strlen(text));
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	diag_error(&d, (struct span){8, 14, file}, "Unknown function: '%s'", "prnitf");
	diag_hint_nearest(&d, "prnitf", names, ARRAY_SIZE(names));
	diag_print(&d, f, false);
	fclose(f);
	is_str(out,
	       "stdin:1:9-15: ERROR: Unknown function: 'prnitf'\n"
	       "BEGIN { prnitf(\"x\") }\n"
	       "        ~~~~~~\n"
	       "HINT: did you mean 'printf'?\n",
	       "place, line, marks, hint");
	is_int(diag_exit_code(&d), EXIT_FAILED, "exit code");
	free(out);
	diag_release(&d);
}

struct parsed {
	const char *duration;
	int verbose;
	u64 number;
	struct string_list list;
	bool flag;
};

static void test_options(void)
{
	static const struct option_spec options[] = {
		{'d', "duration", "S", "d", OPTION_STRING, offsetof(struct parsed, duration)},
		{'v', "verbose", NULL, "v", OPTION_COUNT, offsetof(struct parsed, verbose)},
		{'n', "number", "N", "n", OPTION_U64, offsetof(struct parsed, number)},
		{'I', NULL, "DIR", "I", OPTION_LIST, offsetof(struct parsed, list)},
		{0, "flag", NULL, "f", OPTION_FLAG, offsetof(struct parsed, flag)},
		{0},
	};
	static const struct command_spec spec = {
		.name = "x", .synopsis = "", .summary = "s", .options = options};
	char *argv[] = {"x",  "one", "-vvd5", "--number=0x10", "-I", "a", "--flag", "-Ib",
			"--", "-z",  NULL};
	struct parsed p = {0};
	int first = 0, rc = options_parse(&spec, 10, argv, &p, &first);

	is_int(rc, OPTIONS_GO_ON, "parsed");
	is_str(p.duration, "5", "attached value");
	is_int(p.verbose, 2, "bundled flags");
	is_int((long long)p.number, 16, "number");
	ok(p.list.count == 2 && str_eq(p.list.items[1], "b"), "repeated option");
	ok(p.flag, "long flag");
	ok(first == 8 && str_eq(argv[8], "one") && str_eq(argv[9], "-z"),
	   "arguments are moved to the end, -- ends options");
	free(p.list.items);
}

static void test_cursor(void)
{
	struct cursor c = cursor_of("\1\2\0\3\0\0\0ab", 10);

	is_int(cursor_u8(&c), 1, "u8");
	is_int(cursor_u16(&c), 2, "u16 little endian");
	is_int(cursor_u32(&c), 3, "u32");
	is_str(cursor_string(&c), "ab", "string");
	ok(!c.failed, "not failed at the end");
	is_int((long long)cursor_u64(&c), 0, "past the end: zero");
	ok(c.failed, "failure sticks");
}

static void interrupt(int signal)
{
	(void)signal;
}

static void test_poll(void)
{
	const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {0};
	const u64 start = clock_now_ms(CLOCK_MONOTONIC);
	struct pollfd nothing = {.events = POLLIN}, closed = {.events = POLLIN};
	int ends[2], more[2];

	ok(!pipe(ends) && !pipe(more), "pipes");
	nothing.fd = ends[0];
	closed.fd = more[0];
	close(more[1]);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = interrupt}, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	is_int(clock_poll(&nothing, 1, 100), 0, "signals are no error");
	ok(clock_now_ms(CLOCK_MONOTONIC) - start >= 99, "and do not end a wait early");
	is_int(clock_poll(&closed, 1, -1), 1, "what is ready does");
	setitimer(ITIMER_REAL, &never, NULL);
	close(ends[0]);
	close(ends[1]);
	close(more[0]);
}

int main(void)
{
	test_poll();
	test_glob();
	test_escape();
	test_strbuf();
	test_hashmap();
	test_sort();
	test_diag();
	test_options();
	test_cursor();
	return tap_done();
}
