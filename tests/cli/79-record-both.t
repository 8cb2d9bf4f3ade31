#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -e and -u in one run: the kernel's events and a program's on one clock, each in its peers' own format.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
mkdir "/sys/kernel/tracing/instances/record_test.$$" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }
rmdir "/sys/kernel/tracing/instances/record_test.$$"
cd "$work" || exit 1

run record -u 'traced:*' -e 'sched:sched_process_e*' -o both -- "$traced" 2000
is "$rc" 0 "a program's events and the kernel's" || printf '%s\n' "$err" >&2
run report --seconds both
# before its exec, between, behind its exit; and how often time went back
is "$(printf '%s\n' "$out" | awk '
{ t = substr($1, 2, length($1) - 2); if (t < last) back++; last = t }
/sched_process_exec:.*filename=[^ ]*\/traced / { inside = 1; main = $0; sub(/.* pid=/, "", main); sub(/ .*/, "", main); next }
$0 ~ "sched_process_exit:.*comm=traced pid=" main " " { inside = 0; over = 1; next }
/traced:step:/ { if (inside) between++; else if (over) behind++; else before++ }
END { print before + 0, between + 0, behind + 0, back + 0 }')" "0 2000 0 0" "one time line: the program's events lie between its exec and its exit"
if command -v trace-cmd >/dev/null; then
	like "$(trace-cmd report -N -i both/trace.dat 2>/dev/null)" 'sched_process_exec: .*traced' "trace-cmd opens its part"
else
	skip "trace-cmd opens its part" "no trace-cmd"
fi
is "$(babeltrace2 both 2>/dev/null | grep -c traced:step)" 2000 "babeltrace2 opens the other"

# ---- what there was before
if command -v jq >/dev/null; then
	cp /bin/sleep "$(printf 'od\033d\nna"me')"
	"./$(printf 'od\033d\nna"me')" 1000 7</etc/passwd &
	odd=$!
	until_true sh -c "tr '\\0' ' ' </proc/$odd/cmdline | grep -q 'me 1000'"
	run record -e sched:sched_process_exec -d 0.05 -o state
	is "$rc" 0 "a directory: exit code" || printf '%s\n' "$err" >&2
	of() { jq -r "select(.kind == \"$1\") | $2" state/state.ndjson; }
	is "$(head -1 state/state.ndjson | jq -r '.kind, .format, .host' | tr '\n' ' ')$(tail -1 state/state.ndjson | jq -r .kind)" "system 1 $(uname -n) end" "state.ndjson: its first and last line"
	is "$(of process "select(.pid == $odd) | .comm")" "$(cat /proc/$odd/comm)" "a process, whatever its name is"
	is "$(of process "select(.pid == $odd) | .arguments[1]")/$(of thread "select(.tid == $odd) | .pid")" "1000/$odd" "its arguments; its thread"
	is "$(of file "select(.pid == $odd and .fd == 7) | .path")" "$(readlink /proc/$odd/fd/7)" "what it has open"
	[ "$(of mapping "select(.pid == $odd and (.path | startswith(\"/\"))) | .begin")" = "$(awk '$2 ~ /x/ && $6 ~ /^\// { sub("-.*", "", $1); print "0x" $1 }' /proc/$odd/maps)" ]
	ok "where its code is mapped" || { of mapping "select(.pid == $odd)"; cat /proc/$odd/maps; } >&2
	is "$(of mount .path | wc -l)/$(of interface .name | sort | tr '\n' ' ')" "$(wc -l </proc/self/mountinfo)/$(sed -n 's/^ *\([^ ]*\):.*/\1/p' /proc/net/dev | sort | tr '\n' ' ')" "mounts and interfaces"
	is "$(of interrupt .number | sort -n | tr '\n' ' ')" "$(ls /sys/kernel/irq | sort -n | tr '\n' ' ')" "interrupts"
	kill $odd
	wait $odd 2>/dev/null
	is "$(stat -c %a state/state.ndjson)" 600 "nobody else reads it"
else
	skip "state.ndjson" "no jq"
fi
run record -e sched:sched_process_exec -d 0.05 --no-state -o stateless
is "$rc/$(ls stateless)" 0/trace.dat "--no-state"
done_testing
