#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/report.sh BINARY [COUNT]: a recording of system calls (2 * COUNT of them, 4 * COUNT events) is printed as text by trace-cmd and by
# pantrace, in turns; user time counts, for both read the same pages from memory. The two texts are compared. The same with perf script,
# and counted by event and thread, beside perf report; and two scripts run over the recording.
set -eu
binary=$(realpath "$1")
count=${2:-500000}
t=/sys/kernel/tracing
i=$t/instances/bench_report.$$
dir=$(mktemp -d)
trap 'rmdir "$i" 2>/dev/null; rm -rf "$dir"' EXIT

mkdir "$i"
echo 0 >"$i/tracing_on"
echo mono >"$i/trace_clock"
echo $((count * 200 / 1024 + 1024)) >"$i/buffer_size_kb"
echo 1 >"$i/events/raw_syscalls/enable"
sh -c "echo \$\$ >$i/set_event_pid; echo 1 >$i/tracing_on; exec dd if=/dev/zero of=/dev/null bs=1 count=$count" 2>/dev/null
echo 0 >"$i/tracing_on"
trace-cmd extract -B "$(basename "$i")" -o "$dir/packed.dat" >/dev/null 2>&1
# Not compressed, as printing is what is measured.
trace-cmd convert -i "$dir/packed.dat" -o "$dir/trace.dat" --compression none >/dev/null 2>&1

user_seconds() # COMMAND...: its user time
{
	rc=0
	/usr/bin/time -f %U -o "$dir/time" "$@" >/dev/null 2>"$dir/err" || rc=$?
	# 3: printed, with events that were lost
	if [ $rc -ne 0 ] && [ $rc -ne 3 ]; then
		echo "bench/report.sh: $1 failed ($rc): $(tail -1 "$dir/err")" >&2
		kill $$
	fi
	tail -1 "$dir/time"
}
events=$("$binary" report -c "$dir/trace.dat" 2>/dev/null | awk '{ n += $1 } END { print n }')
# trace-cmd puts the buffer's name before each line.
plain() { grep -v '^cpus=' | sed 's/^bench_report[^:]*://; s/^ *//'; }
"$binary" report -f trace-cmd "$dir/trace.dat" 2>/dev/null | plain >"$dir/ours"
trace-cmd report -N -i "$dir/trace.dat" 2>/dev/null | plain >"$dir/theirs"
cmp -s "$dir/ours" "$dir/theirs" && same=identical || same=different
ours=$(for _ in 1 2 3 4 5; do user_seconds "$binary" report -f trace-cmd "$dir/trace.dat"; done | sort -n | head -1)
theirs=$(for _ in 1 2; do user_seconds trace-cmd report -N -i "$dir/trace.dat"; done | sort -n | head -1)
line() # WHAT EVENTS HOW OURS PEER THEIRS
{
	awk -v what="$1" -v n="$2" -v same="$3" -v a="$4" -v peer="$5" -v b="$6" 'BEGIN {
	if (a < 0.01)
		a = 0.01 # the clock of time(1)
	printf "%d events %s (%s):  pantrace %.2f s = %.1f M events/s   %s %.2f s = %.2f M events/s   ratio %.3f\n",
		n, what, same, a, n / a / 1e6, peer, b, n / b / 1e6, a / b }'
}
line "as text" "$events" $same "$ours" trace-cmd "$theirs"

script() # WHAT SCRIPT: a script over the recording
{
	seconds=$(for _ in 1 2 3; do user_seconds "$binary" run -q --from "$dir/trace.dat" -e "$2"; done | sort -n | head -1)
	awk -v what="$1" -v n="$events" -v s="$seconds" 'BEGIN { printf "%d events through a script, %s:  pantrace %.2f s = %.1f M events/s\n", n, what, s, n / s / 1e6 }'
}
script "counted" 'tracepoint:raw_syscalls:sys_enter { @[comm, args.id] = count(); }'
script "latencies" 'tracepoint:raw_syscalls:sys_enter { @s[tid] = nsecs; } tracepoint:raw_syscalls:sys_exit { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }'

command -v perf >/dev/null || exit 0
perf record -q -m 4096 -o "$dir/perf.data" -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- dd if=/dev/zero of=/dev/null bs=1 count="$count" >/dev/null 2>&1
events=$("$binary" report -c "$dir/perf.data" 2>/dev/null | awk '{ n += $1 } END { print n }')
"$binary" report "$dir/perf.data" 2>/dev/null | grep -v '^#' >"$dir/ours" # losses
perf script -i "$dir/perf.data" 2>/dev/null >"$dir/theirs"
cmp -s "$dir/ours" "$dir/theirs" && same=identical || same=different
ours=$(for _ in 1 2 3; do user_seconds "$binary" report "$dir/perf.data"; done | sort -n | head -1)
theirs=$(user_seconds perf script -i "$dir/perf.data")
line "of perf.data as text" "$events" $same "$ours" "perf script" "$theirs"
ours=$(for _ in 1 2 3; do user_seconds "$binary" report --top event,task "$dir/perf.data"; done | sort -n | head -1)
theirs=$(user_seconds perf report --stdio --sort pid -i "$dir/perf.data")
line "of perf.data by thread" "$events" "a table" "$ours" "perf report" "$theirs"
