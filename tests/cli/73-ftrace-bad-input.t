#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ftrace-based tools where tracefs is missing, read-only or forbidden, where the disk is full, and what nobody should ask for.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -d $t/events ] || { echo "1..0 # SKIP needs tracefs"; exit 0; }
# dead: instances and probes of processes that are no more; those of other tests come and go
dead()
{
	{ ls $t/instances; cat $t/uprobe_events; } | while read -r line; do
		owner=$(printf '%s\n' "$line" | sed -nE 's/.*pantrace[-_]([0-9]+).*/\1/p')
		[ -n "$owner" ] && [ ! -d "/proc/$owner" ] && printf '%s\n' "$line"
	done
}
before=$(dead)
calls=$work/calls
cp "$programs/calls.dyn" "$calls"

# in_space COMMANDS ARGS...: pantrace in a mount namespace that the commands have changed; $out, $err, $rc
in_space()
{
	commands=$1
	shift
	unshare -m sh -c "$commands
		exec \"\$@\"" sh $limit "$pantrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	out=$(cat "$work/out")
	err=$(cat "$work/err")
}
away='umount -a -t tracefs; umount -a -t debugfs; umount /sys/kernel/tracing 2>/dev/null; true'
limit=
if ! unshare -m true 2>/dev/null; then
	skip "tracefs that is not there" "no mount namespaces"
else
	in_space "$away" tpoint -d 0.1 sched:sched_process_exec
	is "$rc" 0 "not mounted: it is mounted"
	limit="setpriv --inh-caps -sys_admin --bounding-set -sys_admin"
	for tool in 'tpoint sched:sched_switch' "uprobe p:$calls:work" 'tpoint -l sched:*'; do
		in_space "$away" $tool
		unlike "$rc" '^[01]$' "may not be mounted: ${tool%% *} is refused ($rc)"
		like "$err" 'not mounted, and may not be mounted from here' "with the cause"
		like "$err" 'mount -t tracefs' "and what to do"
	done
	limit=
	readonly='mount -o remount,bind,ro /sys/kernel/tracing'
	if unshare -m sh -c "$readonly" 2>/dev/null; then
		for tool in 'tpoint sched:sched_switch' "uprobe p:$calls:work" 'reset-ftrace -q'; do
			in_space "$readonly" $tool
			unlike "$rc" '^0$' "read-only: ${tool%% *} is refused"
			like "$err" 'Read-only file system' "with the cause"
		done
		in_space "$readonly" reset-ftrace -d
		is "$rc" 0 "read-only: reset-ftrace -d shows all the same"
	fi
fi

# A full disk: said, with an exit code, and all is taken back.
for tool in "execsnoop -d 0.5 -o /dev/full" "tpoint -d 0.5 -o /dev/full sched:sched_switch" "hist -d 0.5 -o /dev/full sched:sched_switch keys=next_pid"; do
	run $tool
	is "$rc" 1 "${tool%% *}: a full disk is an error"
	like "$err" 'No space left on device' "and said"
done
"$pantrace" tpoint -d 0.5 sched:sched_switch >/dev/full 2>"$work/err"
is $? 1 "a full disk behind standard output"
like "$(cat "$work/err")" 'No space left on device' "is said, too"
run tpoint -d 0.1 -o "$work/no/such/file" sched:sched_switch
like "$err" "cannot write to $work/no/such/file: No such file" "a file that cannot be made"

# Events and filters.
run tpoint sched:sched_swich
like "$err" "did you mean 'sched:sched_switch'" "an unknown event, the nearest one"
run tpoint nosuch:event
like "$err" '`pantrace list tracepoint`' "one that resembles none: where they are listed"
run tpoint -b 16777216 -d 0.1 sched:sched_switch
memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
if [ "$memory" -lt $((16777216 * $(nproc))) ]; then
	is "$rc" 1 "a buffer that is larger than the memory is not begun"
	like "$err" 'more than the [0-9]+ KB of memory that are free' "and why"
fi
run tpoint sched:sched_switch 'next_pid =='
like "$err" '^filter:1:[0-9]+-[0-9]+: ERROR: syntax error, unexpected end of file' "half a filter, at its place"
run tpoint sched:sched_switch 'next_comm == 3 && (next_pid > 1'
like "$err" '^ *~+' "another half, marked"
run tpoint 'sched:no_such_*'
is "$rc" 1 "a pattern that matches nothing"
run tpoint ../sched:x
is "$rc" 1 "no way out of tracefs"
run tpoint sched:sched_switch "$(printf 'next_comm == "a\033[2Jb')"
unlike "$err" "$(printf '\033')" "control characters of a filter do not reach the terminal"
run tpoint "$(printf 'sched:\033c')"
unlike "$err" "$(printf '\033')" "those of an event do not"
run tpoint "$(printf 'sched:\033[2J')"
unlike "$err" "$(printf '\033')" "nor of a pattern"
long=$(printf 'next_pid == %d || ' $(seq 2000))0
run tpoint -d 0.1 sched:sched_switch "$long"
unlike "$rc" '^0$' "a filter that is too long is refused"
like "$err" 'too long|too many|No space|limit|Invalid' "and it is said why"

# Event probes, where the kernel has none.
run tpoint 'e:bad-name sched:sched_switch'
like "$err" 'letters, digits' "the name of an event probe"
run tpoint 'e:x'
is "$rc" 2 "an event probe of nothing"
run tpoint -d 0.1 'e:x sched:sched_switch pid=$next_pid:s32'
case $rc in
0) unlike "$err" ERROR "an event probe" ;;
*) is "$rc" 5 "no event probes: the kernel lacks them" ;;
esac

for _ in $(seq 600); do
	left=$(dead | grep -vxF -e "$before")
	[ -z "$left" ] && break
	sleep 0.1
done
is "$left" "" "nothing is left"
no_guard() { ! pgrep -f '^pantrace: guard' >/dev/null; }
until_true no_guard
ok "no guard either"
done_testing
