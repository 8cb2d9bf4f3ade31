#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# print(@m); clear(@m); every 5 ms while two CPUs count: over all reports each event is there exactly once, for every kind of map.
. "$(dirname "$0")/lib.sh"
need_root

n=100000
# report ASSIGNMENTS STATEMENTS: at most so many reports as find room in a quarter of the event buffer, however slow the machine is;
# above that they are taken in a hurry.
most=500
report()
{
	run -q -c "$programs/syscalls $n" -e "config = { perf_rb_pages = 4096 } tracepoint:syscalls:sys_enter_getppid /comm == \"syscalls\"/ { @all = count(); $1 } interval:ms:5 { if (@reports < $most) { @reports++; $2 } } end { $2 }"
	all=$(sed -n 's/^@all: //p' "$work/out" | tail -1)
	unlike "$err" 'hurry|[Ll]ost' "nothing is lost"
}
plain() { awk -F': ' '/^@m/ { s += $2; n++ } END { print s }' "$work/out"; }
bars() { awk '/^[[(].*\|$/ { sub(/.*[\])] +/, ""); s += $1 } END { print s }' "$work/out"; }

report '@m = count();' 'print(@m); clear(@m);'
like "$all" '^[1-3]00000$' "all events"
is "$(plain)" "$all" "scalar count()"
report '@m++;' 'print(@m); clear(@m);'
is "$(plain)" "$all" "scalar ++"
report '@m = sum(1);' 'print(@m); printf("-\n"); zero(@m);'
is "$(plain)" "$all" "scalar sum(), zero()"
report '@m[tid] = count();' 'print(@m); clear(@m);'
is "$(plain)" "$all" "count() by key"
report '@m[tid]++;' 'print(@m); zero(@m);'
is "$(plain)" "$all" "++ by key, zero()"
report '@m[comm, cpu] += 1;' 'print(@m); clear(@m);'
is "$(plain)" "$all" "+= by two keys"
report '@m = hist(cpu);' 'print(@m); clear(@m);'
is "$(bars)" "$all" "scalar hist()"
report '@m[tid] = lhist(cpu, 0, 10, 1);' 'print(@m); clear(@m);'
is "$(bars)" "$all" "lhist() by key"
report '@m[tid] = llhist(cpu, 2, 0, 5, 4);' 'print(@m); clear(@m);'
is "$(bars)" "$all" "llhist() by key"
run -q -e 'begin { @m[1] = count(); @o[1] = sum(1); print(@m); print(@o); clear(@m); clear(@o); }'
is "$out" "@m[1]: 1
@o[1]: 1" "two maps, then both cleared"
run -q -c "$programs/syscalls $n" -e 'config = { perf_rb_pages = 4096 } tracepoint:syscalls:sys_enter_getppid /comm == "syscalls"/ { @all = count(); @m[tid] = count(); @o[tid] = sum(2); }
	interval:ms:5 /@reports < 500/ { @reports++; printa("m %d %@d %@d\n", @m, @o); clear(@m); clear(@o); } end { printa("m %d %@d %@d\n", @m, @o); clear(@m); clear(@o); }'
all=$(sed -n 's/^@all: //p' "$work/out")
is "$(awk '/^m/ { s += $3; t += $4 } END { print s, t }' "$work/out")" "$all $((all * 2))" "printa() of two maps"
done_testing
