#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# reset-ftrace: finds what is switched on in tracefs, shows it, takes it back, and leaves the rest alone.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -d $t/events ] || { echo "1..0 # SKIP needs tracefs"; exit 0; }

# Values of all files that settings stand in, of the top buffer.
state()
{
	(cd $t && for f in current_tracer tracing_on trace_clock tracing_cpumask set_event_pid set_event uprobe_events \
		events/sched/*/filter events/sched/*/trigger options/*; do
		echo "$f: $(cat "$f" 2>/dev/null)"
	done)
}

run reset-ftrace -d
before=$(state)
case $out in
*"everything is as after boot"*) ;;
*)
	echo "1..0 # SKIP somebody uses ftrace here: $(echo "$out" | head -3 | tr '\n' ';')"
	exit 0
	;;
esac

echo 'prev_pid == 1' >$t/events/sched/sched_switch/filter
echo 'traceoff:3 if prev_pid == 2' >$t/events/sched/sched_switch/trigger
echo stacktrace >$t/events/sched/sched_waking/trigger
echo 1 >$t/events/sched/sched_process_exec/enable
echo 77 >$t/set_event_pid
echo mono >$t/trace_clock
echo 1 >$t/options/sym-offset
echo 'p:pantracetest/x /bin/sh:0x1000' >>$t/uprobe_events
mkdir $t/instances/pantracetest
mkdir $t/instances/pantrace-4194200-17

run reset-ftrace -d
is "$rc" 0 "only showing is a success"
like "$out" 'setting +trace_clock: mono' "a setting"
like "$out" 'setting +options/sym-offset: 1' "an option"
like "$out" 'event +events/sched/sched_process_exec/enable' "an event that is on"
like "$out" 'filter +events/sched/sched_switch/filter: prev_pid == 1' "a filter"
like "$out" 'trigger +events/sched/sched_switch/trigger: traceoff' "a trigger"
like "$out" 'list +set_event_pid: 77' "a list of threads"
like "$out" 'probe +uprobe_events: p:pantracetest/x' "a probe"
like "$out" 'instances/pantracetest +\(another program' "an instance of another program is left alone"
like "$out" 'instance +instances/pantrace-4194200-17$' "that of a dead run is not"
run reset-ftrace
is "$rc" 1 "without a terminal it does not ask"
like "$err" 'nothing was changed' "and says so"
is "$(cat $t/events/sched/sched_switch/filter)" 'prev_pid == 1' "and does nothing"

run reset-ftrace --stale
is "$out" 'instance        pantrace-4194200-17' "--stale takes the dead run's instance only"
is "$(cat $t/events/sched/sched_switch/filter)" 'prev_pid == 1' "and nothing else"
run reset-ftrace --stale
is "$out" 'nothing is left of dead runs' "then there is nothing more"
run reset-ftrace --json
echo "$out" | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert any(r["kind"] == "filter" and r["value"] == "prev_pid == 1" for r in rows)
assert all(r["left_alone"] == (r["instance"] == "pantracetest") for r in rows)'
ok "--json"

run reset-ftrace -q
is "$rc" 0 "-q does it"
is "$out$err" "" "without a word"
[ -d $t/instances/pantracetest ]; ok "another program's instance is there still"
is "$(state)" "$before" "all else is as before"
run reset-ftrace -fa
[ ! -d $t/instances/pantracetest ]; ok "-a takes it"
run reset-ftrace -d
is "$out" 'everything is as after boot' "nothing is left"
run reset-ftrace --help
like "$out" 'pantrace reset-ftrace --stale' "help has examples"
ln -s "$pantrace" "$work/reset-ftrace"
"$work/reset-ftrace" -d >"$work/out"
ok "a link by its name"
if command -v unshare >/dev/null; then
	unshare -m sh -c "umount -l /sys/kernel/debug 2>/dev/null; mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel && chmod 755 /sys/kernel && setpriv --reuid 65534 --clear-groups $pantrace reset-ftrace -d" >"$work/out" 2>"$work/err"
	like "$(cat "$work/err")" 'tracefs cannot be used|Permission' "no tracefs: the reason"
fi
done_testing
