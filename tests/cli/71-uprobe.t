#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# uprobe: definitions on a program whose calls are known; what is wrong is shown at its place; two runs at once; tracing that
# somebody switches off; tracefs that is not there.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
# A copy of its own: other tests run the program, too.
cp "$programs/calls.dyn" "$work/calls"
chmod 755 "$work" "$work/calls"
calls=$work/calls

start uprobe "p:$calls:work n=\$arg1:s32 text=+0(\$arg2):string id=+0(\$arg3):s32 \$arg4:s8 %r8:u64 sixth=\$arg6:s32 seventh=\$arg7:s32"
"$calls" 5 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | grep -c ': work: (0x')" 5 "every call"
like "$out" '^ +calls-[0-9]+ +\[[0-9]+\] .{5} +[0-9]+\.[0-9]{6}: work: \(0x[0-9a-f]+\) n=3 text="item-3" id=' "with number and text of its own"
is "$(echo "$out" | sed 's/.*) n=/n=/')" "$(for i in 0 1 2 3 4; do echo "n=$i text=\"item-$i\" id=$i arg4=-3 arg5=18364758544493064720 sixth=66 seventh=77"; done)" "every argument, those in registers and that on the stack"

for form in "" -j; do
	start uprobe $form "p:$calls:work text=+0(\$arg2):string none=+0(\$arg1):string"
	"$calls" 1 >/dev/null
	sleep 0.3
	stop
	like "$out" '(text="item-0" none=\(fault\)$|"text":"item-0","none":null[,}])' "text that cannot be read is not empty text $form"
done

start uprobe "r:back $calls:negative value=\$retval:s64"
"$calls" 3 >/dev/null
sleep 0.3
stop
like "$out" ': back: \(0x[0-9a-f]+ <- 0x[0-9a-f]+\) value=-?[0-9]+' "returns, under a name of one's own"
is "$(echo "$out" | grep -c ': back: ')" 3 "each of them"
entry=$(nm "$calls" | sed -n 's/ T negative$//p' | tail -c 4)
is "$(echo "$entry" | tr -d 0-9a-f)${#entry}" 3 "nm knows the last three digits of its place"
like "$out" ": back: \(0x[0-9a-f]+ <- 0x[0-9a-f]+$entry\)" "the function behind the arrow, as the kernel prints it"

start uprobe "p:$calls:work n=\$arg1:s32" 'n >= 3'
"$calls" 5 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | sed 's/.* n=//' | tr '\n' ' ')" "3 4 " "a filter on an argument"

start uprobe "p:$calls:work total=@global_total:s64"
"$calls" 3 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | sed 's/.* total=//' | tr '\n' ' ')" "7 7 8 " "a variable of the program"

start uprobe -s "p:$calls:work"
"$calls" 1 >/dev/null
sleep 0.3
stop
like "$out" '^ =>  work\+0x0 \(.*calls\)' "-s: the program's stack, by names, though it has ended"
like "$out" '^ =>  main\+0x' "with callers"

start uprobe -j "p:$calls:work n=\$arg1:s32 +0(\$arg2):string"
"$calls" 2 >/dev/null
sleep 0.3
stop
echo "$out" | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert [(r["event"], r["fields"]["n"], r["fields"]["arg2"]) for r in rows] == [("work", 0, "item-0"), ("work", 1, "item-1")], rows'
ok "--json"

start uprobe "p:$calls:*a*"
"$calls" 2 >/dev/null
sleep 0.3
stop
like "$out" ': main: ' "wildcards: one event per function"
like "$out" ': negative: ' "and another"

"$calls" 200000000 >/dev/null &
busy=$!
start uprobe -p $busy "p:$calls:work"
sleep 0.3
kill $busy
"$calls" 3 >/dev/null
stop
unlike "$out" "^ +calls-($((busy + 1))|$((busy + 2))|$((busy + 3))|$((busy + 4))) " "-p: no other process"
like "$out" "calls-$busy " "but this one"

# The text of this program stands in its file where it stands in memory.
offset=0x$(nm "$calls" | sed -n 's/ T work$//p' | sed 's/^0*//')
start uprobe "p:$calls:$offset"
"$calls" 2 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | grep -c ': probe_')" 2 "an offset in the file"

# ---- by debug information: variables by name, lines, as `pantrace probe` has them
lines() { echo "$out" | sed -n 's/^.*: \([a-z_A-Z0-9]*\): (0x[0-9a-f]*) */\1 /p'; }
run uprobe -q "p:$calls:work number text:string record->range.low seventh" 'number >= 1' -- "$calls" 3
is "$(lines)" 'work number=1 text_string="item-1" low=0x1 seventh=77
work number=2 text_string="item-2" low=0x2 seventh=77' "variables by name, members, a filter on them"
run uprobe -q "$calls:negative \$params" -- "$calls" 2
is "$(lines)" 'negative value=0
negative value=1' "\$params, without the letter"
run uprobe -q "p:$calls:work n=number fetched=%rdi:s32 \$arg1" -- "$calls" 1
is "$rc/$(lines)" '0/work n=0 fetched=0 arg3=0x0' "beside fetch arguments"
at=$(grep -n 'global_total += number' "$top/tests/programs/calls.c" | cut -d: -f1) begin=$(grep -n ' work(int number' "$top/tests/programs/calls.c" | cut -d: -f1)
run uprobe -q "p:mine $calls:work:$((at - begin)) number" -- "$calls" 2
is "$(lines)" 'mine number=0
mine number=1' "a line of a function"
run uprobe -q "p:$calls:calls.c:$at number" -- "$calls" 2
is "$(lines)" 'work number=0
work number=1' "of a file"
run uprobe -q "p:$calls@calls.c:$at number" -- "$calls" 1
is "$(lines)" 'work number=0' "in the other spelling"
run uprobe -q "r:$calls:negative value"
like "$rc/$err" "^2/.*You can't specify local variable for kretprobe" "at a return they are gone"
run uprobe -q "p:$calls:work nosuch"
like "$rc/$err" "^1/definition:1:6-12: ERROR: .*there is no variable of this name" "one that there is not"

# ---- what is wrong is said at its place
run uprobe "p:$calls:work a=%rdi b=%nosuch"
like "$err" "^definition:1:[0-9]+-[0-9]+: ERROR: the probe 'work': Invalid register name" "an unknown register"
is "$(sed -n 3p "$work/err" | tr -d ' ')" '~~~~~~~' "marked"
is "$(sed -n 3p "$work/err" | sed 's/~.*//' | wc -c | tr -d ' ')" "$((${#calls} + 18))" "under itself"
run uprobe "p:$calls:work +0(\$arg1:string"
like "$err" "ERROR: the probe 'work': " "an open parenthesis"
run uprobe "p:$calls:wrk"
like "$err" "No matches for uprobe $calls:wrk" "an unknown function"
like "$err" "did you mean 'work'" "with the nearest"
run uprobe "p:$calls:work n=\$arg1" 'm == 1'
like "$err" "^filter:1:1-2: ERROR: the event work has no field 'm'" "an unknown field of a filter"
run uprobe "p:/no/such/file:main"
like "$err" "file" "no such file"
run uprobe "r:$calls:work \$arg1"
like "$err" "arguments are gone" "arguments at a return"
for i in 1 2 3 4 5; do "$pantrace" uprobe -d 0.01 "p:$calls:work+$i"; done >/dev/null 2>"$work/err"
like "$(cat "$work/err")" "middle of instruction" "between two instructions"
run uprobe
is "$rc" 2 "no definition is a usage error"
run uprobe -p 999999999 "p:$calls:work"
like "$err" "there is no process 999999999" "no such process"
run uprobe -d x "p:$calls:work"
is "$rc" 2 "a bad duration is a usage error"
run kprobe p:vfs_read
if [ ! -e $t/kprobe_events ]; then
	like "$err" "kprobe cannot be used here: CONFIG_KPROBES is not set" "kprobe without kprobes: the reason"
	is "$rc" 5 "and its exit code"
fi

# ---- two runs at once, of the same function
start uprobe "p:$calls:work"
first=$tracer
mv "$work/trace" "$work/trace1" 2>/dev/null
__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$pantrace" uprobe "p:$calls:work" >"$work/trace2" 2>"$work/err2" </dev/null &
second=$!
until_true grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$work/trace2"
"$calls" 4 >/dev/null
sleep 0.3
kill -INT $first $second
wait $first
wait $second
is "$(grep -c ': work: ' "$work/trace1")" 4 "two runs at once: one sees all"
is "$(grep -c ': work: ' "$work/trace2")" 4 "and the other"

# ---- somebody switches tracing off: at the top it is no matter, in our buffer it is said
echo 0 >$t/tracing_on
start uprobe "p:$calls:work"
"$calls" 2 >/dev/null
sleep 0.3
stop
echo 1 >$t/tracing_on
is "$(echo "$out" | grep -c ': work: ')" 2 "tracing_on=0 at the top does not matter"
start uprobe "p:$calls:work"
"$calls" 1 >/dev/null
sleep 0.3
for i in $t/instances/pantrace-$tracer-*; do echo 0 >"$i/tracing_on"; done
"$calls" 5 >/dev/null
stop
is "$(echo "$out" | grep -c ': work: ')" 1 "in our own it does"
like "$err" "somebody wrote 0 to .*/tracing_on" "and is said"

# ---- a reader that is too slow: what is lost is counted, and the exit code says it
(
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$pantrace" uprobe -b 16 "p:$calls:work n=\$arg1:s32" 2>"$work/err"
	echo $? >"$work/rc"
) | (
	read -r _ # that it is attached
	"$calls" 60000 >/dev/null
	kill -INT "$(pgrep -nf "uprobe -b 16 p:$calls:")"
	cat
) >"$work/slow"
printed=$(grep -c ': work: ' "$work/slow")
if [ "$(cat "$work/rc")" = 3 ]; then
	lost=$(sed -n 's/.*WARNING: \([0-9]*\) events* w[a-z]* lost.*/\1/p' "$work/err")
	is "$((printed + lost))" 60000 "printed and lost together are all"
else
	is "$printed" 60000 "nothing was lost, and all were printed"
fi

# ---- a full disk, a closed pipe
"$pantrace" uprobe -o /dev/full "p:$calls:*" >"$work/out" 2>"$work/err" </dev/null &
tracer=$!
full() { ! kill -0 $tracer || { "$calls" 10 >/dev/null && false; }; }
until_true full # it ends when it cannot write
wait $tracer
like "$(cat "$work/err")" "cannot write the output: No space left on device" "a full disk is said"
(while :; do "$calls" 100 >/dev/null; done) &
loop=$!
{
	timeout 300 "$pantrace" uprobe "p:$calls:work" 2>/dev/null
	echo $? >"$work/code"
} | head -100 >"$work/head"
until_true [ -s "$work/code" ]
kill $loop
unlike "$(cat "$work/code")" '^(124|)$' "| head -100 ends"
is "$(wc -l <"$work/head" | tr -d ' ')" 100 "with 100 lines"

# ---- no tracefs, or not for this user
if command -v unshare >/dev/null && command -v setpriv >/dev/null; then
	cp "$pantrace" "$work/pantrace"
	chmod 755 "$work" "$work/pantrace"
	setpriv --reuid 65534 --clear-groups "$work/pantrace" uprobe p:sh:main >"$work/out" 2>"$work/err"
	is "$?" 4 "without the rights: its exit code"
	like "$(cat "$work/err")" "tracefs is not (readable|mounted)|run it as root" "and the reason"
fi
run uprobe -l "$calls"
like "$out" '^work$' "-l lists functions"
run uprobe --help
like "$out" "^  pantrace uprobe 'r:bash:readline" "help has examples"
# Names of instances and probes begin with the process's number; those of a process that lives are others'.
left()
{
	{
		ls $t/instances | sed -n 's/^pantrace-\([0-9]*\)-.*/\1/p'
		sed -n 's/.*pantrace_\([0-9]*\)_.*/\1/p' $t/uprobe_events
	} | while read -r pid; do [ -e "/proc/$pid" ] || echo "$pid"; done
}
nothing_left() { [ -z "$(left)" ]; }
until_true nothing_left # where there were many, the guard needs some time
is "$(left)" "" "nothing is left behind"

# The kernel frees them one after the other: seconds, which nobody waits for.
start uprobe 'p:libc:str*'
stop
grep -qs "pantrace: guard $tracer" /proc/[0-9]*/cmdline && [ "$rc" -le 3 ]; ok "many probes: the run has ended (code $rc), the guard removes them"
until_true nothing_left
is "$(left)" "" "and then they are"
if unshare -mpf --mount-proc true 2>/dev/null; then
	unshare -mpf --mount-proc "$pantrace" uprobe -d 0.1 'p:libc:str*' >/dev/null 2>"$work/err"
	is "$(grep -c 'pantrace_1_' $t/uprobe_events)" 0 "the first process of a container, which takes the guard along, removes them itself" || cat "$work/err"
else
	skip "the first process of a container" "no pid namespaces"
fi
done_testing
