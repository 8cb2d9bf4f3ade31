#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What scripts compute and say: values, warnings at run time, options of scripts, --test and --bench.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root

# Only begin probes: what is printed, without the empty lines at the end.
says()
{
	run -q -e "$1"
	is "$out" "$2" "$3"
	[ "$out" = "$2" ] || printf '%s\n' "$err" | sed 's/^/# /'
}

# --- division by zero ---
run -q -e 'begin { @none = 0; print(9 / @none); print(9 % @none); clear(@none) }'
is "$(echo "$out" | tr '\n' ' ')" "1 1 " "a division by zero gives 1"
like "$err" "1:26-35: WARNING: Divide or modulo by 0 detected" "and says where"
says 'begin { $d = 4; print(9 / $d); print(-9 % $d) }' "2
-1" "other divisions say nothing"

# --- integers of both kinds in one place ---
says 'begin { $a = (uint64)1; $a = -1; print($a) }' -1 "a negative constant makes a variable signed"
says 'begin { @x[-1] = 3; for ($kv : @x) { print($kv.0) } clear(@x); if (0) { @x[(uint64)1] = 2 } }' -1 "and a key"
says 'begin { @t = nsecs; @t = 0; @t++; print(typeinfo(@t).full_type); clear(@t) }' uint64 "++ and small literals leave it unsigned"
run -q -e 'begin { $a = -1; $a = 9223372036854775808 }'
like "$err" "Type mismatch for [$]a: trying to assign value of type 'uint64' when variable already has a type 'int8'" "no type holds both ends: variables"
run -q -e 'begin { @x[-1] = 1; @x[10223372036854775807] = 2 }'
like "$err" "Argument mismatch for @x: trying to access with arguments: 'uint64' when map expects arguments: 'int8'" "keys"
run -q -e 'begin { ++$a }'
like "$err" "Undefined or undeclared variable: [$]a" "++ makes no variable"

# --- elements that are not there ---
run -q -k -e 'begin { @m[7] = 1; print(@m[8]); clear(@m) }'
like "$err" "1:26-31: WARNING: Can't lookup map element because it does not exist." "-k: a read of an absent element"
run -q -e 'begin { @m[7] = 1; print(@m[8]); clear(@m) }'
is "$err" "" "without -k nothing is said"

# --- literals and casts ---
says 'begin { print((uint8*)-1) }' 0xff "a number becomes an address without a sign"
says 'begin { print(sizeof(*(int16[6]*)0)) }' 12 "a pointer to an array"
says 'begin { printf("%gr %gr\n", 0xcc0, 0) }' "GFP_KERNEL 0" "%gr: flags of the page allocator"
says 'macro sep() { "-" } begin { printf(sep()); print(1) }' "-1" "a macro that is a literal is a format"

# --- strings ---
says 'begin { $s = str_concat("left", "right"); $s = str_concat($s, "!"); print($s); print(strlen($s)) }' \
	"leftright!
10" "str_concat"
says 'config = { max_strlen = 6 } begin { print(str_concat("abcd", "efgh")) }' abcde "str_concat: cut to max_strlen"

# --- maps that are printed and emptied ---
says 'begin { @a["x"] = avg(4); @a["y"] = avg(8); print(@a, 1, 2); clear(@a) }' "@a[y]: 4" "print() and clear() of a map"

# --- the preprocessor ---
says '#define WORD(x) #x
#define GLUE(a, b) a##b
begin { print(WORD(x + 1)); print(GLUE(4, 2)); print(GLUE(pi, d) == pid) }' "x + 1
42
true" "# and ## in macros"
run -e '#define BAD(x) #y
begin { }'
like "$err" "'#' is not followed by a macro parameter" "# wants a parameter"
run -e '#define BAD(a, b) a##b
begin { print(BAD(+, /)) }'
like "$err" "'##' makes no token of \"\\+/\"" "## must make a token"

# --- settings and options ---
says 'config = { max_strlen = 77; missing_probes = warn } begin { print(config.max_strlen); print(config().missing_probes) }' \
	"77
warn" "config is a record"
opt='begin { print((getopt("n", 3), getopt("s", -1), getopt("on"), getopt("who", "me", "whom to greet"))) }'
run -q -e "$opt" -- --n=0xffffffffffffffff --s=-2 --on=Yes --who=you
is "$out" "(18446744073709551615, -2, true, you)" "options by the type of their default"
run -q -e "$opt"
is "$out" "(3, -1, false, me)" "defaults"
run -q -e "$opt" -- --n=many
is "$rc" 1 "a wrong value is refused"
like "$err" "^ERROR: program command line option --n invalid integer \(value: many\)" "with the reason"
run -q -e "$opt" -- --m
like "$err" "ERROR: unexpected program command line options: --m" "an unknown option"
like "$err" "HINT: expected program options: --who, --on, --s, --n" "and those that there are"
run -q -e "$opt" -- --help
like "$err" "--who: whom to greet" "--help: what they are for"

# --- types ---
refuses()
{
	run -d bpf -e "$1"
	like "$err" "$2" "$3"
}
refuses 'begin { let $b : uint8 = 256; }' "trying to assign value of type 'int16' when variable already has a type 'uint8'" \
	"a number that does not fit a declared variable"
refuses 'enum colour { red = 4 } begin { print((enum colour)5) }' "Enum: colour doesn't contain a variant value of 5" \
	"a number that is no member of an enum"
refuses 'begin { $s = "ab"; print($s[3]) }' "the index 3 is out of bounds for array of size 3" "an index beyond a string"
refuses 'struct T { char c[8]; } begin { $t = (struct T *)0; $x = (int32)$t->c; }' "Cannot cast from" "a cast that would lose half"
refuses 'begin { @s = nsecs ? kstack(2) : kstack(perf, 2) }' "have 'kstack_bpftrace_2' and 'kstack_perf_2'" "stacks of two modes"
says 'begin { @n = (uint64)1; @c = count(); @n = @c; print(@n); clear(@n); clear(@c) }' "@n: 1" "a count becomes a number of a map of numbers"
says 'let @one = lruhash(3); begin { @one = 5; print(@one); clear(@one) }' "@one: 5" "a declared map without keys"
says 'begin { if comptime (1 > 2) { fail("never"); } else { print("else") } }' "else" "a branch that is left out is not looked at"

says 'begin { $x = (int16)3; if comptime (typeinfo($x).full_type == "int16") { print("short") } else { fail("no") } }' short \
	"types are known at compile time"
refuses 'macro twice($x, $x) { $x } begin { }' 'has already been used: \$x' "a parameter of a macro twice"
says 'begin { $text = "ab"; for $i : 1..3 { $last = $text[$i]; } print(1) }' 1 "an index within a string"

# --- container_of ---
says 'begin { $t = (struct task_struct *)curtask; $p = (uint64)$t + offsetof(struct task_struct, pid);
print(container_of((int32 *)$p, typeof(struct task_struct), pid) == $t) }' true "container_of"

# --- tests and benchmarks in a script ---
run --test -e 'test:fine { assert(1 + 1 == 2, "sum"); } test:wrong { print("seen"); return 1; } test:loud { errorf("no"); }'
is "$rc" 1 "--test: one that fails is a failure"
like "$out" "1 test\\." "one passed"
like "$out" "2 tests, listed below:" "two failed"
like "$out" "^seen" "what a failed test printed"
run --test -e 'test:fine { print("unseen"); }'
is "$rc" 0 "--test: all passed"
unlike "$out" "unseen" "what a passed test printed is not shown"
run -f json --bench -e 'bench:add { @n = count(); }'
like "$out" '\{"type": "benchmark_result", "data": \{"add": \{"average": [0-9]+, "iters": [0-9]+\}\}\}' "--bench in JSON"
run -e 'test:only { }'
like "$err" "No probes attached; use --test to run test probes." "test probes alone are nothing to attach"

# --- parts of tuples as values of maps, of every small size ---
says 'begin { @m[1] = "a"; for ($kv : @m) { @n = $kv.1 } print(@n); clear(@m); clear(@n) }' "@n: a" "a string of 2 bytes out of a loop over a map"
says 'begin { $t = (1, "abc", (uint8)7, "xy"); @a = $t.1; @b = $t.3; @c = ($t.2, $t.2); print((@a, @b, @c)); clear(@a); clear(@b); clear(@c) }' "(abc, xy, (7, 7))" "members of a tuple"
done_testing
