#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/samples.sh BINARY: every system call of `dd bs=1` into a perf.data, beside perf record; RUNS=N
pantrace=$(realpath "$1")
work=$(mktemp -d /dev/shm/pantrace-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
calls=500000
workload="dd if=/dev/zero of=/dev/null bs=1 count=$calls status=none"

# milliseconds COMMAND...: wall clock
milliseconds() { begin=$(date +%s%N); "$@" >told 2>&1; echo $((($(date +%s%N) - begin) / 1000000)); }

for _ in $(seq "${RUNS:-3}"); do # interleaved: the machine's speed wanders
	base=$(milliseconds $workload)
	ours=$(milliseconds "$pantrace" record -c 1 -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -o ours.data -- $workload)
	ours_lost=$(sed -n 's/WARNING: \([0-9]*\) samples are lost.*/\1/p' told)
	theirs=$(milliseconds perf record -q -c 1 -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -o theirs.data -- $workload)
	theirs_lost=$("$pantrace" report -c theirs.data 2>&1 >/dev/null | sed -n 's/.* lost \([0-9]*\) events.*/\1/p')
	echo "alone $base ms; pantrace record $ours ms, ${ours_lost:-0} lost, $(stat -c %s ours.data) bytes;" \
		"perf record $theirs ms, ${theirs_lost:-0} lost, $(stat -c %s theirs.data) bytes"
done
