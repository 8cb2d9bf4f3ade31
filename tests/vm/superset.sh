# SPDX-License-Identifier: GPL-2.0-or-later
# What bpftrace does not have, on an older kernel and with kprobes: reports that lose nothing, thread-local variables, speculation.
# guest: older

total() { awk "/^part/ { n += \$NF } END { print n }" /tmp/out; }
# report PROBE
report()
{
	pantrace -q -c 'syscalls 3000' -e "$1 /comm == \"syscalls\"/ { @all = count(); @m[tid] = count(); }
		interval:ms:50 { print(@m, \"part %d %d\n\"); clear(@m); } end { print(@m, \"part %d %d\n\"); clear(@m); }" >/tmp/out 2>/tmp/err
	all=$(sed -n 's/^@all: //p' /tmp/out)
	[ "${all:-0}" -ge 3000 ]
	ok "$1: $all events" || cat /tmp/err
	is "$(total)" "$all" "$1: each in one report"
}
report tracepoint:syscalls:sys_enter_getppid
report kprobe:__x64_sys_getppid
report fentry:vfs_write

out=$(pantrace -q -c 'syscalls 300' -e '
kprobe:vfs_write /pid == cpid/ { self.bytes = arg2; self.n++; }
kretprobe:vfs_write /self.bytes/ { @n = count(); @sum = sum(self.bytes); self.bytes = 0; }
tracepoint:sched:sched_process_exit /self.n/ { @last = self.n; }' 2>&1)
like "$out" '^@n: 300$' "thread-local variables between a function's entry and return"
like "$out" '^@sum: 45150$' "... with their values"
like "$out" '^@last: 300$' "... still there at the exit of the thread"

out=$(pantrace -q -c 'syscalls 300' -e '
kprobe:vfs_write /pid == cpid/ { self.id = speculation(); speculate(self.id); printf("%d bytes", arg2); }
kretprobe:vfs_write /self.id/ { speculate(self.id); printf(" -> %d\n", retval); if (retval == 17) { commit(self.id); } else { discard(self.id); } self.id = 0; }' 2>&1)
is "$out" "17 bytes -> 17" "speculation: the one write that mattered"

out=$(pantrace -q -c 'syscalls 300' -e 'kprobe:vfs_write /pid == cpid/ { @ = llhist(arg2, 10, 2, 2, 10); @s = stddev(arg2); }' 2>&1)
like "$out" '^\(\.\.\., 100\) +99 ' "llhist: below"
like "$out" '^\[200, 300\) +100 ' "llhist: a bucket"
like "$out" '^@s: 87$' "stddev"
done_testing
