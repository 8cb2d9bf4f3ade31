# SPDX-License-Identifier: GPL-2.0-or-later
# boot: a histogram that the kernel began at boot.
# guest: newer
# reboot: early-boot
pantrace boot status >/tmp/status
pantrace boot extract -o /tmp/boot.dat 2>/tmp/err
is $? 0 "extract" || cat /tmp/err
execs=$(pantrace report /tmp/boot.dat | sed '/filename=.*\/pantrace/q' | grep -c sched_process_exec:)
is "$(sed -n 's/^ *Hits: //p' /tmp/status)" "$execs" "status: the histogram has counted each exec"
done_testing
