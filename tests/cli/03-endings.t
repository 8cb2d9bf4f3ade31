#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How runs end, in every command: the code, outputs that take nothing, readers that stall or leave.
# among tracers: asks how runs end
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
run -q --dry-run -c 'sh -c "exit 7"' -e 'begin { }'
is "$rc" 0 "nor one that never ran"
run -q -c 'sleep 1000' -e 'interval:ms:100 { exit(0); }'
is "$rc" 0 "and a command that is stopped does not count"
ln -sf "$pantrace" "$work/bpftrace"
"$work/bpftrace" -q -c '/bin/sh -c exit' -e 'begin { }' >/dev/null 2>&1
is "$?" 0 "as bpftrace: the command does not count"
start record -q -u 'none:*' -o "$work/recorded" -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.1; done'
stop
is "$rc" 0 "Ctrl-C: the recording ends well, whatever it makes of its command"

# ---- outputs that take nothing ----

"$pantrace" record -q -e sched_switch -o "$work/recorded.dat" -- sh -c 'sleep 0.1'
failing=
while read -r words; do
	words=$(echo "$words" | sed "s|RECORDED|$work/recorded.dat|; s|WORK|$work|; s|PROGRAMS|$programs|")
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
user --help
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
stat -e cs -d 0.1
top -d 0.2
show -t current_tracer
status
probe -L main -x PROGRAMS/typed
cache
report RECORDED
report --json RECORDED
report --count RECORDED
report --top RECORDED
convert --to ndjson RECORDED -
convert --to parquet RECORDED -
heatmap --text RECORDED
timeline --text RECORDED
flame --text -o - -a -d 0.2
split -c -o WORK/piece RECORDED
-q --from RECORDED -e tracepoint:sched:sched_switch{@=count()}
help record
record --help
END
is "$failing" "" "what cannot be written is a failure, in every command"

# ---- -p ----

# Commands that take -p, "PID" for the process. Those that this kernel cannot run are looked at for what they say of a process
# that is not there.
cat >"$work/of-a-process" <<'END'
-q -p PID -e profile:hz:9{@=count()}
-q -p PID -e uprobe:libc:malloc{@=count()}
opensnoop -p PID
killsnoop -p PID
syscount -p PID
bitesize -p PID
iosnoop -p PID
cachestat -p PID
perf-stat-hist -p PID syscalls:sys_enter_read count
tpoint -p PID sched:sched_switch
tpoint -L PID sched:sched_switch
tpoint -d 1000 -p PID sched:sched_switch
uprobe -p PID p:libc:malloc
hist -p PID sched:sched_switch keys=prev_comm
hist --engine bpf -p PID sched:sched_switch keys=prev_comm
top -b -d 0.2 -p PID
stat -p PID
record -q -e sched_switch -p PID -o WORK/kernel-of
record -q -F 99 -p PID -o WORK/samples-of
record -q -p PID -u none:* -o WORK/recorded
END
while read -r words; do
	# shellcheck disable=SC2046
	timeout -k 1 60 "$pantrace" $(echo "$words" | sed "s|PID|4194000|; s|WORK|$work|") >"$work/out" 2>"$work/err" </dev/null
	code=$?
	[ $code = 1 ] && grep -qE 'there is no (process|thread|process or thread) 4194000' "$work/err" || echo "$words: $code $(cat "$work/err")"
done <"$work/of-a-process" >"$work/bad"
for words in 'functrace -p 4194000 vfs_read' 'funcgraph -p 4194000 vfs_read' 'kprobe -p 4194000 p:vfs_read' \
	'funccount -p 4194000 vfs_read' 'user list -p 4194000' 'list -p 4194000 usdt:*' '--dwarf-pid 4194000 -e begin{}'; do
	# shellcheck disable=SC2086
	run $words
	[ "$rc" = 1 ] && grep -q 'process 4194000' "$work/err" || echo "$words: $rc $err"
done >>"$work/bad"
is "$(cat "$work/bad")" "" "-p of a process that is not there is an error, in every command"
ends_with_process()
{
	for seconds in 3 30; do # on a busy machine it may have ended before the command looks at it
		sleep $seconds &
		process=$!
		# shellcheck disable=SC2046
		timeout -k 1 180 "$pantrace" $(echo "$1" | sed "s|PID|$process|; s|WORK|$work|") >/dev/null 2>"$work/err.$process" </dev/null
		code=$?
		kill $process 2>/dev/null && echo "$1: ended before the process"
		[ $code != 0 ] || return
	done
	echo "$1: $code $(cat "$work/err.$process")"
}
while read -r words; do
	ends_with_process "$words" &
done <"$work/of-a-process" >"$work/bad"
wait
is "$(cat "$work/bad")" "" "and a process that ends, ends the run"

# ---- many events ----

# Where each uprobe is an event of its own, the kernel frees them one after the other: 7 s for these, here, which nobody waits for.
start -q --no-feature uprobe_multi -e 'uprobe:libc:str* { @ = count(); }'
from=$(date +%s)
stop
[ "$rc" = 0 ] && [ $(($(date +%s) - from)) -lt 5 ]; ok "a run with many events ends at once ($(($(date +%s) - from)) s)"

# ---- readers ----

trap '"$pantrace" reset -q -B stalled 2>/dev/null; rm -rf "$work"' EXIT
"$pantrace" record -q -e sched_switch -e raw_syscalls -o "$work/trace.dat" -- sh -c 'for i in $(seq 200); do /bin/true; done'
"$pantrace" record -q -e sched:sched_switch -g -a -d 0.3 -o "$work/perf.data"
"$pantrace" start -q -B stalled -e sched_switch -b 4096
is "$(python3 "$(dirname "$0")/stalled-reader.py" "$pantrace" "$work")" "" \
	"every command ends at once when its reader stalls (and says what is lost), or leaves"
done_testing
