# SPDX-License-Identifier: GPL-2.0-or-later
# start, stop, show, snapshot, extract, reset with the function tracers: what stays in the kernel, and is taken back.
# guest: older; check-all: newer
t=/sys/kernel/tracing
state() { cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/trace_clock $t/tracing_on; ls $t/instances; }
before=$(state)
copy() { dd if=/dev/zero of=/dev/null bs=1 count=$1 2>/tmp/dd; }

# One function, in a buffer of our own.
pantrace start -p function -l write_null -b 512 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 session main traces the tracer function, into the instance pantrace.main' "start -p function"
copy 300
is "$(pantrace show 2>/dev/null | grep -c 'write_null <-')" 300 "show: every call"
is "$(grep -c 'write_null <-' $t/instances/pantrace.main/trace)" 300 "which the kernel says, too"
like "$(pantrace status)" 'tracer     function' "status: the tracer"
like "$(pantrace status)" 'list       set_ftrace_filter: write_null' "status: its functions"

# A snapshot: what was before it, and what comes after.
pantrace snapshot -s >/tmp/out 2>&1
is $? 0 "snapshot -s" || cat /tmp/out
copy 50
is "$(pantrace show -s | grep -c 'write_null <-')" 300 "show -s: what was before"
is "$(pantrace show | grep -c 'write_null <-')" 50 "show: what came after"
pantrace extract -s -o /tmp/s.dat >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 300 events of the kernel, .* 0 lost$' "extract -s"
is "$(pantrace report -c /tmp/s.dat 2>/dev/null | awk '{ print $1 }')" 300 "its file has them"
is "$(pantrace show -s | grep -c 'write_null <-')" 0 "and the snapshot not any more"
pantrace snapshot -r && [ "$(pantrace show -s | grep -c 'write_null <-')" = 0 ]
ok "snapshot -r empties it"
pantrace snapshot -f && grep -q 'Snapshot is freed' $t/instances/pantrace.main/snapshot
ok "snapshot -f frees it"

pantrace stop -q && pantrace extract -v -o /tmp/f.dat >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 50 events of the kernel, .* 0 lost' "extract"
is "$(pantrace report -c /tmp/f.dat 2>/dev/null | awk '{ print $1 }')" 50 "its file has them"
pantrace reset -q
is "$? $(state)" "0 $before" "reset: nothing stays"

# The graph: in the kernel's own buffer where it runs there only, which is said.
pantrace start -p function_graph -g vfs_read -e sched:sched_process_exec -b 4096 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 session main traces 1 event and the tracer function_graph' "start -p function_graph -g, with events"
if [ "$(cat $t/current_tracer)" = function_graph ]; then
	like "$(cat /tmp/err)" 'This kernel runs function_graph in that buffer only' "that it is the top buffer is said"
	pantrace funcgraph -d 0.1 vfs_write >/tmp/out 2>&1
	is $? 1 "another run does not take it away"
	is "$(cat $t/current_tracer)" function_graph "it traces on"
fi
cat /proc/uptime >/dev/null
like "$(pantrace show 2>/dev/null | grep -m 1 'vfs_read() {')" 'vfs_read\(\) \{' "show: the graph"
pantrace stop -q
pantrace extract -o /tmp/g.dat >/tmp/out 2>/tmp/err
rc=$?
[ $rc = 0 ] || [ $rc = 3 ]
ok "extract: code $rc: $(head -1 /tmp/err)"
[ "$(pantrace report -c -e funcgraph_entry /tmp/g.dat 2>/dev/null | awk '{ print $1 }')" -gt 0 ]
ok "its file has calls"
pantrace reset >/tmp/out 2>&1
is "$? $(state)" "0 $before" "reset: every value is as before"

# Killed while it is made: all of it, or nothing.
half=
for i in 1 2 3; do
	pantrace start -q -B k$i -p function_graph -l 'vfs_*' -g vfs_read >/dev/null 2>&1 &
	p=$!
	usleep $((i * 120000))
	kill -9 $p 2>/dev/null
	wait $p 2>/dev/null
	for j in 1 2 3 4 5 6 7 8 9 10; do # the guard needs its time
		pantrace reset -q -B k$i 2>/dev/null
		[ "$(state)" != "$before" ] || break
		sleep 1
	done
	[ "$(state)" = "$before" ] || half="$half $i"
done
is "$half" "" "kill -9 of start: nothing stays that no session has"
