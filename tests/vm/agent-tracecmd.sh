# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's trace-cmd by vsock: its agent with our recorder, then its recorder with our agent. CID 1 is this machine, so that both ends are
# here and have one clock.
# guest: newer; check-all: older
# modules: vsock_loopback
# peer: trace-cmd
cd /tmp
# trace-cmd reads all symbols again and again
head -n 2000 /proc/kallsyms >symbols
mount --bind symbols /proc/kallsyms
ten='for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done'
both_see() { trace-cmd report -i "$1" -i "$2" 2>/dev/null | grep -c 'filename=/bin/busybox'; }
if command -v trace-cmd >/dev/null; then
	trace-cmd agent -p 823 >/dev/null 2>agent.err &
	agent=$!
	# its agent does not say when it records; the main buffer, which it uses, does
	wait='for i in $(seq 500); do [ "$(cat events/sched/sched_process_exec/enable tracing_on | tr -d "\n")" != 11 ] || break; usleep 20000; done'
	for i in $(seq 100); do
		pantrace record -e sched:sched_process_exec --guest tc=trace-cmd:1 -e sched:sched_process_exec -o both -- \
			sh -c "cd /sys/kernel/tracing; $wait; $ten" >out 2>err
		rc=$?
		grep -q 'no agent is there' err || break
		usleep 100000
	done
	is $rc 0 "trace-cmd's agent by vsock" || cat err agent.err
	pantrace report --json both | grep '"filename":"/bin/busybox"' >events
	is "$(grep -c '"host":"tc"' events) $(grep -vc '"host":"tc"' events)" "10 10" "both ends have seen the same"
	is "$(both_see both/trace.dat both/tc/trace.dat)" 20 "trace-cmd report opens both as one"
	kill $agent
	pantrace agent --trace-cmd --peer 1 vsock:824 >/dev/null 2>agent.err &
	agent=$!
	until_true grep -q 'waiting at' agent.err
	trace-cmd record -o host.dat -e sched:sched_process_exec -A 1:824 -e sched:sched_process_exec sh -c "$ten" >out 2>err
	is $? 0 "our agent with trace-cmd record -A" || cat out err agent.err
	is "$(both_see host.dat host-1.dat)" 20 "trace-cmd report opens both as one"
	is "$(pantrace report host-1.dat 2>/dev/null | grep -c 'filename=/bin/busybox')" 10 "and we do its part"
	# it hears of its end while its recorder begins: that one waits for a file of the kernel that says nothing
	mkfifo says-nothing
	mount --bind says-nothing /proc/meminfo
	trace-cmd record -o host.dat -e sched:sched_process_exec -A 1:824 -e sched:sched_process_exec sleep 1 >out 2>err &
	host=$!
	until_true eval '[ $(grep -c "a host is there" agent.err) = 2 ]'
	usleep 500000
	kill $agent
	wait $agent
	is "$? $(grep -c 'the host of trace-cmd' agent.err)" "0 0" "that agent ends at once"
	kill $host 2>/dev/null
	wait $host
	umount /proc/meminfo
else
	skip "trace-cmd's agent" "no trace-cmd"
fi
umount /proc/kallsyms
# What trace-cmd leaves would fail others: an instance for its clock, events that are on if it failed.
rmdir /sys/kernel/tracing/instances/clock_synch-* 2>/dev/null
pantrace reset-ftrace -q >/dev/null 2>&1
