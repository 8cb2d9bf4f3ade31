# SPDX-License-Identifier: GPL-2.0-or-later
# record -p: the function tracers into a trace.dat, and nothing of it stays.
# guest: newer; check-all: older
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

# The same file again: events that only ftrace itself writes, and names of functions.
for file in f g; do
	pantrace convert --force /tmp/$file.dat /tmp/again.dat >/tmp/out 2>&1
	is "$? $(cat /tmp/out)" "0 " "convert: a trace.dat of a function tracer"
	pantrace report -f trace-cmd /tmp/$file.dat >/tmp/want 2>/dev/null
	pantrace report -f trace-cmd /tmp/again.dat 2>/dev/null | cmp -s - /tmp/want && [ -s /tmp/want ]
	ok "convert: the same lines"
done

# What it measured: sums of the kernel's own times, by plain arithmetic; what is spent in traced calls is not a function's own.
pantrace record -p function_graph -l ksys_write -l vfs_write -l write_null -o /tmp/n.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
pantrace report --functions -f csv -w 'comm == "dd"' /tmp/n.dat >/tmp/table 2>/tmp/err
pantrace report --json -e funcgraph_exit -w 'comm == "dd"' /tmp/n.dat 2>/dev/null | sed 's/.*"func":\([^,]*\),.*"calltime":"*\([0-9]*\).*"rettime":"*\([0-9]*\).*/\1 \2 \3/' |
	awk '{ n[$1]++; t[$1] += substr($3, length($3) - 11) - substr($2, length($2) - 11) } END { for (f in n) printf "%d,%d\n", t[f], n[f] }' | sort >/tmp/want
is "$(awk -F, 'NR > 1 { print $3 "," $4 }' /tmp/table | sort)" "$(cat /tmp/want)" "report --functions: total and calls"
is "$(awk -F, '$NF == "write_null" { print $4, $2 == $3 }' /tmp/table)" "300 1" "report --functions: every call; one that calls nobody has its time for itself"
is "$(awk -F, '{ own[$NF] = $2; t[$NF] = $3 } END { print own["vfs_write"] == t["vfs_write"] - t["write_null"], own["ksys_write"] == t["ksys_write"] - t["vfs_write"] }' /tmp/table)" "1 1" "report --functions: own time" || cat /tmp/table

is "$(pantrace timeline --json /tmp/n.dat 2>/dev/null | grep -c '"name":"write_null","row":"dd-.*"depth":2,"ended":true')" 300 "timeline: function graphs are nested slices"

pantrace record -p function -l 'no_such_*' -o /tmp/no.dat -- true >/tmp/out 2>&1
is $? 1 "record -l: no such function: exit code"
like "$(cat /tmp/out)" "matches 'no_such_\\*'" "record -l: no such function"
[ ! -e /tmp/no.dat ]
ok "no file is left"

# Commands at functions, as the kernel's set_ftrace_filter has them.
pantrace record -p function -l write_null -l 'write_null:traceoff:1' -o /tmp/c.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 ' "record -l FUNCTION:traceoff: exit code"
calls=$(pantrace report -c -e function /tmp/c.dat 2>/dev/null | awk '{ print $1 }')
[ "${calls:-0}" -le 1 ]
ok "record -l FUNCTION:traceoff: nothing behind its first call"
pantrace record -p function -l write_null -l 'write_null:stacktrace:2' -o /tmp/c.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
is "$? $(pantrace report -c -e kernel_stack /tmp/c.dat 2>/dev/null | awk '{ print $1 }') $(pantrace report -c -e function /tmp/c.dat 2>/dev/null | awk '{ print $1 }')" \
	"0 2 300" "record -l FUNCTION:stacktrace: the stacks of two calls, beside all calls"

# Triggers.
pantrace record -e sched:sched_process_exec -R stacktrace -o /tmp/s.dat -- true >/tmp/out 2>/tmp/err
is "$(pantrace report -c -e kernel_stack /tmp/s.dat 2>/dev/null | awk '{ print $1 }')" 1 "record -R stacktrace" || cat /tmp/err
pantrace record -e sched:sched_process_exec -R 'enable_event:sched:sched_process_exit' -o /tmp/e.dat -- true >/tmp/out 2>/tmp/err
is "$(pantrace report -c /tmp/e.dat 2>/dev/null | awk '{ print $2 }' | sort | tr '\n' ' ')" "sched:sched_process_exec sched:sched_process_exit " "record -R enable_event: the other event can be read" || cat /tmp/err

# Probes made for the recording: what dd and strace's manual say of write(2).
pantrace record -e 'kprobe:write_null fd=$arg1 size=%dx:u64 /size == 1/' -e 'kretprobe:write_null n=$retval:s64' -o /tmp/p.dat -- dd if=/dev/zero of=/dev/null bs=1 count=300 >/tmp/out 2>/tmp/err
like "$? $(cat /tmp/err)" '^0 ' "record -e kprobe: exit code"
is "$(pantrace report -c /tmp/p.dat 2>/dev/null | tr -s ' \n' ' ')" " 300 probe:write_null 300 probe:write_null__return " "record -e kprobe, kretprobe: every call"
is "$(pantrace report -e probe:write_null__return /tmp/p.dat 2>/dev/null | grep -c 'n=1$')" 300 "record -e kretprobe: what it returned"
pantrace record -e kprobe:vfs_raed -o /tmp/no.dat -- true >/tmp/out 2>&1
like "$? $(cat /tmp/out)" "^1 .*'vfs_raed'" "record -e kprobe: no such function"
is "$(grep -c pantrace_ $t/kprobe_events)" 0 "record -e kprobe: nothing stays"

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
