/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages and print formats made here: what the kernel's own text cannot be asked for at will. */
#include "tap.h"
#include "trace/ftrace/trace_text.h"
#include "types/tracefs_format.h"

/* One record: u16 type, 2 bytes, s32 pid; then at 8 s32 a, 12 u32 b, 16 u64 c, 24 char s[8], 32
 * __data_loc d, 36 u8 bytes[16]. */
static const char fields[] = "name: x\nID: 7\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:unsigned int b;\toffset:12;\tsize:4;\tsigned:0;\n"
			     "\tfield:u64 c;\toffset:16;\tsize:8;\tsigned:0;\n"
			     "\tfield:char s[8];\toffset:24;\tsize:8;\tsigned:0;\n"
			     "\tfield:__data_loc char[] d;\toffset:32;\tsize:4;\tsigned:0;\n"
			     "\tfield:u8 bytes[16];\toffset:36;\tsize:16;\tsigned:0;\n\n";

struct record {
	u16 type;
	u8 flags, preempt;
	s32 pid, a;
	u32 b;
	u64 c;
	char s[8];
	u32 d;
	u8 bytes[16];
	char text[12];
};

static const struct record sample = {
	.type = 7,
	.pid = 42,
	.a = -5,
	.b = 0xdeadbeef,
	.c = 0x123456789abcdef0,
	.s = "abc",
	.d = 8 << 16 | offsetof(struct record, text),
	.bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 1},
	.text = "x\033[1m",
};

static void test_formats(void)
{
	static const struct {
		const char *fmt, *want;
	} rows[] = {
		{"\"plain %%\"", "plain %"},
		{"\"%d %u %llx\", REC->a, REC->b, REC->c", "-5 3735928559 123456789abcdef0"},
		{"\"%5d|%-5d|%05d|%+d\", REC->a, REC->a, REC->a, 7", "   -5|-5   |-0005|+7"},
		{"\"%#x %#x %08lx %#o\", REC->b, 0, REC->c & 0xff, 8",
		 "0xdeadbeef 0x0 000000f0 010"},
		{"\"%hhx %hd %u\", REC->b, REC->b, REC->a", "ef -16657 4294967291"},
		{"\"%s|%8s|%-8s|%.2s|%.*s\", REC->s, REC->s, REC->s, REC->s, 1, REC->s",
		 "abc|     abc|abc     |ab|a"},
		{"\"%s\", __get_str(d)", "x\\x1b[1m"},
		{"\"%u\", __get_dynamic_array_len(d)", "8"},
		{"\"%s\", __trace_print_untrusted_str(p, __get_str(d), __get_dynamic_array_len(d) "
		 "- 1)",
		 "x\\e[1m\\000\\000"},
		{"\"%d %d\", REC->ent.pid, REC->common_pid", "42 42"},
		{"\"%c\", __get_str(d)[0]", "x"},
		{"\"%s\", __print_flags(REC->b & 0xf, \"|\", { 1, \"A\" }, { 2, \"B\" }, { 1UL << "
		 "2, \"C\" })",
		 "A|B|C|0x8"},
		{"\"%s\", __print_flags(0, \"|\", { 1, \"A\" })", ""},
		{"\"%s %s\", __print_symbolic(REC->a, { -5, \"five\" }), __print_symbolic(1, { 2, "
		 "\"two\" })",
		 "five 0x1"},
		{"\"%s\", REC->a < 0 ? \"neg\" : \"pos\"", "neg"},
		{"\"%d\", REC->b > 0 && !REC->a || 3 - 2 == 1 ? (1 << 4) | 3 : 0", "19"},
		{"\"%d %u\", (int)REC->c, (u8)REC->b", "-1698898192 239"},
		{"\"%d\", REC->a / 0", "0"},
		{"\"%d\", ({ int x = (REC->a); int y = (3); ((x) < (y) ? (x) : (y)); })", "-5"},
		{"\"%lu\", sizeof(REC->bytes) + sizeof(u16)", "18"},
		{"\"%s\", __print_hex(REC->bytes, 4)", "20 01 0d b8"},
		{"\"%s\", __print_hex_str(REC->bytes, 4)", "20010db8"},
		{"\"%s\", __print_array(REC->bytes, 2, 2)", "{0x120,0xb80d}"},
		{"\"%pI4 %pI6c %pM\", REC->bytes, REC->bytes, REC->bytes",
		 "32.1.13.184 2001:db8::1 20:01:0d:b8:00:00"},
		{"\"%pU\", REC->bytes", "20010db8-0000-0000-0000-000000000001"},
		{"\"%*phC\", 3, REC->bytes", "20:01:0d"},
		{"\"%p %px\", (void *)REC->c, REC->c", "123456789abcdef0 123456789abcdef0"},
		{"\"%llu.%09u\", __print_ns_to_secs(REC->c), __print_ns_without_secs(REC->c)",
		 "1311768467.463790320"},
		{"\"%d\", some_variable + 1", "(unknown)"},
		{"\"%x\", __builtin_bswap16(0x1234)", "3412"},
		{"\"%d\", jiffies_to_msecs(25)", "100"},
	};
	static const char *const refused[] = {
		"\"%d\", REC->nothing",
		"\"%d\", REC->ent.nothing",
		"\"%d\", function(REC->a)",
		"\"%y\", REC->a",
		"\"%s\", (REC->a",
		"REC->a",
		"\"%pd\", REC->c",
		"\"%d\", REC->s + ",
		/* functions of the kernel that are not known */
		"\"%s\", decode_register(p, REC->a)",
		"\"%s\", ({ trace_seq_printf(p, \"x\"); \"y\"; })",
	};
	const struct print_context context = {.hz = 250};
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(rows) + ARRAY_SIZE(refused); i++) {
		const bool good = i < ARRAY_SIZE(rows);
		const char *fmt = good ? rows[i].fmt : refused[i - ARRAY_SIZE(rows)], *why = NULL,
			   *print;
		char *text = xasprintf("%sprint fmt: %s\n", fields, fmt);
		const struct type *record;
		struct type_store store;
		struct print_format *f;

		type_store_init(&store);
		ok(tracefs_format_parse(&store, "x", text, &record, &print) == 0, "format of %s",
		   fmt);
		f = print_format_compile(&store, "x", "x", record, print, &why);
		strbuf_reset(&out);
		print_format_run(f, &context, &sample, sizeof(sample), &out);
		if (good)
			is_str(out.data, rows[i].want, fmt);
		else
			ok(why && strstr(out.data, "a=-5 b=3735928559"),
			   "%s is refused (%s): its fields", fmt, why ? why : "not");
		strbuf_reset(&out);
		print_format_run(f, &context, &sample, 8, &out);
		ok(!good || out.len < 40, "%s of a short record", fmt);
		type_store_release(&store);
		free(text);
	}
	strbuf_release(&out);
}

/* ---- pages ---- */

static u32 words[32];

static void begin_page(struct page *p, const struct page_layout *l, u32 used_words, u32 flags)
{
	words[0] = 1000; /* time */
	words[1] = 0;
	words[2] = used_words * 4 | flags;
	words[3] = 0;
	ok(page_begin(p, l, words, sizeof(words)) == 0, "a page of %u words", used_words);
}

static void test_pages(void)
{
	static const char header[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				     "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				     "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
	struct page_layout l;
	struct page_event e;
	struct page p;
	u32 *w = words + 4;

	ok(page_layout_parse(header, NULL, &l) == 0 && l.size == 4096 && l.data_offset == 16 &&
		   l.commit_size == 8,
	   "header_page");
	ok(page_layout_parse("", NULL, &l) == -EINVAL, "no header_page");
	page_layout_parse(header, NULL, &l);

	w[0] = 1 | 5 << 5; /* one word, 5 later */
	w[1] = 0x11;
	w[2] = 30 | 1 << 5; /* time extend: 1 << 27 | 1 */
	w[3] = 1;
	w[4] = 0 | 2 << 5; /* long: 8 bytes */
	w[5] = 12;
	w[6] = 0x22;
	w[7] = 0x33;
	w[8] = 29 | 1 << 5; /* a discarded one of 8 bytes */
	w[9] = 4;
	w[10] = 31 | 7 << 5; /* absolute: 3 << 27 | 7 */
	w[11] = 3;
	w[12] = 1;
	w[13] = 0x44;
	w[14] = 29; /* the rest is empty */
	begin_page(&p, &l, 16, 0);
	ok(page_next(&p, &e) && e.time == 1005 && e.size == 4 && e.data[0] == 0x11,
	   "a short event");
	ok(page_next(&p, &e) && e.time == 1005 + (1 << 27) + 1 + 2 && e.size == 8 &&
		   e.data[4] == 0x33,
	   "a long event after a time extend");
	ok(page_next(&p, &e) && e.time == (3 << 27 | 7) && e.data[0] == 0x44,
	   "padding is left out, time is absolute");
	ok(!page_next(&p, &e) && !p.damaged && !p.lost, "the end");

	w[0] = 1;
	w[1] = 0x11;
	w[2] = 9; /* stored count of lost events */
	w[3] = 0;
	begin_page(&p, &l, 2, 1u << 31 | 1u << 30);
	ok(p.lost == 9, "events lost before, counted");
	begin_page(&p, &l, 2, 1u << 31);
	ok(p.lost == PAGE_LOST_UNKNOWN, "events lost before, not counted");

	w[0] = 20;
	begin_page(&p, &l, 2, 0);
	ok(!page_next(&p, &e) && p.damaged, "an event longer than its page");
	w[0] = 0;
	w[1] = 0xfffffff0;
	begin_page(&p, &l, 2, 0);
	ok(!page_next(&p, &e) && p.damaged, "a long event longer than its page");
	words[2] = 4096;
	ok(page_begin(&p, &l, words, sizeof(words)) == -EINVAL, "more data than there is");
	ok(page_begin(&p, &l, words, 8) == -EINVAL, "too short for a page");
}

static void test_heads(void)
{
	char flags[6] = "";
	struct strbuf out = STRBUF_INIT;

	trace_text_flags(0x01 | 0x80 | 0x04 | 0x20 | 0x08 | 0x10, 0x21, flags);
	is_str(flags, "DNH12", "flags");
	trace_text_flags(0, 0, flags);
	is_str(flags, ".....", "no flags");
	trace_text_time(1234567890499, &out);
	is_str(out.data, "  1234.567890", "time");
	strbuf_reset(&out);
	trace_text_time(999999500, &out);
	is_str(out.data, "     1.000000", "time is rounded as the kernel does it");
	strbuf_release(&out);
}

int main(void)
{
	test_formats();
	test_pages();
	test_heads();
	return tap_done();
}
