# SPDX-License-Identifier: GPL-2.0-or-later
# crash --kernel VMCORE: the last events of every CPU, out of the memory of this machine, which vmcore.host dumps from outside.
# guest: newer; check-all: older
# modules: virtio_console qemu_fw_cfg
cd /sys/kernel/tracing
echo 16 >buffer_size_kb # so small that pages are overwritten
echo 'p:dumped_open do_sys_openat2 dfd=%di:s32' >>kprobe_events
mkdir instances/dumped
echo mono >instances/dumped/trace_clock
echo 1 >events/kprobes/dumped_open/enable
echo 1 >events/sched/sched_switch/enable
echo 1 >instances/dumped/events/sched/sched_process_exec/enable
for i in $(seq 50); do
	for cpu in 0 1; do
		taskset $((cpu + 1)) sh -c "echo 'marker $cpu $i' >trace_marker; /bin/busybox true"
	done
done
echo 0 >tracing_on
echo 0 >instances/dumped/tracing_on
head -c 100 per_cpu/cpu1/trace_pipe >/dev/null # a part of a page is read
for port in /sys/class/virtio-ports/*; do
	[ "$(cat $port/name)" != pantrace.0 ] || break
done
exec 3<>/dev/${port##*/}
for buffer in . instances/dumped; do
	for cpu in 0 1; do
		echo "@ $buffer $cpu $(sed -n 's/^entries: //p; s/^overrun: //p' $buffer/per_cpu/cpu$cpu/stats | tr '\n' ' ')"
		grep -v '^#' $buffer/per_cpu/cpu$cpu/trace
	done
done >&3
case $(uname -r) in 6.1.*) echo "@ dump" ;; *) echo "@ dump -z" ;; esac >&3
read -r answer <&3
is "$answer" done "the dump was taken"
exec 3>&-
echo 0 >events/enable
echo '-:dumped_open' >>kprobe_events
rmdir instances/dumped
echo 1408 >buffer_size_kb
echo >trace
echo 1 >tracing_on
done_testing
