# SPDX-License-Identifier: GPL-2.0-or-later
# record with tracers of the top buffer only; with CPUs that go and come: what a known program made = kept + lost.
# guest: older
t=/sys/kernel/tracing
cpu=/sys/devices/system/cpu/cpu1/online
state() { cat $t/current_tracer $t/tracing_on $t/trace_clock; ls $t/instances; }

if grep -q mmiotrace $t/available_tracers; then
	before=$(state)
	pantrace record -p mmiotrace -e sched:sched_process_exec -o /tmp/m.dat -- true >/tmp/out 2>/tmp/err
	like "$? $(cat /tmp/err)" '^0 ' "record -p mmiotrace: exit code"
	[ "$(pantrace report -c -e sched:sched_process_exec /tmp/m.dat 2>/dev/null | awk '{ print $1 }')" -ge 1 ]
	ok "record -p mmiotrace: with a tracepoint beside it"
	is "$(state)" "$before" "record -p mmiotrace: the top buffer is as it was"
	echo 1 >$cpu 2>/dev/null # the tracer takes CPUs away
else
	skip 3 "no mmiotrace"
fi

if [ -w $cpu ]; then
	for first in 1 0; do
		echo $first >$cpu
		pantrace record -v -e raw_syscalls:sys_exit -f 'id == 1 && ret == 1' -o /tmp/h.dat -- sh -c 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=1 count=50000; sleep 0.3; done' >/tmp/out 2>/tmp/err &
		recorder=$!
		n=0
		while kill -0 $recorder 2>/dev/null; do
			echo $((n % 2 ^ first)) >$cpu
			n=$((n + 1))
			sleep 0.4
		done
		wait $recorder
		kept=$(sed -n 's/^\([0-9]*\) events of the kernel.*/\1/p' /tmp/err)
		lost=$(sed -n 's/.*; \([0-9]*\) lost$/\1/p' /tmp/err)
		is "$((${kept:-0} + ${lost:-0}))" 300000 "CPU 1 is $first first, then changes $n times: kept ($kept) + lost ($lost)" || cat /tmp/err
		is "$(pantrace report -c /tmp/h.dat 2>/dev/null | awk '{ print $1 }')" "$kept" "the file has them"
	done
	echo 1 >$cpu
else
	skip 4 "CPU 1 cannot be taken away"
fi
