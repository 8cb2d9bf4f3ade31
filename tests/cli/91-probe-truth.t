#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe: what the kernel records of variables is what the program itself prints of them: numbers, pointers, strings, bit-fields,
# members behind three pointers, elements, globals, inlined and stack parameters; from two compilers, with and without
# optimisation, in both forms of DWARF.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
source=$(dirname "$0")/../programs/probed.c
chmod 755 "$work"
trap '$pantrace probe -q -d "truth:*" 2>/dev/null; rm -rf "$work"' EXIT

# traced EVENT...: the program's own lines in $work/said, the events' in $work/seen, as "EVENT NAME=VALUE..."
traced()
{
	$pantrace tpoint "$@" -- "$app" 3 >"$work/trace" 2>"$work/err" </dev/null
	sed -n 's/^.* \([a-z_]*\): (0x[0-9a-f]*) /\1 /p' "$work/trace" | tr -d '"' >"$work/seen"
}

handle='handle n text=text:string len id=n->id next_id=n->next->id third=n->next->next->id name=n->name:string flags=n->flags'
handle="$handle kind=n->kind wide=n->wide before=n->before:u half=n->inner.half:u tag=n->inner.tag:string number=n->numbers[2]"
handle="$handle colour=n->colour:s counter hidden table=table[1].id"
many='many a b=b:u c d=d:u e f seventh eighth'

for build in "gcc -O0 -gdwarf-4" "gcc -O0 -gdwarf-5" "gcc -O1 -gdwarf-4" "gcc -O2 -gdwarf-5" "clang -O0 -gdwarf-5" "clang -O1 -gdwarf-4" "clang -O2 -gdwarf-5"; do
	command -v "${build%% *}" >/dev/null || { ok true "$build # SKIP needs the compiler"; continue; }
	app=$work/truth$(echo "$build" | tr -dc 'a-z0-9O')
	$build -o "$app" "$source" || { ok false "$build: the program is built"; continue; }
	"$app" 3 >"$work/plain"
	$pantrace probe -q -x "$app" "truth:handle=$handle" "truth:many=$many" 2>"$work/err"
	is "$?" 0 "$build: the probes are added"
	traced 'truth:*'
	is "$(grep -c . "$work/seen")" 6 "$build: an event for each call"
	is "$(grep '^handle' "$work/seen")" "$(grep '^handle' "$work/trace")" "$build: members, globals, strings, bit-fields"
	is "$(grep '^many' "$work/seen")" "$(grep '^many' "$work/trace")" "$build: parameters in registers and on the stack"
	$pantrace probe -q -d 'truth:*'
	# At a line, where locals live; and in what is inlined there.
	$pantrace probe -q -x "$app" 'truth:at=handle;*at*i=* i sum' 'truth:mix=mix x y' 2>"$work/err"
	is "$?" 0 "$build: a line and an inlined function"
	traced 'truth:*'
	is "$(grep '^at' "$work/seen")" "$(grep '^at' "$work/trace")" "$build: locals at a line"
	grep '^mix' "$work/trace" >"$work/mixed"
	if grep -q 'optimised\|computed' "$work/err"; then
		like "$(cat "$work/err")" 'x: its value is computed|optimised out' "$build: what cannot be fetched is said"
	else
		is "$(grep '^mix' "$work/seen")" "$(cat "$work/mixed")" "$build: inlined parameters"
	fi
	$pantrace probe -q -d 'truth:*'
done

# gcc moves the end of a function that mostly returns early into a function of its own, "limited.part.0", and may inline both: a call is
# still one event.
cat >"$work/split.c" <<'C'
#include <stdio.h>
struct pair { int first, second; };
struct pair now = {1, 2};
__attribute__((noinline)) int told(struct pair *p, struct pair *q, int x) { return printf("%d %d %d\n", p->first, q->second, x); }
int limited(struct pair *p, unsigned which, struct pair *wanted)
{
	struct pair *old = &now + which;
	if (old->first != wanted->first)
		return told(&now, p, 7);
	return 0;
}
int one(struct pair *p) { return limited(p, 0, p + 1); }
int two(struct pair *p) { return limited(p, 0, p + 2); }
int main(int c, char **v) { struct pair t[3] = {{1, 1}, {2, 2}, {c, 3}}; return v && one(t) + two(t) + limited(t, 0, t) > 0 ? 0 : 1; }
C
gcc -g -O2 -o "$work/split" "$work/split.c"
$pantrace probe -q -x "$work/split" truth:limited=limited
is "$($pantrace -q -e 'tracepoint:truth:limited { @ = count(); }' -c "$work/split" | sed -n 's/^@: //p')" 3 "a function that the compiler has split: three calls, three events"
$pantrace probe -q -d 'truth:*'
is "$($pantrace -q -e "uprobe:$work/split:limited:0 { @ = count(); }" -c "$work/split" | sed -n 's/^@: //p')" 3 "  by its line 0, too"
like "$($pantrace probe -x "$work/split" -D limited:4 2>&1)" 'p:probe_split/limited_L4' "  lines of its rest have code"
done_testing
