#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What debug info says: arguments by name, return values, types in casts, source lines, inlined frames; as gdb says.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root
if ! command -v gcc >/dev/null || ! command -v gdb >/dev/null; then
	echo "1..0 # SKIP needs gcc and gdb"
	exit 0
fi
t=$work/typed
source=$top/tests/programs/typed.c

for flags in "-O0 -gdwarf-4" "-O2 -gdwarf-5 -fno-omit-frame-pointer"; do
	gcc $flags -o "$t" "$source"
	run -q -c "$t" -e "uprobe:$t:scalars { print((args.a, args.b, args.c, args.d, args.e, args.f, args.g, args.h)); }"
	is "$out" "(-3, 65000, -70000, 18364758544493064720, true, BLUE, 77, -88)" "arguments by name: $flags"
	run -q -c "$t" -e "uprobe:$t:objects {
		printf(\"%d %d %s %d %d %s\\n\", args.item.id, args.item.inner.small, args.item.inner.text, args.item.flags,
		       args.item.mode, str(args.name));
		print((args.item.next.id, args.item.numbers, args.by_value.b)); }"
	is "$out" "1 -7 hello 5 17 name
(2, [1,-2,3], 20)" "  members, bit-fields, arrays, structs by value"
	run -q -c "$t" -e "uprobe:$t:objects { \$i = (struct item *)arg0; printf(\"%d %d %d\\n\", \$i->next->id,
		sizeof(struct item), offsetof(struct item, numbers)); }"
	is "$out" "2 $(gdb -q -batch -ex 'printf "%d %d\n", sizeof(struct item), (int)&((struct item *)0)->numbers' "$t")" \
		"  types of the program in casts"
	run -q -c "$t" -e "uretprobe:$t:objects { print(retval.id); } uretprobe:$t:negative { print(retval); }"
	is "$out" "2
-5" "  return values"
	run -e "uprobe:$t:real { print(args.x); }"
	like "$err" "Can't read function parameter x" "  a floating-point argument is refused"
	run -q -c "$t" -e "uprobe:$t:real { print(args); }"
	is "$out" "{ .x = <float: cannot be shown>, .n = 2 }" "  print(args) shows what can be read, and says what cannot"

	line=$(grep -n 'line of a probe' "$source" | cut -d: -f1)
	want=$(gdb -q -batch -ex "break typed.c:$line" -ex run -ex 'printf "at %d\n", (long)$pc & 0xfff' "$t" 2>/dev/null | sed -n 's/^at //p')
	run -q -c "$t 3" -e "uprobe:$t@typed.c:$line { @[usym(reg(\"ip\")), reg(\"ip\") & 0xfff] = count(); }"
	is "$(echo "$out" | grep '^@')" "@[outer, $want]: 3" "  a source line"
	like "$(run -e "uprobe:$t@typed.c:99999 { }"; echo "$err")" "Unable to map" "  a line without code is refused"
	like "$(run -e "uprobe:$t@other.c:1 { }"; echo "$err")" "Unable to map" "  a source that is not there"
	run list -v "uprobe:$t:objects"
	like "$out" 'struct item\* item' "  list -v"
	like "$out" 'const char\* name' "  list -v: const"
done

gdb -q -batch -ex 'break *leaf' -ex run -ex bt "$t" 2>/dev/null |
	sed -En 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([a-z]+) \(.*at .*[/]?typed.c:([0-9]+)$/\2 \3/p' >"$work/want"
run -q -c "$t" -e "config = { show_debug_info = 1 } uprobe:$t:leaf { print(dw_ustack()); }"
echo "$out" | sed -En 's/^ *(\[inlined\] )?([a-z]+)([+][0-9]+)?@.*typed.c:([0-9]+)$/\2 \4/p' >"$work/got"
is "$(cat "$work/got")" "$(cat "$work/want")" "inlined functions and lines are gdb's"
like "$out" '\[inlined\] innermost@' "  marked as inlined"
run -q --inlines -c "$t" -e "uprobe:$t:leaf { print(dw_ustack(perf)); }"
like "$out" 'middle \(inlined\)$' "--inlines, as perf writes it"

gcc -g -O1 -o "$work/places" "$top/tests/programs/sdtplaces.c" 2>/dev/null
if [ -x "$work/places" ]; then
	run -q -c "$work/places" -e "usdt:$work/places:moved { printf(\"%d\\n\", arg0); }"
	is "$(echo "$out" | grep -v ' ')" "42
43" "usdt: global variables at two sites of one event"
	run -e "usdt:$work/places:mixed { print(arg1); }"
	like "$err" "arg1 can't be read here" "  a floating-point argument is refused"
else
	skip "usdt: global variables" "no sys/sdt.h"
fi
# Bit-fields have the sign of their type, whatever it is.
cat >"$work/bits.c" <<'C'
#include <stdio.h>
enum sign { MINUS = -2, PLUS = 1 };
struct bits { int five : 5, three : 3; unsigned four : 4; signed char narrow : 3; enum sign sign : 3; long wide : 40; int one : 1; };
__attribute__((noinline)) int show(struct bits *b)
{
	return printf("%d %d %d %d %d %ld %d\n", b->five, b->three, b->four, b->narrow, b->sign, (long)b->wide, b->one);
}
int main(void) { return show(&(struct bits){-3, 2, 9, -2, MINUS, -5000000000, 1}) < 0; }
C
for flags in "-gdwarf-4" "-gdwarf-5"; do
	gcc -O2 $flags -o "$work/bits" "$work/bits.c"
	run -q -c "$work/bits" -e "uprobe:$work/bits:show { \$b = args.b; printf(\"%d %d %d %d %d %ld %d\n\", \$b->five, \$b->three, \$b->four, \$b->narrow, (int32)\$b->sign, \$b->wide, \$b->one); print(*\$b); }"
	is "$(echo "$out" | grep -c -x -e "$("$work/bits")")" 2 "signs of bit-fields, $flags"
	is "$(echo "$out" | grep '^{')" "{ .five = -3, .three = 2, .four = 9, .narrow = -2, .sign = MINUS, .wide = -5000000000, .one = -1 }" "  in print()"
done
done_testing
