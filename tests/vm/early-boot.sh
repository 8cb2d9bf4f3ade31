# SPDX-License-Identifier: GPL-2.0-or-later
# boot: what the kernel's command line needs, judged by this kernel. The tests of the boots with these lines come behind this one.
# guest: older newer
options='trace_options=nooverwrite trace_buf_size=4096K'
top=$(pantrace boot -e initcall,module:module_load,sched:sched_process_exec -k 'bprm_execve%return $retval')
is "$top" "trace_event=initcall:*,module:module_load,sched:sched_process_exec kprobe_event=r:bprm_execve__return,bprm_execve+0,\$retval $options trace_clock=local" \
	"a probe is for the kernel's own buffer"
# What Linux 6.1 does not know yet: instances and triggers.
instance=$(pantrace boot -B early -e initcall,module:module_load,sched:sched_process_exec 2>/tmp/err)
rc=$?
cat >/tmp/script.bt <<'E'
tracepoint:sched:sched_process_exec { }
tracepoint:sched:sched_process_exec /args.pid > 0/ { @[args.pid] = count(); }
E
histogram=$(pantrace boot --script /tmp/script.bt 2>>/tmp/err)
rc="$rc $?"
if grep -qw boot_instance /proc/kallsyms; then
	is "$instance" "trace_instance=early,initcall:*,module:module_load,sched:sched_process_exec $options" "an instance of the boot's own"
	is "$histogram" "trace_event=sched:sched_process_exec trace_trigger=\"sched_process_exec.hist:keys=pid:size=2048 if pid > 0\" $options trace_clock=local" "a script, as events and a histogram"
	echo "@@ line early-boot-extract $instance"
	echo "@@ line early-boot-histogram $histogram"
else
	is "$rc $(grep -c 'trace_instance=, since Linux 6.3' /tmp/err) $(grep -c 'does not know trace_trigger= (since Linux 6.3)' /tmp/err)" "5 5 1 1" \
		"neither instances nor triggers here: refused, with the release that has them"
	echo "@@ line early-boot-extract $top"
fi
pantrace boot -e xfs 2>/tmp/err
is $? 1 "an event that this kernel does not have" || cat /tmp/err
done_testing
