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
# More returns are open at once than the kernel follows (10); those of other sleepers may be missed, too
pantrace run -q --engine user -e 'kretprobe:hrtimer_nanosleep /comm == "sleep"/ { @ = count() }' -c 'sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 2 & done; wait"' >/tmp/got 2>/tmp/err
code=$?
kept=$(sed -n 's/^@: //p' /tmp/got)
missed=$(sed -n 's/.*WARNING: \([0-9]*\) calls of probed functions were missed.*/\1/p' /tmp/err)
[ "${kept:-20}" -lt 20 ] && [ "$((kept + ${missed:-0}))" -ge 20 ] && [ $code = 3 ]
ok "of 20 returns $kept are kept, and $missed missed: code $code" || cat /tmp/err
is "$(cat /sys/kernel/tracing/kprobe_events | wc -l) $(ls /sys/kernel/tracing/instances | wc -l)" "0 0" "nothing stays"
