#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Mistakes with what bpftrace does not have: each is refused with the place and the limit.
# among tracers: asks what is refused
. "$(dirname "$0")/lib.sh"
need_root

# refuse SCRIPT REGEX
refuse()
{
	run --dry-run -e "$1"
	if [ $rc = 1 ]; then like "$err" "$2" "$1"; else is "$rc" 1 "$1"; fi
	like "$err" '^ *~+ *$' "... with its place"
}
refuse 'begin { @ = llhist(1, 1, 0, 2, 10); }' 'base must be 2..65535 \(1 provided\)'
refuse 'begin { @ = llhist(1, 10, 3, 2, 10); }' 'high order of magnitude must not be less'
refuse 'begin { @ = llhist(1, 10, 0, 19, 10); }' 'overflows 64 bits'
refuse 'begin { @ = llhist(1, 10, 0, 2, 5); }' 'steps must be at least the base'
refuse 'begin { @ = llhist(1, 10, 0, 2, 25); }' 'must divide steps'
refuse 'begin { @ = llhist(1, 10, 0, 17, 1000); }' 'too many buckets, must be <= 4096'
refuse 'begin { @ = llhist(1, 10, 0, 2); }' 'requires 5 arguments'
refuse 'begin { @ = llhist(1, 10, 0, $1 + rand, 10); }' 'llhist'
refuse 'begin { @ = llhist("a", 10, 0, 1, 10); }' 'only supports integer arguments'
refuse 'begin { $x = llhist(1, 10, 0, 1, 10); }' 'must be assigned directly to a map'
refuse 'begin { @ = stddev("a"); }' 'only supports integer arguments'
refuse 'begin { @ = stddev(); }' 'requires one argument'
refuse 'begin { @ = stddev(1); $x = @ + 1; }' 'stddev|Type mismatch|Undefined|operator'
refuse 'begin { @ = 1; trunc(@, 1); }' 'with explicit keys'
refuse 'begin { @[1] = 1; trunc(@, "a"); }' 'int'
refuse 'begin { trunc(@nope, 1); }' 'Undefined map: @nope'
refuse 'begin { trunc(1, 1); }' 'expects a map'
refuse 'begin { @[1] = "a"; normalize(@, 2); }' 'expects a map of numbers'
refuse 'begin { @[1] = 1; normalize(@, 0); }' 'divisor of at least 1'
refuse 'begin { @[1] = 1; normalize(@); }' 'requires 2 arguments'
refuse 'begin { @[1] = 1; sort(@, keys); }' "'key' or 'value'"
refuse 'begin { @[1] = 1; sort(@, key, up); }' "'asc' or 'desc'"
refuse 'begin { @ = 1; sort(@, key); }' 'with explicit keys'
refuse 'begin { @[1] = 1; printa("%d %d %d\n", @); }' 'more conversions than'
refuse 'begin { @[1] = 1; @b["x"] = 1; printa("%d\n", @, @b); }' 'joins maps by their keys'
refuse 'begin { @[1] = 1; @b = 1; printa("%d\n", @, @b); }' 'joins maps by their keys'
refuse 'begin { @[1] = 1; printa("%*d\n", @); }' "not '\*'"
refuse 'begin { @["a"] = 1; printa("%d\n", @); }' "unsupported format specifier"
refuse 'begin { @[1] = 1; printa(5, @); }' 'string'
refuse 'begin { @[1] = 1; printa("%d"); }' 'at least 2 arguments'
refuse 'begin { @[1] = 1; print(@, "%d %d %d"); }' 'more conversions than'
refuse 'begin { speculate("a"); }' 'int'
refuse 'begin { speculate(); }' 'requires one argument'
refuse 'begin { $x = commit(1); }' 'gives no value'
refuse 'begin { $x = speculation(1); }' 'requires no arguments'
refuse 'tracepoint:syscalls:sys_enter_read { self.x = count(); }' 'self\.x cannot hold an aggregation'
refuse 'tracepoint:syscalls:sys_enter_read { print(self.y); }' 'Undefined map: self\.y'
refuse 'tracepoint:syscalls:sys_enter_read { self.x = 1; self.x = "a"; }' 'Type mismatch for self\.x'
refuse 'tracepoint:syscalls:sys_enter_read { self. = 1; }' 'expected field name'
refuse 'import "no-such.bt"; begin { 1 }' 'error reading import'
refuse 'import "/etc/passwd"; begin { 1 }' 'unknown file type of import'
refuse 'import 5; begin { 1 }' 'string|expected'

printf 'config = { max_strlen = 9 }\n' >"$work/config.bt"
refuse "import \"$work/config.bt\"; begin { 1 }" 'invalid `config` within import'
mkdir -m 777 "$work/open"
chmod 777 "$work/open"
printf 'begin { 1 }\n' >"$work/open/x.bt"
refuse "import \"$work/open/x.bt\"; begin { 1 }" 'cowardly refusing to import'

mkdir "$work/lib"
printf 'macro two() { 2 }\n' >"$work/lib/a.bt"
printf 'struct pair { int a, b; };\n#define FIVE 5\n' >"$work/lib/b.h"
printf 'import "main.bt";\nmacro three() { 3 }\nbegin { printf("library\\n"); }\n' >"$work/lib.bt"
printf 'import "lib";\nimport "lib.bt";\nimport "lib.bt";\nbegin { print((two(), three(), FIVE, sizeof(struct pair), getopt("n", 7))); }\n' >"$work/main.bt"
run -q "$work/main.bt" -- --n=9
is "$out" "library
(2, 3, 5, 8, 9)" "imports: a directory, a script that imports in turn, each once; getopt"

run -q -e 'begin { @[1] = 10; normalize(@, 0 * nsecs); print(@); clear(@); }'
like "$err" 'the divisor must be at least 1; ignored' "a divisor of 0 at run time is said"
is "$out" "@[1]: 10" "... and ignored"
run -q -e 'begin { speculate(0); printf("x\n"); }'
like "$err" '1 record was dropped because speculate\(\) was given no id' "no id: said"

# Thread-local variables leave nothing behind, also when numbers of threads are used again. A name of its own: other tests run
# /bin/true, too.
cp /bin/true "$work/short53"
run -q -c "$programs/spawn 300 $work/short53" -e 'tracepoint:raw_syscalls:sys_enter /comm == "short53"/ { if (self.n == 0) { @first = count(); } self.n++; }'
is "$(echo "$out" | grep .)" "@first: 300" "a short process after the other begins with nothing"
# nothing that would set the variable matches anything: a warning, and nothing to forget
run -q -e 'config = { missing_probes = warn } tracepoint:no_such:event_* { self.n = 1; } begin { printf("begun\n"); exit(); }'
is "$rc $out" "0 begun" "a thread-local variable of probes that match nothing"
like "$err" 'No matches for tracepoint no_such:event_' "... which is said"
done_testing
