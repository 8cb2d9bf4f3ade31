# SPDX-License-Identifier: GPL-2.0-or-later
# Histograms: the kernel's triggers and BPF count the same, and what is true (a known number of system calls).
# guest: older; check-all: newer
before=$(ls /sys/kernel/tracing/instances)
for engine in kernel bpf; do
	pantrace hist --engine $engine raw_syscalls:sys_enter keys=id.syscall 'if (id == 110 || id == 1) && COMM == "syscalls"' -- /programs/syscalls 50 >/tmp/out 2>&1
	like "$(cat /tmp/out)" "\[$engine\]" "$engine: says who counted"
	# Two CPUs that bring the same new key at once: the kernel's map drops one of them (and says so).
	is "$(awk '/^getppid|^write/ { n += $3 } /^Totals/ { n += $6 } END { print (n >= 300 && n < 310) }' /tmp/out)" 1 "$engine: 300 calls, counted or said to be dropped"

	# On one CPU those that many processes bring the same keys to: nothing is dropped then.
	# Values: each of the three processes writes 1 + 2 + ... + 50 bytes.
	pantrace hist --engine $engine syscalls:sys_enter_write keys=common_pid.execname:vals=count:sort=count.descending -- /programs/syscalls 50 >/tmp/out 2>&1
	is "$(grep -c '^syscalls \[[0-9]*\] *50 *1275 ' /tmp/out)" 3 "$engine: sums, by thread"
	sed -n '2,5s/ [0-9].*//p' /tmp/out >/tmp/order.$engine

	pantrace hist --engine $engine syscalls:sys_enter_write keys=count.log2 'if count <= 50 && fd > 2 && COMM == "syscalls"' -- taskset 1 /programs/syscalls 50 >/tmp/out 2>&1
	is "$(sed -n 's/^~ 2^\([0-9]*\) *\([0-9]*\) .*/\1=\2/p' /tmp/out | tr '\n' ' ')" "0=3 1=3 2=6 3=12 4=24 5=48 6=54 " "$engine: powers of two, upward"
	pantrace hist --engine $engine syscalls:sys_enter_write keys=count.buckets=20 'if count <= 50 && fd > 2 && COMM == "syscalls"' -- taskset 1 /programs/syscalls 50 >/tmp/out 2>&1
	is "$(sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) .*/\1=\2/p' /tmp/out | tr '\n' ' ')" "0-19=57 20-39=60 40-59=33 " "$engine: buckets"

	pantrace hist --engine $engine sched:sched_process_exec keys=filename -- /bin/true >/tmp/out 2>&1
	like "$(cat /tmp/out)" '^/bin/true +1 ' "$engine: strings"
	pantrace hist --engine $engine sched:sched_process_exec keys=stacktrace -- /bin/true >/tmp/out 2>&1
	like "$(cat /tmp/out)" '^ +do_syscall_64\+[0-9]+$' "$engine: stacks"
	pantrace hist --engine $engine kmem:kmem_cache_alloc keys=call_site.sym:vals=bytes_alloc -t 5 -- ls / >/tmp/out 2>&1
	like "$(cat /tmp/out)" '^\[ffffffff[0-9a-f]+\] [a-z_]+ ' "$engine: symbols of the kernel"

	pantrace hist --engine $engine --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep -m common_pid 'keys=latency.buckets=1000000' -- sleep 1 >/tmp/out 2>&1
	# Whoever else sleeps in the guest is counted, too.
	like "$(cat /tmp/out)" '^~ [1-9][0-9]*000000-[0-9]+ +[1-9]' "$engine: a latency of one second"
	pantrace hist --engine $engine --from sched:sched_waking --to sched:sched_switch -m pid=next_pid 'keys=next_comm:vals=latency' if 'latency < 10000000' -d 2 -j >/tmp/out 2>&1
	like "$(cat /tmp/out)" '"keys":\{"next_comm":"[^"]+"\},"hitcount":[0-9]+,"values":\{"latency":[0-9]+\}' "$engine: a latency by the second event's field, as JSON"

	pantrace hist --engine $engine syscalls:sys_enter_getppid keys=cpu:name=both syscalls:sys_enter_write keys=cpu:name=both if 'fd > 2 && COMM == "syscalls"' -- /programs/syscalls 50 >/tmp/out 2>&1
	like "$(cat /tmp/out)" '^Totals: 300 hits' "$engine: a filter belongs to its own event"
	pantrace hist --engine $engine -e 'p:w /programs/calls:work n=$arg1:s32' 'w keys=n.buckets=25:vals=n' -- /programs/calls 100 >/tmp/out 2>&1
	is "$(sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) *\([0-9]*\) .*/\1=\2,\3/p' /tmp/out | tr '\n' ' ')" "0-24=25,300 25-49=25,925 50-74=25,1550 75-99=25,2175 " "$engine: a function of a program and its argument"
	pantrace hist --engine $engine -e 'p:w /programs/calls:work number record->range.low' 'w keys=number.buckets=25:vals=low' -- /programs/calls 100 >/tmp/out 2>&1
	is "$(sed -n 's/^~ \([0-9-]*\) *\([0-9]*\) *\([0-9]*\) .*/\1=\2,\3/p' /tmp/out | tr '\n' ' ')" "0-24=25,300 25-49=25,925 50-74=25,1550 75-99=25,2175 " "$engine: its variables by name"
	pantrace hist --engine $engine -e 'p:w vfs_write count=$arg3' 'w keys=count' 'if COMM == "syscalls"' -- taskset 1 /programs/syscalls 3 >/tmp/out 2>&1
	is "$(awk '/\|@/ { print $1 "=" $2 }' /tmp/out | tr '\n' ' ')" "1=3 2=3 3=3 " "$engine: a function of the kernel"
	pantrace hist --engine $engine -n t sched:sched_switch keys=prev_comm:pause >/tmp/out 2>&1 &
	until_true pantrace hist show t >/dev/null
	pantrace hist show t >/tmp/shown 2>&1
	like "$(cat /tmp/shown)" ", paused\]" "$engine: starts paused"
	like "$(cat /tmp/shown)" "Totals: 0 hits" "$engine: and counts nothing"
	pantrace hist continue t
	sleep 0.2
	like "$(pantrace hist show t 2>&1)" "Totals: [1-9][0-9]* hits" "$engine: goes on"
	pantrace hist pause t
	pantrace hist clear t
	like "$(pantrace hist show t 2>&1)" "Totals: 0 hits" "$engine: emptied"
	pantrace hist stop t
	wait
	pantrace hist --engine $engine raw_syscalls:sys_enter keys=id -d 1 'if idd == 3' >/tmp/out 2>&1
	is "$?" 1 "$engine: a wrong filter is refused"
	like "$(cat /tmp/out)" 'idd == 3' "$engine: at its place"
	pantrace hist --engine $engine syscalls:sys_enter_getppid keys=cpu -i 1 -c if 'COMM == "syscalls"' -- sh -c 'sleep 1; /programs/syscalls 10; sleep 1; /programs/syscalls 20' >/tmp/out 2>&1
	is "$(sed -n 's/^Totals: \([0-9]*\) hits.*/\1/p' /tmp/out | awk '{ n += $1 } END { print n }')" 90 "$engine: intervals lose nothing and count nothing twice"
done
is "$(cat /tmp/order.kernel | wc -l)" "$(cat /tmp/order.bpf | wc -l)" "as many rows"
pantrace hist --engine kernel -n t sched:sched_switch keys=prev_pid >/tmp/out 2>&1 &
tool=$!
until_true pantrace hist show t >/dev/null
kill -9 $tool
wait
pantrace hist --engine kernel sched:sched_switch keys=prev_pid -d 1 >/tmp/out 2>&1
is "$(ls /sys/kernel/tracing/instances)" "$before" "nothing is left behind, after kill -9 neither"
is "$(grep -c pantrace /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/uprobe_events | tr '\n' ' ')" "/sys/kernel/tracing/kprobe_events:0 /sys/kernel/tracing/uprobe_events:0 " "no probes"
is "$(grep -c pantrace /sys/kernel/tracing/synthetic_events)" 0 "no synthetic events"
done_testing
