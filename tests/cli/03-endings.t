#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How runs end, in every command: the code, outputs that take nothing, readers that stall or leave.
. "$(dirname "$0")/lib.sh"
need_root

# ---- the command's own end ----

# ended_as CODE WORDS...: WORDS are run in front of a command that ends with this code; a signal's is 128 + its number, as sh says
ended_as()
{
	want=$1
	shift
	case $want in
	13[0-9] | 14[0-9]) end="kill -$((want - 128)) \$\$" ;;
	*) end="exit $want" ;;
	esac
	case $1 in
	-*) run -q -c "sh -c '$end'" "$@" ;;
	*) run "$@" -- sh -c "$end" ;;
	esac
	[ "$rc" = "$want" ] || echo "$*: $rc, not $want"
}

for code in 0 7 134 143 137; do
	ended_as $code -e 'begin { }'
	ended_as $code -e 'uprobe:libc:malloc { @ = count() }'
	ended_as $code syscount
	ended_as $code hist sched:sched_switch keys=prev_comm
	ended_as $code hist --engine bpf sched:sched_switch keys=prev_comm
	ended_as $code record -q -u 'none:*' -o "$work/recorded"
	rm -rf "$work/recorded"
done >"$work/codes"
is "$(cat "$work/codes")" "" "every command that runs a command ends as that did, by a signal as well"
run -q -c 'sh -c "exit 7"' -e 'end { exit(5); }'
is "$rc" 5 "but a script's exit() comes first"
run -q -c 'sh -c "exit 7"' -e 'interval:ms:100 { exit(0); }'
is "$rc" 7 "unless it was not called"
run -q -c 'sleep 1000' -e 'interval:ms:100 { exit(0); }'
is "$rc" 0 "and a command that is stopped does not count"
ln -sf "$pantrace" "$work/bpftrace"
"$work/bpftrace" -q -c '/bin/sh -c exit' -e 'begin { }' >/dev/null 2>&1
is "$?" 0 "as bpftrace: the command does not count"
start record -q -u 'none:*' -o "$work/recorded" -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.1; done'
stop
is "$rc" 0 "Ctrl-C: the recording ends well, whatever it makes of its command"

# ---- outputs that take nothing ----

failing=
while read -r words; do
	for output in /dev/full closed; do
		# shellcheck disable=SC2086
		if [ $output = closed ]; then
			timeout -k 1 60 "$pantrace" $words >&- 2>"$work/err" </dev/null
		else
			timeout -k 1 60 "$pantrace" $words >$output 2>"$work/err" </dev/null
		fi
		code=$?
		[ $code = 1 ] && grep -q 'write' "$work/err" || failing="$failing
$words >$output: $code $(head -1 "$work/err")"
	done
done <<END
help
help printf
--help
-h
version
--version
info
--info
run --help
list
list -v tracepoint:sched:sched_switch
-l tracepoint:sched:*
list --help
fmt -e begin{}
doctor
doctor --json
reset-ftrace
user list --json
hist --help
tpoint -l
tpoint -v sched:sched_switch
uprobe -l libc
-d ast -e begin{}
-d bpf -e begin{}
-q -e begin{print(1)}
-f json -q -e begin{print(1)}
-q -e begin{@x=1}
-q -o /dev/full -e begin{print(1)}
opensnoop -d 0.1
killsnoop -d 0.1
syscount -d 0.1
bitesize -d 0.1
hist -d 0.1 sched:sched_switch keys=prev_comm
hist --engine bpf -d 0.1 sched:sched_switch keys=prev_comm
tpoint -d 0.5 sched:sched_switch
END
is "$failing" "" "what cannot be written is a failure, in every command"

# ---- many events ----

# Where each uprobe is an event of its own, the kernel frees them one after the other: 7 s for these, here, which nobody waits for.
start -q --no-feature uprobe_multi -e 'uprobe:libc:str* { @ = count(); }'
from=$(date +%s)
stop
[ "$rc" = 0 ] && [ $(($(date +%s) - from)) -lt 5 ]; ok "a run with many events ends at once ($(($(date +%s) - from)) s)"

# ---- readers ----

is "$(python3 "$(dirname "$0")/stalled-reader.py" "$pantrace" "$work")" "" \
	"every command ends at once when its reader stalls (and says what is lost), or leaves"
done_testing
