/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions and statements as trees; texts of errors. */
#include "tests_parse.h"

static void expression(const char *text, const char *want)
{
	char *script = xasprintf("begin { $r = %s; }", text);
	char *got = parse_dump(script), *s = got, *out = got;

	/* Only the value: without the head, indentation as parentheses. */
	s = strstr(got, "variable: $r\n");
	if (s) {
		struct strbuf flat = STRBUF_INIT;
		int depth = 3;

		for (s += strlen("variable: $r\n"); *s;) {
			const int indent = (int)strspn(s, " ");
			const size_t n = strcspn(s + indent, "\n");

			for (; depth >= indent && flat.len; depth--)
				strbuf_addch(&flat, ')');
			strbuf_addf(&flat, "%s(%.*s", flat.len ? " " : "", (int)n, s + indent);
			depth = indent;
			s += (size_t)indent + n + 1;
		}
		strbuf_addchars(&flat, ')', depth - 2);
		out = strbuf_detach(&flat);
		is_str(out, want, text);
		free(out);
	} else {
		is_str(got, want, text);
	}
	free(got);
	free(script);
}

static void test_expressions(void)
{
	expression("1 + 2 * 3", "(binary: + (int: 1) (binary: * (int: 2) (int: 3)))");
	expression("(1 + 2) * 3", "(binary: * (binary: + (int: 1) (int: 2)) (int: 3))");
	expression("1 - 2 - 3", "(binary: - (binary: - (int: 1) (int: 2)) (int: 3))");
	expression("1 | 2 ^ 3 & 4",
		   "(binary: | (int: 1) (binary: ^ (int: 2) (binary: & (int: 3) (int: 4))))");
	expression("1 == 2 < 3 << 4",
		   "(binary: == (int: 1) (binary: < (int: 2) (binary: << (int: 3) (int: 4))))");
	expression("a || b && c", "(binary: || (name: a) (binary: && (name: b) (name: c)))");
	expression("!a.b", "(unary: ! (.: b (name: a)))");
	expression("-*p->x", "(unary: - (unary: * (.: x (name: p))))");
	expression("a ? b : c ? d : e", "(?: (condition (name: a)) (then (name: b)) (else (?: "
					"(condition (name: c)) (then (name: d)) (else "
					"(name: e)))))");
	expression("a ?: b", "(?: (condition (name: a)) (else (name: b)))");
	expression("(1, 2)", "(tuple (int: 1) (int: 2))");
	expression("(1,)", "(tuple (int: 1))");
	expression("()", "(tuple)");
	expression("(a = 1, b = \"x\")", "(record (a (int: 1)) (b (string: \"x\")))");
	expression("$t.0.1", "(.: 1 (.: 0 (variable: $t)))");
	expression("@m[1, \"k\"].2", "(.: 2 ([] (map: @m) (int: 1) (string: \"k\")))");
	expression("@[pid]", "([] (map: @) (name: pid))");
	expression("@m[1][2]", "([] ([] (map: @m) (int: 1)) (int: 2))");
	expression("(struct task_struct *)curtask",
		   "(cast (struct task_struct *) (name: curtask))");
	expression("((struct sock *)arg0)->sk_x", "(.: sk_x (cast (struct sock *) (name: arg0)))");
	expression("(uint8)-1", "(cast (uint8) (unary: - (int: 1)))");
	expression("(int64[2])$x", "(cast (int64[2]) (variable: $x))");
	expression("(string[64])$x", "(cast (string[64]) (variable: $x))");
	expression("(unsigned long)$x", "(cast (unsigned long) (variable: $x))");
	expression("(typeof($y))$x", "(cast (typeof) (typeof (variable: $y)) (variable: $x))");
	expression("(pid) * tid", "(binary: * (name: pid) (name: tid))");
	expression("(foo) - 1", "(binary: - (name: foo) (int: 1))");
	expression("(foo)$x", "(cast (foo) (variable: $x))");
	expression("(foo **)$x", "(cast (foo **) (variable: $x))");
	expression("sizeof(struct foo)", "(sizeof (struct foo))");
	expression("sizeof(uint64)", "(sizeof (uint64))");
	expression("sizeof($x + 1)", "(sizeof (binary: + (variable: $x) (int: 1)))");
	expression("offsetof(struct S, f.g)", "(offsetof: f.g (struct S))");
	expression("str(arg0, 8)", "(call: str (name: arg0) (int: 8))");
	expression("$1 + $# + ${2}", "(binary: + (binary: + (param: $1) (param: $#)) (param: $2))");
	expression("$$len", "(variable: $$len)");
	expression("&$x", "(unary: & (variable: $x))");
	expression("$x++", "(increment: post++ (variable: $x))");
	expression("--@m[1]", "(increment: pre-- ([] (map: @m) (int: 1)))");
	expression("true", "(bool: true)");
	expression("comptime 1 + 2", "(binary: + (comptime (int: 1)) (int: 2))");
	expression("if a { 1 } else { 2 }", "(if (condition (name: a)) (then (block (value (int: "
					    "1)))) (else (block (value (int: 2)))))");
	expression("{ $a = 1; $a }", "(block (= (variable: $a) (int: 1)) (value (variable: $a)))");
}

static void test_literals(void)
{
	expression("0x1F", "(int: 31)");
	expression("017", "(int: 15)");
	expression("0b101", "(int: 5)");
	expression("1_000_000", "(int: 1000000)");
	expression("1e6", "(int: 1000000)");
	expression("5ms", "(int: 5000000)");
	expression("2us", "(int: 2000)");
	expression("3h", "(int: 10800000000000)");
	expression("1d", "(int: 86400000000000)");
	expression("10ULL", "(int: 10)");
	expression("18446744073709551615", "(int: 18446744073709551615)");
	expression("\"a\\n\\x41\\101\\\"\"", "(string: \"a\\nAA\\\"\")");
}

static void test_statements(void)
{
	is_text(parse_body("$x += 1; @m[1] <<= 2; _ = f();"),
		"+=\n variable: $x\n int: 1\n<<=\n []\n  map: @m\n  int: 1\n int: 2\n=\n name: _\n "
		"call: f\n",
		"assignments");
	is_text(parse_body("let $x; let $y: uint8 = 1; let $z: typeof($x) = 2;"),
		"let\n variable: $x\nlet (uint8)\n variable: $y\n int: 1\nlet (typeof)\n typeof\n  "
		"variable: $x\n variable: $z\n "
		"int: 2\n",
		"let");
	is_text(parse_body("if (a) { b(); } else if c { d() } else { e(); }"),
		"if\n name: a\n then\n  call: b\n else\n  if\n   name: c\n   then\n    call: d\n   "
		"else\n    call: e\n",
		"if, else if, else");
	is_text(parse_body("while ($i < 5) { $i++ } unroll 3 { f(); } unroll(4) { }"),
		"while\n binary: <\n  variable: $i\n  int: 5\n body\n  increment: post++\n   "
		"variable: $i\nunroll\n int: 3\n "
		"body\n  call: f\nunroll\n int: 4\n body\n",
		"while, unroll");
	is_text(parse_body("for ($kv : @m) { break; } for $i : 0..10 { continue } for ($i : 1..$n) "
			   "{ return; }"),
		"for map\n variable: $kv\n map: @m\n body\n  break\nfor range\n variable: $i\n "
		"int: "
		"0\n int: 10\n body\n  "
		"continue\nfor range\n variable: $i\n int: 1\n variable: $n\n body\n  return\n",
		"for");
	is_text(parse_body("{ $x = 1 } ; ; return 3"),
		"scope\n body\n  =\n   variable: $x\n   int: 1\nreturn\n int: 3\n",
		"scope, empty statements, return with a value");
	is_text(parse_body("/* c */ $x /* d */ = // e\n 1"), "=\n variable: $x\n int: 1\n",
		"comments");
}

static void test_top_level(void)
{
	is_text(parse_dump(
			"#!/usr/bin/env bpftrace\nconfig = { missing_probes = ignore; max_strlen "
			"= 12 }\nimport \"/sys/kernel\";\n"
			"let @m = lruhash(10);\nfn f($a : uint64, $b : struct x *) : uint64 { "
			"return $a; }\n"
			"begin { }"),
		"config missing_probes\n name: ignore\nconfig max_strlen\n int: 12\nimport "
		"\"/sys/kernel\"\nmap @m lruhash\n int: 10\n"
		"fn f (uint64)\n $a (uint64)\n $b (struct x *)\n body\n  return\n   variable: "
		"$return\n   variable: $a\nprobe\n attach begin\n body\n",
		"config, import, let, fn");
}

static void test_errors(void)
{
	is_text(parse_fails("BEGIN { printf(\"x\" }"),
		"stdin:1:20-21: ERROR: syntax error, unexpected '}', expected ')'", "missing )");
	is_text(parse_fails("BEGIN { 1 2 }"),
		"stdin:1:11-12: ERROR: syntax error, unexpected integer 2, expected ';'",
		"missing ;");
	is_text(parse_fails("kprobe:f"),
		"stdin:1:9-10: ERROR: syntax error, unexpected end of file, expected '{'",
		"no body");
	is_text(parse_fails("BEGIN { if (1) {"),
		"stdin:1:17-18: ERROR: syntax error, unexpected end of file, expected '}'\n"
		"HINT: the '{' of line 1, column 16 is still open",
		"cut off");
	is_text(parse_fails("BEGIN { \"abc }"),
		"stdin:1:9-15: ERROR: syntax error, unterminated string: no '\"' before the end of "
		"the line",
		"unterminated string");
	is_text(parse_fails("BEGIN { /* abc }"),
		"stdin:1:9-11: ERROR: unterminated comment: no '*/' before the end of file",
		"unterminated comment");
	is_text(parse_fails("BEGIN { \"\xff\" }"),
		"stdin:1:10-11: ERROR: syntax error, byte 0xff is not valid UTF-8",
		"not UTF-8 in a string");
	is_text(parse_fails("BEGIN { \xc3 }"),
		"stdin:1:9-10: ERROR: syntax error, byte 0xc3 is not valid UTF-8", "not UTF-8");
	is_text(parse_fails("BEGIN { \"\\q\" }"),
		"stdin:1:10-12: ERROR: syntax error, invalid escape character '\\q'", "escape");
	is_text(parse_fails("BEGIN { \"\\777\" }"),
		"stdin:1:10-14: ERROR: syntax error, octal escape sequence out of range '\\777'",
		"octal escape");
	is_text(parse_fails("BEGIN { $x = 12e4; }"),
		"stdin:1:14-18: ERROR: syntax error, coefficient part of scientific literal must "
		"be "
		"1-9: 12e4",
		"12e4");
	is_text(parse_fails("BEGIN { $x = 1zz; }"),
		"stdin:1:14-17: ERROR: syntax error, invalid integer suffix 'zz'", "suffix");
	is_text(parse_fails("BEGIN { $0 }"),
		"stdin:1:9-11: ERROR: syntax error, param $0 is out of integer range [1, "
		"9223372036854775807]",
		"$0");
	is_text(parse_fails("BEGIN { 5++ }"),
		"stdin:1:10-12: ERROR: syntax error, increment/decrement requires a variable or "
		"map",
		"5++");
	is_text(parse_fails("BEGIN { $a.1 = 2 }"),
		"stdin:1:9-13: ERROR: syntax error, Tuples and records are immutable once created. "
		"Consider creating a new "
		"value and assigning it instead.",
		"tuples are immutable");
	ok(fails_with("BEGIN { args.x += 2 }", "ERROR"), "assignment to a member");
	is_text(parse_fails("BEGIN { 1 + 2 = 3 }"),
		"stdin:1:9-14: ERROR: syntax error, invalid assignment target",
		"assignment target");
	is_text(parse_fails("BEGIN { &1 }"),
		"stdin:1:10-11: ERROR: syntax error, address-of operator (&) can only be used on a "
		"map or variable",
		"&1");
	is_text(parse_fails("BEGIN { } config = { a = 1 }"),
		"stdin:1:11-17: ERROR: syntax error, config must appear before probes and "
		"functions",
		"late config");
	ok(fails_with("let $x = 1;", "ERROR"), "let of a variable at the root");
	is_text(parse_fails("BEGIN { for (1 : @x) {} }"),
		"stdin:1:14-15: ERROR: syntax error, unexpected integer 1, expected variable in "
		"for "
		"loop",
		"for");
}

/* prefix, middle n times, suffix n times. */
static bool deep_is_refused(const char *prefix, const char *open, const char *mid,
			    const char *close)
{
	struct strbuf s = STRBUF_INIT;
	bool refused;

	strbuf_addstr(&s, prefix);
	for (int i = 0; i < 20000; i++)
		strbuf_addstr(&s, open);
	strbuf_addstr(&s, mid);
	for (int i = 0; i < 20000; i++)
		strbuf_addstr(&s, close);
	strbuf_addstr(&s, " }");
	refused = fails_with(s.data, "deep");
	strbuf_release(&s);
	return refused;
}

static void test_limits(void)
{
	ok(deep_is_refused("BEGIN { $x = ", "(", "1", ")"), "20000 parentheses");
	ok(deep_is_refused("BEGIN { $x = ", "!", "1", ""), "20000 unary operators");
	ok(deep_is_refused("BEGIN { $x = 1", "+1", "", ""), "20000 additions");
	ok(deep_is_refused("BEGIN { $x = a", ".b", "", ""), "20000 members");
	ok(deep_is_refused("BEGIN { $x = a", "?b:c", "", ""), "20000 conditions");
	ok(deep_is_refused("BEGIN { ", "{", "", "}"), "20000 blocks");
	ok(deep_is_refused("BEGIN { ", "if 1 { } else ", "{}", ""), "20000 branches");
	ok(deep_is_refused("BEGIN { $x = ", "f(", "1", ")"), "20000 calls");
	ok(deep_is_refused("BEGIN { $x = @", "[@", "", "]"), "20000 indexes");
	ok(deep_is_refused("struct x { ", "struct { ", "int a;", "} y; "), "20000 structs");
}

int main(void)
{
	test_expressions();
	test_literals();
	test_statements();
	test_top_level();
	test_errors();
	test_limits();
	return tap_done();
}
