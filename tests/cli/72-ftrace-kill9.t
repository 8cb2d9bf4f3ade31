#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments, fifty times: a moment later all of tracefs is as before, though nobody started anything.
# Where the guard is killed, too, the next start or reset-ftrace --stale finds what was left.
. "$(dirname "$0")/lib.sh"
need_root
. "$top/tests/kill9.sh"
[ -d $t/events ] || { echo "1..0 # SKIP needs tracefs"; exit 0; }
tools=5 before=$work/before

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

first_event
"$pantrace" reset-ftrace --stale >/dev/null
state >"$before"
cp "$programs/calls.dyn" "$work/calls"
seed=$$
kill_fifty 300
[ $guarded -gt 0 ]; ok "$guarded of ten that were looked at had a guard when they were killed"
is $stuck 0 "guards end when they are done"
is $left 0 "nothing of them is left"
same_state "after 50 kills all of tracefs is as before"

# Its group is killed, as a terminal or a supervisor would: the guard is not in it.
setsid "$pantrace" uprobe "p:$work/calls:work" >/dev/null 2>&1 &
until_true pgrep -o -x -f "$pantrace uprobe p:$work/calls:work" >/dev/null
victim=$(pgrep -o -x -f "$pantrace uprobe p:$work/calls:work") # the newest may be its guard
probed() { left_of $victim | grep -q '/work'; }
until_true probed
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
"$pantrace" tpoint -d 3 sched:sched_process_exec >/dev/null 2>&1 &
victim=$!
guarded() { guard=$(guard_of $victim); [ -n "$guard" ]; }
until_true guarded
ok "a run has a guard"
wait $victim
[ ! -e /proc/$guard ]; ok "that is gone, and no zombie, when the run has ended"
"$pantrace" tpoint 'sched:*' 2>/dev/null | head -1 >/dev/null
no_guard() { ! pgrep -f '^pantrace: guard' >/dev/null; }
until_true no_guard
is "$(pgrep -f '^pantrace: guard')" "" "likewise when its output is closed"

# The guard is killed, too.
n=0
left=0
while [ $n -lt 10 ]; do
	set -f
	set -- $(tool $((n % 5)))
	set +f
	"$pantrace" "$@" >/dev/null 2>&1 &
	victim=$!
	wait_made $victim
	kill_both $victim
	# The next run sweeps, so that this is all that there can be.
	left=$((left + $(left_of $victim | wc -l)))
	n=$((n + 1))
done
[ $left -gt 0 ]; ok "runs killed together with their guards left $left things"
"$pantrace" reset-ftrace --stale >"$work/out"
ok "reset-ftrace --stale"
same_state "all of tracefs is as before"

# Also without being asked: the next run of such a tool.
"$pantrace" uprobe "p:$work/calls:work" >/dev/null 2>&1 &
victim=$!
wait_made $victim
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
