#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Loops within loops: the kernel's verifier takes them, and what they count is what arithmetic says.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root

# counts NAME SCRIPT PERL: what the script prints is what the Perl program prints
counts()
{
	run -q -e "$2"
	[ "$rc" -eq 0 ] || printf '%s\n' "$err" >&2
	is "$(printf '%s\n' "$out" | grep .)" "$(perl -e "$3")" "$1"
}

counts "a hundred times a hundred" \
	'begin { for ($i : 0..100) { for ($j : 0..100) { @sum += $i * $j; @n[$i % 3, $j % 2]++; } } print((@sum, @n[0, 0], @n[2, 1])); clear(@n); clear(@sum); exit() }' \
	'$s = 0; for $i (0..99) { for $j (0..99) { $s += $i * $j; $n{$i % 3, $j % 2}++ } } print "($s, $n{0, 0}, $n{2, 1})\n"'

counts "three deep, with strings and conditions" \
	'begin { for ($i : 0..20) { for ($j : 0..20) { for ($k : 0..20) {
		if ($k % 3 == 0) { @a[$i % 2, comm] = count(); } else { @b[$j % 2 == 0 ? "even" : "odd"] += $k; } } } }
		for ($kv : @a) { @t += $kv.1 * ($kv.0.0 + 1); } print((@b["even"], @b["odd"], @t)); clear(@a); clear(@b); clear(@t); exit() }' \
	'for $i (0..19) { for $j (0..19) { for $k (0..19) { if ($k % 3 == 0) { $a{$i % 2}++ } else { $b{$j % 2} += $k } } } }
	print "($b{0}, $b{1}, ", $a{0} + 2 * $a{1}, ")\n"'

counts "three deep, a million rounds" \
	'begin { for ($i : 0..100) { for ($j : 0..100) { for ($k : 0..100) { if ($k > $j) { break; } @s += $i ^ $k; } } } printf("%d\n", @s); clear(@s); exit() }' \
	'for $i (0..99) { for $j (0..99) { for $k (0..99) { last if $k > $j; $s += $i ^ $k } } } print "$s\n"'

counts "functions with loops, in loops" \
	'fn cell($i : int64, $j : int64) : int64 { $t = 0; for ($k : 0..50) { if ($k > $j) { return $t; } $t += $i; @c[$i % 5] = count(); } return $t; }
	begin { $s = 0; for ($i : 0..50) { for ($j : 0..50) { $s += cell($i, $j); } } print($s); print((@c[3], 0)); clear(@c); exit() }' \
	'for $i (0..49) { for $j (0..49) { for $k (0..49) { last if $k > $j; $s += $i; $c{$i % 5}++ } } } print "$s\n($c{3}, 0)\n"'

counts "ranges in while, maps in ranges" \
	'begin { $i = 0; while ($i < 4) { $i++; for ($j : 0..10) { @m[$i, comm, $j] = $j; for ($kv : @m) { @seen++; @t += $kv.1; } } } print((@seen, @t)); clear(@m); clear(@seen); clear(@t); exit() }' \
	'for $i (1..4) { for $j (0..9) { $m{$i, $j} = $j; for $v (values %m) { $seen++; $t += $v } } } print "($seen, $t)\n"'

counts "ranges in unroll, unroll in ranges" \
	'begin { unroll (20) { for ($j : 0..20) { @n++; unroll (5) { @x[$j % 3] = sum($j); } } } print((@n, @x[2])); clear(@n); clear(@x); exit() }' \
	'for (1..20) { for $j (0..19) { $n++; $x{$j % 3} += 5 * $j } } print "($n, $x{2})\n"'

counts "break and continue belong to the innermost" \
	'begin { for ($i : 0..60) { if ($i == 3) { continue; } for ($j : 0..60) { if ($j > $i) { break; } if ($j % 2) { continue; }
		for ($k : 0..10) { if ($k == 7) { break; } @s += $k; @n[comm, $j % 4] = count(); } } if ($i == 40) { break; } } print((@s, @n[comm, 2])); clear(@s); clear(@n); exit() }' \
	'I: for $i (0..59) { next if $i == 3; for $j (0..59) { last if $j > $i; next if $j % 2; for $k (0..9) { last if $k == 7; $s += $k; $n{$j % 4}++ } } last if $i == 40 } print "($s, $n{2})\n"'

counts "return out of all of them" \
	'begin { for ($i : 0..50) { for ($j : 0..50) { @z++; @y[$i, comm] = 1; if ($i * $j == 100) { printf("%d\n", @z); clear(@z); clear(@y); exit(); return; } } } print("never"); }' \
	'for $i (0..49) { for $j (0..49) { $z++; if ($i * $j == 100) { print "$z\n"; exit } } }'

counts "variables of the code around it" \
	'begin { $a = 1; $s = "x"; $t = (0, "abc"); $n = 0; for ($i : 0..30) { for ($j : 0..30) { $a += $i; $n++; if ($j == 7) { $s = "seven"; $t = ($i, "def"); } } } print(($a, $n, $s, $t)); exit() }' \
	'for $i (0..29) { $a += 30 * $i } $a++; print "($a, 900, seven, (29, def))\n"'

counts "what a long loop counts may be compared" \
	'begin { $n = 0; $few = 0; for ($i : 0..100000) { $n++; if ($n > 5) { @big++; } else { $few++; } if ($i == 77777) { @at = $n; } } print((@big, $few, @at)); clear(@big); clear(@at); exit() }' \
	'print "(99995, 5, 77778)\n"'

counts "what a while ends by" \
	'begin { $n = 0; $m = 0; for ($i : 0..70) { $n++; $m = $n; $j = 0; while ($j < $m) { $j++; @x++; } } $k = 0; for ($i : 0..70) { $k++; while (1) { if ($k > 40) { break; } $k++; @y++; } } print((@x, @y, $k)); clear(@x); clear(@y); exit() }' \
	'for $i (0..69) { $n++; $x += $n; $k++; while ($k <= 40) { $k++; $y++ } } print "($x, $y, $k)\n"'

counts "while loops that are heavy, or end where a variable says" \
	'begin { $n = (int64)(pid > 0 ? 70 : 0); $i = 0; while ($i < 200) { $j = 0; while ($j < $n && $j < 100) { if ($j == 50) { break; } $j++; @a[comm, $i % 3] = count(); if ($i % 7 == $j % 5) { @b += $j; continue; } @s[comm == "x"] = count(); }
		$k = 9; while (0 <= $k) { $k -= 3; @k[$k, kstack] = count(); if ($i == 150) { print((@b, $i)); clear(@a); clear(@b); clear(@s); clear(@k); exit(); } } $i++; } print("never"); }' \
	'for $i (0..150) { for $j (1..50) { $b += $j if $i % 7 == $j % 5 } } print "($b, 150)\n"'

counts "ranges that begin below zero, or where a variable says, or are empty" \
	'begin { $from = (int64)(pid > 0 ? -7 : 0); for ($i : -50..50) { @a += $i * $i; } for ($i : $from..93) { @b += $i; } for ($i : 5..$from) { @c++; } for ($i : 90..5) { @d++; } print((@a, @b, @c, @d)); clear(@a); clear(@b); clear(@c); clear(@d); exit() }' \
	'for $i (-50..49) { $a += $i * $i } for $i (-7..92) { $b += $i } print "($a, $b, 0, 0)\n"'

deep=$(perl -e 'print map { "for \$i$_ : 0..2 { " } 1..9')
counts "nine deep" "begin { $deep @n[comm, \$i1 + \$i2 + \$i3 + \$i4 + \$i5 + \$i6 + \$i7 + \$i8 + \$i9] = count(); $(perl -e 'print " }" x 9') print((@n[comm, 4], @n[comm, 9])); clear(@n); exit() }" \
	'print "(126, 1)\n"'

# A stack is the same key within a loop and outside, and takes little to verify.
run -q -c "$programs/calls.dyn 50" -e "uprobe:$programs/calls.dyn:work { @[ustack] = count(); @s[ustack(3)] = count(); @d[ustack(20)] = count();
	\$w = 0; while (\$w < 3) { \$w++; @[ustack] = count(); @s[ustack(3)] = count(); @d[ustack(20)] = count(); } for (\$i : 0..100) { @[ustack] = count(); } }"
is "$(printf '%s\n' "$out" | grep -c '^@')$(printf '%s\n' "$out" | grep '^\]' | tr '\n' ' ')" "3]: 5200 ]: 200 ]: 200 " "stacks in loops"
counts "stacks in long loops" \
	'begin { $i = 0; while ($i < 100) { @[comm, $i, kstack] = count(); if ($i % 2) { @x[$i % 4, ustack] = count(); } $i++; } for ($kv : @x) { @n += $kv.1; } printf("%d\n", @n); clear(@n); clear(@x); clear(@); exit() }' \
	'print "50\n"'

# --- refused, by name ---
run -e 'begin { $i = 0; while ($i < 10) { @++; } exit() }'
like "$err" 'infinite loop' "a while that does not count"
run -q -e 'begin { $i = 0; $n = pid; while ($i < $n) { $i++; $i--; @++; } exit() }'
like "$out$err" 'The loop has not ended after 8388608 rounds' "one that counts, but does not end"
run -e 'begin { for ($i : 0..8388609) { @++; } exit() }'
is "$rc" 1 "more rounds than bpf_loop() takes: exit code"
like "$err" 'stdin:1:9-.*: ERROR: The loop has more than 8388608 rounds' "and the limit"
run -q -e 'begin { $n = (int64)pid + 8388609; for ($i : 0..$n) { @++; } for ($i : 1..$n) { if ($i == 3) { break; } @x++; } exit() }'
like "$out$err" 'The loop has more than 8388608 rounds' "said when the script runs, if it is not known before"
is "$(echo $out | grep -o '@.*')" "@: 0 @x: 0" "and nothing is counted"

run --no-feature bpf_loop -e 'begin { @x = 1; for ($i : 0..1000) { for ($j : 0..1000) { @[$i, $j] = count(); } } for ($k : 0..2) { @y++; } exit() }'
is "$rc" 1 "without bpf_loop(): exit code"
like "$err" 'stdin:1:17-.*: ERROR: .* gives up on this loop: it takes more than (1000000 steps|8192 branches)' "the loop is named, and the limit"
like "$err" 'HINT: .*every round' "and what to do"
done_testing
