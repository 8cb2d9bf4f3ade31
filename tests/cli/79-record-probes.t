#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -e uprobe:, uretprobe:, usdt:: probes that are made for a recording, with variables, conditions and triggers, as trace.dat and
# as samples; trace-cmd and perf print what the program did; nothing of them stays.
. "$(dirname "$0")/lib.sh"
need_root
tracing=/sys/kernel/tracing
[ -w $tracing/uprobe_events ] && mkdir "$tracing/instances/record_test.$$" 2>/dev/null || { echo "1..0 # SKIP no uprobes, or no instances"; exit 0; }
rmdir "$tracing/instances/record_test.$$"
cd "$work" || exit 1
calls=$programs/calls
ln -s "$calls" shop
# ours [GREP OPTION]: probes and instances of the recorder that was the last one
left() { cat $tracing/uprobe_events | grep "pantrace_${1}_"; ls $tracing/instances | grep "^pantrace-$1-"; }

start record -e 'uprobe:./shop:work number text:string /number >= 6/' -e 'uretprobe:./shop:negative r=$retval:s64' -o both -- ./shop 10
wait $tracer
is "$?" 0 "functions of a program: exit code" || cat trace.err >&2
is "$("$pantrace" report -c both | tr -s ' \n' ' ')" " 10 probe_calls:negative__return 4 probe_calls:work " "each call, under the names of pantrace probe; a condition"
is "$("$pantrace" report both | grep -o 'number=9 text_string="item-9"')" 'number=9 text_string="item-9"' "variables"
is "$(left $tracer)" "" "nothing is left"
if command -v trace-cmd >/dev/null; then
	is "$(trace-cmd report -i both/trace.dat 2>/dev/null | sed -n 's/.*\(number=.*\)/\1/p' | tr '\n' ' ')" \
		'number=6 text_string="item-6" number=7 text_string="item-7" number=8 text_string="item-8" number=9 text_string="item-9" ' "trace-cmd's lines"
	is "$(trace-cmd report -i both/trace.dat 2>/dev/null | grep -c 'negative__return:.* r=-[1-9]$')" 9 "what functions return"
else
	skip "trace-cmd's lines" "no trace-cmd"
fi

# A name of one's own, a tracepoint and a trigger beside it.
run record -e 'uprobe:./shop:done=negative value' -R 'traceoff if value == 5' -e sched:sched_process_exec -o named.dat -- ./shop 10
is "$rc/$("$pantrace" report -c named.dat | tr -s ' \n' ' ')" "0/ 6 probe_calls:done 1 sched:sched_process_exec " "a name; -R; a tracepoint beside it" || printf '%s\n' "$err" >&2

# Threads of a process that runs already.
"$programs/sdt" 3 >/dev/null && run record -e "usdt:$programs/sdt:pantrace_test:guarded" -e "usdt:$programs/sdt:mine=plain" -o sdt.dat -- "$programs/sdt" 3
is "$rc/$("$pantrace" report -c sdt.dat | tr -s ' \n' ' ')" "0/ 3 sdt_pantrace_test:guarded 3 sdt_pantrace_test:mine " "USDT: behind a semaphore, and by another name" || printf '%s\n' "$err" >&2
is "$("$pantrace" report sdt.dat | grep -c 'guarded.* arg1=[0-2] arg2=1')" 3 "USDT: arguments"

# Samples of probes.
start record -g -e 'uprobe:./shop:work number /number >= 6/' -o samples.data -- ./shop 10
wait $tracer
is "$?/$("$pantrace" report -c samples.data 2>/dev/null | tr -s ' ')" "0/ 4 probe_calls:work" "-g: samples of a probe" || cat trace.err >&2
is "$(left $tracer)" "" "-g: nothing is left"
if command -v perf >/dev/null; then
	perf script -i samples.data >script 2>/dev/null
	is "$(grep -c 'probe_calls:work: .* number=[6-9]$' script)" 4 "perf script prints them"
	is "$(grep -c ' work+0x0 ' script)" 4 "with their call chains"
else
	skip "perf script prints them" "no perf"
fi

# Killed, in both kinds.
for kind in "" -g; do
	start record $kind -e uprobe:./shop:work -o killed$kind -- sleep 1000
	[ -n "$(left $tracer)" ]
	ok "kill -9 $kind: the probe is there"
	kill -9 $tracer
	wait $tracer 2>/dev/null
	pkill -x -f 'sleep 1000' -P 1 2>/dev/null
	until_true sh -c "! grep -q pantrace_${tracer}_ $tracing/uprobe_events"
	is "$(left $tracer)" "" "kill -9 $kind: nothing is left"
done

refused() # EVENT REGEX NAME
{
	run record -e "$1" -o refused -- true
	like "$rc $err" "$2" "$3"
	[ ! -e refused ]
	ok "$3: no file" || rm -rf refused
}
refused uprobe:./shop '^2 .*which program or library, and which function' "no function"
refused uprobe:./shop:wrok "^1 .*'wrok' not found" "a function that is not there"
refused uprobe:./nothing:work '^1 .*\./nothing' "a program that is not there"
refused 'uprobe:./shop:work nunber' "^1 .*'nunber' variable" "a variable that is not there"
refused 'uprobe:./shop:work number /nunber > 1/' "^1 .*no field 'nunber'" "a condition on what is not recorded"
refused 'uprobe:./shop:work number /number > 1' '^2 .*not closed' "a condition without its end"
cp "$calls" nobodys
chmod 755 "$work" nobodys
setpriv --reuid 65534 --clear-groups "$pantrace" record -e uprobe:./nobodys:work -o refused -- true 2>err
like "$? $(cat err)" '^4 .*tracefs' "nobody"
done_testing
