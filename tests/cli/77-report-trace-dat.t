#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# trace.dat: trace-cmd writes it and prints it, pantrace prints the same.
. "$(dirname "$0")/lib.sh"
need_root

command -v trace-cmd >/dev/null || { echo "1..0 # SKIP no trace-cmd"; exit 0; }
t=/sys/kernel/tracing
i=$t/instances/report_dat.$$
dir=$(mktemp -d)
trap 'rmdir "$i" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$i" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }

record()
{
	mkdir -p "$i"
	echo mono >"$i/trace_clock"
	for e in sched/sched_switch sched/sched_process_exec sched/sched_process_fork raw_syscalls/sys_enter; do echo 1 >"$i/events/$e/enable"; done
	sh -c "echo \$\$ >$i/set_event_pid; echo 1 >$i/options/event-fork; ls / >/dev/null; cat /proc/self/stat >/dev/null; true"
	echo 0 >"$i/tracing_on"
	echo 0 >"$i/events/enable"
	trace-cmd extract --date -B "$(basename "$i")" -o "$dir/7.dat" >/dev/null 2>&1 # and the instance is gone
}

# Without the buffer's name that stands before each line if there are several.
plain() { grep -v '^cpus=' | sed 's/^report_dat[^:]*://; s/^ *//'; }

# The kernel's list of thread names may grow between trace-cmd's two looks at it; then trace-cmd cannot read its own file.
record_readable()
{
	for _ in 1 2 3 4 5 6 7 8; do
		record
		trace-cmd report -N -i "$dir/7.dat" 2>/dev/null | grep -q sched_process_exec && break
	done
	trace-cmd convert -i "$dir/7.dat" -o "$dir/plain.dat" --compression none >/dev/null 2>&1
	trace-cmd convert -i "$dir/7.dat" -o "$dir/6.dat" --file-version 6 >/dev/null 2>&1
	trace-cmd report -N -i "$dir/7.dat" 2>/dev/null | plain | grep -v bpf_trace_printk >"$dir/want"
}

same() # FILE: both print it alike
{
	"$PANTRACE" report -f trace-cmd "$dir/$1.dat" 2>"$dir/err" | plain | grep -v bpf_trace_printk >"$dir/got"
	cmp -s "$dir/want" "$dir/got" || ! diff "$dir/want" "$dir/got" | head -12 | sed 's/^/# /' >&2
}

# A difference that a second recording does not show again is printed, and not counted.
record_readable
same 7 || record_readable
[ "$(wc -l <"$dir/want")" -gt 100 ]
ok "trace-cmd recorded something"
for f in 7 plain 6; do
	same $f
	ok "$f.dat: the text of trace-cmd report -N"
done
is "$("$PANTRACE" report -c -e sched_process_exec "$dir/7.dat" | awk '{ print $1, $2 }')" \
	"$(grep -c 'sched_process_exec:' "$dir/want") sched:sched_process_exec" "report -c -e: a count"
like "$("$PANTRACE" report -n 1 -e 'raw_syscalls:*' "$dir/6.dat")" '\[[0-9]{3}\] .{5} +[0-9]+\.[0-9]{6}: sys_enter: NR [0-9]+ \(' "report: the kernel's own columns"

for n in 5 40 300 2000 100000; do
	head -c $n "$dir/6.dat" >"$dir/cut.dat"
	"$PANTRACE" report "$dir/cut.dat" >"$dir/out" 2>&1
	rc=$?
	[ $rc -eq 1 ]
	ok "cut after $n bytes: refused ($rc)"
done
done_testing
