#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pantrace stat: counts of a known workload, beside strace's and perf's; where, how long, as what; what it refuses.
. "$(dirname "$0")/lib.sh"
need_root

# rows EXPRESSION: of python, over the objects of a JSON report in $err or, where that is empty, $out
rows()
{
	printf '%s\n' "${err:-$out}" | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin if line.strip()]
events = [row for row in rows if "event" in row]
print(eval(sys.argv[1]))' "$1"
}
# count EVENT: in all its rows
count() { rows "sum(row['count'] for row in events if row['event'] == '$1')"; }

# A call that nobody else traces meanwhile: a BPF program of another tracer would decide what is counted.
echo 'getpriority(0, 0) for 1 .. $ARGV[0]' >"$work/calls"

# ---- a command ----
run stat --json -e syscalls:sys_enter_getpriority -e syscalls:sys_exit_getpriority,cs -- perl "$work/calls" 5000
is $rc 0 "a command is counted"
is "$out" "" "its output is its own"
strace -f -c -o "$work/strace" perl "$work/calls" 5000
is "$(count syscalls:sys_enter_getpriority) $(count syscalls:sys_exit_getpriority)" \
	"$(awk '$NF == "getpriority" { print $4, $4 }' "$work/strace")" "system calls are those of strace"
run stat --json -e 'syscalls:sys_enter_getpriority /which == 0 && who == 0/' -- perl "$work/calls" 300
is "$(count syscalls:sys_enter_getpriority)" 300 "those that a condition means"
run stat --json -e 'syscalls:sys_enter_getpriority /which == 1/' -- perl "$work/calls" 300
is "$(count syscalls:sys_enter_getpriority)" 0 "and no others"
cat >"$work/many.py" <<'P'
import ctypes, os, threading
call = ctypes.CDLL(None).getpriority
def some(n):
    for _ in range(n): call(0, 0)
threads = [threading.Thread(target=some, args=(100,)) for _ in range(4)]
[t.start() for t in threads]
if os.fork() == 0:
    some(50); os._exit(0)
os.wait()
[t.join() for t in threads]
P
run stat --json -e syscalls:sys_enter_getpriority -- python3 "$work/many.py"
strace -f -c -o "$work/strace" python3 "$work/many.py"
is "$(count syscalls:sys_enter_getpriority)" "$(awk '$NF == "getpriority" {print $4}' "$work/strace")" "threads and processes that it starts are counted, too"
run stat -e cs -- sh -c 'exit 7'
is $rc 7 "its exit code is passed on"
run stat -e cs -- sh -c 'kill -TERM $$'
is $rc 143 "and its signal"
run stat -e cs -- /nonexistent
is "$rc" 1 "a command that is not there"
like "$err" '/nonexistent' "... is named"

# ---- text ----
run stat -e 'syscalls:sys_enter_getpriority,cs' -e task-clock -- perl "$work/calls" 2000
like "$err" ' 2,000 +syscalls:sys_enter_getpriority +[0-9.]+ K?/s' "text: a count and how many a second"
like "$err" '[0-9]+\.[0-9]{3} ms task-clock +[0-9.]+ CPUs' "... a clock"
like "$err" '^[0-9.]+ s elapsed, [0-9.]+ s user, [0-9.]+ s system$' "... how long it took"
run stat -e 'syscalls:sys_enter_*' -- true
unlike "$err" 'sys_enter_reboot' "what did not occur is left out of a wildcard's"
like "$err" '\([0-9]+ that did not occur are left out; -z shows them\)' "... and said"
run stat -z -e 'syscalls:sys_enter_re*' -- true
like "$err" ' 0 +syscalls:sys_enter_reboot' "-z shows it"
run stat -- true
like "$err" 'task-clock' "without events: clock, switches, migrations, faults"
like "$err" 'page-faults' "... all of them"

# ---- CSV, in perf's order ----
run stat -x, -e syscalls:sys_enter_getpriority,page-faults -- perl "$work/calls" 100
is "$(printf '%s\n' "$err" | sed -n 's/^\([0-9]*\),,\([^,]*\),[0-9]*,100$/\1 \2/p' | head -1)" "100 syscalls:sys_enter_getpriority" "-x: as perf stat has it"
perf stat -x, -o "$work/perf" -e syscalls:sys_enter_getpriority perl "$work/calls" 100
is "$(printf '%s\n' "$err" | head -1 | cut -d, -f1,3)" "$(grep -v '^#' "$work/perf" | sed '/^$/d' | cut -d, -f1,3)" "... with perf's count"

# ---- repeated ----
run stat --json -r 4 -e syscalls:sys_enter_getpriority -- perl "$work/calls" 100
is "$(rows "events[0]['count'], events[0]['spread_percent'], rows[-1]['runs']")" "(100, 0, 4)" "-r: means of the runs"
run stat --json -r 2 -e syscalls:sys_enter_getpriority -- sh -c 'n=$(cat '"$work"'/n 2>/dev/null || echo 0); echo $((n + 100)) >'"$work"'/n; perl '"$work"'/calls $((n + 100))'
is "$(rows "events[0]['count'] == 150 and 33.2 < events[0]['spread_percent'] < 33.4")" True "... and how far they spread"

# ---- processes, threads ----
perl "$work/calls" 1000000000 & busy=$!
sleep 60 & idle=$!
run stat --json -e syscalls:sys_enter_getpriority -p $busy -p $idle -d 0.2
kill $busy
[ "$(count syscalls:sys_enter_getpriority)" -gt 10 ]
ok "-p: what a process does meanwhile"
"$pantrace" stat -e cs -p $idle >"$work/out" 2>&1 & tracer=$!
sleep 0.3
kill $idle
wait $tracer
is $? 0 "ends with the process"
run stat -e cs -p 4194305
like "$err" 'there is no process 4194305 \(-p\)' "a process that is not there"
python3 -c '
import threading, time, ctypes
libc = ctypes.CDLL(None)
def work(n):
    libc.prctl(15, b"worker%d" % n)
    while True: time.sleep(0.01)
for n in range(3): threading.Thread(target=work, args=(n,), daemon=True).start()
time.sleep(60)' & many=$!
until_true sh -c "grep -qs worker2 /proc/$many/task/*/comm"
run stat --json --per-thread -p $many -e task-clock -d 0.2
kill $many
is "$(rows "sorted(row['comm'] for row in events if row['comm'].startswith('worker'))")" "['worker0', 'worker1', 'worker2']" "--per-thread: a row for each"

# ---- the machine, CPUs ----
run stat --json -a -A -e cpu-clock -d 0.2
is "$(rows "[row['cpu'] for row in events]")" "$(python3 -c 'import os; print(list(range(os.cpu_count())))')" "-A: a row for each CPU"
run stat --json -C 0 -e syscalls:sys_enter_getpriority -- taskset -c 0 perl "$work/calls" 3000
[ "$(count syscalls:sys_enter_getpriority)" -ge 3000 ]
ok "-C: what the command did on its CPU, among others"
run stat -C 0,x -e cs -d 0.1
is $rc 2 "-C takes a list of CPUs"
run stat -C 8000 -e cs -d 0.1
like "$err" 'CPU 8000 is not online' "... that are online"

# ---- cgroups ----
unified=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
group=$unified/pantrace-test.$$
if [ -n "$unified" ] && mkdir "$group" 2>/dev/null; then
	sh -c 'echo $$ >'"$group"'/cgroup.procs; sleep 0.5; exec perl "$0" 2000' "$work/calls" &
	inside=$!
	run stat --json -G "pantrace-test.$$" -e syscalls:sys_enter_getpriority -d 1.5
	wait $inside
	[ "$(count syscalls:sys_enter_getpriority)" -ge 2000 ]
	ok "-G: what runs in a cgroup"
	rmdir "$group"
else
	skip 1 "no cgroup2 that can be written to"
fi
run stat -G nosuch -e cs -d 0.1
like "$err" 'there is no cgroup .*nosuch' "a cgroup that is not there"

# ---- intervals ----
run stat --json -i 0.1 -e syscalls:sys_enter_getpriority -- sh -c 'for i in 1 2 3; do perl "$0" 500; sleep 0.15; done' "$work/calls"
is "$(count syscalls:sys_enter_getpriority)" 1500 "-i: intervals add up to the whole"
[ "$(rows "len([row for row in events if row['time']])")" -ge 3 ]
ok "... and there are several"
run stat -I 50 --interval-count 3 -a -e cs
is "$rc $(printf '%s\n' "$out" | grep -c ' cs ')" "0 4" "-I MS --interval-count: three, and the rest" || printf '%s\n' "$out" | sed 's/^/# /'
"$pantrace" stat -a -i 0.05 -e cs 2>"$work/err" | head -3 >"$work/out"
is "$(wc -l <"$work/out")" 3 "ends when its reader leaves"
"$pantrace" stat -a -e cs >"$work/out" 2>"$work/err" & tracer=$!
sleep 0.3
kill -INT $tracer
wait $tracer
is "$? $(grep -c ' cs ' "$work/out")" "0 1" "Ctrl-C: the report comes"

# ---- beside tracers with BPF programs on the tracepoint ----
# ours: two scripts, of which one reads the record in a loop; neither takes the event from perf, stat or the other
start -q -e 'tracepoint:syscalls:sys_enter_getpriority /comm == "perl"/ { print(args); @ = 0; for ($i : 0..args.who + 3) { @ += $i } @n = count(); }'
one=$tracer
mv "$work/trace" "$work/one"
start -q -e "tracepoint:syscalls:sys_enter_getpriority /comm == \"perl\" && args.which == 1/ { print(args); @never = count(); }"
run stat --json -e syscalls:sys_enter_getpriority -- perl "$work/calls" 50
is "$rc $(count syscalls:sys_enter_getpriority)" "0 50" "scripts of ours beside it: all is counted, and nothing warned of"
perf stat -x, -o "$work/perf" -e syscalls:sys_enter_getpriority perl "$work/calls" 70
is "$(sed -n 's/^\([0-9]*\),,syscalls.*/\1/p' "$work/perf")" 70 "... and by perf stat"
perf record -q -o "$work/perf.data" -e syscalls:sys_enter_getpriority perl "$work/calls" 30 >/dev/null 2>&1
is "$(perf script -i "$work/perf.data" 2>/dev/null | grep -c sys_enter_getpriority)" 30 "... perf record has its records"
stop
kill -INT $one
wait $one
is "$(grep -c '^@never' "$work/trace") $(sed -n 's/^@n: //p' "$work/one")" "0 150" "... and so has each script what is its own"
# one that returns 0: the kernel drops what it has seen
"$programs/dropper" "$(cat /sys/kernel/tracing/events/syscalls/sys_enter_getpriority/id)" >"$work/other" & other=$!
until_true grep -q attached "$work/other"
run stat -e cs,syscalls:sys_enter_getpriority -- perl "$work/calls" 50
like "$err" ' 0 +syscalls:sys_enter_getpriority' "a program that drops events"
like "$err" "another tracer has a BPF program on syscalls:sys_enter_getpriority" "... is told"
is "$rc" 3 "... with code 3"
kill $other
wait $other 2>/dev/null
run stat -e syscalls:sys_enter_getpriority -- perl "$work/calls" 50
is "$rc" 0 "when it is gone: 0"

# ---- users ----
if id nobody >/dev/null 2>&1; then
	chmod 755 "$work"
	cp "$pantrace" "$work/copy"
	setpriv --reuid=65534 --clear-groups "$work/copy" stat --json -e page-faults -- true >"$work/out" 2>"$work/err"
	rc=$? err=$(cat "$work/err")
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
		is "$rc $(count page-faults:u | grep -c '^[1-9]')" "0 1" "a user's own command is counted, outside of the kernel, and that is said"
	else
		skip 1 "perf_event_paranoid is not 2"
	fi
	setpriv --reuid=65534 --clear-groups "$work/copy" stat -a -e cs -d 0.1 >"$work/out" 2>"$work/err"
	is $? 4 "the machine is not a user's to count"
fi

# ---- what it refuses ----
refuses() # WORDS TEXT NAME
{
	eval "run stat $1"
	like "$([ $rc = 0 ] || printf '%s\n' "$err")" "$2" "$3"
}
refuses "-e page-fault -- true" "there is no counter 'page-fault'; did you mean 'page-faults'" "a counter that is not there"
refuses "-e sched:sched_swich -- true" "did you mean 'sched:sched_switch'" "a tracepoint that is not there"
refuses "-e interval:s:1 -- true" "interval events cannot be counted without a program" "what only programs see"
refuses "-e 'cs /x == 1/' -- true" "conditions are for tracepoints" "a condition on a counter"
refuses "-e 'sched:sched_switch /nosuch == 1/' -- true" "nosuch" "a field that is not there"
refuses "-e 'sched:sched_switch /prev_prio' -- true" "not closed by '/'" "a condition that is not closed"
refuses "-e '{cs,page-faults' -- true" "'\{' is not closed" "a group that is not closed"
refuses "-e cs, -- true" "an event is missing" "nothing behind a comma"
refuses "-e sched:sched_switch:u -- true" "sched" "a modifier of a tracepoint"
refuses "-r 3 -a -d 0.1" "there is none" "-r without a command"
refuses "-p 1 -- true" "cannot be combined with a command" "-p with a command"
refuses "--json -x, -- true" "choose one" "two formats"
refuses "-A -- true" "needs -a" "CPUs of a command"
refuses "cs" "events go after -e" "an event without -e"
# --- a directory that is no cgroup, an output file that is a link ---
run stat -e dummy -a -d 0.1 -G /etc
is "$rc" 1 "-G: a directory that is no cgroup"
like "$err" "there is no cgroup /etc: the directory is none" "and that is said"
echo precious >"$work/precious"
ln -s precious "$work/link"
run stat -e dummy -o "$work/link" -- true
is "$rc$(cat "$work/precious")" 1precious "-o does not follow a link"

done_testing
