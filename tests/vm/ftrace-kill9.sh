# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools are killed at random moments: what they left is found and removed, and all of tracefs is as before.
t=/sys/kernel/tracing

state()
{
	find $t -type f ! -name 'trace*' ! -name '*stat*' ! -name 'snapshot*' ! -name 'saved_*' ! -name format ! -name id \
		! -name free_buffer ! -name available_filter_functions ! -name '*profile' ! -name 'error_log' ! -name 'printk_formats' \
		! -name 'stack_*' ! -name 'hist*' ! -name 'enabled_functions' ! -name 'buffer_total_size_kb' 2>/dev/null |
		sort | xargs grep -H '' 2>/dev/null
	cat $t/trace_clock $t/current_tracer $t/tracing_on $t/tracing_cpumask $t/trace_options $t/enabled_functions
}
# The first event ever makes the top buffer large, for good.
echo 1 >$t/events/sched/sched_switch/enable
echo 0 >$t/events/sched/sched_switch/enable
echo >$t/trace
state >/tmp/before
words=$(pantrace help --words | cut -f1)
has() { echo "$words" | grep -qx "$1"; }
n=0
seed=7
while [ $n -lt 50 ]; do
	case $((n % 6)) in
	0) set -- kprobe 'p:vfs_w*' ;;
	1) set -- tpoint 'sched:*' ;;
	2) has functrace && set -- functrace 'vfs_*' || set -- kprobe p:vfs_read ;;
	3) has funcgraph && set -- funcgraph vfs_read || set -- kprobe r:vfs_read ;;
	4) set -- kprobe 'r:do_sys_openat2 $retval' ;;
	5) has hist && set -- hist -d 10 sched:sched_switch next_pid || set -- tpoint sched:sched_switch ;;
	esac
	pantrace "$@" >/dev/null 2>&1 &
	victim=$!
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	usleep $((seed % 600 * 1000))
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	n=$((n + 1))
done
ls $t/instances >/tmp/left
[ -s /tmp/left ] || [ -s $t/kprobe_events ]
ok "killed runs left something"
pantrace reset-ftrace --stale >/tmp/out
ok "reset-ftrace --stale"
like "$(cat /tmp/out)" '^(instance|probe|setting) ' "finds it"
state >/tmp/after
cmp -s /tmp/before /tmp/after
ok "after 50 kills and the sweep all of tracefs is as before" || diff /tmp/before /tmp/after | head -20 | sed 's/^/# /'
pantrace reset-ftrace -d >/tmp/out
like "$(cat /tmp/out)" '^everything is as after boot$' "reset-ftrace sees nothing" || sed 's/^/# /' /tmp/out
done_testing
