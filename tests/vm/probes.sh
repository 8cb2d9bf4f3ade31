# SPDX-License-Identifier: GPL-2.0-or-later
# The other event sources on a distribution's kernel.
# guest: older; check-all: newer
out=$(pantrace -q -c '/programs/calls 50' -e 'uprobe:/programs/calls:work { @ = count(); @s = sum(arg0); }' 2>&1)
like "$out" '^@: 50$' "uprobe: calls"
like "$out" '^@s: 1225$' "uprobe: arguments"
# more than the 8 KiB that kernels since 6.19 give to a thread
out=$(pantrace -q -c '/programs/calls 50' -e 'config = { max_strlen = 12288 } uprobe:/programs/calls:work { printf("<%s>\n", str(arg1)); }' 2>&1)
is "$(echo "$out" | grep -c '^<item-[0-9]*>$')" 50 "uprobe: long strings" || echo "$out" | tail -3 | sed 's/^/# /'

out=$(pantrace -q -c '/programs/calls 4' -e 'uretprobe:/programs/calls:negative { printf("%d\n", retval); }' 2>&1)
is "$out" "0
-1
-2
-3" "uretprobe: return values"

out=$(pantrace -q -c '/programs/sdt 2' -e 'usdt:/programs/sdt:pantrace_test:plain { printf("%d %d %d %d %lx %s\n", arg0, arg1, arg2, arg3, arg4, str(arg5)); }' 2>&1)
is "$out" "-1 200 -300 -70000 1122334455667788 hello usdt
-2 201 -301 -70001 1122334455667789 hello usdt" "usdt: arguments of all sizes and signs"

out=$(pantrace -q -c '/programs/sdt 3' -e 'usdt:/programs/sdt:pantrace_test:guarded { @ = count(); @sem = max(arg1); }' 2>&1)
like "$out" '^@: 3$' "usdt: the semaphore is raised while attached"

# Nops of some lengths are made calls by some kernels: what they do not do rightly is refused.
for f in one five ten split; do
	out=$(pantrace -q -c '/programs/nops 20' -e "uprobe:/programs/nops:$f { @ = count(); }" 2>&1)
	case $out in
	*'would crash programs'* | *'cannot probe the instruction'*) unlike "$out" '^child' "uprobe: a nop that cannot be probed is refused ($f)" ;;
	*) is "$(echo "$out" | grep -c '^child 0$\|^@: 20$')" 2 "uprobe: a nop; a child that is forked later lives ($f)" ;;
	esac
done

out=$(pantrace -q -e 'profile:hz:99 { @ = count(); @k[kstack] = count(); } interval:s:1 { exit(); }' 2>&1)
like "$out" '^@: [0-9]+$' "profile"

out=$(pantrace -q -e 'interval:ms:100 { @++; if (@ == 5) { exit(); } }' 2>&1)
like "$out" '^@: 5$' "interval"

out=$(pantrace -q -c '/programs/spawn 20 /bin/true' -e 'software:page-faults:1 { @ = count(); }' 2>&1)
like "$out" '^@: [1-9][0-9]+$' "software: page faults"

out=$(pantrace -q -e 'iter:task { printf("%s:%d\n", ctx->task->comm, ctx->task->pid); }' 2>&1)
like "$out" '^(init|sh|busybox):1$' "iter:task sees process 1"

out=$(pantrace -q -c 'dd if=/dev/zero of=/dev/null bs=1 count=100' -e 'rawtracepoint:sys_enter /comm == "dd" && arg1 == 1/ { @ = count(); }' 2>&1)
like "$out" '^@: 10[0-9]$' "rawtracepoint: arguments"

out=$(pantrace -q -c 'dd if=/dev/zero of=/dev/null bs=1 count=100' -e 'tracepoint:syscalls:sys_enter_write /args.count == 1/ { @[comm] = count(); }' 2>&1)
like "$out" '^@\[dd\]: 100$' "tracepoint: fields"

address=$(pantrace -q -e 'begin { printf("%llx\n", kaddr("jiffies")); exit(); }' 2>&1)
out=$(timeout 300 pantrace -q -e "watchpoint:0x$address:8:w { @ = count(); } interval:s:1 { exit(); }" 2>&1)
like "$out" '^@: [1-9][0-9]*$' "watchpoint on jiffies"

out=$(pantrace -l 'tracepoint:block:*' 2>&1)
like "$out" '^tracepoint:block:block_rq_issue$' "list of tracepoints"
out=$(pantrace doctor 2>&1)
like "$out" 'kprobe' "doctor speaks of kprobes"
done_testing
