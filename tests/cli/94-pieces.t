#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# extract, split, restore: every event is in the file, and in one piece; trace-cmd opens all of them and prints the same.
. "$(dirname "$0")/lib.sh"
need_root
tracing=/sys/kernel/tracing
[ -d $tracing/instances ] || {
	echo "1..0 # SKIP no tracefs"
	exit 0
}
trap '"$pantrace" reset -q -B pieces 2>/dev/null; rmdir $tracing/instances/another-$$ 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
# what nobody else runs meanwhile
mine=$work/true
cp /bin/true "$mine"
s=$tracing/instances/pantrace.pieces
sum() { cat $s/per_cpu/cpu*/stats | awk -v what="$1:" 'index($0, what) == 1 {n += $NF} END {print n + 0}'; }
# lines FILE: of all events; peer FILE: the same by trace-cmd
lines() { "$pantrace" report "$1" | sed 's/^ *//'; }
peer() { trace-cmd report "$1" 2>/dev/null | grep -v '^cpus='; }
# names of kernel threads are longer in /proc; names that must be escaped, and addresses, which the kernel shows hashed, are left out
bare_lines() { grep -a -v '[^ -~]\|\\\|_kthread_work_' | sed 's/ ([ 0-9-]*) \[/ [/; s/^.*-\([0-9]*\) *\[/\1 [/'; }
has_peer() { command -v trace-cmd >/dev/null; }

# ---- extract: what show showed, and the kernel counted
"$pantrace" start -q -B pieces -e sched -b 4096
for _ in 1 2 3 4 5 6 7 8 9 10; do "$mine"; done
run stop -B pieces
entries=$(sum entries)
"$pantrace" show -B pieces | grep -v '^#' | sed 's/^ *//' >shown
is "$(wc -l <shown)" "$entries" "the buffer has what it says"
run extract -B pieces -o e.dat
is "$rc" 0 "extract" || echo "# $err"
like "$err" "^$entries events of the kernel, [0-9]* bytes, in e\.dat; 0 lost\$" "its last line: all of them"
is "$(sum entries)" 0 "they are out of the buffer"
lines e.dat | bare_lines >read
bare_lines <shown | cmp -s - read
ok "the file's lines are those that show had"
if has_peer; then
	is "$(peer e.dat | wc -l)" "$entries" "trace-cmd report reads as many"
	is "$(trace-cmd report --stat e.dat 2>/dev/null | grep -c '^entries: 0')" "$(nproc --all)" "with the kernel's counters of each CPU"
fi
run extract -B pieces -o e2.dat
is "$rc" 0 "extract again: nothing is left"
like "$err" '^0 events of the kernel' "and that is said"
# who may rename in its directory puts another file in its place
if command -v strace >/dev/null; then
	strace -qq -o /dev/null -e trace=renameat -e inject=renameat:delay_exit=2000000 "$pantrace" extract -B pieces -o swapped.dat 2>err &
	extract=$!
	until_true [ -e swapped.dat ]
	first=$(stat -c %i swapped.dat)
	is_packed() { [ "$(stat -c %i swapped.dat)" != "$first" ] || ! kill -0 $extract; }
	until_true is_packed
	cp e.dat swapped.dat
	wait $extract
	like "$(cat err)" '^0 events of the kernel' "extract counts what it wrote, not what has its name by now"
else
	skip "a file is exchanged" "needs strace"
fi

# conservation: what was produced is kept or lost, and losses make the exit code 3
"$pantrace" clear -B pieces
"$pantrace" reset -q -B pieces
"$pantrace" start -q -B pieces -e raw_syscalls -b 64
dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
"$pantrace" stop -q -B pieces
produced=$(($(sum entries) + $(sum overrun) + $(sum 'dropped events')))
run extract -v -B pieces -o small.dat
is "$rc" 3 "extract: events were overwritten: code 3"
kept=$(printf '%s\n' "$err" | sed -n 's/^\([0-9]*\) events of the kernel.*/\1/p')
lost=$(printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p')
[ "$produced" -ge 80000 ] && is $((kept + lost)) "$produced" "kept ($kept) + lost ($lost) = produced"
is "$(lines small.dat 2>/dev/null | grep -c 'sys_e')" "$kept" "kept: what the file has"
mkdir full && mount -t tmpfs -o size=12m none full && {
	"$pantrace" clear -B pieces
	"$pantrace" reset -q -B pieces
	"$pantrace" start -q -B pieces -e raw_syscalls -b 16384
	dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null
	"$pantrace" stop -q -B pieces
	before=$(($(sum entries) + $(sum overrun) + $(sum 'dropped events')))
	run extract -B pieces --compress none -o full/f.dat
	is "$rc" 3 "extract: a full disk: code 3"
	kept=$(printf '%s\n' "$err" | sed -n 's/^\([0-9]*\) events of the kernel.*/\1/p')
	lost=$(printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p')
	is $((kept + lost + $(sum entries))) "$before" "a full disk: in the file ($kept), lost ($lost), or still in the buffer"
	mv full/f.dat . && mount -o remount,size=10m full && cp e.dat full/
	run restore --v6 -o full/e.dat f.dat
	is "$rc $(ls full)" "1 e.dat" "restore: a full disk: an older file has its name again"
	cmp -s e.dat full/e.dat
	ok "and is as it was"
	umount full
}
"$pantrace" reset -q -B pieces

# what others began: an instance, and by trace-cmd
mkdir $tracing/instances/another-$$
echo 1 >$tracing/instances/another-$$/events/sched/sched_process_exec/enable
"$mine"
run extract -B another-$$ --v6 -o another.dat
is "$rc" 0 "extract of an instance of another program, version 6" || echo "# $err"
[ "$(lines another.dat | grep -c "filename=$mine ")" = 1 ]
ok "has its event"
[ ! -e "$(command -v trace-cmd)" ] || [ "$(peer another.dat | grep -c "filename=$mine ")" = 1 ]
ok "for trace-cmd, too"
rmdir $tracing/instances/another-$$
if has_peer; then
	sh "$top/bench/trace-cmd.sh" start -e sched:sched_process_exec >/dev/null 2>&1
	if [ "$(cat $tracing/events/sched/sched_process_exec/enable)" = 1 ]; then
		"$mine"
		run status
		like "$out" 'events     1: sched:sched_process_exec' "status: what trace-cmd start began"
		run stop -t
		is "$rc$(cat $tracing/tracing_on)" 00 "stop --top stops it"
		run extract -t -o top.dat
		is "$rc" 0 "extract --top" || echo "# $err"
		[ "$(lines top.dat | grep -c "filename=$mine ")" = 1 ]
		ok "has its event"
		echo 0 >$tracing/events/enable
		echo 1 >$tracing/tracing_on
	else
		skip "trace-cmd start" "it does not work here"
	fi
	"$pantrace" start -q -B pieces -e sched:sched_process_exec
	"$mine"
	[ "$(trace-cmd show -B pantrace.pieces 2>/dev/null | grep -c "filename=$mine ")" = 1 ]
	ok "trace-cmd show prints what start began"
	like "$(trace-cmd stat 2>/dev/null)" 'pantrace\.pieces' "trace-cmd stat knows the instance"
	"$pantrace" reset -q -B pieces
fi

# killed while it writes: what is there is a trace.dat
"$pantrace" start -q -B pieces -e raw_syscalls -b 16384
dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null
"$pantrace" extract -q -B pieces -o killed.dat &
pid=$!
until_true sh -c "'$pantrace' report -c killed.dat 2>/dev/null | grep -q sys_e"
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
run report -c killed.dat
[ "$rc" = 0 ] || [ "$rc" = 3 ]
ok "extract killed: the file can be read"
like "$("$pantrace" status -B pieces)" '^session pieces: tracing' "and the session stands"
run restore -o packed.dat killed.dat
is "$rc" 0 "restore: packs what a killed recorder left" || echo "# $err"
lines killed.dat >a && lines packed.dat >b && cmp -s a b
ok "with the same events"
"$pantrace" reset -q -B pieces

# ---- split
# events at any time of it, however idle the machine is; and enough, however busy
for seconds in 1.2 6 30; do
	rm -f w.dat
	"$pantrace" record -q -e sched -e irq -d $seconds -o w.dat -- sh -c 'while :; do /bin/true; done' 2>/dev/null
	lines w.dat >whole
	[ "$(wc -l <whole)" -lt 2000 ] || break
done
all=$(wc -l <whole)
run split -s 0.25 w.dat
is "$rc" 0 "split -s"
like "$out" '^w-1\.dat: [0-9]* events, [0-9]* bytes' "says its pieces"
[ -e w-4.dat ]
ok "there are some"
for i in $(seq "$(find . -name 'w-*.dat' | wc -l)"); do lines w-$i.dat; done | cmp -s - whole
ok "the pieces behind each other are the whole"
run split -q -e 1000 -o n w.dat
is "$(find . -name 'n-*.dat' | wc -l)" $(((all + 999) / 1000)) "split -e: so many pieces"
for i in $(seq "$(find . -name 'n-*.dat' | wc -l)"); do lines n-$i.dat; done | cmp -s - whole
ok "which are the whole"
is "$(lines n-1.dat | wc -l)" 1000 "of so many events"
run split -q -c -o cpu w.dat
for f in cpu-*.dat; do lines $f; done | sort >a
sort whole | cmp -s - a
ok "split -c: by CPU, the whole"
is "$("$pantrace" report cpu-0.dat | grep -vc '\[000\]')" 0 "each of one CPU"
from=$(sed -n 500p whole | sed 's/^.* \([0-9]*\.[0-9]*\): .*/\1/')
to=$(sed -n 900p whole | sed 's/^.* \([0-9]*\.[0-9]*\): .*/\1/')
"$pantrace" split -q --v6 -o range w.dat "$from" "$to"
lines range.dat >a
awk -v from="$from" -v to="$to" '{ match($0, / [0-9]+\.[0-9]+: /); t = substr($0, RSTART + 1, RLENGTH - 3); if (t >= from && t < to) print }' whole | cmp -s - a
ok "split FROM TO: what lies between, as version 6"
if has_peer; then
	# without the thread's name: trace-cmd learns names from the events that it has read
	bare() { sed 's/^.*-\([0-9]* *\[\)/\1/'; }
	peer w.dat | bare >a
	for i in $(seq "$(find . -name 'w-*.dat' | wc -l)"); do peer w-$i.dat; done | bare >b
	cmp -s a b
	ok "trace-cmd reads the pieces as the whole" || diff a b | head -6 | sed "s|^|# |"
	is "$(peer range.dat | wc -l)" "$(lines range.dat | wc -l)" "and the range"
	trace-cmd record -q -e sched -e irq -o p.dat sleep 0.3 >/dev/null 2>&1 || rm -f p.dat
	if [ -s p.dat ]; then
		"$pantrace" split -q -e 300 -o q p.dat
		for i in $(seq "$(find . -name 'q-*.dat' | wc -l)"); do peer q-$i.dat; done >a
		peer p.dat | cmp -s - a
		ok "a recording of trace-cmd taken apart: its own report of the pieces is that of the whole"
	fi
fi
# marks of losses stay where they are
run split -q -e 500 -o lost small.dat
"$pantrace" report small.dat 2>/dev/null | grep '\[LOST' | sort >a
for f in lost-*.dat; do "$pantrace" report $f 2>/dev/null; done | grep '\[LOST' | sort | cmp -s - a && [ -s a ]
ok "marks of lost events are in the pieces"

# ---- restore: files of one CPU, as trace-cmd's recorders leave them
"$pantrace" start -q -B pieces -e sched -e irq
for cpu in $(ls $s/per_cpu); do taskset -c "${cpu#cpu}" timeout 0.5 sh -c 'while :; do /bin/true; done'; done 2>/dev/null
"$pantrace" stop -q -B pieces
"$pantrace" show -B pieces | grep -v '^#' | sed 's/^ *//' >shown
for c in $s/per_cpu/cpu*; do dd if="$c/trace_pipe_raw" of="r.dat.${c##*/}" bs=4096 iflag=nonblock 2>/dev/null; done
"$pantrace" reset -q -B pieces
# shellcheck disable=SC2046
run restore -C mono $(ls r.dat.cpu*)
is "$rc" 0 "restore" || echo "# $err"
like "$err" "^$(wc -l <shown) events, [0-9]* bytes, in r\.dat\$" "all events"
bare_lines <shown >a
lines r.dat | bare_lines | cmp -s - a
ok "its lines are those of the buffer"
if has_peer; then
	is "$(peer r.dat | wc -l)" "$(wc -l <shown)" "trace-cmd reads as many"
	trace-cmd restore -o peer.dat $(ls r.dat.cpu*) >/dev/null 2>&1
	peer peer.dat | bare_lines >a
	peer r.dat | bare_lines | cmp -s - a
	ok "and the lines of its own restore"
fi
run restore r.dat.cpu0
is "$rc" 1 "restore does not write over what is there"
run restore -i r.dat -o again.dat r.dat.cpu0
is "$rc" 0 "restore -i: formats of another recording"
head -c 6000 r.dat.cpu0 >cut.cpu0
run restore -i r.dat -o cut.dat cut.cpu0
is "$rc" 3 "a page that was cut off: code 3"
lines cut.dat | head -n 20 >a
lines again.dat | head -n 20 | cmp -s - a
ok "the events before the cut are there"
: >empty.cpu0
run restore -i r.dat -o empty.dat empty.cpu0
is "$rc" 0 "a CPU without events"
mkfifo fifo.cpu0
run restore -i r.dat -o fifo.dat fifo.cpu0
is "$rc" 1 "a FIFO is not waited for"

# ---- wrong words
: >nothing.dat
# A condition: the lines that trace-cmd has of them, with their times; what was lost before others is marked before the next.
"$pantrace" split -q -w 'prev_pid == 0 || comm == "true"' -o some w.dat
is $? 0 "split -w"
"$pantrace" report -w 'prev_pid == 0 || comm == "true"' w.dat >want
[ -s want ] && "$pantrace" report some.dat | cmp -s - want
ok "the events for which it holds: $(wc -l <want) of $(lines w.dat | wc -l)"
! has_peer || is "$(peer some.dat | wc -l)" "$(wc -l <want)" "as many for trace-cmd"
"$pantrace" split -q -w 'comm == "nobody"' -o no small.dat >/dev/null 2>&1
is "$? $(ls no.dat 2>/dev/null)" "1 " "none: no file"
run split -w 'prev_pdi == 0' -o no w.dat
like "$(echo "$err" | tr '\n' ' ')" "no event matches -w.*no event has a field 'prev_pdi'" "a name that no event has is named"
lost() { "$pantrace" report "$1" 2>/dev/null | sed -n 's/.*\[LOST \([0-9]*\) EVENTS\].*/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }
"$pantrace" split -q -w 'common_preempt_count == 0' -o one small.dat 2>/dev/null
"$pantrace" split -q -w 'common_preempt_count != 0 || common_pid > 0' -o two small.dat 2>/dev/null
bad=
for f in one.dat two.dat; do [ ! -e $f ] || [ "$(lost $f)" = "$(lost small.dat)" ] || bad="$bad $f $(lost $f)"; done
is "$bad" "" "losses before events that are left out are marked at the next: $(lost small.dat)"

for words in 'split w.dat' 'split -s 1' 'split -s 1 -e 5 w.dat' 'split w.dat 5 4' 'split w.dat x' 'split -s 1 nothing.dat' 'split -e 1 none.dat' 'split -B no -s 1 w.dat' \
	'split -o w -s 100 w.dat 1 2 3' 'restore' 'restore r.dat' 'restore w.txt' 'restore -o r.dat.cpu0 r.dat.cpu0' 'extract -B nobody-here' 'extract --compress x' 'snapshot' 'snapshot -s -f'; do
	# shellcheck disable=SC2086
	run $words
	[ $rc = 1 ] || [ $rc = 2 ]
	ok "$words: refused: $(printf %s "$err" | head -1)"
done
"$pantrace" record -q -e sched:sched_process_exec --compress none -d 0.1 -o plain.dat 2>/dev/null
python3 - <<'P'
import struct
b = bytearray(open("plain.dat", "rb").read())
struct.pack_into("<I", b, b.index(b"\0mono\0") + 6 + 8, 4000000000) # the number of the first CPU
open("order.dat", "wb").write(b)
P
run split -e 10 --v6 order.dat
is "$rc" 1 "a damaged list of CPUs is refused"
cp w.dat x.dat
run split -q -o x x.dat "$from" "$to"
is "$rc" 1 "split does not write over the recording"
cmp -s w.dat x.dat
ok "which is as before"
# what others may have called their files, and a limit of files' size
name=$(printf 'w\033[31m')
cp w.dat "$name.dat"
for words in 'split -c -o' 'restore -o'; do
	# shellcheck disable=SC2086
	run $words "$name-new.dat" "$name.dat"
	run restore "$name-new.dat"
	printf '%s%s\n' "$out" "$err" | grep -q "$(printf '\033')"
	is "$?" 1 "$words: names are shown escaped"
	bash -c "ulimit -f 200; exec '$pantrace' $words limited.dat w.dat" >out 2>err
	is "$? $(find . -name 'limited*' | wc -l) $(cat err)" "1 0 $(grep '^ERROR: cannot write .limited.*: File too large$' err)" "$words: a limit of files' size"
done
if command -v setpriv >/dev/null; then
	cp "$pantrace" tool && chmod 755 "$work" tool
	for words in extract 'snapshot -s'; do
		# shellcheck disable=SC2086
		setpriv --reuid 65534 --regid 65534 --clear-groups ./tool $words >out 2>err
		is "$?$(grep -c ERROR err)" 41 "$words as nobody: code 4, one sentence" || sed 's/^/# /' err >&2
	done
fi
done_testing
