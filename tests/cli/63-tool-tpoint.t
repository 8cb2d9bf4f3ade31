#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tpoint, perf-stat-hist and funccount against programs whose calls are known.
. "$(dirname "$0")/lib.sh"
need_root

t=/sys/kernel/tracing
start tpoint syscalls:sys_enter_tgkill,syscalls:sys_exit_tgkill 'common_pid > 0'
"$programs/kills" >"$work/child"
sleep 0.3
stop
pid=$(cat "$work/child")
like "$out" "^ +kills-[0-9]+ +\[[0-9]{3}\] .{5} +[0-9]+\.[0-9]{6}: sys_tgkill\(tgid: (0x)?$(printf %x "$pid"), pid: (0x)?$(printf %x "$pid"), sig: (0x)?17\)\$" "an event as the kernel prints it"
like "$out" 'sys_tgkill -> 0x0$' "and the other one"
is "$rc" 0 "nothing was lost"
unlike "$err" 'Tracing' "nothing is said where no terminal is"

# The kernel's own text of the same events, from another instance: byte for byte.
mkdir $t/instances/pantracetest
echo mono >$t/instances/pantracetest/trace_clock
start tpoint sched:sched_process_exec,sched:sched_process_fork,sched:sched_process_exit,sched:sched_wakeup_new
for e in sched_process_exec sched_process_fork sched_process_exit sched_wakeup_new; do
	echo 1 >$t/instances/pantracetest/events/sched/$e/enable
done
for i in 1 2 3 4 5; do /bin/true; done
echo 0 >$t/instances/pantracetest/events/enable
sleep 0.3
stop
# Thread, CPU and flags are as in the other's, but for a reschedule that a tick between the two records asks for (N). Times are taken one
# after the other; names are ours at the time of the event, the kernel's at the time of printing.
same='s/^ *.*-\([0-9]* *\[[0-9]*\] .\)[^ ]\([^ ]*\) *[0-9]*\.[0-9]*: /\1\2 /'
grep -v '^#' $t/instances/pantracetest/trace | sed "$same" >"$work/kernel"
rmdir $t/instances/pantracetest
echo "$out" | sed "$same" >"$work/ours"
missing=$(grep -vxFf "$work/ours" "$work/kernel" | head -5)
is "$missing" "" "every line of the kernel's own text is among ours"
[ "$(grep -c . "$work/kernel")" -ge 15 ]; ok "and there were many"
like "$out" '^ +true-[0-9]+ +\[[0-9]+\] .* sched_process_exit: comm=true' "a thread that has ended has its name"

# A name as a hostile program chooses it.
start tpoint sched:sched_process_exit
python3 -c '
import ctypes
ctypes.CDLL(None).prctl(15, b"a b-c[7] \x1b[31m", 0, 0, 0)'
sleep 0.3
stop
like "$out" '^ *a b-c\[7\] .x1b\[31m-[0-9]+ +\[[0-9]+\] ' "blanks, dashes, brackets and control characters in a name"

start tpoint sched:sched_process_exec 'filename ~ "*true*"'
/bin/true
/bin/false
sleep 0.3
stop
like "$out" 'sched_process_exec: filename=[a-z/]*/true pid=[0-9]+ old_pid=[0-9]+$' "a filter on a string that lies behind the record"
unlike "$out" 'false' "keeps others out"

start tpoint -s sched:sched_process_exec
/bin/true
sleep 0.3
stop
like "$out" '^ => (bprm_execve|exec_binprm|begin_new_exec)' "-s: the kernel's stack"

start tpoint -H sched:sched_process_exec
stop
like "$out" '^#           TASK-PID     CPU#  \|' "-H names the columns"

start tpoint --json sched:sched_process_exec
/bin/true
sleep 0.3
stop
echo "$out" | grep '"comm":"true"' | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert rows and all(r["event"] == "sched_process_exec" and r["fields"]["filename"].endswith("/true") and r["fields"]["old_pid"] == r["pid"] for r in rows)'
ok "--json"

sleep 30 &
other=$!
start tpoint -p $$ sched:sched_process_exec
/bin/true
sh -c '/bin/true'
stop
like "$out" ' true-[0-9]+ .*sched_process_exec' "-p follows children"
kill $other
unlike "$out" "sleep-$other" "and nobody else"
"$pantrace" tpoint -d 0.5 -o "$work/file" sched:sched_switch
like "$(head -1 "$work/file")" 'sched_switch: prev_comm=' "-d, -o: buffered, into a file"
"$pantrace" tpoint -p 1 kvm:no_such_thing 2>"$work/err"
is "$?" 1 "an unknown tracepoint ends it"

run tpoint -l 'sched:sched_process_e*'
is "$out" "sched:sched_process_exec
sched:sched_process_exit" "-l lists"
run tpoint -v sched:sched_process_exec
is "$out" "$(cat $t/events/sched/sched_process_exec/format)" "-v shows the format"
run tpoint sched:sched_swich
like "$err" "there is no event 'sched:sched_swich'" "an unknown tracepoint is said"
like "$err" "did you mean 'sched:sched_switch'" "with the nearest"
run tpoint sched:sched_switch 'next_comm ~ '
is "$(sed -n 2,3p "$work/err")" 'next_comm ~ 
            ~' "a bad filter is shown at its place"
is "$rc" 1 "and refused"
run tpoint sched:sched_switch 'next_pid = 1'
is "$(sed -n 2,3p "$work/err")" 'next_pid = 1
         ~' "a bad operator, too"
run tpoint sched:sched_switch 'next_pid == 1 && nextcomm == "x"'
like "$err" '^filter:1:18-26: ERROR: the event sched:sched_switch has no field .nextcomm.$' "an unknown field too"
is "$(sed -n 3p "$work/err")" '                 ~~~~~~~~' "under its name"

# head ends after its lines, and so does the tool
{
	timeout 120 "$pantrace" tpoint raw_syscalls:sys_enter 2>/dev/null
	echo $? >"$work/code"
} | head -100 >"$work/head"
until_true [ -s "$work/code" ]
unlike "$(cat "$work/code")" '^(124|)$' "| head -100 ends"
is "$(wc -l <"$work/head" | tr -d ' ')" 100 "with 100 lines"

start perf-stat-hist -f 'fd == 917' syscalls:sys_enter_write count
python3 -c '
import os
fd = os.open("/dev/null", os.O_WRONLY); os.dup2(fd, 917)
for n, times in ((0, 3), (3, 5), (15, 7), (16, 11), (5000, 13), (4 << 20, 17)):
    for i in range(times): os.write(917, b"x" * n)'
stop
is "$(awk '/->/ { for (i = 1; i <= NF; i++) if ($i == ":") print $1, $(i + 1) }' "$work/trace" | grep -v ' 0$' | tr '\n' ';')" \
	"0 3;1 5;4 7;16 11;4096 13;1048576 17;" "perf-stat-hist: powers of 4, up to the last"
start perf-stat-hist -P 2 -m 64 -f 'fd == 917' syscalls:sys_enter_write count
python3 -c '
import os
fd = os.open("/dev/null", os.O_WRONLY); os.dup2(fd, 917)
for n in (1, 2, 3, 63, 64, 1000): os.write(917, b"x" * n)'
stop
is "$(awk '/->/ { for (i = 1; i <= NF; i++) if ($i == ":") print $1, $(i + 1) }' "$work/trace" | grep -v ' 0$' | tr '\n' ';')" \
	"1 1;2 2;32 1;64 2;" "perf-stat-hist -P 2 -m 64"

mkdir "$work/8dQ" # no tokens of a script, however it is named
cp "$programs/calls.dyn" "$work/8dQ/calls"
start funccount -u "$work/8dQ/calls" 'work,neg*'
"$work/8dQ/calls" 1234 >/dev/null
stop
like "$out" '^work +1234$' "funccount -u: calls of a user function"
like "$out" '^negative +1234$' "funccount -u: by pattern"
like "$out" '^FUNC +COUNT$' "columns"
start funccount -T -i 0.5 -t 1 -u "$work/8dQ/calls" work
intervals() { [ "$(grep -c '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9]$' "$work/trace")" -ge "$1" ]; }
until_true intervals 1
"$work/8dQ/calls" 100 >/dev/null
until_true intervals 3
stop
intervals 3
ok "-T -i: intervals, with the time"
is "$(echo "$out" | awk '/^work / { n += $2 } END { print n }')" 100 "-i: each call in one of them"
run funccount vfs_read
if [ "$rc" != 0 ]; then like "$err" 'kprobe' "without kprobes the reason is said"; fi

start funcslower -a -u "$programs/calls.dyn" work 0
"$programs/calls.dyn" 10 >/dev/null
stop
is "$(echo "$out" | grep -c ' work$')" 10 "funcslower -u: every call is above 0"
like "$out" '^TIMEs +CPU +TASK +DURATIONus FUNC$' "columns of -a"
for t in iosnoop iolatency bitesize cachestat tcpretrans perf-stat-hist funccount funcslower tpoint; do
	run $t --help
	like "$out" "^  pantrace $t " "$t --help has examples"
done
done_testing
