# SPDX-License-Identifier: GPL-2.0-or-later
# crash: after a real crash, what the kernel had recorded before, as the kernel itself showed it then; and a program's rings on the disk.
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
	mkdir -m 700 /disk/rings
	pantrace user start black-box -u 'beats:*' --mode overwrite --sub-size 16K --rings /disk/rings
	beats 1000 /tmp/published &
	until_true test -e /tmp/published
	for _ in 1 2 3 4 5; do /bin/busybox true; done
	echo 0 >$i/tracing_on
	grep -v '^#' $i/trace | plain >/disk/truth
	sync
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
# ---- the program's rings
pantrace crash /disk/rings --json -o /tmp/beats >/tmp/counts 2>/tmp/err
like "$? $(cat /tmp/counts)" '^[03] .*"program":"beats".*"lost":0,"unreadable":[0-9]+,' "crash DIR: what had reached the disk" || cat /tmp/err
like "$(cat /tmp/err)" 'rings of a boot before this one: 1;' "and may not be all, which is told"
# as JSON, of kernel and program on one time line: programs that were executed, and numbers
pantrace report --json -e sched:sched_process_exec -e beats:beat /tmp/last.dat /tmp/beats 2>/tmp/err |
	sed -n 's|.*"event":"beats:beat".*"number":\([0-9]*\).*|\1|p; s|.*"filename":"\([^"]*\)".*|\1|p' >/tmp/order
is "$(grep -c '^[0-9]' /tmp/order) $(grep '^[0-9]' /tmp/order | sort -nc 2>&1) $(grep '^[0-9]' /tmp/order | head -1)" \
	"$(($(grep '^[0-9]' /tmp/order | tail -1) + 1))  0" "each event once, in order"
[ "$(grep -c '^[0-9]' /tmp/order)" -ge 1000 ]
ok "all that was published before the disk was written: $(cat /tmp/counts)"
is "$(grep -B1 '^0$' /tmp/order | head -1) $(sed -n '/^999$/,$p' /tmp/order | grep -c /bin/busybox)" "/programs/beats 5" "beside the kernel's: behind its own start, before the programs that were started later" || head -5 /tmp/order /tmp/err
cd /
umount -l /disk
done_testing
