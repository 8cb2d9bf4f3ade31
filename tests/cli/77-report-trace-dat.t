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
	echo $$ >"$i/set_event_pid" # nobody else's events, from the beginning
	for e in sched/sched_switch sched/sched_process_exec sched/sched_process_fork raw_syscalls/sys_enter; do echo 1 >"$i/events/$e/enable"; done
	sh -c "echo \$\$ >$i/set_event_pid; echo 1 >$i/options/event-fork; ls / >/dev/null; cat /proc/self/stat >/dev/null; true"
	echo 0 >"$i/tracing_on"
	echo 0 >"$i/events/enable"
	trace-cmd extract --date -B "$(basename "$i")" -o "$dir/7.dat" >/dev/null 2>&1 # and the instance is gone
}

# Only what this test recorded: extract takes the top buffer, too, and with two buffers the name of each stands before its lines.
plain()
{
	grep -av '^cpus=' >"$dir/lines"
	{ grep -a '^ *report_dat' "$dir/lines" || cat "$dir/lines"; } | sed 's/^ *report_dat[^:]*://; s/^ *//' |
		if [ -e "$dir/odd" ]; then LC_ALL=C sed -E 's/^.*-([0-9]+ +\[[0-9]{3}\])/\1/'; else cat; fi
}

# The kernel's list of thread names may grow between trace-cmd's two looks at it; then trace-cmd cannot read its own file. From a
# name with a newline on, and the list is everybody's, trace-cmd has none at all, and pantrace has them: then names are not compared.
record_readable()
{
	for _ in 1 2 3 4 5 6 7 8; do
		rm -f "$dir/odd"
		record
		trace-cmd report -N -i "$dir/7.dat" 2>/dev/null | plain >"$dir/want"
		grep -aq sched_process_exec "$dir/want" && break
	done
	trace-cmd convert -i "$dir/7.dat" -o "$dir/plain.dat" --compression none >/dev/null 2>&1
	trace-cmd convert -i "$dir/7.dat" -o "$dir/6.dat" --file-version 6 >/dev/null 2>&1
	grep -aq '^<\.\.\.>-' "$dir/want" || return
	: >"$dir/odd"
	trace-cmd report -N -i "$dir/7.dat" 2>/dev/null | plain >"$dir/want"
}

same() # FILE: both print it alike
{
	"$PANTRACE" report -f trace-cmd "$dir/$1.dat" 2>"$dir/err" | plain >"$dir/got"
	cmp -s "$dir/want" "$dir/got" || ! diff -U0 "$dir/want" "$dir/got" | head -12 | sed 's/^/# /' >&2
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
# What the buffer had no room for: the place is shown, and that nobody counted.
for _ in 1 2 3 4 5 6 7 8; do # until trace-cmd can read its own file, as above
	mkdir -p "$i"
	echo 8 >"$i/buffer_size_kb"
	echo 1 >"$i/events/raw_syscalls/sys_enter/enable"
	sh -c "echo \$\$ >$i/set_event_pid; exec dd if=/dev/zero of=/dev/null bs=1 count=3000" 2>/dev/null
	echo 0 >"$i/tracing_on"
	trace-cmd extract --date -B "$(basename "$i")" -o "$dir/lost.dat" >/dev/null 2>&1
	trace-cmd report -N -i "$dir/lost.dat" 2>/dev/null | grep -q 'EVENTS DROPPED' && break
done
"$PANTRACE" report -f trace-cmd "$dir/lost.dat" >"$dir/got" 2>"$dir/err"
is $? 3 "lost events: exit code"
is "$(grep -c 'EVENTS DROPPED' "$dir/got")" "$(trace-cmd report -N -i "$dir/lost.dat" 2>/dev/null | grep -c 'EVENTS DROPPED')" "at the places that trace-cmd shows"
like "$(cat "$dir/err")" 'lost' "and said"
like "$("$PANTRACE" report "$dir/lost.dat" 2>/dev/null)" 'CPU:[0-9]+ \[LOST( [0-9]+)? EVENTS\]' "as the kernel shows them"
"$PANTRACE" report --json "$dir/lost.dat" >/dev/null 2>"$dir/err"
is $? 3 "on a time line, too"
"$PANTRACE" report -e 'sched:*exec' "$dir/6.dat" >"$dir/want"
"$PANTRACE" report -e 'tracepoint:sched:*exec' "$dir/6.dat" >"$dir/got"
[ -s "$dir/want" ] && cmp "$dir/want" "$dir/got"
ok "-e as scripts name events"
run report -e sched:sched_proces_exec "$dir/6.dat"
like "$err" "no event in what was read is called 'sched:sched_proces_exec'" "an event that the recording has not"
like "$err" "did you mean 'sched:sched_process_exec'" "with the nearest"
run report --json -e sched:sched_proces_exec "$dir/6.dat"
like "$err" "did you mean 'sched:sched_process_exec'" "on a time line, too"
like "$("$PANTRACE" complete pantrace report "$dir/6.dat" -e sched:sched_process_ | cut -f1)" 'sched:sched_process_exec' "completion: events of the recording"
mkfifo "$dir/fifo"
for more in '' --json '-f trace-cmd'; do
	timeout 60 "$PANTRACE" report $more "$dir/fifo" >"$dir/got" 2>&1
	like "$? $(cat "$dir/got")" '^[12] .*(neither a directory nor a file|one trace.dat)' "a FIFO is refused, not waited for: $more"
done
run report -f trace-cmd "$dir/nothing.dat"
like "$err" 'No such file' "a recording that is not there"
run report -f trace-cmd --json "$dir/7.dat"
like "$err" 'one trace.dat' "trace-cmd's text is not for time lines"
done_testing
