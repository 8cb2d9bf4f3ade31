#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `pantrace hist` on this kernel: known numbers of system calls, and what is refused.
# among tracers: counts its own programs
. "$(dirname "$0")/lib.sh"
need_root
# Copies of its own: other tests run these programs, too.
cp "$programs/syscalls" "$work/histcalls"
cp /bin/true "$work/true"
cp /bin/sleep "$work/snooze"

run hist raw_syscalls:sys_enter keys=id.syscall 'if id == 110 || id == 1' -- "$work/histcalls" 200
is "$rc" 0 "it ends with the command"
like "$out" '^getppid \[110\] +[0-9]+ ' "getppid by its name"
run hist syscalls:sys_enter_getppid keys=common_pid.execname 'if COMM == "histcalls"' -- "$work/histcalls" 200
is "$(echo "$out" | grep -c '^histcalls \[[0-9]*\] *200 ')" 3 "three processes with 200 calls each"
like "$out" '^Totals: 600 hits, 3 entries, 0 dropped$' "totals"

# Each process writes 1 + 2 + ... + 50 bytes.
run hist syscalls:sys_enter_write keys=common_pid.execname:vals=count:sort=count.descending 'if COMM == "histcalls"' -- "$work/histcalls" 50
is "$(echo "$out" | grep -c '^histcalls \[[0-9]*\] *50 *1275 ')" 3 "sums, by thread"
run hist syscalls:sys_enter_write sort=count.descending:vals=count:keys=common_pid.execname,fd 'if COMM == "histcalls"' -- "$work/histcalls" 50
is "$(echo "$out" | grep -c '^histcalls \[[0-9]*\] *[0-9]* *50 *1275 ')" 3 "parts in any order"
run hist syscalls:sys_enter_write keys=count.log2 'if COMM == "histcalls"' -- "$work/histcalls" 50
is "$(echo "$out" | sed -n 's/^~ 2^\([0-9]*\) *\([0-9]*\) .*/\1=\2/p' | tr '\n' ' ')" "0=3 1=3 2=6 3=12 4=24 5=48 6=54 " "powers of two, upward"
run hist syscalls:sys_enter_write keys=count.buckets=20 'if COMM == "histcalls"' -- "$work/histcalls" 50
is "$(echo "$out" | sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) .*/\1=\2/p' | tr '\n' ' ')" "0-19=57 20-39=60 40-59=33 " "buckets"
run hist syscalls:sys_enter_write keys=fd:vals=count.percent,count.hex 'if COMM == "histcalls"' -- "$work/histcalls" 50
like "$out" ' 150 +100\.00% +ef1 ' "values in percent and in hexadecimal"

run hist --engine bpf kmem:kmem_cache_alloc keys=call_site.sym:vals=bytes_alloc -- ls /
like "$out" '^\[ffffffff[0-9a-f]+\] [a-z_]+' "symbols of the kernel, which is not asked any more while events come"

run hist -j syscalls:sys_enter_write -k common_pid.execname,count.log2 -v count -f 'COMM == "histcalls"' -- "$work/histcalls" 20
is "$(echo "$out" | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["engine"] in ("bpf", "kernel"), t["hits"], t["entries"], t["dropped"], sum(r["hitcount"] for r in t["rows"]),
      sum(r["values"]["count"] for r in t["rows"]), {r["keys"]["common_pid"]["name"] for r in t["rows"]},
      all(r["keys"]["count"]["min"] <= r["values"]["count"] / r["hitcount"] <= r["keys"]["count"]["max"] for r in t["rows"]))
')" "True 60 18 0 60 630 {'histcalls'} True" "options instead of parts; JSON"

run hist -K syscalls:sys_enter_write keys=count.log2,fd.hex:vals=count 'if COMM == "histcalls"' -- "$work/histcalls" 2
like "$out" '^\{ count: ~ 2\^1 *, fd: [0-9a-f]+ \} hitcount: +3  count: +6$' "the layout of the kernel's hist files"
like "$out" '^    Hits: 6$' "its totals"

run hist syscalls:sys_enter_openat keys=filename.string 'if COMM == "opens"' -- "$programs/opens"
like "$out" '^/etc/passwd +1 ' "the string that a pointer points to"
run hist sched:sched_process_exec keys=filename -- "$work/true"
like "$out" "^$work/true +1 " "a string of the event"
run hist sched:sched_process_exec keys=stacktrace -- /bin/true
like "$out" '^ +do_syscall_64\+[0-9]+$' "stacks"
run hist --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep -m common_pid keys=latency.buckets=1000000 'if COMM == "snooze"' -- "$work/snooze" 1
like "$out" '^~ [1-9][0-9]*000000-[0-9]+ +1 ' "the latency of a sleep of a second"
run hist syscalls:sys_enter_getppid keys=cpu:name=both 'if COMM == "histcalls"' syscalls:sys_enter_write keys=cpu:name=both 'if COMM == "histcalls"' -- "$work/histcalls" 50
like "$out" '^Totals: 300 hits' "two events in one histogram"
run hist syscalls:sys_enter_getppid keys=cpu syscalls:sys_enter_write keys=fd -- "$work/histcalls" 50
is "$(echo "$out" | grep -c '^Totals')" 2 "and in two"
run hist syscalls:sys_enter_getppid keys=cpu -i 1 -c 'if COMM == "histcalls"' -- sh -c "sleep 1; $work/histcalls 10; sleep 1; $work/histcalls 20"
is "$(echo "$out" | sed -n 's/^Totals: \([0-9]*\) hits.*/\1/p' | awk '{ n += $1 } END { print n }')" 90 "intervals lose nothing and count nothing twice"
run hist syscalls:sys_enter_write keys=count:size=10 'if COMM == "histcalls"' -- "$work/histcalls" 100
like "$out" '^Totals: 30 hits, 10 entries, 270 dropped$' "what found no room is counted"
is "$rc" 3 "and the exit code says so"

# calls N: work(number, text, record, ...) for the numbers 0 to N - 1.
run hist -e "p:w $programs/calls:work n=\$arg1:s32 text=+0(%si):string id=+0(\$arg3):s32" 'w keys=n.buckets=25:vals=n' -- "$programs/calls" 100
is "$(echo "$out" | sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) *\([0-9]*\) .*/\1=\2,\3/p' | tr '\n' ' ')" "0-24=25,300 25-49=25,925 50-74=25,1550 75-99=25,2175 " "a dynamic event and its argument"
run hist -e "p:w $programs/calls:work n=\$arg1:s32 text=+0(%si):string" 'w keys=text' if 'n < 3' -- "$programs/calls" 10
is "$(echo "$out" | sed -n 's/^\(item-[0-9]*\) *1 .*/\1/p' | tr '\n' ' ')" "item-0 item-1 item-2 " "strings and a filter of it"
run hist -e "p:w $programs/calls:work number text:string record->range.low" 'w keys=number.buckets=25:vals=low' if 'text_string != "item-99"' -- "$programs/calls" 100
is "$(echo "$out" | sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) *\([0-9]*\) .*/\1=\2,\3/p' | tr '\n' ' ')" "0-24=25,300 25-49=25,925 50-74=25,1550 75-99=24,2076 " "variables by name, members, a filter of one"
at=$(grep -n 'global_total += number' "$top/tests/programs/calls.c" | cut -d: -f1)
run hist -e "p:w $programs/calls@calls.c:$at n=number" 'w keys=n' -- "$programs/calls" 3
is "$(echo "$out" | sed -n 's/^ *\([0-9]\) *1 .*/\1/p' | tr '\n' ' ')" "0 1 2 " "at a line"
run hist -e "r:w $programs/calls:negative value" 'w keys=value' -- true
like "$rc/$err" "You can't specify local variable for kretprobe" "at a return they are gone"

"$pantrace" hist -n t$$ sched:sched_switch keys=prev_comm:pause >"$work/hist" 2>&1 &
until_true "$pantrace" hist show t$$ >/dev/null
run hist show t$$
like "$out" 'paused\]$' "it starts paused"
like "$out" '^Totals: 0 hits' "and counts nothing"
run hist -n t$$ sched:sched_switch keys=prev_comm
like "$err" "there is a histogram 't$$' already" "a name belongs to one run"
"$pantrace" hist continue t$$
sleep 0.5
run hist show t$$
like "$out" '^Totals: [1-9][0-9]* hits' "it goes on"
"$pantrace" hist pause t$$
"$pantrace" hist clear t$$
run hist show t$$
like "$out" '^Totals: 0 hits' "it was emptied"
"$pantrace" hist stop t$$
wait
run hist show t$$
like "$err" "there is no histogram 't$$'" "it is gone"
is "$(ls /run/pantrace 2>/dev/null | grep -c "t$$")" 0 "its socket, too"

refused()
{
	want=$1
	shift
	run hist "$@" -d 1
	like "$err" "$want" "refused: $*"
	[ "$rc" != 0 ]
	ok "with an exit code: $*"
}
refused "did you mean 'sched:sched_switch'" sched:sched_switc keys=prev_pid
refused "did you mean 'prev_pid'" sched:sched_switch keys=prev_pidd
refused "did you mean 'log2'" sched:sched_switch keys=prev_pid.log
refused 'is a string, not a number' sched:sched_switch keys=prev_pid:vals=next_comm
refused 'a histogram needs keys' sched:sched_switch
refused 'at most 3 keys' sched:sched_switch keys=prev_pid,next_pid,prev_prio,next_prio
refused "no field 'prev_pod'" sched:sched_switch keys=prev_pid if 'prev_pod == 1'
refused 'neither a key nor a value' sched:sched_switch keys=prev_pid:sort=next_pid
refused 'a sort= already' sched:sched_switch sort=hitcount:keys=prev_pid:sort=prev_pid
refused 'needs the width' sched:sched_switch keys=prev_pid.buckets
refused 'from 1 to 131072' sched:sched_switch keys=prev_pid:size=0
refused 'belong together' --from sched:sched_waking keys=prev_pid
refused 'not part of a histogram' sched:sched_switch keys=prev_pid:onmatch
refused 'is not a pointer' sched:sched_switch keys=prev_pid.string
refused 'is not common_pid' sched:sched_switch keys=prev_pid.execname
refused 'begins with p:NAME' -e 'libc:malloc %di' sched:sched_switch keys=prev_pid
refused 'cannot be fetched' -e 'p:a libc:malloc $arg9' a keys=arg1 --engine bpf
refused 'cannot be fetched by a BPF program' -e "p:a $programs/calls:work global_total" a keys=global_total --engine bpf
refused 'there is no variable of this name' -e "p:a $programs/calls:work nosuch" a keys=nosuch
refused "did you mean 'malloc'" -e 'p:a libc:mallocc %di' a keys=arg1
refused 'different keys or values' sched:sched_switch keys=prev_pid:name=x sched:sched_waking keys=pid:name=x
cp "$pantrace" "$work/copy" && chmod 755 "$work" "$work/copy"
setpriv --reuid 65534 --regid 65534 --clear-groups "$work/copy" hist sched:sched_switch keys=prev_pid -d 1 >"$work/out" 2>&1
is "$?" 4 "without privileges: the exit code"
like "$(cat "$work/out")" 'not readable for this user' "and the cause"
if grep -q hist: /sys/kernel/tracing/README; then
	ok "this kernel has histogram triggers"
else
	run hist --engine kernel sched:sched_switch keys=prev_pid -d 1
	is "$rc" 5 "the kernel's triggers are missing here"
	like "$err" '--engine bpf' "and it is said what to do"
fi
# Nobody waits for ever for a histogram that does not answer.
start hist --name stopped-$$ sched:sched_switch keys=next_pid
kill -STOP $tracer
run hist show stopped-$$
like "$rc $err" "^1 .*'stopped-$$': it does not answer" "hist show NAME of a run that is stopped"
kill -CONT $tracer
stop
done_testing
