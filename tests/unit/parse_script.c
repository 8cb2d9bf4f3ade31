/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attach points, the preprocessor, C definitions and macros. */
#include "tests_parse.h"

/* The parts of the first attach points: "kprobe|vfs_read, ..." */
static void attach(const char *text, const char *want)
{
	char *script = xasprintf("%s { }", text);
	struct strbuf got = STRBUF_INIT;
	struct parsed t;

	parsed_init(&t, script, true);
	if (t.r) {
		char *messages = parsed_messages(&t);

		strbuf_addstr(&got, messages);
		free(messages);
	}
	for (u32 i = 0; i < t.ast.nprobes; i++) {
		const struct probe *p = &t.ast.probes[i];

		if (p->label)
			strbuf_addf(&got, "%s = ", p->label);
		for (u32 j = 0; j < p->nattach; j++) {
			strbuf_addstr(&got, j ? ", " : "");
			for (u32 k = 0; k < p->attach_points[j].count; k++)
				strbuf_addf(&got, k ? "|%s" : "%s", p->attach_points[j].parts[k]);
		}
		if (p->predicate)
			strbuf_addstr(&got, " /");
	}
	is_str(got.data, want, one_line(text));
	strbuf_release(&got);
	parsed_release(&t);
	free(script);
}

static void test_attach_points(void)
{
	attach("BEGIN", "BEGIN");
	attach("begin,end", "begin, end");
	attach("kprobe:vfs_read", "kprobe|vfs_read");
	attach("kprobe:vfs_*/pid == 1/", "kprobe|vfs_* /");
	attach("kprobe:f /pid == 1 / 2/", "kprobe|f /");
	attach("BEGIN/1/", "BEGIN /");
	attach("kprobe:a,\n\tkprobe:b, // comment\n kretprobe:c,",
	       "kprobe|a, kprobe|b, kretprobe|c");
	attach("uprobe:/bin/*:\"f(int, char)\"", "uprobe|/bin/*|f(int, char)");
	attach("uprobe:./a/b:cpp:\"ns::f(int)\"", "uprobe|./a/b|cpp|ns::f(int)");
	attach("uprobe:/bin/sh:f+0x10 /1/", "uprobe|/bin/sh|f+0x10 /");
	attach("uprobe:/bin/sh@main.c:12:3", "uprobe|/bin/sh@main.c|12|3");
	attach("uprobe:\"/a b:c\":f", "uprobe|/a b:c|f");
	attach("usdt:/usr/lib/x.so:p:*", "usdt|/usr/lib/x.so|p|*");
	attach("profile:hz:99", "profile|hz|99");
	attach("profile:5ms", "profile|5ms");
	attach("software:faults:1e6", "software|faults|1e6");
	attach("interval:s:1 /@x/", "interval|s|1 /");
	attach("kprobe:$1", "kprobe|one");
	attach("kprobe:a${1}b", "kprobe|aoneb");
	attach("$2", "a|b");
	attach("kprobe:\"$1\"", "kprobe|$1");
	attach("watchpoint:0x10000000:8:rw", "watchpoint|0x10000000|8|rw");
	attach("iter:task:/sys/fs/bpf/x", "iter|task|/sys/fs/bpf/x");
	attach("tracepoint:sched:*", "tracepoint|sched|*");
	attach("myname = kprobe:f", "myname = kprobe|f");
	attach("t:a:b\n/arg0/\n", "t|a|b /");
	attach("kprobe:$a", "stdin:1:1-10: ERROR: invalid trailing character for positional param: "
			    "a. Try quoting this entire part if "
			    "this is intentional e.g. \"$a\".");
	attach("kprobe:f /pid", "stdin:1:15-16: ERROR: syntax error, unexpected '{', expected '/' "
				"to close predicate");
	attach("uprobe:\"abc",
	       "stdin:1:1-16: ERROR: syntax error, unterminated string in attach point");
}

static void value_of(const char *head, const char *expr, const char *want)
{
	char *script = xasprintf("%s\nbegin { $r = %s }", head, expr), *got = parse_dump(script);
	char *value = strstr(got, "variable: $r\n");

	is_str(value ? value + strlen("variable: $r\n") : got, want, one_line(head));
	free(got);
	free(script);
}

static void test_preprocessor(void)
{
	value_of("#define N 5", "N", "   int: 5\n");
	value_of("#define N (1 + \\\n 2)", "N", "   binary: +\n    int: 1\n    int: 2\n");
	value_of("#define A B\n#define B 7", "A", "   int: 7\n");
	value_of("#define F(x, y) x - y", "F(1, F(2, 3))",
		 "   binary: -\n    binary: -\n     int: 1\n     int: 2\n    int: 3\n");
	value_of("#define F(x) x", "F", "   name: F\n");
	value_of("#define X X", "X", "   name: X\n");
	value_of("#define N 1\n#undef N", "N", "   name: N\n");
	value_of("#ifdef BPFTRACE_HAVE_BTF\n#define N 1\n#else\n#define N 2\n#endif", "N",
		 "   int: 1\n");
	value_of("#ifndef BPFTRACE_HAVE_BTF\n#define N 1\n#else\n#define N 2\n#endif", "N",
		 "   int: 2\n");
	value_of("#if 0\n#if 1\n#define N 1\n#endif\n#elif defined(BPFTRACE_HAVE_BTF) && 2 * 3 == "
		 "6\n#define N 2\n#else\n"
		 "#define N 3\n#endif",
		 "N", "   int: 2\n");
	value_of("#include <sys/socket.h>", "AF_INET6", "   int: 10\n");
	value_of("", "AF_INET6", "   int: 10\n");
	value_of("#include <linux/fcntl.h>\nenum { O_WRONLY = 77 };", "O_WRONLY",
		 "   name: O_WRONLY\n");
	is_text(parse_fails("#define A B\n#define B A\nbegin { A }"),
		"stdin:3:9-10: ERROR: macro 'A' is recursive", "recursion");
	is_text(parse_fails("#define F(x) x\nbegin { F(1, 2) }"),
		"stdin:2:9-10: ERROR: macro 'F' takes 1 arguments, found 2", "arguments");
	is_text(parse_fails("#define A 1 +\nbegin { $x = A }"),
		"stdin:2:16-17: ERROR: syntax error, unexpected '}', expected expression",
		"error behind a macro");
	is_text(parse_fails("#ifdef X\nbegin { }"),
		"stdin:1:1-7: ERROR: unterminated #if: no #endif before the end of file",
		"no #endif");
	is_text(parse_fails("#else\nbegin { }"), "stdin:1:2-6: ERROR: #else without #if", "#else");
	is_text(parse_fails("#include \"nothere.h\"\nbegin { }"),
		"stdin:1:1-21: ERROR: 'nothere.h' file not found\nHINT: -I DIR adds a directory to "
		"search",
		"#include");
	is_text(parse_fails("#error no\nbegin { }"), "stdin:1:1-7: ERROR: #error no", "#error");
}

static void test_explosion(void)
{
	struct strbuf s = STRBUF_INIT;

	strbuf_addstr(&s, "#define M0 1\n");
	for (int i = 1; i < 40; i++)
		strbuf_addf(&s, "#define M%d M%d + M%d + M%d + M%d\n", i, i - 1, i - 1, i - 1,
			    i - 1);
	strbuf_addstr(&s, "begin { $x = M39 }");
	ok(fails_with(s.data, "more than 2000000 tokens"), "tokens from #define");
	strbuf_reset(&s);
	strbuf_addstr(&s, "macro m0(x) { x + x }\n");
	for (int i = 1; i < 40; i++)
		strbuf_addf(&s, "macro m%d(x) { m%d(x) + m%d(x) }\n", i, i - 1, i - 1);
	strbuf_addstr(&s, "begin { $x = m39(1) }");
	ok(fails_with(s.data, "macros expand to more than"), "expressions from macros");
	strbuf_release(&s);
}

/* "size/align: name@offset[:bit+width] ..." */
static void layout(const char *definition, const char *name, const char *want)
{
	char *script = xasprintf("%s begin { }", definition);
	struct strbuf got = STRBUF_INIT;
	const struct type *type;
	struct parsed t;

	parsed_init(&t, script, true);
	type = type_named(&t.types, name);
	if (t.r || !type) {
		char *messages = parsed_messages(&t);

		strbuf_addstr(&got, messages);
		free(messages);
	} else {
		strbuf_addf(&got, "%u/%u:", type->size, type_align(type));
		for (u32 i = 0;
		     (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION) && i < type->count;
		     i++) {
			const struct type_member *m = &type->members[i];

			strbuf_addf(&got, " %s@%u", m->name ? m->name : "-", m->offset);
			if (m->bit_size)
				strbuf_addf(&got, ":%u+%u", m->bit_offset, m->bit_size);
		}
		for (u32 i = 0; type->kind == TYPE_ENUM && i < type->count; i++)
			strbuf_addf(&got, " %s=%lld", type->enumerators[i].name,
				    (long long)type->enumerators[i].value);
	}
	is_str(got.data, want, one_line(definition));
	strbuf_release(&got);
	parsed_release(&t);
	free(script);
}

static void test_c_definitions(void)
{
	layout("struct s { char a; int b; short c; };", "struct s", "12/4: a@0 b@4 c@8");
	layout("struct s { char a; int b; } __attribute__((packed));", "struct s", "5/1: a@0 b@1");
	layout("struct __attribute__((packed, aligned(4))) s { char a; int b; };", "struct s",
	       "8/4: a@0 b@1");
	layout("struct s { int a:3, b:5; unsigned c:30; };", "struct s",
	       "8/4: a@0:0+3 b@0:3+5 c@4:0+30");
	layout("struct s { char a; int b:9; int :0; int c:1; };", "struct s",
	       "8/4: a@0 b@0:8+9 c@4:0+1");
	layout("struct s { int a; struct { int b; union { char c; long d; }; }; };", "struct s",
	       "24/8: a@0 -@8");
	layout("struct s { int n; struct s *next; int (*f)(int, void *); char *names[4]; };",
	       "struct s", "56/8: n@0 next@8 f@16 names@24");
	layout("union u { char a[5]; short b; };", "union u", "6/2: a@0 b@0");
	layout("struct s { int n; char data[]; };", "struct s", "4/4: n@0 data@4");
	layout("#define N 3\nenum e { A, B = 1 << 2, C }; struct s { char x[N * 2][B]; char "
	       "y[sizeof(long)]; };",
	       "struct s", "32/1: x@0 y@24");
	layout("enum e { A, B = 1 << 2, C, D = A - 1 };", "enum e", "4/4: A=0 B=4 C=5 D=-1");
	layout("enum e { A = 0x100000000 };", "enum e", "8/8: A=4294967296");
	layout("typedef struct { int a; } t, *tp; struct s { t x; tp y; };", "struct s",
	       "16/8: x@0 y@8");
	layout("typedef unsigned int u_t; struct s { u_t a; uint64_t b; };", "struct s",
	       "16/8: a@0 b@8");
	layout("struct f; struct s { struct f *p; };", "struct s", "8/8: p@0");
	layout("struct s { nosuch a; };", "struct s",
	       "stdin:1:12-18: ERROR: unknown type 'nosuch'");
	layout("struct s { int a; int a; };", "struct s",
	       "stdin:1:23-24: ERROR: duplicate member 'a'");
	layout("typedef struct s s_t; struct s { int a; s_t *p; }; struct t { s_t x; };",
	       "struct t", "16/8: x@0");
	layout("struct s { int a; }; struct s { int b; };", "struct s",
	       "stdin:1:22-28: ERROR: redefinition of 'struct s'");
	layout("struct s { int a:33; };", "struct s",
	       "stdin:1:16-17: ERROR: invalid bit-field: 33 bits");
	layout("struct s { struct nosuch2 a; };", "struct s",
	       "stdin:1:27-28: ERROR: member 'a' has an incomplete type");
}

static void test_macros(void)
{
	value_of("macro add(x) { x + 1 }", "add(2)",
		 "   block\n    value\n     binary: +\n      int: 2\n      int: 1\n");
	value_of("macro one() { 1 }", "one", "   int: 1\n");
	value_of("macro v(x) { $y = x; $y }", "v($y)",
		 "   block\n    =\n     variable: $v.1.y\n     block\n      value\n       "
		 "variable: $y\n    value\n     variable: "
		 "$v.1.y\n");
	value_of("macro m($x, @y) { @y[$x] }", "m($a, @b)",
		 "   block\n    value\n     []\n      map: @b\n      variable: $a\n");
	value_of("macro s(t) { sizeof(t) + sizeof(t*) }", "s(typeof(struct foo))",
		 "   block\n    value\n     binary: +\n      sizeof (struct foo)\n      sizeof "
		 "(struct foo *)\n");
	value_of("macro s(x) { let $y: typeof(x); sizeof(x) }", "s(@m)",
		 "   block\n    let (typeof)\n     typeof\n      map: @m\n     variable: $s.1.y\n  "
		 "  value\n     sizeof\n      map: "
		 "@m\n");
	value_of("macro f(x) { x } macro f(x, y) { x + y }", "f(1, 2)",
		 "   block\n    value\n     binary: +\n      int: 1\n      int: 2\n");
	is_text(parse_dump("macro p(x) { print(x); } begin { p(1); }"),
		"macro p\n name: x\n body\n  call: print\n   name: x\nprobe\n attach begin\n "
		"body\n "
		" scope\n   body\n    call: "
		"print\n     int: 1\n",
		"a macro as statement");
	is_text(parse_fails("macro a() { b() } macro b() { a() } begin { a() }"),
		"stdin:1:31-34: ERROR: Recursive macro call detected. Call chain: a > b > a",
		"recursive macro");
	is_text(parse_fails("macro a() { @x } begin { a() }"),
		"stdin:1:13-15: ERROR: Unhygienic access to map: @x. Maps must be passed into the "
		"macro as arguments.",
		"map in a macro");
	is_text(parse_fails("macro a(@x) { @x } begin { a(1) }"),
		"stdin:1:28-32: ERROR: Call to a() has arguments that do not match any "
		"definition.\n"
		"stdin:1:30-31: ERROR: Mismatched arg. a() expects a map for arg @x but got an "
		"expression.\n"
		"stdin:1:9-11: ERROR: This is the argument in the closest definition.",
		"mismatch");
	is_text(parse_fails("macro a($x) { let $x = 1; } begin { a($y) }"),
		"stdin:1:19-21: ERROR: Variable declaration shadows macro arg $x", "shadowing");
	is_text(parse_fails("macro a(x) { 1 } macro a(y) { 2 } begin { }"),
		"stdin:1:18-25: ERROR: Redefinition of macro: a", "redefinition");
	is_text(parse_fails("macro a(x, x) { 1 } begin { }"),
		"stdin:1:12-13: ERROR: Ident for macro argument has already been used: x",
		"same name twice");
}

int main(void)
{
	test_attach_points();
	test_preprocessor();
	test_explosion();
	test_c_definitions();
	test_macros();
	return tap_done();
}
