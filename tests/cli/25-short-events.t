#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# GROUP:EVENT, as perf and trace-cmd write an event of the kernel, wherever a script's probe is meant.
. "$(dirname "$0")/lib.sh"
need_root

run -q -c "$programs/syscalls 321" -e 'syscalls:sys_enter_getppid /pid == cpid/ { @n = count(); @p[probe] = count(); }'
like "$out" "@n: 321" "every event is seen"
like "$out" "@p\[tracepoint:syscalls:sys_enter_getppid\]: 321" "the probe has its full name"
run -q -e 'sched:sched_process_ex*, tracepoint:sched:sched_process_fork { @[probe] = count(); } interval:ms:200 { system("true"); } interval:ms:900 { exit(); }' --unsafe
like "$out" "@\[tracepoint:sched:sched_process_exec\]" "wildcards, several attach points"
run -q -d ast -e 'sched:sched_switch { print(args.next_pid); }'
like "$out" "attach tracepoint:sched:sched_switch" "the tree shows the full form"
printf 'sched:sched_switch{print(args.next_pid);}\n' >"$work/x.bt"
run fmt "$work/x.bt"
is "$(echo "$out" | head -1)" "sched:sched_switch" "fmt keeps what is written"
run -q -d ast -e 'software:cpu-clock:1000 { } test:sched { } t:sched:sched_switch { }'
is "$(echo "$out" | grep -c 'attach tracepoint:')" 0 "a provider's name goes first"
run --dry-run -e 'sched:sched_swich { }'
like "$err" "No matches for tracepoint sched:sched_swich" "an event that is not there"
like "$err" "HINT: did you mean 'sched:sched_switch'" "and what may be meant"
run --dry-run -e 'shced:sched_switch { }'
like "$err" "Invalid probe type: shced" "a group that is not there"
like "$err" "HINT: did you mean 'sched'" "and which may be meant"
run --dry-run -e 'kprob:vfs_read { }'
like "$err" "HINT: did you mean 'kprobe'" "or which provider"
done_testing
