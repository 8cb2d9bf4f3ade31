# SPDX-License-Identifier: GPL-2.0-or-later
# record -p: the function tracers into a trace.dat, and nothing of it stays.
# guest: older newer
t=/sys/kernel/tracing
before=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)
copy() { dd if=/dev/zero of=/dev/null bs=1 count=$1 2>/tmp/dd; }
kept() { sed -n 's/^\([0-9]*\) events of the kernel, .*; 0 lost$/\1/p' /tmp/err; }

pantrace record -p function -l write_null -o /tmp/f.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 ' "record -p function: exit code"
is "$(pantrace report -f trace-cmd /tmp/f.dat 2>/dev/null | grep -c 'dd-.*write_null <-')" 300 "record -p function -l: every call"
is "$(kept)" 300 "all of them are counted as kept"

pantrace record -p function_graph -l write_null -e sched:sched_process_exec -o /tmp/g.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 ' "record -p function_graph: exit code"
is "$(pantrace report -c -e funcgraph_entry /tmp/g.dat 2>/dev/null | awk '{ print $1 }')" 300 "record -p function_graph -l: calls"
is "$(pantrace report -c -e sched:sched_process_exec /tmp/g.dat 2>/dev/null | awk '{ print $1 }')" 1 "a tracepoint beside them"

pantrace record -p function -l 'no_such_*' -o /tmp/no.dat -- true >/tmp/out 2>&1
is $? 1 "record -l: no such function: exit code"
like "$(cat /tmp/out)" "matches 'no_such_\\*'" "record -l: no such function"
[ ! -e /tmp/no.dat ]
ok "no file is left"

# Triggers.
pantrace record -e sched:sched_process_exec -R stacktrace -o /tmp/s.dat -- true >/tmp/out 2>/tmp/err
is "$(pantrace report -c -e kernel_stack /tmp/s.dat 2>/dev/null | awk '{ print $1 }')" 1 "record -R stacktrace" || cat /tmp/err
pantrace record -e sched:sched_process_exec -R 'enable_event:sched:sched_process_exit' -o /tmp/e.dat -- true >/tmp/out 2>/tmp/err
is "$(pantrace report -c /tmp/e.dat 2>/dev/null | awk '{ print $2 }' | sort | tr '\n' ' ')" "sched:sched_process_exec sched:sched_process_exit " "record -R enable_event: the other event can be read" || cat /tmp/err

# Killed: the guard takes everything back.
pantrace record -p function_graph -l write_null -o /tmp/k.dat >/tmp/out 2>/tmp/err &
p=$!
for i in 1 2 3 4 5 6 7 8 9 10; do copy 10; sleep 1; [ -s /tmp/k.dat ] && grep -q function_graph $t/current_tracer $t/instances/*/current_tracer 2>/dev/null && break; done
kill -9 $p
wait $p 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do
	after=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)
	[ "$after" = "$before" ] && break
	sleep 1
done
is "$after" "$before" "nothing stays, after kill -9 either"
