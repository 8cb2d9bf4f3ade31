# SPDX-License-Identifier: GPL-2.0-or-later
# crash --kernel: after a real crash, what the kernel had recorded before, as the kernel itself showed it then.
# guest: newer
# reboot: crash-kernel-arm resets
mkdir -p /disk /var/lib
mount -t ext4 /dev/vda /disk
ln -s /disk /var/lib/pantrace
i=/sys/kernel/tracing/instances/last
# The work struct's address is hashed by the kernel, the thread's name may have become longer.
plain() { sed -E 's/^.*-([0-9]+ +\[)/\1/; s/work struct [0-9a-f]+:/work struct:/'; }
if [ ! -e /disk/truth ]; then
	pantrace crash --kernel -o /tmp/last.dat 2>/tmp/err
	like "$? $(cat /tmp/err)" '^1 .*the boot before has left nothing' "memory that nobody has written to"
	pantrace boot arm 2>/tmp/err
	is $? 0 "arm" || cat /tmp/err
	for _ in 1 2 3 4 5; do /bin/busybox true; done
	echo 0 >$i/tracing_on
	grep -v '^#' $i/trace | plain >/disk/truth
	sync
	umount /disk
	echo c >/proc/sysrq-trigger
fi
# On the other side.
pantrace boot arm 2>/tmp/err
like "$? $(cat /tmp/err)" '^1 .*holds what the boot before has recorded' "arm: what is not read yet is not lost"
pantrace crash --kernel --json -o /tmp/last.dat >/tmp/counts 2>/tmp/err
is $? 0 "crash --kernel" || cat /tmp/err
pantrace report /tmp/last.dat | plain >/tmp/got
is "$(sed 's/.*"events":\([0-9]*\).*/\1/' /tmp/counts | awk '{ n += $1; cpus += $1 > 0 } END { print n, cpus }')" "$(wc -l </disk/truth) 2" "all events of both CPUs are there" || cat /tmp/counts
cmp /disk/truth /tmp/got
ok "as the kernel showed them before the crash, with its symbols" || diff /disk/truth /tmp/got | head
like "$(pantrace report /tmp/last.dat)" 'workqueue_execute_start: .* function [a-z]' "functions have their names"
now=$(date +%s)
at=$(pantrace report --json /tmp/last.dat | sed -n '1s/.*"time_ns":"\([0-9]*\)[0-9]\{9\}".*/\1/p')
[ "$at" -le "$now" ] && [ "$at" -gt $((now - 1800)) ]
ok "when it was, by the clock of that boot: $((now - at)) s ago"
pantrace crash --kernel -o /tmp/again.dat 2>/tmp/err
like "$? $(cat /tmp/err)" '^1 .*left nothing' "it is read once"
pantrace boot arm 2>/tmp/err
is "$? $(cat $i/tracing_on)" "0 1" "and there is room for the next" || cat /tmp/err
pantrace crash --kernel -o /tmp/again.dat 2>/tmp/err
like "$? $(cat /tmp/err)" '^1 .*it records now' "what is of this boot is no crash"
cd /
umount -l /disk
done_testing
