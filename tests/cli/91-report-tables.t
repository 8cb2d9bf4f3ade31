#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --top, --latency, --compare: against perf report, and awk over the lines of the same recording.
. "$(dirname "$0")/lib.sh"
need_root

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1
cat >spin.c <<'C'
#include <unistd.h>
#include <sys/syscall.h>
volatile unsigned long n;
__attribute__((noinline)) void leaf(int k) { for (int i = 0; i < k; i++) n += i; }
__attribute__((noinline)) void inner_spin(void) { leaf(20000000); for (int i = 0; i < 20000000; i++) n += i; for (int i = 0; i < 500; i++) syscall(SYS_getppid); }
__attribute__((noinline)) void outer_spin(void) { inner_spin(); leaf(20000000); n++; }
int main(void) { outer_spin(); return 0; }
C
# static: the samples of a start by ld.so would have the names that its debug file says, inlined ones, too
gcc -O1 -g -static -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -o spin spin.c || exit 1
perf record -q -o chains -g -F 999 -e cpu-clock -- ./spin >/dev/null 2>&1
perf record -q -o calls -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- sh -c './spin; ls / >/dev/null' >/dev/null 2>&1
perf record -q -o other -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- ls / >/dev/null 2>&1

# ---- samples: the percentages of perf report ----
perf report -i chains --no-children -g none --stdio --sort sym 2>/dev/null | awk '/^ *[0-9.]+%/ { print $1, $3 }' | sort >want
"$pantrace" report --top symbol chains | awk 'NR > 1 { print $1, $3 }' | sort >got
is "$(cat got)" "$(cat want)" "--top symbol: as perf report --sort sym"
# an address without a name is the file's in ours, the process's in perf's
perf report -i chains --children -g none --stdio --sort sym 2>/dev/null | awk '/^ *[0-9.]+%/ && $4 !~ /^0x/ { print $1, $2, $4 }' | sort >want
"$pantrace" report --top symbol --children chains | awk 'NR > 1 && $5 !~ /^0x/ { print $1, $2, $5 }' | sort >got
is "$(cat got)" "$(cat want)" "--children: as perf report --children"
run report --top chains
like "$(printf '%s\n' "$out" | sed -n 1p)" '^PERCENT COUNT EVENT, COMM, OBJECT, SYMBOL$' "--top alone: samples by function"
like "$out" '100\.00% +[0-9]+   spin' "each key below the one before"
like "$("$pantrace" report -g callee --top symbol chains | tr '\n' ' ')" ' leaf +[0-9.]+% +[0-9]+   (inner_spin|outer_spin|main) ' "-g: callers below the function"
like "$("$pantrace" report -g caller --top comm chains | tr -s '\n ' ' ')" 'main [0-9.]+% [0-9]+ outer_spin' "-g caller: from the outermost function on"
is "$("$pantrace" report --top stack --json chains | jq -r '.stack[0]' | grep -x -e leaf -e inner_spin | sort -u | tr '\n' ' ')" "inner_spin leaf " "--top stack --json: frames"
is "$("$pantrace" report --top stack --json chains | jq -s 'map(.count) | add')" "$("$pantrace" report -c chains | awk '{ n += $1 } END { print n }')" "stacks are all samples"

# ---- other events: counts are those of the lines ----
"$pantrace" report calls | awk '{ split($0, f, /: +/); n = split($0, w, " "); print w[1] "-" w[2], w[5] }' | sed 's/:$//' | sort | uniq -c | awk '{ print $1, $3, $2 }' | sort >want
"$pantrace" report --top event,task -f csv calls | awk -F, 'NR > 1 { print $2, $3, $4 }' | sort >got
is "$(cat got)" "$(cat want)" "--top event,task -f csv: as counted from the lines"
perf record -q -o waking -e sched:sched_waking -- sh -c 'ls / | cat >/dev/null' >/dev/null 2>&1
perf script -i waking -F comm,tid 2>/dev/null | awk '{ print $1 "-" $2 }' | sort | uniq -c | awk '{ print $1, $2 }' >want
is "$("$pantrace" report --top task -f csv waking | awk -F, 'NR > 1 { print $2, $3 }' | sort -k 2)" "$(sort -k 2 want)" "a task is who had the event, not whom its fields name"
is "$("$pantrace" report --top calls)" "$("$pantrace" report --top=event,task calls)" "--top alone: by event and task"
is "$("$pantrace" report --top id -e sys_enter -w 'comm == "spin"' --json calls | jq -c 'select(.id == "110") | .count')" 500 "--top FIELD"
"$pantrace" report --top event --sum ret -e sys_exit --json -w 'ret < 100000' calls | jq -r '"\(.count) \(.sum) \(.max)"' >got
"$pantrace" report -e sys_exit -w 'ret < 100000' calls | awk '{ sub(/.*= /, ""); n++; s += $1; if (n == 1 || $1 + 0 > m) m = $1 + 0 } END { printf "%d %.0f %.0f\n", n, s, m }' >want
is "$(cat got)" "$(cat want)" "--sum: count, sum, maximum"
run report --top id -n 2 calls
is "$(printf '%s\n' "$out" | grep -c .)" 4 "-n: as many rows, the rest in one"
is "$(printf '%s\n' "$out" | awk 'NR > 1 { n += $2 } END { print n }')" "$("$pantrace" report -c calls | awk '{ n += $1 } END { print n }')" "the rows add up to all events"

# ---- latency ----
"$pantrace" report -e 'sys_*' calls | awk '
	/sys_enter:/ { open[$2] = 1 }
	/sys_exit:/ && open[$2] { n++; open[$2] = 0 }
	END { print n }' >want
run report --latency 'sys_enter,sys_exit' --json calls
is "$(printf '%s\n' "$out" | jq .count)" "$(cat want)" "--latency: as many pairs as the lines have"
run report --latency 'latency(raw_syscalls:sys_enter /id == 110/, raw_syscalls:sys_exit)' -w 'comm == "spin"' calls
is "$(printf '%s\n' "$out" | awk 'NR == 2 { print $1 }')" 500 "conditions, and the spelling of triggers"
like "$(printf '%s\n' "$out" | tr '\n' ' ')" 'seconds: \[' "the distribution"
is "$(printf '%s\n' "$out" | awk '/\|/ { sub(/.*\)|.*\]/, ""); n += $1 } END { print n }')" 500 "its buckets add up"
perf script --ns -i calls -F tid,time,event 2>/dev/null | /usr/bin/python3 -c '
import math, sys
begun, took = {}, []
for line in sys.stdin:
    tid, time, event = line.split()[:3]
    at = int(time.rstrip(":").replace(".", ""))
    if event == "raw_syscalls:sys_enter:":
        begun[tid] = at
    elif tid in begun:
        took.append(at - begun.pop(tid))
took.sort()
print(len(took), *(took[max(0, math.ceil(len(took) * p) - 1)] for p in (.5, .9, .99)), took[-1])' >want
"$pantrace" report --latency 'sys_enter,sys_exit' --json calls | jq -r '"\(.count) \(.p50_ns) \(.p90_ns) \(.p99_ns) \(.max_ns)"' >got
# of more than 1024 values, at most 0.4 % above
paste -d ' ' want got | awk '{ for (i = 1; i <= 5; i++) if ($(i + 5) < $i || $(i + 5) > $i * 1.004) exit 1 }'
ok "percentiles: those of all values, sorted" || cat want got
run report --latency 'sys_enter,sys_exit,id' calls
is "$rc" 0 "a key that is a field"
# the same workload seen from outside: a second of sleep
perf record -q -o sleep -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- sleep 0.3 >/dev/null 2>&1
took=$("$pantrace" report --latency 'sys_enter /id == 230/,sys_exit /id == 230/' --json sleep | jq .max_ns)
[ "${took:-0}" -ge 300000000 ] && [ "$took" -lt 30000000000 ]
ok "a sleep of 0.3 s takes so long: $took ns"

# ---- two recordings ----
run report --compare --top comm calls other
like "$(printf '%s\n' "$out" | sed -n 2,3p)" '^ *-[0-9.]+% .* spin' "--compare: what is gone"
is "$(printf '%s\n' "$out" | awk 'NR > 1 { o += $2; n += $3 } END { printf "%.0f %.0f\n", o, n }')" "100 100" "shares of both add up"
run report --compare calls calls
unlike "$(printf '%s\n' "$out" | awk 'NR > 1 { print $1 }' | sort -u)" '[1-9]' "a recording has not changed against itself"

# ---- losses ----
perf record -q -m 1 -o lossy -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- dd if=/dev/zero of=/dev/null bs=1 count=100000 >/dev/null 2>&1
run report lossy
lost=$(printf '%s\n' "$err" | sed -n 's/.*lost \([0-9]*\) events.*/\1/p')
unplaced=$(printf '%s\n' "$err" | sed -n 's/.*where \([0-9]*\) of them were is not recorded.*/\1/p') # the ring was full to the end
placed=$((${lost:-0} - ${unplaced:-0}))
is "$(printf '%s\n' "$out" | awk '/^# [0-9]+ events? (was|were) lost here$/ { n += $2 } END { print n + 0 }')" "$placed" "losses stand where they are, and add up"
if [ "${lost:-0}" -gt 0 ]; then
	like "$rc $err" '^3 .*lost [0-9]+ events, at [0-9]+ places?, [0-9]+\.[0-9]+' "where they begin and end"
	is "$("$pantrace" report -w 'id == 1' lossy 2>/dev/null | awk '/^#/ { n += $2 } END { print n }')" "$placed" "also between events that are chosen"
	# dd calls read and write in turn: behind a loss neither is taken for the end of what was before it
	"$pantrace" report lossy 2>/dev/null | awk '/^#/ { open = 0 } /sys_enter:/ { open = 1 } /sys_exit:/ { n += open; open = 0 } END { print n }' >want
	is "$("$pantrace" report --latency sys_enter,sys_exit --json lossy 2>/dev/null | jq .count)" "$(cat want)" "--latency: no pair across a loss"
fi

# ---- a terminal ----
on_terminal() # OPTIONS...
{
	PAGER='sed s/^/paged:/' python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$pantrace" report "$@" </dev/null | tr -d '\r'
}
is "$(on_terminal -c other)" "$("$pantrace" report -c other | sed 's/^/paged:/')" "on a terminal: through the pager"
is "$(on_terminal --no-pager --top other)" "$("$pantrace" report --top other)" "--no-pager"
like "$(on_terminal missing)" '^paged:ERROR: cannot read' "errors, too"

# ---- refused ----
run report --top idd calls
like "$rc $err" "^1 .*has a field 'idd'" "a key that no event has"
run report --top calls other
is "$rc" 1 "two recordings whose clocks are unknown"
run report --top --latency a,b calls
is "$rc" 2 "two tables"
run report --top -f babeltrace calls
like "$rc $err" "^2 .*a table is text, json or csv" "a table in another format"
run report --compare calls
like "$rc $err" '^2 .*two recordings' "--compare of one"
run report --compare chains calls
like "$rc $err" '^1 .*different tables' "--compare of samples with events, without keys"
run report --compare --top comm chains calls
is "$rc" 0 "and with keys"
run report --latency sys_enter calls
like "$rc $err" '^2 .*second event is missing' "--latency of one event"
run report --latency sys_enter,foo calls
like "$rc $err" "^1 .*no event 'foo' was recorded" "--latency to what was not recorded"
run report --top a,,b calls
like "$rc $err" '^2 .*a key is empty' "an empty key"
printf ' sh-9 [000] 1.0: a:b: n=18446744073709551615 m=9223372036854775807 k=-9223372036854775808\n%.0s' 1 2 >large.txt
for field in n m k; do
	run report --sum $field large.txt
	like "$rc $out$err" "^1 ERROR: '$field' or its sum does not fit 63 bits" "--sum $field: no sum is wrapped around"
done
perf record -q --period -o weights -g -c 1000003 -e cpu-clock:u -- ./spin >/dev/null 2>&1
perl -0777 -pe 's/\x43\x42\x0f\0{5}/\xff\xff\xff\xff\xff\xff\xff\x7f/g' weights >large.data
for option in '--top symbol' '--calls main' '--annotate leaf'; do
	run report $option large.data
	like "$rc $out$err" "^1 ERROR: 'period' or its sum does not fit 63 bits" "$option: no sum is wrapped around"
done
run report -n 1 -w 'k < 0' large.txt
like "$rc $out" '^0 .*k=-9223372036854775808' "the least number is one"
done_testing
