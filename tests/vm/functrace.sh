# SPDX-License-Identifier: GPL-2.0-or-later
# functrace and funcgraph; that their lines are the kernel's own is tested by trace-text.sh.
t=/sys/kernel/tracing
before=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)

# begun: the tracer in the background says that it traces
begun()
{
	for _ in $(seq 100); do
		grep -q '^Tracing' /tmp/out /tmp/err 2>/dev/null && return
		usleep 100000
	done
}
: >/tmp/err

rm -f /tmp/out /tmp/err
pantrace functrace -d 4 write_null >/tmp/out 2>/tmp/err &
begun
dd if=/dev/zero of=/dev/null bs=1 count=300 2>/tmp/dd
wait $!
is $? 0 "functrace: exit code"
is "$(grep -c '^ *dd-[0-9]* .* write_null <-' /tmp/out)" 300 "functrace: every call"
like "$(head -1 /tmp/out)" '^ +dd-[0-9]+ +\[00[01]\] .{5} +[0-9]+\.[0-9]{6}: write_null <-vfs_write$' "functrace: the line"

rm -f /tmp/out /tmp/err
pantrace functrace -d 3 -H -s do_nanosleep >/tmp/out 2>&1 &
begun
sleep 0.1
wait $!
like "$(cat /tmp/out)" '^#           TASK-PID +CPU#' "functrace -H: columns"
like "$(cat /tmp/out)" '^ => __x64_sys_(clock_)?nanosleep$' "functrace -s: the stack"

pantrace functrace -d 1 no_such_function_x >/tmp/out 2>&1
is $? 1 "functrace: no such function: exit code"
like "$(cat /tmp/out)" "there is no function 'no_such_function_x'" "functrace: no such function"
pantrace functrace -d 1 __x64_sys_getppid >/tmp/out 2>&1
like "$(cat /tmp/out)" "'__x64_sys_getppid' cannot be traced" "functrace: a function without an ftrace entry"
pantrace functrace -d 1 do_nanoslep >/tmp/out 2>&1
like "$(cat /tmp/out)" "did you mean 'do_nanosleep'" "functrace: the nearest name"
pantrace functrace -d 1 'no_such_*' >/tmp/out 2>&1
like "$(cat /tmp/out)" "matches 'no_such_\\*'" "functrace: a pattern without a match"

rm -f /tmp/out /tmp/err
pantrace funcgraph -d 4 -m 2 do_nanosleep >/tmp/out 2>/tmp/err &
begun
sleep 0.2
wait $!
is $? 0 "funcgraph: exit code"
like "$(cat /tmp/out)" '^ [01]\) +\| +do_nanosleep\(\) \{$' "funcgraph: entry"
like "$(cat /tmp/out)" '^ [01]\) @ [2-9][0-9]{5}\.[0-9] us +\|  \}' "funcgraph: a sleep of 0.2 s"
like "$(cat /tmp/out)" '^ [01]\) .*us +\|    (schedule|hrtimer_cancel|_raw_spin|hrtimer_start_range_ns)' "funcgraph -m 2: what it calls"
unlike "$(cat /tmp/out)" '\|      [a-z_]+\(' "funcgraph -m 2: nothing deeper"

rm -f /tmp/out /tmp/err
pantrace funcgraph -d 4 -C -m 1 -T do_nanosleep >/tmp/out 2>/tmp/err &
begun
sleep 0.2
wait $!
like "$(cat /tmp/out)" '^ [01]\) .* [0-9]{1,5}\.[0-9]+ us +\|  do_nanosleep\(\);' "funcgraph -C: sleep does not count"

rm -f /tmp/out /tmp/err
pantrace funcgraph -d 4 -F 150000 do_nanosleep >/tmp/out 2>/tmp/err &
begun
sleep 0.05
sleep 0.2
wait $!
is "$(grep -c '@ [12][0-9][0-9][0-9][0-9][0-9]\.[0-9] us' /tmp/out)" 1 "funcgraph -F: one of two sleeps is long enough"

rm -f /tmp/out /tmp/err
pantrace funcgraph -d 3 -a -m 1 do_nanosleep >/tmp/out 2>&1 &
begun
sleep 0.1
wait $!
like "$(cat /tmp/out)" '^#     TIME        CPU  TASK/PID         DURATION +FUNCTION CALLS' "funcgraph -a: columns"
like "$(cat /tmp/out)" '^ +[0-9]+\.[0-9]{6} \|   [01]\)  +sleep-[0-9]+ +\| . [0-9.]+ us +\|  do_nanosleep\(\);' "funcgraph -a: the line"

rm -f /tmp/out /tmp/err
pantrace funcgraph -j -d 3 -m 1 do_nanosleep >/tmp/out 2>/tmp/err &
begun
sleep 0.1
wait $!
like "$(cat /tmp/out)" '^\{"time": [0-9.]+, "cpu": [01], "pid": [0-9]+, "comm": "sleep", "function": "do_nanosleep", "depth": 0, "duration_us": 1[0-9]{5}\.[0-9]{3}\}$' "funcgraph --json"

pantrace funcgraph 'vfs_*' 2>/dev/null | head -20 >/tmp/out
is "$(wc -l </tmp/out)" 20 "funcgraph | head ends"
rm -f /tmp/out /tmp/err
pantrace funcgraph vfs_read >/dev/null 2>&1 &
pid=$!
sleep 2
kill -INT $pid
wait $pid
is $? 0 "Ctrl-C ends funcgraph"
after=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)
is "$after" "$before" "tracefs is as it was"
done_testing
