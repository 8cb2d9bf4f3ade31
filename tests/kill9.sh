# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests that kill ftrace-based tools share, on this kernel and in the guest (busybox sh); after tap.sh. Such a test
# sets $pantrace, the binary, and $tools, the number of command lines that its function `tool N` prints.
t=/sys/kernel/tracing

# Everything that is a setting; not what counts or remembers.
state()
{
	find $t -path $t/instances -prune -o -type f ! -name 'trace' ! -name 'trace_pipe*' ! -name '*stat*' ! -name 'snapshot*' \
		! -name 'saved_*' ! -name format ! -name id ! -name free_buffer ! -name 'available_filter*' ! -name '*profile' \
		! -name error_log ! -name printk_formats ! -name 'hist*' ! -name '*functions' ! -name trace_marker ! -name trace_marker_raw -print |
		sort | xargs grep -H '' 2>/dev/null
	cat $t/enabled_functions 2>/dev/null
	# of runs that are over: other tests may have theirs beside this one
	ls $t/instances /run/pantrace 2>/dev/null | grep '^pantrace-' | while read -r name; do
		pid=${name#pantrace-}
		kill -0 "${pid%%-*}" 2>/dev/null || echo "$name"
	done
}

# The first event ever makes the top buffer large, for good.
first_event()
{
	echo 1 >$t/events/sched/sched_switch/enable
	echo 0 >$t/events/sched/sched_switch/enable
}

# What there is of a run, by its process's number.
left_of()
{
	ls $t/instances /run/pantrace 2>/dev/null | grep "^pantrace-$1-"
	grep -h -o "pantrace_${1}_[^ ]*" $t/dynamic_events
}

guard_of()
{
	grep -lz "^pantrace: guard $1\$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}

# Zombies do not count: whoever adopts orphans collects them in his own time. A guard that has just been forked is not called so yet.
wait_guard()
{
	for _ in $(seq 1200); do
		[ -n "$(guard_of $1)$(left_of $1)" ] || return 0
		sleep 0.05
	done
	return 1
}

# wait_made PID: until there is something of the run
wait_made()
{
	for _ in $(seq 1200); do
		[ -n "$(left_of $1)" ] && return 0
		kill -0 $1 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}

# kill_fifty MS: fifty runs, each killed at a random moment within MS of its start, or twice the time that a first one needs to begin
# on a machine that is busy. How many of them had something
# left seconds later in $stuck, the things in $left; how many of the ten that were looked at had a guard when they were killed
# in $guarded. $seed makes the moments.
kill_fifty()
{
	within=$1
	"$pantrace" tpoint sched:sched_process_exec >/dev/null 2>&1 &
	victim=$!
	n=0
	while [ -z "$(guard_of $victim)" ] && [ $n -lt 200 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	kill -9 $victim
	wait $victim 2>/dev/null
	wait_guard $victim
	[ $((n * 100)) -le $within ] || within=$((n * 100))
	n=0 stuck=0 left=0 guarded=0
	while [ $n -lt 50 ]; do
		set -f
		# shellcheck disable=SC2046
		set -- $(tool $((n % tools)))
		set +f
		"$pantrace" "$@" >/dev/null 2>&1 &
		victim=$!
		seed=$(((seed * 1103515245 + 12345) % 2147483648))
		sleep "$(printf '%d.%03d' $((seed % within / 1000)) $((seed % within % 1000)))"
		[ $((n % 5)) -eq 0 ] && [ -n "$(guard_of $victim)" ] && guarded=$((guarded + 1))
		kill -9 $victim 2>/dev/null
		wait $victim 2>/dev/null
		wait_guard $victim || stuck=$((stuck + 1))
		left=$((left + $(left_of $victim | wc -l)))
		n=$((n + 1))
	done
}

# kill_both PID: the run together with its guard, which must not see it end
kill_both()
{
	kill -STOP $1
	# shellcheck disable=SC2046
	kill -9 $(guard_of $1) $1 2>/dev/null
	wait $1 2>/dev/null
}

# same_state NAME: as it was when `state >$before` was written
same_state()
{
	state >"$before.now"
	cmp -s "$before" "$before.now"
	ok "$1" || diff "$before" "$before.now" | head -20 | sed 's/^/# /' >&2
}
