# SPDX-License-Identifier: GPL-2.0-or-later
# run --engine user: probes of the kernel's functions as events of tracefs: what programs in the kernel count.
# guest: older newer
cat >/tmp/probes.bt <<'E'
kprobe:__x64_sys_getppid /comm == "dd"/ { @entry[func, probe, pid == tid, kstack(2)] = count(); }
kprobe:ksys_read /comm == "dd" && arg2 == 3/ { @size = sum(arg2); @file = stats(arg0); @stack[kstack] = count(); }
kretprobe:ksys_read /comm == "dd" && retval == 3/ { @read[func] = count(); }
tracepoint:raw_syscalls:sys_exit /comm == "dd" && args.id == 0 && args.ret == 3/ { @exit[kstack] = count(); }
E
work='dd if=/dev/zero of=/dev/null bs=3 count=2000'
pantrace run -q /tmp/probes.bt -c "$work" >/tmp/want 2>/tmp/err
pantrace run -q --engine user /tmp/probes.bt -c "$work" >/tmp/got 2>>/tmp/err
like "$(cat /tmp/want)" '@read\[ksys_read\]: 2000' "as the kernel's programs count" || cat /tmp/err
is "$(cat /tmp/got)" "$(cat /tmp/want)" "--engine user: the same numbers and stacks"
pantrace funccount ksys_read --engine user -j -- $work >/tmp/got 2>/tmp/err
like "$? $(cat /tmp/got)" '^0 .*"func":"ksys_read","count":2[0-9][0-9][0-9]' "funccount --engine user" || cat /tmp/err
is "$(cat /sys/kernel/tracing/kprobe_events | wc -l) $(ls /sys/kernel/tracing/instances | wc -l)" "0 0" "nothing stays"
