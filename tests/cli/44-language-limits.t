#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Scripts that no person wrote: too deep, too long, endless. Each is refused at once, and the limit is named.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

# refused NAME REGEX: the script is in $work/script
refused()
{
	timeout 300 "$pantrace" "$work/script" >"$work/out" 2>"$work/err"
	is "$?" 1 "$1: exit code"
	like "$(head -c 4000 "$work/err")" "$2" "$1: refused"
}

many() # TEXT N
{
	perl -e 'print $ARGV[0] x $ARGV[1]' "$1" "$2"
}

deep='nested too deeply \(limit [0-9]+\)'
echo "begin { \$x = $(many '(' 5000)1$(many ')' 5000); }" >"$work/script"
refused parentheses "$deep"
echo "begin { \$x = $(many '!' 20000)1; }" >"$work/script"
refused "unary operators" "$deep"
echo "begin $(many '{ ' 5000)$(many '}' 5000)" >"$work/script"
refused blocks "$deep"
echo "begin { $(many 'if (1) { ' 3000)$(many '}' 3000) }" >"$work/script"
refused conditions "$deep"
echo "begin { \$x = 1$(many ' + pid' 5000); }" >"$work/script"
refused "a sum" "$deep"
echo "begin { \$x = curtask$(many .parent 3000).pid; }" >"$work/script"
refused members "$deep"
echo "struct s { $(many 'struct { ' 2000)int a;$(many ' } x;' 2000) }; begin { }" >"$work/script"
refused structs "$deep"

echo "begin { $(many 'unroll (100) { ' 4)@++;$(many ' }' 4) }" >"$work/script"
refused "unrolls within unrolls" 'unroll makes more than [0-9]+ steps'
echo "begin { unroll (101) { @++; } }" >"$work/script"
refused "a huge unroll" 'unroll maximum value is 100'
echo "begin { $(many '@++; ' 10001) }" >"$work/script"
refused "statements" '10001 statements, more than 10000'
echo "begin { printf(\"x\"$(many ', 1' 10000)); }" >"$work/script"
refused "arguments" 'takes up to 128 arguments \(10001 provided\)'
echo "begin { $(many 'begin { } ' 0) while (1) { @++; } }" >"$work/script"
refused "an endless loop" 'infinite loop'
echo "begin { $(perl -e 'print map { "for \$i$_ : 0..100 { " } 1..12')@++;$(many ' }' 12) }" >"$work/script"
refused "loops within loops" 'call stack of [0-9]+ frames is too deep'

echo 'macro a(x) { b(x) } macro b(x) { a(x) } begin { a(1); }' >"$work/script"
refused "macros that call each other" 'Recursive macro call detected. Call chain: a > b > a'
{
	perl -e 'print map { my $n = $_ + 1; "macro m$_(x) { m$n(x) + m$n(x) }\n" } 0..29'
	echo 'macro m30(x) { x } begin { print(m0(1)); }'
} >"$work/script"
refused "macros that grow" 'macros expand to more than 100000 expressions'
{
	echo '#define A0 1'
	perl -e 'print map { my $n = $_ + 1; "#define A$n A$_ + A$_\n" } 0..29'
	echo 'begin { print(A30); }'
} >"$work/script"
refused "#defines that grow" 'macros expand to more than [0-9]+ tokens'
printf '#define A B\n#define B A\nbegin { print(A); }\n' >"$work/script"
refused "#defines of each other" "macro 'A' is recursive"
echo 'fn f($x : int64) : int64 { return f($x); } begin { print(f(1)); }' >"$work/script"
refused "recursion" 'Recursive'
echo "begin { \$x = \"$(many a 2000)\"; }" >"$work/script"
refused "a long string" 'String is too long \(over 1024 bytes\)'
echo "interval:s:1$(many ', interval:s:1' 5000) { }" >"$work/script"
refused "attach points" "exceeds the current limit of 1024 probes"

{ many '#if 1
' 500; many '#endif
' 500; echo 'begin { }'; } >"$work/script"
refused "#if within #if" '#if is nested too deeply \(limit 64\)'
echo '#include "script"' >"$work/script"
refused "a file that includes itself" '#include is nested too deeply \(limit 16, 256 files in all\)'
{ echo "#if $(many '(' 2000)1$(many ')' 2000)"; echo '#endif'; } >"$work/script"
refused "a constant expression" 'constant expression is too deep'
{
	perl -e 'print map { my $n = $_ + 1; "macro m$_(x) { m$n(x) }\n" } 0..2000'
	echo 'macro m2001(x) { x } begin { print(m0(1)); }'
} >"$work/script"
refused "macros within macros" 'macros are nested too deeply \(limit 200\)'
{
	perl -e 'print map { my $n = $_ + 1; "#define A$_(x) A$n(x)\n" } 0..2000'
	echo 'begin { print(A0(1)); }'
} >"$work/script"
refused "#defines within #defines" 'macros are nested too deeply \(limit 64\)'
printf 'begin { print(1) \001 }' >"$work/script"
refused "a control character" 'unexpected byte 0x01'
perl -e 'print "begin { ", (map { "\$v$_ = $_; " } 0..200), "for (\$i : 0..pid) { ", (map { "\$v$_ += \$i; " } 0..200), "} }"' >"$work/script"
refused "variables shared with a loop" 'More than 40 variables are shared with the bodies of loops'
perl -e 'print "config = { max_strlen = 32768 } begin { ", (map { "\$v$_ = str($_); " } 0..60), "print((", join(",", map { "\$v$_" } 0..60), ")); }"' >"$work/script"
refused "strings" 'The probe needs [0-9]+ bytes of memory per (CPU|thread) for its strings, more than [0-9]+'

# What is long, but no trouble.
echo "begin { \$x = ($(perl -e 'print join(", ", 0..9999)')); print(\$x.9999); }" >"$work/script"
run -q "$work/script"
is "$out" 9999 "a tuple of 10,000 numbers"
echo "enum e { $(perl -e 'print join(", ", map { "a$_" } 0..9999)') }; begin { print(a9999); }" >"$work/script"
run -q "$work/script"
is "$out" a9999 "an enum of 10,000 names"
BPFTRACE_MAX_STRLEN=15000 run -q -c '/bin/true' -e 'tracepoint:syscalls:sys_enter_execve { @[str(args.filename)] = str(args.filename); exit(); }'
like "$out" '^@\[.*\]: /' "strings of 15,000 bytes, more than a per-CPU allocation"
run -q -c '/bin/sh -c "/bin/true zz aaaaaaaab aab"' -e 't:syscalls:sys_enter_execve /str(args.argv[1], 16) == "zz"/ { $a = str(args.argv[2]); $b = str(args.argv[3], 500); print((strstr($a, $b), strcontains($a, $b), strcontains($b, $a))); }'
is "$out" "(6, true, false)" "one string of 1,024 bytes in another, neither known"
# --- many values at once: what moves a pointer or ends a loop keeps its bounds ---
run -q -e 'begin { $i = 0; while ($i < 3) { @x[$i, ustack(2)] = ustack(2); $i++; } print(len(@x)); clear(@x) }'
is "$(echo "$out" | head -1)" 3 "two stacks in a loop"

# --- scratch memory is asked for before a record of the event buffer is taken, also in a callback ---
run -q --dry-run -e 'uretprobe:libc:malloc { @a[(p=comm, q=retval)] = sum(tid); printf("%s %s\n", retval, usym(0)); @b[5] = elapsed; for ($kv : @b) { print($kv.0); @bx = $kv.1; } for $i : 0..10 { @c[(p=func, q=usym(0))] = (curtask.comm, nsecs); for ($kv : @c) { print($kv.0); @cx = $kv.1; } } }'
is "$rc" 0 "a record and scratch memory in a callback"
unlike "$err" "reference leak" "none is held at an end"

done_testing
