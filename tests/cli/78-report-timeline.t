#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report: kernel events of a trace.dat and a program's own on one time line. A program's events lie between its exec and its
# exit, whichever clock the kernel's were recorded with.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

command -v trace-cmd >/dev/null || { echo "1..0 # SKIP no trace-cmd"; exit 0; }
instance=report_line.$$
i=/sys/kernel/tracing/instances/$instance
trap 'rmdir "$i" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1

# once CLOCK: recordings/kernel.dat and recordings/user, of the same run of the program
once()
{
	rm -rf recordings
	mkdir recordings
	mkdir "$i" || return 1
	echo "$1" >"$i/trace_clock" || return 1
	for e in sched_process_exec sched_process_exit; do echo 1 >"$i/events/sched/$e/enable"; done
	run record -q -u 'traced:*' -o recordings/user -- "$traced" 2000
	echo 0 >"$i/tracing_on"
	# removes the instance, too; says "local" of any clock
	trace-cmd extract -B "$instance" -o recordings/kernel.dat >/dev/null 2>&1
	[ ! -d "$i" ] || rmdir "$i"
}

# The kernel's list of thread names may grow between trace-cmd's two looks at it; then trace-cmd cannot read its own file.
both()
{
	for _ in 1 2 3 4 5 6 7 8; do
		once "$1" || return 1
		trace-cmd report -N -i recordings/kernel.dat 2>/dev/null | grep -q sched_process_exec && return 0
	done
}

mkdir "$i" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }
rmdir "$i"

# Events of the program before its exec, between, behind its exit; and how often time went back.
order='
{ t = substr($1, 2, length($1) - 2); if (t < last) back++; last = t }
/sched_process_exec:.*filename=[^ ]*\/traced / { inside = 1; main = $0; sub(/.* pid=/, "", main); sub(/ .*/, "", main); next }
$0 ~ "sched_process_exit:.*comm=traced pid=" main " " { inside = 0; over = 1; next }
/traced:step:/ { if (inside) between++; else if (over) behind++; else before++ }
END { print before + 0, between + 0, behind + 0, back + 0 }'

for clock in mono boot x86-tsc; do
	if ! both "$clock"; then
		skip "no clock $clock"
		rmdir "$i" 2>/dev/null
		continue
	fi
	run report --seconds --kernel-clock "$clock" recordings
	is "$rc" 0 "$clock: a directory with both" || printf '%s\n' "$err" >&2
	is "$(printf '%s\n' "$out" | awk "$order")" "0 2000 0 0" "$clock: the program's events lie between its exec and its exit"
	run report --seconds --kernel-clock "$clock" recordings/kernel.dat recordings/user
	is "$(printf '%s\n' "$out" | awk "$order")" "0 2000 0 0" "$clock: the same, both named"
done

run report --kernel-clock x86-tsc -c -e 'sched:*exec' -e 'traced:every' recordings
like "$out" ' 200  traced:every' "--count and globs: the program's"
like "$out" ' [0-9]+  sched:sched_process_exec' "and the kernel's"
run report --kernel-clock x86-tsc --json -e sched_process_exec recordings
printf '%s\n' "$out" | python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
assert [e for e in events if e["event"] == "sched:sched_process_exec" and "/traced" in e["text"] and e["fields"]["filename"].endswith("/traced")], events
assert all(e["context"]["tid"] > 0 and e["host"] for e in events), events'
ok "--json"
first=$("$pantrace" report --kernel-clock x86-tsc --seconds -n 1 -e traced:step recordings | sed 's/^.\([0-9.]*\).*/\1/')
run report --kernel-clock x86-tsc --seconds -E "$first" recordings
unlike "$out" 'sched_process_exit:.*comm=traced ' "--end: what came later is left out"
like "$out" 'sched_process_exec:.*traced' "--end: what came before is there"
run report --kernel-clock x86-tsc -w 'i>5' recordings
is "$rc" 0 "--where with both"
unlike "$out" 'sched_|i = [0-5] ' "--where: what has no such field is left out"
run report --kernel-clock x86-tsc -c -w 'comm == "traced" && prio > 0' recordings
like "$out" '^ +[1-9][0-9]*  sched:sched_process_exit$' "--where: of the kernel's events"

if both local; then
	run report recordings
	is "$rc" 1 "a clock that nothing is known of is refused"
	like "$err" "its times are of the clock 'local'" "with the clock"
	like "$err" 'HINT: .*--date' "and what to do"
	run report recordings/kernel.dat
	is "$rc" 0 "alone it is printed"
fi
done_testing
