#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A uprobe and a uretprobe on the same functions: one program and one link where the kernel has sessions (6.13), two where not, and
# the same answers, which are known.
. "$(dirname "$0")/lib.sh"
need_root
target=$work/calls # a copy of its own: other tests run the program, too
cp "$programs/calls.dyn" "$target"
chmod 755 "$work" "$target"
"$pantrace" doctor 2>/dev/null | grep -q '^  yes  uprobe_session$'
has_sessions=$?

# held SCRIPT: what a tracer that is attached holds, from the kernel's own account of its descriptors
held()
{
	start -e "$@"
	attached=$(sed -n 's/^Attached \([0-9]*\) probes*$/\1/p' "$work/trace" "$work/trace.err")
	programs_held=$(cat /proc/$tracer/fdinfo/* 2>/dev/null | grep -c '^prog_type')
	links=$(cat /proc/$tracer/fdinfo/* 2>/dev/null | grep -c '^link_type:.u[a-z]*_multi')
	stop
	held="$attached $programs_held $links"
}

one="uprobe:$target:work { @a = 1 } uretprobe:$target:work { @b = 1 }"
if [ $has_sessions = 0 ]; then
	held "$one"
	is "$held" "2 1 1" "a function: two probes, one program, one link"
	held "uprobe:$target:work { @a = 1 } uprobe:$target:work { @c = 1 } uretprobe:$target:work { @b = 1 }"
	is "$held" "3 3 3" "two entries: nothing says which belongs to the return"
	held "uprobe:$target:work { @a = 1 } uretprobe:$target:negative { @b = 1 }"
	is "$held" "2 2 2" "different functions"
	held "uprobe:$target:work, uprobe:$target:negative { @a = 1 } uretprobe:$target:work { @b = 1 }"
	is "$held" "3 2 2" "an entry of several functions"
else
	skip "one program, one link" "the kernel has no uprobe_session"
fi
held "$one" --no-feature uprobe_session
is "${held% *}" "2 2" "without sessions: two programs"
is "$("$pantrace" -l -e "$one" 2>&1)" "uprobe:$target:work
uretprobe:$target:work" "-l shows both"

both()
{
	want=$("$pantrace" -q --no-feature uprobe_session -c "$1" -e "$2" 2>&1 </dev/null | sort)
	out=$("$pantrace" -q -c "$1" -e "$2" 2>&1 </dev/null | sort)
}

both "$target 3000 4" "uprobe:$target:work { @in[tid] = arg0; @entries = count(); @sum = sum(arg0); }
uretprobe:$target:work { @returns = count(); @wrong += (int32)retval != (int32)(@in[tid] * 2 + 105 + @in[tid] - 3 + 0x76543210 + 143); }"
like "$out" '^@entries: 12000$' "every entry, of four threads"
like "$out" '^@returns: 12000$' "every return"
like "$out" '^@wrong: 0$' "each with the result of its call"
is "$(echo "$out" | grep -v '^@in')" "$(echo "$want" | grep -v '^@in')" "as two programs have it"

both "$target 50" "uprobe:$target:*n* { @depth[tid]++; @in[probe, func] = count(); @deepest = max(@depth[tid]); }
uretprobe:$target:*n* { @depth[tid]--; @out[probe, func] = count(); }"
like "$out" "^@in\[uprobe:$target:negative, negative\]: 50$" "a wildcard: which entry"
like "$out" "^@out\[uretprobe:$target:negative, negative\]: 50$" "and which return"
is "$(echo "$out" | grep '^@out')" "$(echo "$want" | grep '^@out')" "all returns are those of two programs"
is "$(echo "$out" | grep -E '^@(in|deepest)')" "$(echo "$want" | grep -E '^@(in|deepest)')" "and all entries"

both "$target 100" "uprobe:$target:work /arg0 % 2/ { if (arg0 % 3 == 0) { return; } @in = count(); }
uretprobe:$target:work { @out = count(); }"
like "$out" '^@in: 33$' "an entry with a filter that returns early"
like "$out" '^@out: 100$' "every return all the same"

both "$target 20" "uprobe:$target:negative { \$n = arg0; for (\$i : 0..\$n) { @turns += 1; } @s[str(\"entry\")] = count(); }
uretprobe:$target:negative { @s[str(\"return\")] = count(); @r = min((int64)retval); @k[ustack(2)] = count(); }"
like "$out" '^@turns: 190$' "a loop at the entry"
like "$out" '^@s\[return\]: 20$' "strings on both sides"
like "$out" '^@r: -19$' "the result"
is "$out" "$want" "as two programs have it, stacks included"

# loops that are callbacks on both sides share no stack: two programs
held "uprobe:$target:work { \$n = arg0; for (\$i : 0..\$n) { @a += 1; } } uretprobe:$target:work { \$n = retval; for (\$i : 0..\$n) { @b += 1; } }"
is "${held% *}" "2 2" "loops on both sides: two programs"

# nor the verifier's patience
loop='$i = 0; while ($i < 8000) { $i++; @n += 1; }'
held "uprobe:$target:work { $loop } uretprobe:$target:work { $loop }"
is "${held% *}" "2 2" "long loops on both sides: two programs"

# what a program begins with is not called, and does not return
out=$("$pantrace" -q -c "$target 50" -e "uprobe:$target:* { @in[func] = count(); } uretprobe:$target:* { @out[func] = count(); }" 2>&1 </dev/null)
like "$out" '^@in\[_start\]: 1$' "a wildcard that matches all of a program"
like "$out" '^@out\[work\]: 50$' "does it no harm"
run -e "uretprobe:$target:_start { @ = 1 }"
is "$rc" 1 "a return of its beginning is refused"
like "$err" "would crash the program: it begins there" "with the reason"

"$target" 200000 >/dev/null &
other=$!
out=$("$pantrace" -q -c "$target 40" -e "$one uprobe:$target:negative { @n = count(); } uretprobe:$target:negative { @m = count(); }" 2>&1 </dev/null)
kill $other 2>/dev/null
wait $other 2>/dev/null
like "$out" '^@n: 40$' "of the command only, while another runs the same: entries"
like "$out" '^@m: 40$' "and returns"
done_testing
