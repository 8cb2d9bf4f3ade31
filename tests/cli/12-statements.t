#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each form of a statement, an expression and an item of a script: what it prints. A kind of the grammar, or an operator,
# that no script here has fails (the last tests look through the trees of all of them).
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root
: >"$work/trees"
before=

# gives 'SCRIPT' 'OUTPUT' [ARGUMENTS...]: exactly this, without blank lines
gives()
{
	script=$1 want=$2
	shift 2
	printf '%s\n' "$script" >"$work/script.bt"
	run -q $before "$work/script.bt" "$@"
	is "$(printf '%s\n' "$out$err" | sed '/^$/d')" "$want" "$(printf '%s' "$script" | head -1 | tr '#' '%')"
	"$pantrace" -d ast "$work/script.bt" "$@" </dev/null >>"$work/trees" 2>/dev/null
}

# ---- conditions
gives 'begin { if (1 == 2) { print("a"); } else if (2 == 2) { print("b"); } else { print("c"); } }' b
gives 'begin { if 0 { print("a"); } else { print("c"); } }' c
gives 'begin { $x = if (pid == 0) { "a" } else { "b" }; print($x); }' b
gives 'begin { print(pid == 0 ? 1 : 2); print(0 ?: 7); print(5 ?: 7); }' '2
7
5'
gives 'begin { if comptime (sizeof(uint64) == 8) { print("eight"); } else { nosuch(); } }' eight

# ---- loops
gives 'begin { $i = 0; while ($i < 10) { $i++; if ($i == 2) { continue; } if ($i == 5) { break; } print($i); } }' '1
3
4'
gives 'begin { unroll (3) { @n++; } print(@n); clear(@n); }' '@n: 3'
gives 'begin { for ($i : 2..5) { print($i); } for $j : 0..2 { print($j); } }' '2
3
4
0
1'
gives 'begin { @m[1, "a"] = 5; for ($kv : @m) { print(($kv.0.1, $kv.1)); } clear(@m); }' '(a, 5)'

# ---- blocks, variables
gives 'begin { { let $x = 1; print($x); } let $x : uint8 = 255; print($x); let $y; $y = "s"; print($y); }' '1
255
s'
gives 'begin { $x = { $a = 2; $a * 3 }; print($x); _ = $x; if (pid) { return; } print("never"); }' 6
gives 'begin { $a = 7; $a += 1; $a -= 2; $a *= 10; $a /= 4; $a %= 8; $a <<= 3; $a >>= 1; $a |= 1; $a &= 0x1c; $a ^= 0xff; print($a); }' 227
gives 'begin { @a = 7; @a += 1; @a -= 2; @a *= 10; @a /= 4; @a %= 8; @a <<= 3; @a >>= 1; @a |= 1; @a &= 0x1c; @a ^= 0xff; }' '@a: 227'
gives 'begin { $a = 1; print($a++); print(++$a); print($a--); print(--$a); @b[0]++; print(@b[0]--); print(++@b[0]); clear(@b); }' '1
3
3
1
1
1'

# ---- operators
gives 'begin { $a = 13; $b = 5; print(($a + $b, $a - $b, $a * $b, $a / $b, $a % $b, $a & $b, $a | $b, $a ^ $b, $a << $b, $a >> 1)); }' '(18, 8, 65, 2, 3, 5, 13, 8, 416, 6)'
gives 'begin { $a = 1; $b = 2; print(($a == $b, $a != $b, $a < $b, $a <= $b, $a > $b, $a >= $b, $a && !$b, $a || $b)); }' '(false, true, true, true, false, false, false, true)'
gives 'begin { $a = 5; print((-$a, ~$a, !$a)); $p = &$a; print(*$p); print(curtask.pid == (*curtask).pid); print(curtask->pid == tid); }' '(-5, -6, false)
5
true
true'
gives 'begin { print((1 + 2 * 3 == 7, 2 + 3 << 1, 1 | 2 & 3, 7 - 2 - 1, 100 / 10 / 2)); }' '(true, 10, 3, 4, 5)'
gives 'begin { print((1 << 63, 9223372036854775807 + 1, 0xffffffffffffffff - 1, -9223372036854775808, 0 - 5)); print(("a" + "b", "a" < "b", "b" <= "a", "a" != "a")); }' '(9223372036854775808, 9223372036854775808, 18446744073709551614, -9223372036854775808, -5)
(ab, true, false, false)'

# ---- literals and values
gives 'begin { print((0x1f, 010, 1e3, 1_000, 5ms, 2s, true, false)); print("tab\tquote\"\x41\101"); }' '(31, 8, 1000, 1000, 5000000, 2000000000, true, false)
tab	quote"AA'
gives 'begin { $t = (1, ("a", -2)); $r = (a=1, b="x"); print($t.1.0); print($t); print($r); print($r.b); }' 'a
(1, (a, -2))
{ .a = 1, .b = x }
x'
gives 'begin { print((uint8)300); print((int8)200); print(((int8[4])0x04030201)[2]); print((bool)5); print(((uint64)1 << 40)); }' '44
-56
3
true
1099511627776'
gives 'begin { print((sizeof(uint32), sizeof((1, 2)), sizeof(struct list_head))); print(offsetof(struct list_head, prev)); let $x : typeof(pid) = 5; print($x); print(comptime (2 + 3)); }' '(4, 2, 16)
8
5
5'
gives 'begin { print(($1, $2, str($3), $#, str($4) == "")); }' '(5, 0, text, 3, true)' 5 "" text
gives 'begin { if (str($1)) { print("given"); } if (str($2)) { print("never"); } }' given x
gives 'begin { @x[1, 2] = 3; @y = @x[1, 2]; print(@y); $c = curtask.comm; print(strlen($c) > 0); clear(@x); clear(@y); }' '@y: 3
true'

# ---- items of a script
gives '#define TWICE(x) ((x) * 2)
#if defined(TWICE) && TWICE(2) == 4
struct pair { int a; union { int b; char c[4]; }; unsigned bits : 3; };
#else
#error no
#endif
enum colour { RED = 1, GREEN };
config = { max_strlen = 64; missing_probes = ignore }
let @m = lruhash(10);
macro add($x, y) { $x + y }
fn half($n : int64) : int64 { return $n / 2; }
begin { @m[1] = TWICE(21); $one = 1; print((@m[1], add($one, 2), half(9), sizeof(struct pair), GREEN)); clear(@m); }
end { print("end"); }' '(42, 3, 4, 12, GREEN)
end'
gives 'begin, end /pid != 0/ { @n++; print(@n); } interval:ms:1 /@n == 1/ { exit(); }' '@n: 1
@n: 2
@n: 2'
mkdir "$work/parts"
echo 'macro three() { 3 }' >"$work/parts/three.bt"
gives 'import "parts/three.bt"; begin { print(three()); }' 3
before=--unsafe
gives 'self:signal:SIGUSR1 { print("signal"); exit(); } begin { signal("USR1"); }' signal
before=
run --test -e 'test:sum { if (1 + 1 != 2) { return 1; } }'
like "$out" 'OK .*sum \([0-9]+ [num]?s\)' "test:NAME"
like "$out" "$(printf '\033')" "in colours, as people know it"
NO_COLOR=1 run --test -e 'test:sum { return 0; } test:no { return 1; }'
unlike "$out" "$(printf '\033')" "without colours where NO_COLOR says so"
like "$out" '^\[  FAILED  \] no$' "what failed"
run --bench -e 'bench:sum { $x = 1 + 1; }'
like "$out" 'sum' "bench:NAME"

# ---- nothing of the grammar is without a script
kinds=$(sed -n 's/,$//; s/^\t*\(\[\(EXPR\|STMT\)_.*\)/\1/p' "$top/src/lang/syntax/ast_dump.c" | grep -o '"[^"]*"' | tr -d '"' | sort -u)
like "$kinds" "^EXPR_|[a-z]" "the kinds that a tree has"
missing=
IFS='
'
for kind in $kinds; do # a plain expression has no word of its own
	[ "$kind" = do ] || awk -v kind="$kind" '{ sub(/^ +/, "") } $0 == kind || index($0, kind ":") == 1 || index($0, kind " ") == 1 { found = 1 }
		END { exit !found }' "$work/trees" || missing="$missing $kind"
done
is "$missing" "" "every kind of $(printf '%s\n' "$kinds" | wc -l) has a script"
done_testing
