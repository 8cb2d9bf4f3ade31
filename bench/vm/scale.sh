# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: the time from exec until the first timer fires (all is attached then), and from Ctrl-C to the end;
# medians of the tracers, who take turns, and what the kernel takes for the bare system calls. Before each some work, in
# which the kernel does what it has put off, and after which the emulator's own processor runs at its full speed for all of them.
export BPFTRACE_MAX_PROBES=100000 PANTRACE_MAX_PROBES=100000 LD_LIBRARY_PATH=/lib/x86_64-linux-gnu
ulimit -n 65536
read -r runs patterns </patterns
run() { i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; startstop "$@"; }
middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# NAME: medians of the lines "START STOP" in /tmp/NAME, and their sum
show() { echo "$1: start $(awk '{ print $1 }' /tmp/$1 | middle) ms, stop $(awk '{ print $2 }' /tmp/$1 | middle) ms, both $(awk '{ print $1 + $2 }' /tmp/$1 | middle) ms"; }

attached='interval:ms:1 { printf("ATTACHED\n"); }'
set -f
for p in ${patterns:-t*}; do
	set +f; rm -f /tmp/pantrace /tmp/bpftrace /tmp/kernel; set -f
	echo "kprobe:$p: $(pantrace -l "kprobe:$p" 2>/dev/null | wc -l) functions"
	n=0
	while [ $n -lt "$runs" ]; do
		n=$((n + 1))
		run ATTACHED pantrace -e "kprobe:$p { @ = count(); } $attached" >>/tmp/pantrace
		[ ! -x /bin/bpftrace ] || run ATTACHED bpftrace -e "kprobe:$p { @ = count(); } $attached" >>/tmp/bpftrace
		if pantrace --info 2>/dev/null | grep -q 'kprobe_multi: yes'; then
			run floor-multi "$p" >>/tmp/kernel 2>/dev/null
		else
			run floor-event "$p" >>/tmp/kernel 2>/dev/null
		fi
	done
	show pantrace
	[ ! -x /bin/bpftrace ] || show bpftrace
	show kernel
done
rm -f /tmp/funccount /tmp/kernel
for n in 1 2 3 4 5; do
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 run PROBES_ATTACHED pantrace funccount 'tcp_*' >>/tmp/funccount
	if pantrace --info 2>/dev/null | grep -q 'kprobe_multi: yes'; then
		run floor-multi 'tcp_*' >>/tmp/kernel 2>/dev/null
	else
		run floor-tracer 'tcp_*' >>/tmp/kernel 2>/dev/null
	fi
done
echo "funccount tcp_*"
show funccount
show kernel
true
ok "measured on $(uname -r)"
done_testing
