# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments, fifty times: a moment later all of tracefs is as before, though nobody started anything.
# Where the guard is killed, too, reset-ftrace --stale finds what was left.
t=/sys/kernel/tracing

state()
{
	find $t -type f ! -name 'trace*' ! -name '*stat*' ! -name 'snapshot*' ! -name 'saved_*' ! -name format ! -name id \
		! -name free_buffer ! -name available_filter_functions ! -name '*profile' ! -name 'error_log' ! -name 'printk_formats' \
		! -name 'stack_*' ! -name 'hist*' ! -name 'enabled_functions' ! -name 'buffer_total_size_kb' 2>/dev/null |
		sort | xargs grep -H '' 2>/dev/null
	cat $t/trace_clock $t/current_tracer $t/tracing_on $t/tracing_cpumask $t/trace_options $t/enabled_functions
}
guard_of()
{
	grep -l "^pantrace: guard $1" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}

# What there is of a run, by its process's number.
left_of()
{
	ls $t/instances /run/pantrace 2>/dev/null | grep "^pantrace-$1-"
	grep -h -o "pantrace_$1_[0-9]*" $t/dynamic_events
}

wait_guard()
{
	for _ in $(seq 100); do
		[ -n "$(guard_of $1)$(left_of $1)" ] || return 0
		usleep 100000
	done
	return 1
}

tool()
{
	case $1 in
	0) echo "kprobe p:vfs_w*" ;;
	1) echo "tpoint sched:*" ;;
	2) echo "functrace vfs_*" ;;
	3) echo "funcgraph vfs_read" ;;
	4) echo "kprobe r:do_sys_openat2" ;;
	5) echo "hist -d 10 sched:sched_switch keys=next_pid" ;;
	6) echo "hist -d 10 --from sched:sched_waking --to sched:sched_switch -m pid=next_pid keys=latency.log2" ;;
	esac
}

# The first event ever makes the top buffer large, for good.
echo 1 >$t/events/sched/sched_switch/enable
echo 0 >$t/events/sched/sched_switch/enable
echo >$t/trace
state >/tmp/before
n=0
seed=7
stuck=0
while [ $n -lt 50 ]; do
	set -f
	set -- $(tool $((n % 7)))
	set +f
	pantrace "$@" >/dev/null 2>&1 &
	victim=$!
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	usleep $((seed % 600 * 1000))
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	wait_guard $victim || stuck=$((stuck + 1))
	n=$((n + 1))
done
is $stuck 0 "nothing of fifty killed runs is left, nor their guards"
state >/tmp/after
cmp -s /tmp/before /tmp/after
ok "all of tracefs is as before" || diff /tmp/before /tmp/after | head -20 | sed 's/^/# /'
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" '^everything is as after boot$' "reset-ftrace sees nothing" || sed 's/^/# /' /tmp/out

# Their guards are killed, too.
n=0
while [ $n -lt 7 ]; do
	set -f
	set -- $(tool $n)
	set +f
	# One after the other: only what the next start leaves alone can be left.
	pantrace "$@" >/dev/null 2>&1 &
	victim=$!
	for _ in $(seq 50); do
		[ -n "$(left_of $victim)" ] && break
		usleep 100000
	done
	usleep 500000
	kill -STOP $victim
	kill -9 $(guard_of $victim) $victim
	wait $victim 2>/dev/null
	left_of $victim >>/tmp/left
	n=$((n + 1))
done
[ $(grep -c '' /tmp/left) -ge 7 ]
ok "runs killed together with their guards left something, each"
pantrace reset-ftrace --stale >/tmp/out
ok "reset-ftrace --stale"
like "$(cat /tmp/out)" '^(instance|probe|setting) ' "finds it"
state >/tmp/after
cmp -s /tmp/before /tmp/after
ok "all of tracefs is as before" || diff /tmp/before /tmp/after | head -20 | sed 's/^/# /'
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" '^everything is as after boot$' "reset-ftrace sees nothing" || sed 's/^/# /' /tmp/out
done_testing
