#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `list` of types, of several patterns, of a script's probes; -l through the link.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

run list 'struct file_oper*'
is "$out" "struct file_operations" "names of types"
run list -v 'enum pid_type'
is "$(echo "$out" | head -2)" "vmlinux: enum pid_type {
	PIDTYPE_PID = 0," "enumerators"
run list -v 'struct file_operations'
like "$out" '	ssize_t \(\*read\)\(struct file \*, char \*, size_t, loff_t \*\);' "pointers to functions"
run list -v 'struct task_struct'
like "$out" '	unsigned int [a-z_]*: 1;' "bit-fields"
like "$out" '	char comm\[16\];' "arrays"
run list 'struct list_head, tracepoint:sched:sched_switch,interval'
is "$(echo "$out" | head -2)" "struct list_head
tracepoint:sched:sched_switch" "several patterns"
like "$out" '^interval:ms:$' "the third"
run list 'struct no_such_thing_at_all'
is "$rc" 1 "nothing found"

ln -s "$pantrace" "$work/bpftrace"
cat >"$work/a.bt" <<'S'
interval:ms:250 { @++ }
tracepoint:sched:sched_switch { }
S
pantrace=$work/bpftrace
run -l "$work/a.bt"
is "$out" "interval:ms:
tracepoint:sched:sched_switch" "-l of a script"
run -l -e 'hardware:cache-misses:100 { exit(); }'
is "$rc:$out" "0:hardware:cache-misses:" "-l of a probe that this machine may not have"
run -l 'hard*:*'
like "$out" '^hardware:cpu-cycles:$' "everything is listed there"
done_testing
