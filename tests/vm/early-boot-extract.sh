# SPDX-License-Identifier: GPL-2.0-or-later
# boot extract: what a boot recorded from its first moments on, against what the kernel says of itself.
# guest: older newer
# reboot: early-boot
pantrace boot status >/tmp/status
case $(cat /proc/cmdline) in
*trace_instance=*) like "$(cat /tmp/status)" 'traced into the instance early' "status: the instance" ;;
*) like "$(cat /tmp/status)" "traced into the kernel's own buffer" "status: the kernel's own buffer" ;;
esac
# One event in both: on the time line it must be at the same place.
pantrace record -q -e sched:sched_process_exec -o /tmp/now.dat -- true
pantrace boot extract --v6 -o /tmp/boot.dat 2>/tmp/err
is $? 0 "extract: nothing was lost" || cat /tmp/err

# The kernel calls its initcalls in the order of their addresses, those of the console first.
sort /proc/kallsyms | sed -n 's/^[0-9a-f]* . __initcall__kmod_[^ ]*__[0-9]*_[0-9]*_\([^ ]*\)$/\1/p' >/tmp/symbols
{ grep 'con$' /tmp/symbols; grep -v 'con$' /tmp/symbols; } | sed -E 's/(early|con|rootfs|[0-7]s?)$//' >/tmp/want
count=$(wc -l </tmp/want)
pantrace report /tmp/boot.dat >/tmp/text
sed -n 's/.*initcall_start: func=\([^+]*\)+.*/\1/p' /tmp/text | head -$count >/tmp/got
cmp /tmp/want /tmp/got
ok "all $count initcalls, in their order" || diff /tmp/want /tmp/got | head
pantrace report --initcalls --json /tmp/boot.dat >/tmp/table
grep -v '"level":"module"' /tmp/table | sed 's/.*"function":"\([^"]*\)".*/\1/' >/tmp/got
is "$(sort /tmp/got)" "$(sort /tmp/want)" "report --initcalls: a row for each"
is "$(sed -n 's/.*"level":"\([^"]*\)".*/\1/p' /tmp/table | sort -u | tr '\n' ' ')" "arch console core device early fs late module postcore pure subsys " "and all levels"
# These have nothing to start.
cut -d' ' -f1 /proc/modules | grep -vxE 'virtio_pci_(legacy|modern)_dev|virtio_ring' | sort >/tmp/want
is "$(sed -n 's/.*"function":"\([^"]*\)","level":"module".*/\1/p' /tmp/table | tr -d '[]' | sort)" "$(cat /tmp/want)" "modules, by their names"
like "$(grep -m1 'sched_process_exec:' /tmp/text)" '-1 .* filename=/init pid=1 ' "the first program is init"

# Realtime of the exec of true, as two clocks have it.
at() { pantrace report --json -e sched:sched_process_exec -w 'str(filename) == "/bin/true"' "$1" | sed -n '$s/.*"time_ns":"\([0-9]*\)".*/\1/p'; }
boot=$(at /tmp/boot.dat)
now=$(at /tmp/now.dat)
[ -n "$boot" ] && [ -n "$now" ] && [ $((boot > now ? boot - now : now - boot)) -lt 50000000 ]
ok "its clock beside CLOCK_MONOTONIC: the same exec, $((boot - now)) ns apart" || grep -ao 'CLOCK_[A-Z]* - .*)' /tmp/boot.dat

if grep -q trace_instance /proc/cmdline; then
	[ ! -e /sys/kernel/tracing/instances/early ]
	ok "the instance is gone"
else
	is "$(grep -c 'bprm_execve__return: .* arg1=0x0' /tmp/text)" "$(grep -c sched_process_exec: /tmp/text)" "the probe: a return of 0 for each exec"
fi
is "$(cat /sys/kernel/tracing/options/overwrite)" 1 "later buffers keep the newest events again"
done_testing
