# SPDX-License-Identifier: GPL-2.0-or-later
# What the well-known scripts for incidents are made of, in both spellings: each check is a small tool of its own.
# guest: older
dd if=/dev/zero of=/tmp/data bs=1000 count=1 2>/dev/null
trace() { pantrace -q "$@" 2>&1; } # COMMAND SCRIPT as -c COMMAND -e SCRIPT
under() { c=$1; shift; trace -c "$c" "$@"; }

cat > /tmp/latency.bt <<'S'
#!/usr/bin/env pantrace
#ifndef BPFTRACE_HAVE_BTF
#include <linux/fs.h>
#endif
#define WANTED 10
BEGIN { printf("%-8s %s\n", "COMM", "FILE"); }
kprobe:vfs_read /comm == "dd" && arg2 == WANTED/ {
	@start[tid] = nsecs;
	@file[tid] = ((struct file *)arg0)->f_path.dentry->d_name.name;
}
kretprobe:vfs_read /@start[tid]/ {
	$us = (nsecs - @start[tid]) / 1000;
	@us[str(@file[tid])] = hist($us);
	@calls = count();
	@bytes = sum(retval);
	delete(@start[tid]); delete(@file[tid]);
}
END { clear(@start); clear(@file); }
S
out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' /tmp/latency.bt)
like "$out" '^COMM +FILE$' "latency: the header of BEGIN"
like "$out" '^@calls: 50$' "latency: entry and return meet by thread"
like "$out" '^@bytes: 500$' "latency: the sum of what was returned"
like "$out" '^@us\[data\]:' "latency: a histogram for each file"
unlike "$out" '^@(start|file)' "latency: nothing is left in the maps"

cat > /tmp/exec.bt <<'S'
tracepoint:syscalls:sys_enter_exec* { printf("exec "); join(args->argv); }
S
out=$(under '/programs/spawn 3 /bin/true one two' /tmp/exec.bt)
is "$(echo "$out" | grep -c '^exec /bin/true one two [0-2]$')" 3 "exec: join() of the arguments"

cat > /tmp/open.bt <<'S'
tracepoint:syscalls:sys_enter_open, tracepoint:syscalls:sys_enter_openat { @filename[tid] = args->filename; }
tracepoint:syscalls:sys_exit_open, tracepoint:syscalls:sys_exit_openat /@filename[tid]/ {
	$ret = args->ret;
	$fd = $ret >= 0 ? $ret : -1;
	$errno = $ret >= 0 ? 0 : - $ret;
	printf("%-6s %4d %3d %s\n", comm, $fd, $errno, str(@filename[tid]));
	delete(@filename[tid]);
}
S
out=$(under 'cat /tmp/data /tmp/no-such-file' /tmp/open.bt)
like "$out" '^cat +[0-9]+ +0 /tmp/data$' "open: file name from the entry, descriptor from the return"
like "$out" '^cat +-1 +2 /tmp/no-such-file$' "open: errors"

out=$(under 'nc -w 60 127.0.0.1 7999' -e '#include <net/sock.h>
kprobe:tcp_connect {
	$sk = ((struct sock *)arg0);
	$family = $sk->__sk_common.skc_family;
	if ($family == AF_INET || $family == AF_INET6) {
		$daddr = $family == AF_INET ? ntop($sk->__sk_common.skc_daddr)
			: ntop($sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8);
		$dport = $sk->__sk_common.skc_dport;
		printf("%s %s %d\n", comm, $daddr, ($dport >> 8) | (($dport << 8) & 0xff00));
	}
}')
like "$out" '^nc 127\.0\.0\.1 7999$' "connect: addresses and ports out of struct sock"

out=$(trace -e 'BEGIN { @states[1] = "ESTABLISHED"; @states[7] = "CLOSE"; }
kprobe:tcp_set_state { @[@states[arg1]] = count(); }' -c 'nc -w 60 127.0.0.1 7999')
like "$out" '^@\[CLOSE\]: [1-9]' "a map of strings as a table"

out=$(under 'sleep 1' -e 'kprobe:do_nanosleep { @[kstack(4), comm] = count(); }')
like "$out" 'hrtimer_nanosleep' "kernel stacks as keys"

out=$(trace -e '#include <linux/sched.h>
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @queued[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
	if (args->prev_state == TASK_RUNNING) { @queued[args->prev_pid] = nsecs; }
	$from = @queued[args->next_pid];
	if ($from) { @usecs = hist((nsecs - $from) / 1000); }
	delete(@queued[args->next_pid]);
}
interval:s:1 { exit(); } END { clear(@queued); }')
like "$out" '^@usecs:' "waiting in the run queue"

out=$(trace -e 'profile:hz:99 { @cpu = lhist(cpu, 0, 1000, 1); } interval:s:1 { exit(); }')
like "$out" '^\[[01]\] +[0-9]+ \|@' "samples by CPU"

out=$(trace -e 'interval:ms:100 {
	$avenrun = kaddr("avenrun");
	$load = *$avenrun;
	printf("load %d.%02d\n", $load >> 11, (($load & ((1 << 11) - 1)) * 100) >> 11); exit(); }')
like "$out" '^load [0-9]+\.[0-9][0-9]$' "a variable of the kernel by its address"

out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=20' -e 'kprobe:vfs_read, kprobe:vfs_no_such_function { @[comm] = count(); } END { }')
like "$out" '^@\[dd\]: 2[0-9]$' "an older script goes on without a function that has another name here"
like "$out" 'WARNING: No matches for kprobe vfs_no_such_function' "and says so"

out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=20' -e 'kprobe:vfs_read /comm == str($1)/ { @n[func] = count(); @b = sum($2); }' dd 2)
like "$out" '^@n\[vfs_read\]: 2[0-9]$' "positional parameters: strings"
like "$out" '^@b: 4[0-9]$' "positional parameters: numbers"

# one process of several: -p
(while :; do sleep 0.2; done) & other=$!
(while :; do sleep 0.2; done) & one=$!
out=$(timeout -s INT 300 pantrace -q -p $one -e 'kprobe:kernel_clone { @[pid] = count(); if (++@n == 5) { exit(); } } tracepoint:syscalls:sys_enter_wait4 { @w[pid] = count(); }' 2>&1)
kill $other $one
like "$out" "^@\[$one\]: [1-9]" "-p: kernel functions of that process"
unlike "$out" "^@w?\[$other\]" "-p: of no other"

# the events of single system calls agree with those of all
out=$(under '/programs/syscalls 100' -e 'tracepoint:syscalls:sys_enter_* /comm == "syscalls"/ { @single = count(); }
rawtracepoint:sys_enter /comm == "syscalls"/ { @all = count(); }')
is "$(echo "$out" | sed -n 's/^@single: //p')" "$(echo "$out" | sed -n 's/^@all: //p')" "as many system calls one by one as all together"
out=$(under '/programs/syscalls 100' -e 'tracepoint:syscalls:sys_enter_write, tracepoint:syscalls:sys_exit_write /comm == "syscalls"/ { @[probe] = count(); }')
like "$out" '^@\[tracepoint:syscalls:sys_enter_write\]: 300$' "entries by name"
like "$out" '^@\[tracepoint:syscalls:sys_exit_write\]: 300$' "returns by name"
done_testing
