#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# start, status, show, stop, restart, clear, reset: a session that stays in the kernel is ours, whole or not there, and nobody else's.
. "$(dirname "$0")/lib.sh"
need_root
tracing=/sys/kernel/tracing
[ -d $tracing/instances ] || {
	echo "1..0 # SKIP no tracefs"
	exit 0
}
run status
case $out in
*'
session '* | 'session '*)
	echo "1..0 # SKIP there are sessions of somebody else"
	exit 0
	;;
esac
trap '"$pantrace" reset -qa 2>/dev/null; rmdir $tracing/instances/another-$$ 2>/dev/null; rm -rf "$work"' EXIT
top_before=$(cat $tracing/set_event $tracing/current_tracer $tracing/tracing_on $tracing/buffer_size_kb $tracing/trace_clock)
journals() { find /run/pantrace -maxdepth 1 -name 'pantrace.*' 2>/dev/null | wc -l; }
entries() { awk '/^entries: /{n += $2} END {print n + 0}' $tracing/instances/"$1"/per_cpu/cpu*/stats; }
no_guard() { ! pgrep -f "^pantrace: guard $1\$" >/dev/null; }

# what nobody else runs meanwhile
mine=$work/true
cp /bin/true "$mine"

# ---- one session, from its begin to its end
run start -e sched:sched_process_exec -e 'sched:sched_process_exit /args.prio < 1000/' -b 512
is "$rc$out" 0 "start: said on standard error"
like "$err" '^session main traces 2 events, into the instance pantrace\.main$' "start: what, and where"
is "$(cat $tracing/instances/pantrace.main/set_event | sort | tr '\n' ' ')" "sched:sched_process_exec sched:sched_process_exit " \
	"the kernel traces them when start has ended"
is "$(cat $tracing/instances/pantrace.main/events/sched/sched_process_exit/filter)" "prio < 1000" "with the condition"
is "$(cat $tracing/instances/pantrace.main/tracing_on)" 1 "tracing is on"
for _ in 1 2 3 4 5 6 7; do "$mine"; done
run show
is "$rc" 0 "show"
[ "$(printf '%s\n' "$out" | grep -c "sched_process_exec: filename=$mine ")" = 7 ]
ok "show: seven of seven execs" || printf '%s\n' "$out" | tail -5 | sed 's/^/# /'
[ "$(grep -c "filename=$mine " $tracing/instances/pantrace.main/trace)" = 7 ]
ok "show takes nothing out"
run show current_tracer buffer_size_kb
like "$(printf '%s' "$out" | tr '\n' ' ')" '^current_tracer: nop buffer_size_kb: 5[0-9]*' "show FILE..."
run show ../trace
is "$rc" 1 "show: nothing outside of the buffer"
run status
like "$out" '^session main: tracing, since ' "status: the session"
like "$out" 'begun by   pantrace start -e sched:sched_process_exec -e .sched:sched_process_exit /args\.prio < 1000/. -b 512' "status: by which words"
like "$out" 'events     2: sched:sched_process_exec, sched:sched_process_exit' "status: events"
like "$out" 'filter     sched:sched_process_exit: prio < 1000' "status: conditions"
run status --json -B main
is "$(jq -r '[.kind, .session, .tracing, (.events | length), .overwritten] | @text' "$work/out")" '["session","main",true,2,0]' "status --json"
is "$(jq '.entries >= 14 and .entries == ([.cpus[].entries] | add)' "$work/out")" true "status --json: the sum of its CPUs"

run start -e sched:sched_waking
is "$rc" 1 "a second start of the same name is refused"
like "$err" "there is a session 'main' already" "in words"
run restart -B nobody
is "$rc" 1 "restart: a wrong name"

run stop
is "$rc" 0 "stop"
like "$err" '^session main is stopped: [0-9]* events are in its buffer' "stop says what is there"
before=$(entries pantrace.main)
"$mine"
is "$(entries pantrace.main)" "$before" "stopped is stopped"
run status
like "$out" '^session main: stopped' "status knows it"
run clear
is "$rc$(entries pantrace.main)" 00 "clear"
run restart
"$mine"
run show
[ "$(printf '%s\n' "$out" | grep -c "filename=$mine ")" = 1 ]
ok "restart goes on"

# following
run clear
start show -p -d 3
"$mine"
until_true grep -q "filename=$mine " "$work/trace"
ok "show -p: an event when it comes"
stop
is "$rc" 0 "show -p: Ctrl-C is its end"
run show
[ "$(printf '%s\n' "$out" | grep -c "filename=$mine ")" = 0 ]
ok "show -p takes events out"

# ---- a second one beside it
run start -q -B second -e sched:sched_waking
is "$rc$err" 0 "a second session"
run stop
is "$rc" 2 "of two sessions one must be named"
like "$err" 'There are 2: ' "which ones there are"
run stop -B second
is "$rc" 0 "stop -B"
run reset-ftrace -d
like "$out" 'pantrace\.second  .a session, see `pantrace status`' "reset-ftrace leaves it alone, and says so"
run stop --remove -B second
is "$rc" 0 "stop --remove"
[ ! -d $tracing/instances/pantrace.second ] && [ -d $tracing/instances/pantrace.main ]
ok "removes that one alone"
run reset
is "$rc$(find $tracing/instances -maxdepth 1 -name 'pantrace.*' | wc -l)$(journals)" 000 "reset: nothing is left"
run reset
is "$rc" 1 "reset without a session"
like "$err" 'there is no session' "says so"

# ---- other people's
mkdir $tracing/instances/another-$$
echo 1 >$tracing/instances/another-$$/events/sched/sched_process_exec/enable
"$mine"
run show -B another-$$
like "$out" "filename=$mine " "show -B: an instance of another program"
run status -B another-$$
like "$out" "^instance another-$$ of another program: tracing" "status: whose it is"
run reset -B another-$$
is "$rc" 1 "reset: not an instance of another program"
run stop -B another-$$
is "$rc$(cat $tracing/instances/another-$$/tracing_on)" 00 "stop -B: only because it was named"
run reset -a
is "$(cat $tracing/instances/another-$$/set_event)" sched:sched_process_exec "reset -a: sessions only"
rmdir $tracing/instances/another-$$

# ---- wrong words
for words in 'start' 'start -e nosuch:event' 'start -e sched -B a/b' 'start -e sched -B .x' 'start -p nosuch' 'start -e sched -p 999999999' \
	'start -e sched:sched_waking -f nosuch==1' 'start -e sched:sched_waking -R nosuch' 'stop -a -t' 'show -c 9999 -t' 'show -p -s' 'clear -c x -t'; do
	# shellcheck disable=SC2086
	run $words
	[ $rc != 0 ] && [ "$(journals)" = 0 ] && [ "$(find $tracing/instances -maxdepth 1 -name 'pantrace.*' | wc -l)" = 0 ]
	ok "$words: refused with $rc, nothing is left: $(printf %s "$err" | head -1)"
done

# ---- the top buffer: only where it was asked for; what it was like is put back
run start -t -e sched:sched_process_exec -b 700
is "$rc" 0 "start --top"
# the kernel itself enables the one of bpf_trace_printk() when a program that calls it is loaded, and leaves it so
is "$(grep -v '^bpf_trace:' $tracing/set_event)" sched:sched_process_exec "traces there"
run start -B another -t -e sched:sched_waking
is "$rc" 1 "the top buffer is taken by one at a time"
"$mine"
run show
like "$out" "filename=$mine " "show of a session in the top buffer"
run reset
is "$(cat $tracing/set_event $tracing/current_tracer $tracing/tracing_on $tracing/buffer_size_kb $tracing/trace_clock)" "$top_before" \
	"reset: every value of the top buffer is as before"
is "$(journals)" 0 "and no journal is left"

# ---- killed at any moment: all of it stands, or nothing
whole=0 nothing=0 half=
for i in $(seq 24); do
	"$pantrace" start -q -b 64 -B kill$i -e 'sched:*' -e irq >/dev/null 2>&1 &
	pid=$!
	sleep "$(awk "BEGIN {print $i * 0.006}")"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	until_true no_guard $pid # it takes back what a killed one made
	if "$pantrace" status -B kill$i >"$work/out" 2>/dev/null; then
		grep -q "^session kill$i: tracing" "$work/out" && "$pantrace" reset -q -B kill$i && whole=$((whole + 1)) || half="$half $i"
	elif [ ! -d $tracing/instances/pantrace.kill$i ] && [ ! -e /run/pantrace/pantrace.kill$i ]; then
		nothing=$((nothing + 1))
	else
		half="$half $i"
	fi
done
is "$half" "" "kill -9 of start: whole ($whole) or nothing ($nothing)"
half=
for i in $(seq 10); do
	"$pantrace" start -q -b 64 -B kill -e irq >/dev/null 2>&1 || half="$half start$i"
	"$pantrace" reset -q -B kill >/dev/null 2>&1 &
	pid=$!
	sleep "$(awk "BEGIN {print $i * 0.005}")"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	"$pantrace" reset-ftrace --stale >/dev/null 2>&1
	"$pantrace" reset -q -B kill >/dev/null 2>&1
	[ ! -d $tracing/instances/pantrace.kill ] && [ ! -e /run/pantrace/pantrace.kill ] || half="$half reset$i"
done
is "$half" "" "kill -9 of reset: the next one ends it"

# two at once
for i in 1 2 3 4; do "$pantrace" start -q -B par$i -e irq & done
wait
is "$(find $tracing/instances -maxdepth 1 -name 'pantrace.par*' | wc -l)" 4 "four starts at once"
for i in 1 2 3 4; do "$pantrace" start -q -B one -e irq 2>/dev/null && : >"$work/won$i" & done
wait
is "$(find "$work" -name 'won*' | wc -l)" 1 "of four starts of one name one wins"
[ -d $tracing/instances/pantrace.one ]
ok "and its session stands"
run reset -a
is "$rc$(find $tracing/instances -maxdepth 1 -name 'pantrace.*' | wc -l)$(journals)" 000 "reset -a: all of them"

# ---- without privileges
if command -v setpriv >/dev/null; then
	cp "$pantrace" "$work/tool" && chmod 755 "$work" "$work/tool"
	for words in 'start -e sched' stop restart status show clear reset; do
		# shellcheck disable=SC2086
		setpriv --reuid 65534 --regid 65534 --clear-groups "$work/tool" $words >"$work/out" 2>"$work/err"
		is "$?$(grep -c ERROR "$work/err")" 41 "$words as nobody: code 4, one sentence" || sed 's/^/# /' "$work/err" >&2
	done
fi
done_testing
