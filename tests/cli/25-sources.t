#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Event sources that this kernel has, beside uprobes: USDT, timers, software events, iterators, raw tracepoints, watchpoints.
. "$(dirname "$0")/lib.sh"
need_root
sdt=$programs/sdt.dyn

run -q -c "$sdt 2" -e "usdt:$sdt:pantrace_test:plain { printf(\"%d %d %d %d %lx %s\n\", arg0, arg1, arg2, arg3, arg4, str(arg5)); }"
is "$out" "-1 200 -300 -70000 1122334455667788 hello usdt
-2 201 -301 -70001 1122334455667789 hello usdt" "usdt: arguments of all sizes and signs"
run -q -c "$sdt 3" -e "usdt:$sdt:guarded { @ = count(); @semaphore = max(arg1); }"
like "$out" '^@: 3$' "usdt: the semaphore is raised"
like "$out" '^@semaphore: 1$' "usdt: once"
run -q -c "$sdt 2" -e "usdt:$sdt:pantrace_test:* { @[probe] = count(); }"
like "$out" "^@\[usdt:$sdt:pantrace_test:plain\]: 2\$" "usdt: wildcard"

run -q -e 'interval:ms:50 { @n++; if (@n == 4) { exit(); } }'
like "$out" '^@n: 4$' "interval"
# By the time from the first to the last sample: a busy machine may be late to attach and to end.
run -q -e 'profile:hz:99 { @n = count(); @first = min(nsecs); @last = max(nsecs); } interval:s:1 { if ((int64)@n >= 20) { exit(); } }'
value() { echo "$out" | sed -n "s/^@$1: //p"; }
n=$(value n) us=$((($(value last) - $(value first)) / 1000))
[ "${n:-0}" -ge 20 ] && [ "$n" -le $((($us * 99 / 1000000 + 2) * $(nproc) * 11 / 10)) ]; ok "profile: about 99 a second and CPU (got $n in $us us)"
run -q -c "$programs/spawn 50 /bin/true" -e 'software:page-faults:1 { @ = count(); }'
like "$out" '^@: [1-9][0-9]+$' "software: page faults of the command"
run -q -e 'iter:task { @[ctx->task->comm] = count(); }'
like "$out" '^@\[.*\]: [1-9]' "iter:task"
run -q -c "$programs/syscalls 200" -e 'rawtracepoint:sys_enter /comm == "syscalls" && arg1 == 110/ { @ = count(); }'
like "$out" '^@: 600$' "rawtracepoint: arguments (getppid is call 110)"
run -q -c "$programs/syscalls 200" -e 'tracepoint:syscalls:sys_enter_w* /comm == "syscalls"/ { @[probe] = count(); }'
like "$out" '^@\[tracepoint:syscalls:sys_enter_write\]: 600$' "tracepoint: wildcard"
run -q -c "$programs/syscalls 200" -e 'tracepoint:syscalls:sys_enter_write /comm == "syscalls"/ { @[args.fd] = sum(args.count); @b = hist(args.count); }'
like "$out" '^@\[3\]: 60300$' "tracepoint: fields"
run -q -c "$programs/calls.dyn 10" -e "uprobe:$programs/calls.dyn:work { @[usym(reg(\"ip\"))] = count(); @f[func] = count(); }"
like "$out" '^@f\[work\]: 10$' "func"
run -q -c "$programs/calls.dyn 10" -e "uprobe:$programs/calls.dyn:wor* { @[probe] = count(); }"
like "$out" "^@\[uprobe:$programs/calls.dyn:work\]: 10\$" "uprobe: wildcard"
run -q -c "$programs/calls.dyn 10" -e 'uprobe:libc:pthread_create, uprobe:libc:snprintf { @[func] = count(); }'
like "$out" '^@\[snprintf\]: [1-9]' "uprobe: a library by its stem"
# --- watchpoints that are taken away, iterators that need more ---
run -q -e 'begin { unwatch(5) }'
like "$err" "1:9-19: WARNING: no watchpoint is on 0x5" "unwatch: nothing is watched there"
unlike "$err" "malformed" "unwatch: and no record is bad"
if mount | grep -q cgroup2; then
	run -q -e 'iter:cgroup { @ = count(); }'
	like "$out" '^@: [1-9]' "iter:cgroup: from the root on"
fi
run -q -e 'iter:sockmap { }'
is "$rc" 5 "iter:sockmap: exit code"
like "$err" "a script cannot name" "iter:sockmap: why not"
run -q -e 'let @m = hash(2); begin { @m[1] = 1; @m[2] = 1; @m[3] = 1; clear(@m) }'
like "$err" "HINT: raise the size in the declaration of @m \(now 2\)" "a declared map that is full: where its size stands"

done_testing
