# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments, fifty times: a moment later all of tracefs is as before, though nobody started anything.
# Where the guard is killed, too, reset-ftrace --stale finds what was left.
# guest: older
. /kill9.sh
pantrace=pantrace tools=7 before=/tmp/before

tool()
{
	case $1 in
	0) echo "kprobe p:vfs_w*" ;;
	1) echo "tpoint sched:*" ;;
	2) echo "functrace vfs_*" ;;
	3) echo "funcgraph $graphed vfs_read" ;;
	4) echo "kprobe r:do_sys_openat2" ;;
	5) echo "hist -d 10 sched:sched_switch keys=next_pid" ;;
	6) echo "hist -d 10 --from sched:sched_waking --to sched:sched_switch -m pid=next_pid keys=latency.log2" ;;
	esac
}

first_event
echo >$t/trace
state >$before
# All functions are hooked once, below: it takes long in a guest.
seed=7 graphed="-l vfs_*"
kill_fifty 600
is $stuck 0 "nothing of fifty killed runs is left, nor their guards"
same_state "all of tracefs is as before"
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" '^everything is as after boot$' "reset-ftrace sees nothing" || sed 's/^/# /' /tmp/out

# Their guards are killed, too.
n=0 graphed=
while [ $n -lt 7 ]; do
	set -f
	set -- $(tool $n)
	set +f
	# One after the other: only what the next start leaves alone can be left.
	pantrace "$@" >/dev/null 2>&1 &
	victim=$!
	wait_made $victim
	sleep 0.5
	kill_both $victim
	left_of $victim >>/tmp/left
	n=$((n + 1))
done
[ $(grep -c '' /tmp/left) -ge 7 ]
ok "runs killed together with their guards left something, each"
pantrace reset-ftrace --stale >/tmp/out
ok "reset-ftrace --stale"
like "$(cat /tmp/out)" '^(instance|probe|setting) ' "finds it"
same_state "all of tracefs is as before"
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" '^everything is as after boot$' "reset-ftrace sees nothing" || sed 's/^/# /' /tmp/out
done_testing
