# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: see bench/ftrace.sh.
read -r runs only </runs
export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1

# Each prints its seconds; busybox times to a hundredth, so each takes about one or more.
seconds() { time -p sh -c "$1" 2>&1 | awk '/^real/ { print $2 }'; }
bytes() { seconds 'dd if=/dev/zero of=/dev/null bs=1 count=300000 2>/dev/null'; }
switches() { seconds 'dd if=/dev/zero bs=1 count=60000 2>/dev/null | cat >/dev/null'; }
packets()
{
	nc -l -p 5000 </dev/null >/dev/null &
	usleep 200000
	seconds 'dd if=/dev/zero bs=64k count=1500 2>/dev/null | nc 127.0.0.1 5000'
	wait $!
}

# cost WORKLOAD TOOL...: the median of how many times as long the workload takes
cost()
{
	work=$1
	shift
	echo "$*" | grep -q "$only" || return
	rm -f /tmp/ratios /tmp/switched
	i=0
	while [ $i -lt $runs ]; do
		alone=$($work)
		rm -f /tmp/tool /tmp/tool.err
		pantrace "$@" >/tmp/tool 2>/tmp/tool.err &
		tool=$!
		for _ in $(seq 300); do
			grep -qs 'PROBES_ATTACHED' /tmp/tool && break
			usleep 100000
		done
		traced=$($work)
		kill -INT $tool 2>/dev/null
		wait $tool
		awk -v a=$alone -v t=$traced 'BEGIN { if (a > 0 && t > 0) print t / a }' >>/tmp/ratios
		i=$((i + 1))
	done
	echo "$work: pantrace $*: $(sort -n /tmp/ratios | awk '{ v[NR] = $1 } END { printf "%.2f times, of %d runs %.2f to %.2f", v[int((NR + 1) / 2)], NR, v[1], v[NR] }') $(grep -o '[0-9]* events were lost' /tmp/tool.err)"
}

cost bytes functrace -d 60 vfs_write
cost bytes functrace vfs_write
cost bytes functrace -s vfs_write
cost bytes functrace 'vfs_*'
cost bytes functrace tcp_ack
cost bytes funcgraph -m 1 vfs_write
cost bytes funcgraph vfs_write
cost bytes funcgraph -F 10000 vfs_write
cost bytes funcslower vfs_write 10000
cost bytes funcslower -C vfs_write 10000
cost switches funcslower schedule 1000000
cost switches funcslower -C schedule 1000000
cost bytes funccount vfs_write
cost bytes funccount 'vfs_*'
cost bytes kprobe p:vfs_write
cost bytes kprobe r:vfs_write
cost bytes tpoint syscalls:sys_enter_write
cost packets tcpretrans
cost packets tcpretrans -l
true
ok "measured on $(uname -r)"
done_testing
