#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments, fifty times: a moment later all of tracefs is as before, though nobody started anything.
# Where the guard is killed, too, the next start or reset-ftrace --stale finds what was left.
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

# What there is of a run, by its process's number.
left_of()
{
	ls $t/instances /run/pantrace 2>/dev/null | grep "^pantrace-$1-"
	grep -o "pantrace_$1_[0-9]*/[^ ]*" $t/uprobe_events
}

guard_of()
{
	pgrep -f "^pantrace: guard $1\$"
}

# Zombies do not count: whoever adopts orphans collects them in his own time. A guard that has just been forked is not called so yet.
wait_guard()
{
	for _ in $(seq 100); do
		[ -n "$(guard_of $1)$(left_of $1)" ] || return 0
		sleep 0.05
	done
	return 1
}

tool()
{
	case $1 in
	0) echo "tpoint sched:*" ;;
	1) echo "uprobe p:$work/calls:*" ;;
	2) echo "uprobe -s p:libc:f*open*" ;;
	3) echo "tpoint -d 5 -s -p $$ syscalls:sys_enter_*" ;;
	4) echo "uprobe r:$work/calls:work" ;;
	esac
}

# The first event ever makes the top buffer large, for good.
echo 1 >$t/events/sched/sched_switch/enable
echo 0 >$t/events/sched/sched_switch/enable
"$pantrace" reset-ftrace --stale >/dev/null
state >"$work/before"
cp "$programs/calls.dyn" "$work/calls"
set -f
n=0
seed=$$
left=0
stuck=0
guarded=0
while [ $n -lt 50 ]; do
	set -- $(tool $((n % 5)))
	"$pantrace" "$@" >/dev/null 2>&1 &
	victim=$!
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	sleep "$(awk -v r=$seed 'BEGIN { printf "%.3f", (r % 300) / 1000 }')"
	[ $((n % 5)) -eq 0 ] && guard_of $victim >/dev/null && guarded=$((guarded + 1))
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	wait_guard $victim || stuck=$((stuck + 1))
	left=$((left + $(left_of $victim | wc -l)))
	n=$((n + 1))
done
set +f
[ $guarded -gt 0 ]; ok "$guarded of ten that were looked at had a guard when they were killed"
is $stuck 0 "guards end when they are done"
is $left 0 "nothing of them is left"
state >"$work/after"
cmp -s "$work/before" "$work/after"
ok "after 50 kills all of tracefs is as before" || diff "$work/before" "$work/after" | head -20 | sed 's/^/# /'

# Its group is killed, as a terminal or a supervisor would: the guard is not in it.
setsid "$pantrace" uprobe "p:$work/calls:work" >/dev/null 2>&1 &
sleep 0.5
victim=$(pgrep -n -x -f "$pantrace uprobe p:$work/calls:work")
guard=$(guard_of $victim)
like "$(left_of $victim)" "pantrace_${victim}_.*/work" "a run with a probe"
is "$(readlink /proc/$guard/fd/* | sed 's/:.*//' | sort | uniq -c | tr -s ' \n' ' ')" " 3 /dev/null 1 socket " "its guard holds nothing open"
is "$(readlink /proc/$guard/cwd)" / "nor a folder"
is "$(cat /proc/$guard/comm)" "pantrace: guard" "and says what it is"
kill -TERM $guard
kill -INT $guard
sleep 0.1
like "$(guard_of $victim)" "^$guard\$" "it does not end when everybody is asked to"
kill -9 -$victim
wait_guard $victim
ok "it ends when its work is done"
is "$(left_of $victim)" "" "and nothing is left"

# A run that ends by itself takes its guard along.
"$pantrace" tpoint -d 0.3 sched:sched_process_exec >/dev/null 2>&1 &
victim=$!
sleep 0.15
guard=$(guard_of $victim)
[ -n "$guard" ]; ok "a run has a guard"
wait $victim
[ ! -e /proc/$guard ]; ok "that is gone, and no zombie, when the run has ended"
"$pantrace" tpoint 'sched:*' 2>/dev/null | head -1 >/dev/null
for _ in $(seq 40); do pgrep -f '^pantrace: guard' >/dev/null || break; sleep 0.05; done
is "$(pgrep -f '^pantrace: guard')" "" "likewise when its output is closed"

# The guard is killed, too.
kill_both()
{
	kill -STOP $1
	kill -9 $(guard_of $1) $1 2>/dev/null
	wait $1 2>/dev/null
}
n=0
left=0
set -f
while [ $n -lt 10 ]; do
	set -- $(tool $((n % 5)))
	"$pantrace" "$@" >/dev/null 2>&1 &
	victim=$!
	sleep 0.3
	kill_both $victim
	# The next run sweeps, so that this is all that there can be.
	left=$((left + $(left_of $victim | wc -l)))
	n=$((n + 1))
done
set +f
[ $left -gt 0 ]; ok "runs killed together with their guards left $left things"
"$pantrace" reset-ftrace --stale >"$work/out"
ok "reset-ftrace --stale"
state >"$work/after"
cmp -s "$work/before" "$work/after"
ok "all of tracefs is as before" || diff "$work/before" "$work/after" | head -20 | sed 's/^/# /'

# Also without being asked: the next run of such a tool.
"$pantrace" uprobe "p:$work/calls:work" >/dev/null 2>&1 &
victim=$!
sleep 0.5
kill_both $victim
like "$(ls $t/instances)" "^pantrace-$victim-" "a killed run's instance"
"$pantrace" tpoint -d 0.01 sched:sched_process_exec >/dev/null 2>&1
is "$(left_of $victim)" "" "is taken by the next one"

# A run that lives is left alone.
start uprobe "p:$work/calls:work"
"$pantrace" reset-ftrace --stale >/dev/null
"$pantrace" reset-ftrace -q
"$work/calls" 3 >/dev/null
sleep 0.3
stop
is "$(echo "$out" | grep -c ': work: ')" 3 "a run that lives goes on"
done_testing
