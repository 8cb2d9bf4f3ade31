#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -e and -u in one run: the kernel's events and a program's on one clock, each in its peers' own format.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
mkdir "/sys/kernel/tracing/instances/record_test.$$" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }
rmdir "/sys/kernel/tracing/instances/record_test.$$"
cd "$work" || exit 1

run record -u 'traced:*' -e 'sched:sched_process_e*' -o both -- "$traced" 2000
is "$rc" 0 "a program's events and the kernel's" || printf '%s\n' "$err" >&2
run report --seconds both
# before its exec, between, behind its exit; and how often time went back
is "$(printf '%s\n' "$out" | awk '
{ t = substr($1, 2, length($1) - 2); if (t < last) back++; last = t }
/sched_process_exec:.*filename=[^ ]*\/traced / { inside = 1; main = $0; sub(/.* pid=/, "", main); sub(/ .*/, "", main); next }
$0 ~ "sched_process_exit:.*comm=traced pid=" main " " { inside = 0; over = 1; next }
/traced:step:/ { if (inside) between++; else if (over) behind++; else before++ }
END { print before + 0, between + 0, behind + 0, back + 0 }')" "0 2000 0 0" "one time line: the program's events lie between its exec and its exit"
if command -v trace-cmd >/dev/null; then
	like "$(trace-cmd report -N -i both/trace.dat 2>/dev/null)" 'sched_process_exec: .*traced' "trace-cmd opens its part"
else
	skip "trace-cmd opens its part" "no trace-cmd"
fi
is "$(babeltrace2 both 2>/dev/null | grep -c traced:step)" 2000 "babeltrace2 opens the other"
done_testing
