# SPDX-License-Identifier: GPL-2.0-or-later
# Loops within loops before the verifier of an older kernel: they load, and count what arithmetic says.
# guest: older

# sums NAME SCRIPT RESULT: what is expected was worked out with Perl
sums()
{
	pantrace -q -e "$2" >/tmp/out 2>/tmp/err
	is "$(grep . /tmp/out)" "$3" "$1" || cat /tmp/err
}
sums "three deep, with strings and conditions" 'begin { for ($i : 0..20) { for ($j : 0..20) { for ($k : 0..20) {
	if ($k % 3 == 0) { @a[$i % 2, comm] = count(); } else { @b[$j % 2 == 0 ? "even" : "odd"] += $k; } } } }
	for ($kv : @a) { @t += $kv.1 * ($kv.0.0 + 1); } print((@b["even"], @b["odd"], @t)); clear(@a); clear(@b); clear(@t); exit() }' "(25400, 25400, 4200)"
sums "functions with loops, in loops" 'fn cell($i : int64, $j : int64) : int64 { $t = 0; for ($k : 0..50) { if ($k > $j) { return $t; } $t += $i; @c[$i % 5] = count(); } return $t; }
	begin { $s = 0; for ($i : 0..50) { for ($j : 0..50) { $s += cell($i, $j); } } print(($s, @c[3])); clear(@c); exit() }' "(1561875, 12750)"
sums "what a long loop counts may be compared" 'begin { $n = 0; $few = 0; for ($i : 0..100000) { $n++; if ($n > 5) { @big++; } else { $few++; } } print((@big, $few)); clear(@big); exit() }' "(99995, 5)"
sums "ranges in while, maps in ranges" 'begin { $i = 0; while ($i < 4) { $i++; for ($j : 0..10) { @m[$i, comm, $j] = $j; for ($kv : @m) { @seen++; @t += $kv.1; } } } print((@seen, @t)); clear(@m); clear(@seen); clear(@t); exit() }' "(820, 3360)"
sums "stacks in loops" 'begin { $i = 0; while ($i < 100) { @[comm, $i, kstack] = count(); if ($i % 2) { @x[$i % 4, ustack] = count(); } $i++; } for ($kv : @x) { @n += $kv.1; } printf("%d\n", @n); clear(@n); clear(@x); clear(@); exit() }' 50
sums "break, continue, return" 'begin { for ($i : 0..50) { if ($i == 1) { continue; } for ($j : 0..50) { if ($j > 40) { break; } @z++; @y[$i, comm] = 1; if ($i * $j == 100) { printf("%d\n", @z); clear(@z); clear(@y); exit(); return; } } } print("never"); }' 149

pantrace -q -c 'syscalls 300' -e 'kprobe:vfs_write /pid == cpid/ { @[kstack] = count(); for ($i : 0..3) { @[kstack] = count(); } }' >/tmp/out 2>/tmp/err
is "$(sed -n 's/^\]: //p' /tmp/out)" 1200 "a stack is one key, in a loop and outside" || cat /tmp/out /tmp/err
