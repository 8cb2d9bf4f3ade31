#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of scripts: fn name($a : type) : type { ... }.
. "$(dirname "$0")/lib.sh"
need_root

run -q -e 'fn add($a : int64, $b : int64) : int64 { return $a + $b; } begin { $x = 5; print(add(1, 2)); print(add($x, add($x, 1)) * 2); exit(); }'
is "$out" "3
22" "values, nested calls"
run -q -e 'fn sign($n : int64) : int64 { if ($n < 0) { return -1; } if ($n == 0) { return 0; } return 1; } begin { print((sign(-5), sign(0), sign(7))); exit() }'
is "$out" "(-1, 0, 1)" "early returns"
run -q -e 'fn root($n : int64) : int64 { $i = 0; while ($i < 100) { if ($i * $i > $n) { return $i - 1; } $i++; } return -1; } begin { print(root(50)); print(root(99999)); exit() }'
is "$out" "7
-1" "return from a loop"
run -q -e 'fn say($n : int64) : void { if ($n == 3) { return; } printf("n=%d\n", $n); } begin { say(1); say(3); say(4); exit() }'
is "$out" "n=1
n=4" "void"
run -q -e 'fn mine($t : struct task_struct *) : bool { return $t->tgid == pid; } begin { print(mine(curtask)); exit() }'
is "$out" "true" "pointers to structs"
run -q -e 'fn note($n : int64) : void { @x[$n] = count(); } begin { note(3); note(3); note(4); exit() }'
is "$out" "

@x[4]: 1
@x[3]: 2" "maps are everybody's"
run -q -c "$programs/calls.dyn 100" -e "fn half(\$n : int64) : int64 { return \$n / 2; } uprobe:$programs/calls.dyn:work /half(arg0) < 10/ { @ = count(); }"
like "$out" '^@: 20$' "in a predicate"

refused() # NAME REGEX SCRIPT
{
	run -e "$3"
	[ $rc -eq 1 ] && like "$err" "$2" "refused: $1"
}
refused recursion 'ERROR: Recursive' 'fn r($n : int64) : int64 { return r($n - 1); } begin { print(r(3)); }'
refused "the caller's variables" 'ERROR: Undefined' 'fn f($n : int64) : int64 { print($x); return 1; } begin { $x = 1; f(3); }'
refused "a result of another type" 'ERROR: Function f is of type int64, cannot return string' 'fn f($n : int64) : int64 { return "x"; } begin { f(3); }'
refused "too many arguments" 'ERROR: Function `f` requires 1 argument, got 2' 'fn f($n : int64) : int64 { return 1; } begin { f(3, 4); }'
refused "no value" 'Function f is of type int64, cannot return void' 'fn f($n : int64) : int64 { return; } begin { f(3); }'
refused "a value of void" 'Function f is of type void, cannot return int8' 'fn f($n : int64) : void { return 1; } begin { f(3); }'
refused "a way without return" 'Function f is of type int64, cannot return void' 'fn f($n : int64) : int64 { if ($n) { return 1; } } begin { f(3); }'
refused "a mistake in a function that nobody calls" 'Undefined or undeclared variable: \$y' 'fn f($n : int64) : int64 { return $y; } begin { }'
run -q -e 'fn f($p : int64) : int64 { return arg0 + $p; } begin { print("used nowhere"); }'
is "$out" "used nowhere" "one that needs a probe is not looked at"

run -q -e 'fn first($limit : int64) : int64 { for ($kv : @m) { if ($kv.1 > $limit) { return $kv.0; } } return -1; } fn deep($n : int64) : int64 { for $i : 0..1000 { for ($kv : @m) { if ($i == $n && $kv.0 == 2) { return $i * 10 + $kv.0; } } } return -2; } begin { @m[1] = 10; @m[2] = 20; @m[3] = 30; print((first(15) == 2 || first(15) == 3, first(100), deep(7), deep(5000))); for ($kv : @m) { print(first(29)); return; } print("no"); }'
is "$(printf '%s\n' "$out" | head -2)" "(true, -1, 72, -2)
3" "return out of loops over maps and long ranges"
unlike "$out" '^no' "return of the probe after a function's"
done_testing
