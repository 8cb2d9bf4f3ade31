#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The same script under Debian's bpftrace and under pantrace gives the same lines. Only what both versions of the language mean
# alike; blank lines, which moved between versions, are left out.
. "$(dirname "$0")/../cli/lib.sh"
need_root
peer=$(command -v bpftrace) || { echo "1..0 # SKIP bpftrace is not installed"; exit 0; }

# without blank lines and blanks at the end, which moved between versions
lines()
{
	sed 's/ *$//; /^$/d' "$1"
}

same()
{
	# bpftrace 0.17 waits after a script that has only BEGIN: exit() ends it
	"$peer" -q -e "$1" >"$work/theirs" 2>"$work/theirs.err" </dev/null
	run -q -e "$1"
	is "$(lines "$work/out")" "$(lines "$work/theirs")" "$(printf '%s' "$1" | tr '\n#' ' .')"
}

same 'BEGIN { printf("%d %u %x %X %o %c|%5d|%-5d|%05d|\n", -5, 7, 255, 255, 8, 65, 42, 42, 42); exit(); }'
same 'BEGIN { printf("%s|%10s|%-10s|%.2s\n", "abc", "abc", "abc", "abc"); exit(); }'
same 'BEGIN { printf("%d %d %d %d\n", 7 / 2, 7 % 3, 1 << 10, 1024 >> 3); exit(); }'
same 'BEGIN { printf("%d %d %d %d %d\n", 6 & 3, 6 | 3, 6 ^ 3, ~0, !5); exit(); }'
same 'BEGIN { printf("%d %d %d\n", 1 + 2 * 3, (1 + 2) * 3, 10 - 4 - 3); exit(); }'
same 'BEGIN { printf("%d %d %d %d\n", 1 < 2, 2 <= 1, 3 == 3, 3 != 3); exit(); }'
same 'BEGIN { printf("%d %d\n", 1 && 0 || 1, 0 || 0); exit(); }'
same 'BEGIN { printf("%d %d %d\n", (int8)300, (uint8)300, (int16)70000); exit(); }'
same 'BEGIN { $a = 5; $a += 3; $a *= 2; $a -= 1; $a /= 3; $a %= 4; $a <<= 3; $a >>= 1; $a |= 1; $a ^= 2; $a &= 7; print($a); exit(); }'
same 'BEGIN { $a = 5; printf("%d %d %d %d %d\n", $a++, $a, ++$a, $a--, --$a); exit(); }'
same 'BEGIN { if (1 == 1) { printf("yes\n"); } else { printf("no\n"); } exit(); }'
same 'BEGIN { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue; } if ($i == 6) { break; } printf("%d\n", $i); } exit(); }'
same 'BEGIN { unroll(4) { @x++; } print(@x); clear(@x); exit(); }'
same 'BEGIN { printf("%s\n", 3 > 2 ? "big" : "small"); exit(); }'
same 'BEGIN { @a[1] = 10; @a[2] = 5; @a[3] = 7; exit(); }'
same 'BEGIN { @a["x", 1] = 1; @a["y", 2] = 2; exit(); }'
same 'BEGIN { @["b"] = "two"; @["a"] = "one"; exit(); }'
same 'BEGIN { @c = count(); @c = count(); @s = sum(5); @s = sum(7); @mi = min(3); @mi = min(1); @ma = max(3); @ma = max(9); @av = avg(4); @av = avg(8); exit(); }'
same 'BEGIN { @ = hist(0); @ = hist(1); @ = hist(5); @ = hist(1000); @ = hist(1000); @ = hist(1000000); exit(); }'
same 'BEGIN { @ = hist(-1); @ = hist(3); exit(); }'
same 'BEGIN { @[1] = hist(10); @[2] = hist(100); @[2] = hist(100); exit(); }'
same 'BEGIN { @ = lhist(5, 0, 100, 10); @ = lhist(55, 0, 100, 10); @ = lhist(200, 0, 100, 10); @ = lhist(-3, 0, 100, 10); exit(); }'
same 'BEGIN { @x[1] = 1; @x[2] = 2; delete(@x[1]); exit(); }'
same 'BEGIN { @x[1] = 3; @x[2] = 2; @x[3] = 1; print(@x, 2); clear(@x); exit(); }'
same 'BEGIN { @x[1] = 30; @x[2] = 20; print(@x, 0, 10); clear(@x); exit(); }'
same 'BEGIN { $t = (1, "two", 3); printf("%d %s %d\n", $t.0, $t.1, $t.2); exit(); }'
same 'BEGIN { print((1, "a")); exit(); }'
same 'BEGIN { printf("%d %d\n", "abc" == "abc", "abc" == "abd"); exit(); }'
same 'BEGIN { printf("%d %d\n", strncmp("abcd", "abce", 3), strncmp("abcd", "abce", 4) != 0); exit(); }'
same 'BEGIN { printf("%s %s\n", ntop(0x0100007f), ntop(2, 0x0100007f)); exit(); }'
same 'BEGIN { printf("%s\n", strftime("%Y-%m-%d", 0) != "" ? "t" : "f"); exit(); }' 
same 'BEGIN { printf("%d %d %d\n", sizeof(uint8), sizeof(uint64), sizeof(int32)); exit(); }'
same 'struct s { int a; char b; long c; } BEGIN { printf("%d\n", sizeof(struct s)); exit(); }'
same 'BEGIN { @x = 1; zero(@x); print(@x); clear(@x); exit(); }'
same 'enum e { A, B = 7, C } BEGIN { printf("%d %d %d\n", A, B, C); exit(); }'
same '#define N 5
BEGIN { printf("%d\n", N + 1); exit(); }'
done_testing
