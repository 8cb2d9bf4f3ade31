#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Maps whose type only their own value tells, and maps that nothing is ever assigned to.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root

# What is left in the maps at the end, on one line.
leaves()
{
	run -q -e "$1"
	is "$(echo $out)" "$2" "$3"
	[ "$(echo $out)" = "$2" ] || printf '%s\n' "$err" | sed 's/^/# /'
	is "$err" "" "$3: without a word"
}

# --- defined by themselves ---
leaves 'begin { unroll(3) { @x = @x + 1 } }' "@x: 3" "a sum"
leaves 'begin { unroll(3) { @ewma = (@ewma * 7 + 100) / 8 } }' "@ewma: 32" "a moving average"
leaves 'begin { unroll(9) { if (@c < 5) { @c = @c + 1 } } }' "@c: 5" "a counter with a limit"
leaves 'begin { @x = @x - 1 }' "@x: -1" "a number below 0"
leaves 'begin { @m["a", 1] = @m["a", 1] + 5; @m["a", 1] = @m["a", 1] + 5 }' "@m[a, 1]: 10" "with keys"
leaves 'begin { $a = @x; @x = $a + 2 }' "@x: 2" "by way of a variable"
leaves 'begin { @a = @b + 1; @b = @a + 1 }' "@a: 1 @b: 2" "one by the other"
leaves 'begin { @x = @x | 0x10; @y = !@y; @z = (uint8)@z }' "@x: 16 @y: true @z: 0" "bits, conditions and casts"
leaves 'begin { @first = @first == 0 ? (uint64)7 : @first; @first = @first == 0 ? (uint64)8 : @first }' "@first: 7" "the first value"
leaves 'begin { unroll(2) { self.n = self.n + 1 } @n = self.n; self.n = 0 }' "@n: 2" "a thread-local variable"
leaves 'begin { @d = @c; @c = @b; @b = @a } begin { @a = "text"; } begin { @d = @c; @c = @b; @b = @a } begin { @d = @c; @c = @b; } begin { @d = @c; }' \
	"@a: text @b: text @c: text @d: text" "assignments that come later tell the type"
run -q -e 'begin { @t = (@t, 1) }'
like "$err" "Type mismatch for @t: trying to assign value of type '\(int8,int8\)' when map already has a type 'int8'" \
	"what cannot be a number is refused"

# --- only read ---
run -q -e 'begin { @count = 1; printf("%d %d\n", @cuont, @flag[pid]); clear(@count) }'
is "$rc" 0 "a map that nothing is assigned to can be read"
like "$out" "^0 0" "it is 0"
like "$err" "1:39-45: WARNING: @cuont is read, but nothing is ever assigned to it: it is 0" "which is said with its place"
like "$err" "HINT: did you mean '@count'[?]" "and what may be meant"
run -q -e 'begin { print(@x) }'
like "$err" "Undefined map: @x" "there is nothing to print of a map without keys and values"
run -q -e 'begin { print(self.x) }'
like "$err" "Undefined map: self.x" "a thread-local variable that nothing is assigned to is refused"
done_testing
