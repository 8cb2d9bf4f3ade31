#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments, fifty times: what they left is found and removed, and all of tracefs is as before.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -d $t/events ] || { echo "1..0 # SKIP needs tracefs"; exit 0; }

# Everything that is a setting; not what counts or remembers.
state()
{
	find $t -path $t/instances -prune -o -type f ! -name 'trace' ! -name 'trace_pipe*' ! -name '*stat*' ! -name 'snapshot*' \
		! -name 'saved_*' ! -name format ! -name id ! -name free_buffer ! -name 'available_filter*' ! -name '*profile' \
		! -name error_log ! -name printk_formats ! -name 'hist*' ! -name '*functions' ! -name trace_marker ! -name trace_marker_raw -print |
		sort | xargs grep -H '' 2>/dev/null
	ls $t/instances | grep pantrace-
	ls /run/pantrace 2>/dev/null | grep '^pantrace-'
}

# The first event ever makes the top buffer large, for good.
echo 1 >$t/events/sched/sched_switch/enable
echo 0 >$t/events/sched/sched_switch/enable
"$pantrace" reset-ftrace --stale >/dev/null
state >"$work/before"
cp "$programs/calls.dyn" "$work/calls"
n=0
seed=$$
left=0
while [ $n -lt 50 ]; do
	case $((n % 5)) in
	0) set -- tpoint 'sched:*' ;;
	1) set -- uprobe "p:$work/calls:*" ;;
	2) set -- uprobe -s 'p:libc:f*open*' ;;
	3) set -- tpoint -d 5 -s -p $$ 'syscalls:sys_enter_*' ;;
	4) set -- uprobe "r:$work/calls:work \$retval" ;;
	esac
	"$pantrace" "$@" >/dev/null 2>&1 &
	victim=$!
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	sleep "$(awk -v r=$seed 'BEGIN { printf "%.3f", (r % 300) / 1000 }')"
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	# The next run sweeps, so that this is all that there can be.
	left=$((left + $(ls $t/instances | grep -c "^pantrace-$victim-") + $(grep -c "pantrace_${victim}_" $t/uprobe_events)))
	n=$((n + 1))
done
[ $left -gt 0 ]; ok "killed runs left $left things"
"$pantrace" reset-ftrace --stale >"$work/out"
ok "reset-ftrace --stale"
state >"$work/after"
cmp -s "$work/before" "$work/after"
ok "after 50 kills and the sweep all of tracefs is as before" || diff "$work/before" "$work/after" | head -20 | sed 's/^/# /'

# Also without being asked: the next run of such a tool.
"$pantrace" uprobe "p:$work/calls:work" >/dev/null 2>&1 &
victim=$!
sleep 1
kill -9 $victim
wait $victim 2>/dev/null
like "$(ls $t/instances)" "^pantrace-$victim-" "a killed run's instance"
"$pantrace" tpoint -d 0.01 sched:sched_process_exec >/dev/null 2>&1
unlike "$(ls $t/instances; cat $t/uprobe_events)" "pantrace[-_]$victim[-_]" "is taken by the next one"

# A run that lives is left alone.
start uprobe "p:$work/calls:work"
"$pantrace" reset-ftrace --stale >/dev/null
"$pantrace" reset-ftrace -q
"$work/calls" 3 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | grep -c ': work: ')" 3 "a run that lives goes on"
done_testing
