#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is known when the script is compiled: booleans, ~, ends of texts, tuples; and the same while it runs.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root

# folds EXPRESSIONS VALUES NAME: each is known at compile time, and is what it says.
folds()
{
	script=
	for e in $1; do
		script="${script}print(comptime ($e)); "
	done
	run -q -e "begin { $script }"
	is "$(echo $out)" "$2" "$3"
	[ "$(echo $out)" = "$2" ] || printf '%s\n' "$err" | sed 's/^/# /'
}

# --- booleans: what is not 0 is true ---
folds 'false+false false+true true+true true-true false-true true*false true*true false/true true/true true%true' \
	"false true true false true false true false true false" "arithmetic of booleans is a boolean"
folds 'true&true true&false true|false false|false true^true true^false true>>false true>>true' \
	"true false true false false true true false" "so are their bits"
folds 'true+1 true==1 true&&5 true<false true>false false<=true' "2 true true false true true" "a boolean beside a number is a number"
run -q -e 'begin { $t = true; $f = false; print(($t + $f, $t + $t, $f - $t, $t - $t, $t * $f, $t ^ $t, $t & $t, $f | $t, $t % $t)); $f += $t; print($f) }'
is "$(echo $out)" "(true, true, true, false, false, false, true, true, false) true" "the same of variables"
run -q -e 'begin { @b = true; @b ^= true; @c = false; @c |= true; print((@b, @c)); clear(@b); clear(@c) }'
is "$(echo $out)" "(false, true)" "and of maps"
run -q -e 'begin { print(true / false) }'
like "$err" "1:15-27: ERROR: unable to fold literals" "nothing is divided by false"
run -q -e 'begin { print(-true) }'
like "$err" "The - operator can not be used on expressions of type 'bool'" "there is no negative boolean"

# --- ~ of a literal has 64 bits ---
folds '~0 ~5 ~(-1) ~0xfffffffffffffffe ~~7' "18446744073709551615 18446744073709551610 0 1 7" "~ of literals"
folds '~0==-1 ~0>0 ~0==0xffffffffffffffff 0xf123&~0xff' "false true true 61696" "is not negative, in comparisons"
run -q -e 'begin { $x = 5; print((~$x, $x & ~1, typeinfo(~0).full_type)) }'
is "$(echo $out)" "(-6, 4, uint64)" "~ of a variable has its sign"

# --- texts ---
folds '"hello"+3 2+"hello" "foo"[1] "foo"[3] ""+"test"' "lo llo 111 0 test" "ends and characters of texts"
run -q -e 'begin { printf("no %s\n" + 3, "format" + 3) }'
is "$(echo $out)" "mat" "the end of a text is a literal, too"
run -q -e 'begin { print(("hello" + 5, strlen("hello" + 8))) }'
is "$(echo $out)" "(, 0)" "beyond the end nothing is left"
like "$err" "1:16-27: WARNING: literal string will always be empty" "with a warning"
run -q -e 'begin { print("hello" + -1) }'
like "$err" "Type mismatch for '\\+': comparing string\\[6\\] with int8" "no text begins before itself"

# --- tuples and records ---
folds '(1,0).0 (1,1+1).1 (1,"ab").1 (a=5,b=6).b' "1 2 ab 6" "members of tuples of literals"
folds '(1,-1,true,"foo")==(1,-1,true,"foo") (1,(2,(3,1+3)))==(1,(2,(4-1,4))) (1,(2,(3,false)))==(1,(2,(4-1,4))) (-1,true)==(1,-1) (1,-1)==(1,-1,true) (1,-1)!=(1,-1,true)' \
	"true true false false false true" "tuples of literals are equal or not, whatever their types"
folds '(a=1,b=2)==(b=2,a=1) (a=1,b=2)==(a=1) (a=1)!=(a=2)' "true false true" "records, too"
run -q -e 'begin { $x = 5; print((($x,-1) == ($x,-1,true), ($x,-1) == ($x,-1), (1,$x) == (2,$x), (1,$x) == (1,4))) }'
is "$(echo $out)" "(false, true, false, false)" "with variables as far as they matter"
run -q -e 'begin { $x = 5; print(comptime (($x, 1).0)) }'
like "$err" "Unable to resolve comptime expression" "a variable is not known"
run -q -e 'begin { $x = 5; print((1, $x) == (1, "a")) }'
like "$err" "Type mismatch for '==': comparing \\(int8,int8\\) with \\(int8,string\\[2\\]\\)" "types that do not go together are refused"
done_testing
