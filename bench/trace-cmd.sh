#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/trace-cmd.sh ARGS...: trace-cmd where the kernel refuses to have files of the function tracer opened for writing (a lockdown), which it
# does even if only events are recorded. In a mount namespace of its own it finds empty files there.
[ -n "${IN_NAMESPACE:-}" ] || IN_NAMESPACE=1 exec unshare -m sh "$0" "$@"
scratch=$(mktemp -d /dev/shm/pantrace-trace-cmd.XXXXXX)
for f in /proc/sys/kernel/ftrace_enabled /sys/kernel/tracing/set_ftrace_filter /sys/kernel/tracing/set_ftrace_notrace \
	/sys/kernel/tracing/set_ftrace_pid /sys/kernel/tracing/set_ftrace_notrace_pid; do
	[ -e "$f" ] || continue
	: >"$scratch/${f##*/}"
	mount --bind "$scratch/${f##*/}" "$f"
done
trace-cmd "$@"
status=$?
umount "$scratch"/* 2>/dev/null
rm -rf "$scratch"
exit $status
