/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/cache/entries.h"
#include "tap.h"

static const char text[] =
	"#probe_demo:myev=handle len name=n->name:string\n"
	"p:probe_demo/myev /tmp/demo:0x1240 len=%dx:s32 name=+0(+48(%di)):string\n"
	"#mix x\n"
	"p:probe_demo/mix /tmp/demo:0x1101 x=%bp:s32\n"
	"p:probe_demo/mix /tmp/demo:0x1260 x=+0(%r8):s32\n"
	"%sdt_prov:one=one\n"
	"p:sdt_prov/one /tmp/demo:0x1042(0x4010) arg1=%ax:s32\n";

static void test_round_trip(void)
{
	struct cache_entries e = {0};
	struct strbuf out = STRBUF_INIT;
	u32 line;

	is_int(cache_entries_parse(&e, text, sizeof(text) - 1, &line), 0, "perf's text");
	is_int((long long)e.list.len, 3, "three definitions");
	is_str(e.list.items[0].event, "probe_demo:myev", "the name of one");
	is_str(e.list.items[0].command, "handle len name=n->name:string", "and what it is");
	ok(!e.list.items[1].event, "one without a name");
	is_int((long long)e.list.items[1].lines.len, 2, "with two places");
	ok(e.list.items[2].is_sdt, "a statically defined event");
	cache_entries_format(&e, &out);
	is_str(out.data, text, "written as it was read");
	strbuf_release(&out);
	cache_entries_release(&e);
}

static void test_find(void)
{
	struct cache_entries e = {0};
	struct cache_entry *entry;
	u32 line;

	cache_entries_parse(&e, text, sizeof(text) - 1, &line);
	ok(cache_entries_find(&e, "mix x") != NULL, "found by the definition");
	ok(!cache_entries_find(&e, "probe_demo:myev=handle len"),
	   "the same name with other arguments is another definition");
	ok(cache_entries_named(&e, "myev") && cache_entries_named(&e, "sdt_prov:one"), "by name");
	entry = cache_entries_put(&e, false, "probe_demo:myev=handle len");
	ok(entry && cache_entry_add_line(&e, entry, "p:probe_demo/myev /tmp/demo:0x1240 len=%dx"),
	   "a definition that is added");
	is_int((long long)e.list.len, 3, "takes the place of the one of its name");
	ok(!cache_entries_find(&e, "probe_demo:myev=handle len name=n->name:string"),
	   "which is forgotten");
	is_int(cache_entries_remove(&e, "my*"), 1, "removed by a wildcard of its name");
	is_int(cache_entries_remove(&e, "probe_demo:*"), 0, "only names that were given count");
	is_int(cache_entries_remove(&e, "mix*"), 1, "a definition without a name: by its text");
	is_int(cache_entries_remove(&e, "sdt_*:*"), 1, "by group and name");
	is_int((long long)e.list.len, 0, "none is left");
	cache_entries_release(&e);
}

static void test_bad(void)
{
	static const struct {
		const char *text;
		u32 line;
		const char *name;
	} rows[] = {
		{"p:a/b /x:0x1\n", 1, "a probe without a definition"},
		{"#a\nq:a/b /x:0x1\n", 2, "neither p nor r"},
		{"#a\np:ab /x:0x1\n", 2, "no group"},
		{"#a\np:a/ /x:0x1\n", 2, "no event"},
		{"#a\np:a/b\n", 2, "no place"},
		{"#a\np:a/b/c /x:0x1\n", 2, "two groups"},
		{"#a\n-:a/b /x:0x1\n", 2, "what deletes events"},
		{"#\n", 1, "an empty definition"},
		{"#a\001b\n", 1, "a control character"},
	};
	struct cache_entries e = {0};
	char *longest = malloc(CACHE_LINE_MAX + 2);
	u32 line;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ok(cache_entries_parse(&e, rows[i].text, strlen(rows[i].text), &line) == -EINVAL &&
			   line == rows[i].line && !e.list.len,
		   "refused: %s", rows[i].name);
	}
	ok(cache_entries_parse(&e, "#a\0b\n", 5, &line) == -EINVAL, "refused: a NUL");
	memset(longest, 'a', CACHE_LINE_MAX + 2);
	longest[0] = '#';
	is_int(cache_entries_parse(&e, longest, CACHE_LINE_MAX + 1, &line), 0, "a long line");
	is_int(cache_entries_parse(&e, longest, CACHE_LINE_MAX + 2, &line), -EINVAL,
	       "one that is too long");
	ok(!cache_entries_put(&e, false, "a\nb"), "a definition of two lines is refused");
	free(longest);
	cache_entries_release(&e);
}

static void test_line(void)
{
	struct cache_line l;

	ok(cache_line_parse("r8:g/e  /a:0x1 x=%di y=@0", &l) && l.is_return && l.group_len == 1 &&
		   l.event_len == 1 && l.place_len == 6 && !strncmp(l.place, "/a:0x1", 6) &&
		   !strcmp(l.arguments, "x=%di y=@0"),
	   "a return probe in its parts");
	ok(cache_line_parse("p:g/e vfs_read+0", &l) && !*l.arguments, "one without arguments");
}

int main(void)
{
	test_round_trip();
	test_find();
	test_bad();
	test_line();
	return tap_done();
}
