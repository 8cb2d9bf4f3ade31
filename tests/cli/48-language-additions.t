#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of the kernel, programs made of scripts, messages from within macros, types that are asked for.
. "$(dirname "$0")/lib.sh"
need_root

# functions of the kernel (kfuncs)
run -q -e 'iter:task { if comptime (!kfunc_allowed("bpf_task_from_pid")) { print("none"); } exit(); }'
if [ "$(printf '%s\n' "$out" | sort -u)" = none ]; then
	skip "functions of the kernel" "this kernel lets no iterator call bpf_task_from_pid"
else
	run -q -e 'iter:task /ctx.task.pid == 2/ { $t = bpf_task_from_pid(2); if ($t != 0) { print($t->comm); bpf_task_release($t); } }'
	is "$out" kthreadd "a function of the kernel by its name"
	run -q -e 'iter:task { print(comm(pid)); exit(); }'
	is "$(printf '%s\n' "$out" | sort -u)" "$(basename "$pantrace" | cut -c 1-15)" "comm(pid)"
	run -q -e 'iter:task /ctx.task.pid == 2/ { print(comm(99999999)); }'
	like "$out$err" 'N/A.*No such process \(pid=99999999\)|No such process' "comm() of nobody"
	run -e 'iter:task { $t = bpf_task_from_pid("x"); }'
	like "$err" 'Expected int32 for argument `pid` got string\[2\]' "arguments are checked"
	run -e 'iter:task { bpf_task_release(); }'
	like "$err" 'Function `bpf_task_release` requires 1 arguments, got only 0' "and counted"
fi
run -e 'begin { kfree(1); }'
like "$err" "Unknown function: 'kfree'" "what programs may not call is refused"
like "$err" 'HINT: the kernel has a function of this name' "and why"

# --aot
run -e 'begin { print((getopt("n", 10), $1)); }' --aot "$work/program"
is "$rc" 0 "--aot"
is "$("$work/program" -q 7 -- --n=20)" "(20, 7)" "the program runs with its own arguments"
is "$("$work/program" -f json | tail -1)" '{"type": "value", "data": [10,0]}' "and options"
is "$(stat -c %a "$work/program")" 700 "only its owner may"
run -e 'begin { print(x); }' --aot "$work/wrong"
is "$rc" 1 "a script with a mistake is refused"
[ ! -e "$work/wrong" ]
ok "and nothing is left"
chmod 755 "$work"
echo 'macro one() { 1 }' >"$work/one.bt"
run -e "import \"$work/one.bt\"; begin { print(one()); }" --aot "$work/two"
mv "$work/one.bt" "$work/away.bt"
is "$("$work/two" 2>/dev/null)" 1 "an import goes with it"

# macros
run -e 'macro bad() { errorf("Something bad"); } begin { bad(); }'
is "$(printf '%s\n' "$err" | grep -v Attached)" 'stdin:1:15-38: ERROR: Something bad
stdin:1:50-55: ERROR: expanded from
macro bad() { errorf("Something bad"); } begin { bad(); }
                                                 ~~~~~' "a run-time message names the call"
run -e 'macro add2($x) { $x + 1 } macro add1($x) { add2($x) } begin { $a = "string"; add1($a); }'
is "$(printf '%s\n' "$err" | grep -c 'expanded from')" 2 "a message of the compiler names all calls"

# types
run -q -e 'begin { @a = 1; @b["x", 1] = 2; $p = &@a; $q = &@b; print(($p != 0, $q != 0)); let $k : typeof(@b) = ("long string", (int16)5); @b["long string", (int32)5] = 3; print($k.1); clear(@a); clear(@b); }'
is "$out" "(true, true)
5" "maps: addresses, the type of the key"
run -q -e 'begin { $a = (int8)1; $b = &$a; $a = 70000; print(*$b); }'
is "$out" 70000 "the address of a variable that grows"
run -q -e 'begin { $x = 1; if comptime (typeinfo($x) == typeinfo("abc")) { print("text"); } else { print("number"); } }'
is "$out" number "types compared when the script is compiled"
for s in '$p %= 5' '$p <<= 1' '$p *= 2' '$p -= $p'; do
	run -e "begin { \$p = (int32 *)32; $s; }"
	like "$err" 'ERROR: The .*operator can not be used on expressions of types int32 \*' "pointers: $s"
done
run -q -e 'begin { $p = (int32 *)32; $p += 2; $p -= 1; print((uint64)$p); }'
is "$out" 36 "pointers: += and -= count elements"

# warnings
run -e 'begin { bswap(5); }'
like "$err" 'WARNING: Return value discarded.' "a value that nothing is done with"
run -e 'begin { @[1] = 1; delete(@, 1); $x = 1; $x++; print(1); _ = bswap((int16)1); }'
unlike "$err" 'discarded' "not of what has an effect"
run -q -e 'begin { printf("a\0b%d\n", 5); }'
is "$out" "$(printf 'ab5')" "a zero byte in a text"
run -q -e 'begin { @[1] = 7; print(find(@, 5, $w)); print($w); clear(@); }'
is "$out" "false
0" "what find() does not find is zero"
# --- --aot: the files that a script reads go with it ---
mkdir -p "$work/aot/lib" "$work/aot/inc"
echo 'import "deep.bt"; macro twice(a) { a * 2 }' >"$work/aot/lib/a.bt"
echo 'macro thrice(a) { a * 3 }' >"$work/aot/lib/deep.bt"
printf 'struct foo { int a; int b; };\n#define K 3\n' >"$work/aot/x.h"
echo '#define FAR 77' >"$work/aot/inc/far.h"
cat >"$work/aot/s.bt" <<'S'
import "lib"; import "x.h";
#include <far.h>
begin { printf("%d %d %d %d %d %s\n", twice(4), thrice(5), sizeof(struct foo), K, FAR, str($1)); }
S
run -I "$work/aot/inc" --aot "$work/made" "$work/aot/s.bt"
is "$rc" 0 "--aot of a script with imports and headers"
rm -r "$work/aot"
(cd / && "$work/made" word) >"$work/out" 2>"$work/err"
is "$(cat "$work/out")" "8 15 8 3 77 word" "runs without them"
"$work/made" >/dev/null 2>&1
cp "$work/made" "$work/broken" && printf 'x' | dd of="$work/broken" bs=1 seek=$(($(stat -c %s "$work/broken") - 20)) conv=notrunc 2>/dev/null
"$work/broken" --version >"$work/out" 2>&1
like "$? $(cat "$work/out")" '^1 broken: the program is damaged' "a damaged one says so"
for cut in 1 16 40 100; do
	head -c -$cut "$work/made" >"$work/broken"
	"$work/broken" >"$work/out" 2>&1
	like "$? $(cat "$work/out")" '^1 broken: the program is damaged' "so does one that is $cut bytes short"
done

done_testing
