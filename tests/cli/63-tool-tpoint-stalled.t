#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A reader of our output that stops reading for a while: many times what the kernel's buffer holds waits in memory, and nothing is lost.
. "$(dirname "$0")/lib.sh"
need_root

t=/sys/kernel/tracing
bursts=30 each=20000 kb=8192
cpu=$(sed 's/[-,].*//' /sys/devices/system/cpu/online)

# entries: what is in the kernel's buffer of that CPU, in bytes at the most (an event is below 100)
entries()
{
	echo $(($(sed -n 's/^entries: //p' $t/instances/pantrace-$tracer-*/per_cpu/cpu$cpu/stats) * 100))
}

# a name of its own: other tests run dd, too
cp "$(command -v dd)" "$work/ddstalled"
mkfifo "$work/pipe"
exec 5<>"$work/pipe"
__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$pantrace" tpoint -b $kb -o "$work/pipe" syscalls:sys_enter_write 'fd == 1 && count == 1' 2>"$work/err" &
tracer=$!
read -r line <&5
is "$line" __BPFTRACE_NOTIFY_PROBES_ATTACHED "a pipe that nobody reads"
for burst in $(seq $bursts); do
	taskset -c $cpu "$work/ddstalled" if=/dev/zero of=/dev/null bs=1 count=$each status=none
	for _ in $(seq 1200); do
		[ $(entries) -lt $((kb * 1024 * 3 / 4)) ] && break
		sleep 0.05
	done
done
[ $(entries) -lt $((kb * 1024 * 3 / 4)) ]; ok "is no reason to leave events in the kernel's buffer"
cat "$work/pipe" >"$work/out" 5>&- &
reader=$!
exec 5>&-
kill -INT $tracer
wait $tracer
rc=$?
wait $reader
is "$(grep -c '^ *ddstalled-[0-9].*sys_write(fd: \(0x\)\{0,1\}1, .* count: \(0x\)\{0,1\}1)' "$work/out")" $((bursts * each)) "every event is there when it reads on"
is "$rc" 0 "nothing was lost"
unlike "$(cat "$work/err")" lost "nor is it said"
is "$(ls -d $t/instances/pantrace-$tracer-* 2>/dev/null)" "" "nothing is left behind"
done_testing
