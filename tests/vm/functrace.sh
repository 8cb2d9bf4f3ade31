# SPDX-License-Identifier: GPL-2.0-or-later
# functrace and funcgraph; that their lines are the kernel's own is tested by trace-text.sh.
# guest: older
t=/sys/kernel/tracing
before=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)

begin pantrace functrace write_null
dd if=/dev/zero of=/dev/null bs=1 count=300 2>/tmp/dd
end
is $rc 0 "functrace: exit code"
is "$(grep -c '^ *dd-[0-9]* .* write_null <-' /tmp/out)" 300 "functrace: every call"
like "$(head -1 /tmp/out)" '^ +dd-[0-9]+ +\[00[01]\] .{5} +[0-9]+\.[0-9]{6}: write_null <-vfs_write$' "functrace: the line"

begin pantrace functrace -H -s do_nanosleep
sleep 0.1
end
like "$(cat /tmp/out)" '^#           TASK-PID +CPU#' "functrace -H: columns"
like "$(cat /tmp/out)" '^ => __x64_sys_(clock_)?nanosleep$' "functrace -s: the stack"

pantrace functrace -d 1 no_such_function_x >/tmp/out 2>&1
is $? 1 "functrace: no such function: exit code"
like "$(cat /tmp/out)" "there is no function 'no_such_function_x'" "functrace: no such function"
pantrace functrace -d 1 native_sched_clock >/tmp/out 2>&1
like "$(cat /tmp/out)" "'native_sched_clock' cannot be traced" "functrace: a function without an ftrace entry"
# ftrace knows one name of each function; a system call without arguments is __do_sys_getppid there.
for function in __x64_sys_getppid '__x64_sys_getpp*'; do
	begin pantrace functrace "$function"
	/programs/syscalls 100 >/dev/null
	end
	is "$(grep -c '^ *syscalls-[0-9]* .* __[a-z0-9]*_sys_getppid <-' /tmp/out)" 300 "functrace $function: by another name than ftrace's"
done
begin pantrace functrace 'native_*'
end
like "$(cat /tmp/err)" 'WARNING: [1-9][0-9]* functions that match native_\* are left out' "functrace: what cannot be traced is counted"
pantrace functrace -d 1 do_nanoslep >/tmp/out 2>&1
like "$(cat /tmp/out)" "did you mean 'do_nanosleep'" "functrace: the nearest name"
pantrace functrace -d 1 'no_such_*' >/tmp/out 2>&1
like "$(cat /tmp/out)" "matches 'no_such_\\*'" "functrace: a pattern without a match"

# A command, from its first call to its end; its end is ours, and others are not traced. The marks are the command's own output.
dd if=/dev/zero of=/dev/null bs=1 count=1000000000 2>/dev/null &
other=$!
for form in 'functrace write_null' 'funcgraph -m 1 -l write_null write_null'; do
	pantrace $form -- sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=50 2>/tmp/dd; exit 7' >/tmp/out 2>/tmp/err </dev/null
	is $? 7 "$form -- COMMAND: its exit code"
	is "$(grep -c 'write_null\( <-\|() *[{;]\)' /tmp/out)" 50 "$form -- COMMAND: its calls and nobody else's" || { cat /tmp/err; head -5 /tmp/out; }
done
kill $other

# Without -l all functions of the kernel are hooked, which takes long in a guest: ftrace-kill9.sh and sessions.sh have that.
begin pantrace funcgraph -m 2 -l 'do_nanosleep,schedule,hrtimer_*' do_nanosleep
sleep 0.2
end
is $rc 0 "funcgraph: exit code"
like "$(cat /tmp/out)" '^ [01]\) +\| +do_nanosleep\(\) \{$' "funcgraph: entry"
like "$(cat /tmp/out)" '^ [01]\) [@$] ([2-9][0-9]{5}\.[0-9]|[0-9]{7,}) +us +\|  \}' "funcgraph: a sleep of 0.2 s"
like "$(cat /tmp/out)" '^ [01]\) .*us +\|    (schedule|hrtimer_cancel|hrtimer_start_range_ns)' "funcgraph -m 2: what it calls"
unlike "$(cat /tmp/out)" '\|      [a-z_]+\(' "funcgraph -m 2: nothing deeper"

# A call is one line if nothing comes between its ends on that CPU, and it sleeps: others do, and it may wake up elsewhere.
begin pantrace funcgraph -C -m 1 -T -l do_nanosleep do_nanosleep
sleep 0.2
end
like "$(cat /tmp/out)" '^ [01]\) .* [0-9]{1,5}\.[0-9]+ us +\|  (do_nanosleep\(\);|\})' "funcgraph -C: sleep does not count"

begin pantrace funcgraph -F 2000000 -l do_nanosleep do_nanosleep
sleep 0.05
sleep 2.5
end
is "$(grep -c ' [2-9][0-9][0-9][0-9][0-9][0-9][0-9] *us' /tmp/out)" 1 "funcgraph -F: one of two sleeps is long enough"

begin pantrace funcgraph -a -m 1 -l do_nanosleep do_nanosleep
sleep 0.1
end
like "$(cat /tmp/out)" '^#     TIME        CPU  TASK/PID         DURATION +FUNCTION CALLS' "funcgraph -a: columns"
like "$(cat /tmp/out)" '^ +[0-9]+\.[0-9]{6} \|   [01]\)  +[a-z]*sleep-[0-9]+ +\| . [0-9.]+ us +\|  (do_nanosleep\(\);|\})' "funcgraph -a: the line"

begin pantrace funcgraph -j -m 1 -l do_nanosleep do_nanosleep
sleep 0.1
end
like "$(cat /tmp/out)" '^\{"time_ns":[0-9]+,"cpu":[01],"pid":[0-9]+,"comm":"sleep","function":"do_nanosleep","depth":0,"duration_ns":[1-9][0-9]{8,}\}$' "funcgraph --json"

# Nobody else calls vfs_*() in a quiet guest: lines must come from somewhere.
while :; do
	read -r _ </proc/uptime
	usleep 50000
done &
reader=$!
pantrace funcgraph -l 'vfs_*' 'vfs_*' 2>/dev/null | head -20 >/tmp/out
is "$(wc -l </tmp/out)" 20 "funcgraph | head ends"
kill $reader
wait $reader 2>/dev/null
begin pantrace funcgraph -l vfs_read vfs_read
end
is $rc 0 "Ctrl-C ends funcgraph"
# Options of tracers are the same in all buffers (on 7.3 some are of one buffer only): they are put back as they were, also after SIGKILL.
cat_options() { (cd $t/options && grep . func_stack_trace sleep-time funcgraph-irqs | tr '\n' ' '); }
options=$(cat_options)
as_before() { [ "$(cat_options)" = "$options" ]; }
for words in 'functrace -s do_nanosleep' 'funcgraph -C -I -m 1 -l do_nanosleep do_nanosleep'; do
	begin pantrace $words
	case $words in
	functrace*) set -- func_stack_trace 1 ;;
	funcgraph*) set -- sleep-time 0 ;;
	esac
	is "$(cat $t/options/$1 $t/instances/*/options/$1 2>/dev/null | grep -m 1 $2)" $2 "$words: an option of the tracer"
	kill -9 $tool
	wait $tool 2>/dev/null
	until_true as_before
	is "$(cat_options)" "$options" "is as it was after SIGKILL"
done
echo 1 >$t/options/func_stack_trace
begin pantrace functrace do_nanosleep
sleep 0.1
end
is "$(cat $t/options/func_stack_trace)" 1 "an option that somebody had on is on again"
unlike "$(cat /tmp/out)" ' => ' "and did not count meanwhile"
echo 0 >$t/options/func_stack_trace

# Somebody's function filter and trigger in the top buffer, which funcgraph needs on older kernels.
echo 'vfs_fsync_range:traceoff:3' >$t/set_ftrace_filter
echo vfs_statx >>$t/set_ftrace_filter
filter=$(cat $t/set_ftrace_filter)
pantrace funcgraph -d 0.5 -l do_nanosleep -F 10 do_nanosleep >/tmp/out 2>/tmp/err
is $? 0 "funcgraph with function triggers about"
is "$(cat $t/set_ftrace_filter)" "$filter" "which are as they were"
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" 'trigger +set_ftrace_filter: vfs_fsync_range:traceoff:count=3' "reset-ftrace shows the trigger"
pantrace reset-ftrace -f >/tmp/out
is "$(grep -v '^#' $t/set_ftrace_filter)" "" "and takes it back"

after=$(cat $t/current_tracer $t/set_graph_function $t/set_ftrace_filter $t/max_graph_depth $t/tracing_thresh $t/trace_clock $t/tracing_on; ls $t/instances)
is "$after" "$before" "tracefs is as it was"
done_testing
