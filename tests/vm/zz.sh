ls /sys/kernel/tracing/instances; cat /sys/kernel/tracing/synthetic_events
pantrace hist --engine kernel --from sched:sched_waking --to sched:sched_switch -m pid=next_pid 'keys=next_comm:vals=latency' -d 1 -t 2; echo "# rc $?"
echo "# A"; ls /sys/kernel/tracing/instances; cat /sys/kernel/tracing/synthetic_events
pantrace hist --engine kernel sched:sched_switch keys=prev_pid -d 60 >/tmp/out 2>&1 &
sleep 2
kill -9 $!
echo "# B"; ls /sys/kernel/tracing/instances
pantrace hist --engine kernel sched:sched_switch keys=prev_pid -t 3 -d 1
echo "# C"; ls /sys/kernel/tracing/instances
pantrace -e 'tracepoint:syscalls:sys_enter_getppid { print(kstack); exit() }' -c '/programs/syscalls 3'
pantrace -e 'rawtracepoint:sys_enter { print(kstack(16)); exit() }' -c '/programs/syscalls 3'
pantrace -e 'tracepoint:sched:sched_switch { print(kstack(16)); exit() }' -c '/programs/syscalls 3'
ok 1
done_testing
