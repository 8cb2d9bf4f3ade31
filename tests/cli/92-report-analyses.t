#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --sched, --syscalls, --faults, --block: against perf sched, strace -c, and known workloads.
. "$(dirname "$0")/lib.sh"
need_root

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1

# ---- the scheduler ----
perf record -q -o sched -a -e sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task,sched:sched_process_fork \
	-- sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done & for n in 1 2 3 4 5; do sleep 0.03; ls / >/dev/null; done; wait' >/dev/null 2>&1
"$pantrace" report --sched --json sched >table
# perf 6.1 takes a thread that was preempted by another class (R+) for asleep
perf script -i sched 2>/dev/null | sed -n 's/.*prev_pid=\([0-9]*\) .*prev_state=R+ .*/\1/p' | sort -u >odd
perf sched -i sched latency -p 2>/dev/null | awk 'FILENAME == "odd" { odd[$1] = 1; next } /avg:/ {
	split($0, f, "|"); n = split(f[1], t, ":"); gsub(/ /, "", t[n]); if (odd[t[n]]) next
	split(f[4], a, /[: ]+/); split(f[5], m, /[: ]+/); printf "%s %.1f %.3f\n", t[n], a[3] * f[3] * 1, m[3] }' odd - |
	awk '$3 > 0 { print $1, $3 }' | sort >want
jq -r 'select(.wait_max_ns >= 500) | "\(.task | sub(".*-"; "")) \(.wait_max_ns)"' table | awk 'FILENAME == "odd" { odd[$1] = 1; next } !odd[$1] { printf "%s %.3f\n", $1, $2 / 1e6 }' odd - | sort >got
[ -s want ] && awk 'NR == FNR { w[$1] = $2; next } { d = w[$1] - $2; if (!($1 in w) || d > 0.0011 || d < -0.0011) { print; bad = 1 } } END { exit bad }' got want
ok "--sched: the longest waits of $(wc -l <want) threads are those of perf sched latency" || { head -5 want got | sed 's/^/# /'; }
perf sched -i sched timehist -s 2>/dev/null | awk '/\[[0-9]+(\/[0-9]+)?\] +-?[0-9]+ +[0-9]+ +[0-9.]+/ {
	split($0, p, "["); t = p[2]; sub(/[\]\/].*/, "", t); n = split($0, f, /\] +/); split(f[n], v, " "); print t, v[2], v[3] }' | sort -u >want
# and does not count a last run whose sample has no thread any more (X)
perf script -i sched 2>/dev/null | sed -n 's/.*prev_pid=\([0-9]*\) .*prev_state=X .*/\1/p' | sort -u >gone
awk 'FILENAME == "gone" { gone[$1] = 1; next } !gone[$1]' gone want >kept && mv kept want
jq -r '"\(.task | sub(".*-"; "")) \(.switches) \(.on_ns)"' table | awk '{ printf "%s %s %.3f\n", $1, $2, $3 / 1e6 }' | sort >got
[ -s want ] && awk 'NR == FNR { w[$1] = $3; next } { d = w[$1] - $3; if (!($1 in w) || d > 0.0011 || d < -0.0011) { print; bad = 1 } } END { exit bad }' got want
ok "--sched: time on a CPU of $(wc -l <want) threads is that of perf sched timehist" || { head -5 want got | sed 's/^/# /'; }
is "$(jq -s 'map(.wakeups) | add' table)" "$("$pantrace" report -c -e 'sched:sched_wakeup*' sched | awk '{ n += $1 } END { print n }')" "wake-ups are all"
is "$(jq -s 'map(.migrations) | add' table)" "$("$pantrace" report -c -e sched:sched_migrate_task sched | awk '{ n += $1 } END { print n + 0 }')" "migrations are all"
is "$(jq -s 'map(.switches) | add' table)" "$("$pantrace" report -e sched:sched_switch sched | grep -vc 'next_pid=0 ')" "every switch to a thread"
like "$("$pantrace" report --sched sched | tail -n 1)" '^CPU [0-9]+: [0-9.]+ of [0-9.]+ ms idle' "CPUs"
run report --sched --compare sched sched
unlike "$(printf '%s\n' "$out" | awk 'NR > 1 { print $1 }' | sort -u)" '[1-9]' "--compare by name"

# ---- system calls ----
cat >calls.c <<'C'
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 300; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 20; i++)
		open("/nonexistent", O_RDONLY);
	usleep(50000);
	return 0;
}
C
gcc -O1 -static -o calls calls.c || exit 1
perf record -q -o raw -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- ./calls >/dev/null 2>&1
strace -c -o counts ./calls
awk '$1 ~ /^[0-9]/ && $NF != "total" { print $NF, $4, (NF > 5 ? $5 : 0) }' counts | sort >want
"$pantrace" report --syscalls -w 'comm == "calls"' --json raw | jq -r '"\(.syscall) \(.calls) \(.errors)"' | sort >got
is "$(cat got)" "$(cat want)" "--syscalls: calls and errors are those of strace -c"
slept=$("$pantrace" report --syscalls --json raw | jq 'select(.syscall == "clock_nanosleep") | .total_ns')
[ "${slept:-0}" -ge 50000000 ]
ok "a sleep of 50 ms takes so long: $slept ns"
perf record -q -o named -e syscalls:sys_enter_getppid,syscalls:sys_exit_getppid -- ./calls >/dev/null 2>&1
is "$("$pantrace" report --syscalls --json named | jq -c '[.syscall, .calls]')" '["getppid",300]' "events of one call"
like "$("$pantrace" report --syscalls --per-task -f csv raw)" '^[0-9.]+,[0-9]+,300,0,.*,calls-[0-9]+,getppid$' "--per-task"
like "$("$pantrace" report --syscalls raw | tail -n 1)" 'not in it: 1 calls whose return' "exit_group does not return"

# ---- page faults ----
perf record -q -o faults -c 1 -e page-faults,exceptions:page_fault_user,exceptions:page_fault_kernel -- ls / >/dev/null 2>&1
run report --faults --json faults
is "$(printf '%s\n' "$out" | jq -s 'map(.faults) | add')" "$("$pantrace" report -c -e 'exceptions:*' faults | awk '{ n += $1 } END { print n }')" "--faults: all exceptions, once"
perf record -q -o soft -c 1 -e minor-faults -- ls / >/dev/null 2>&1
is "$("$pantrace" report --faults --json soft | jq -s 'map(.minor) | add')" "$("$pantrace" report -c soft | awk '{ print $1 }')" "what perf sampled"

# ---- disks ----
loop=
trap '[ -z "$loop" ] || losetup -d "$loop"; rm -rf "$work"' EXIT
dd if=/dev/zero of=disk bs=1M count=4 2>/dev/null && loop=$(losetup -f --show disk 2>/dev/null)
if [ -n "$loop" ] && perf record -q -o block -a -e block:block_rq_issue,block:block_rq_complete -- dd if=/dev/zero of="$loop" bs=4096 count=64 oflag=direct >/dev/null 2>&1; then
	device=$(printf '%d,%d' "0x$(stat -c %t "$loop")" "0x$(stat -c %T "$loop")")
	is "$("$pantrace" report --block --json block | jq -s -c --arg d "$device" '[.[] | select(.device == $d and (.operation | startswith("W")))] | [(map(.requests) | add), (map(.bytes) | add)]')" '[64,262144]' "--block: requests and bytes that dd wrote"
	is "$("$pantrace" report --block --json block | jq -s --arg d "$device" '[.[] | select(.device == $d and (.operation | startswith("W")))] | all(.average_ns > 0 and .average_ns <= .max_ns)')" true "how long they took"
else
	echo "# no loop device: --block is not tested"
fi

# ---- what was not recorded ----
for one in sched syscalls faults block; do
	file=sched
	[ $one != sched ] || file=raw
	run report --$one $file
	like "$rc $(printf '%s' "$out$err" | tr '\n' ' ')" '^1 .*was recorded.*HINT: `pantrace record -e' "--$one: says what to record"
done
done_testing
