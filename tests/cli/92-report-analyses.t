#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --sched, --syscalls, --faults, --block, --locks: against perf sched, perf lock, strace -c, and known workloads.
. "$(dirname "$0")/lib.sh"
need_root

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1

# ---- the scheduler ----
for _ in 1 2 3 4 5; do # until nothing is lost: perf's own sums do not know of losses
perf record -q -o sched -a -m 8M -e sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task,sched:sched_process_fork \
	-- sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done & for n in 1 2 3 4 5; do sleep 0.03; ls / >/dev/null; done; wait' >/dev/null 2>&1
"$pantrace" report --sched --json sched >table 2>/dev/null && break
done
# perf 6.1 takes a thread that was preempted by another class (R+) for asleep
perf script -i sched 2>/dev/null | sed -n 's/.*prev_pid=\([0-9]*\) .*prev_state=R+ .*/\1/p' | sort -u >odd
perf sched -i sched latency -p 2>/dev/null | awk 'FILENAME == "odd" { odd[$1] = 1; next } /avg:/ {
	split($0, f, "|"); n = split(f[1], t, ":"); gsub(/ /, "", t[n]); if (odd[t[n]]) next
	split(f[4], a, /[: ]+/); split(f[5], m, /[: ]+/); printf "%s %.1f %.3f\n", t[n], a[3] * f[3] * 1, m[3] }' odd - |
	awk '$3 > 0 { print $1, $3 }' | sort >want
jq -r 'select(.wait_max_ns >= 500) | "\(.task | sub(".*-"; "")) \(.wait_max_ns)"' table | awk 'FILENAME == "odd" { odd[$1] = 1; next } !odd[$1] { printf "%s %.3f\n", $1, $2 / 1e6 }' odd - | sort >got
[ -s want ] && awk 'NR == FNR { w[$1] = $2; next } { d = w[$1] - $2; if (!($1 in w) || d > 0.0011 || d < -0.0011) { print; bad = 1 } } END { exit bad }' got want >differs
ok "--sched: the longest waits of $(wc -l <want) threads are those of perf sched latency" || join -a1 differs got | head -5 | sed 's/^/# /'
perf sched -i sched timehist -s 2>/dev/null | awk '/\[[0-9]+(\/[0-9]+)?\] +-?[0-9]+ +[0-9]+ +[0-9.]+/ {
	match($0, /\[[0-9]+(\/[0-9]+)?\] +-?[0-9]/); t = substr($0, RSTART + 1); sub(/[\]\/].*/, "", t); n = split($0, f, /\] +/); split(f[n], v, " "); print t, v[2], v[3] }' | sort -u >want
# and does not count a last run whose sample has no thread any more (-1)
perf script -i sched 2>/dev/null | sed -n 's/^ *:-1 .*prev_pid=\([0-9]*\) .*/\1/p' | sort -u >gone
awk 'FILENAME == "gone" { gone[$1] = 1; next } !gone[$1]' gone want >kept && mv kept want
jq -r '"\(.task | sub(".*-"; "")) \(.switches) \(.on_ns)"' table | awk '{ printf "%s %s %.3f\n", $1, $2, $3 / 1e6 }' | sort >got
[ -s want ] && awk 'NR == FNR { w[$1] = $3; next } { d = w[$1] - $3; if (!($1 in w) || d > 0.0011 || d < -0.0011) { print; bad = 1 } } END { exit bad }' got want >differs
ok "--sched: time on a CPU of $(wc -l <want) threads is that of perf sched timehist" || join -a1 differs got | head -5 | sed 's/^/# /'
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
like "$("$pantrace" report --syscalls raw | tail -n 1)" 'not in it: 1 call whose return' "exit_group does not return"

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

# ---- locks ----
cat >fight.c <<'C'
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int word;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *name)
{
	for (int i = 0; i < 1000; i++) {
		mkdir(name, 0700);
		rmdir(name);
	}
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		usleep(10000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
int main(void)
{
	pthread_t other;
	pthread_create(&other, NULL, run, "one");
	run("two");
	/* in any case a wait, which fails: nobody wakes it */
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){.tv_nsec = 5000000});
	return pthread_join(other, NULL);
}
C
gcc -O1 -pthread -o fight fight.c || exit 1
perf record -q -g -o locks -e lock:contention_begin,lock:contention_end,syscalls:sys_enter_futex,syscalls:sys_exit_futex -- ./fight >/dev/null 2>&1
if perf lock contention -i locks >text 2>&1 && grep -q rwsem text; then
	awk '$1 ~ /^[0-9]+$/ { n[$8] += $1 } END { for (k in n) print k, n[k] }' text | sort >want
	"$pantrace" report --locks --json locks | jq -r 'select(.kind != "futex") | "\(.kind) \(.waits)"' | awk '{ n[$1] += $2 } END { for (k in n) print k, n[k] }' | sort >got
	is "$(cat got)" "$(cat want)" "--locks: waits of each kind are those of perf lock contention"
	perf script --ns -i locks -F tid,time,event,trace 2>/dev/null | awk '/lock:contention_begin: 0x.*WRITE/ { if (!(($1, $4) in t)) t[$1, $4] = $2 + 0; s[$1, $4] = $2 } /lock:contention_end:/ && ($1, $4) in s { split(s[$1, $4], a, /[.:]/); split($2, b, /[.:]/); sum += (b[1] - a[1]) * 1e9 + b[2] - a[2]; delete s[$1, $4] } END { printf "%.0f\n", sum }' >want
	is "$("$pantrace" report --locks --json locks | jq -s '[.[] | select(.kind == "rwsem:W") | .total_ns] | add')" "$(cat want)" "how long, to the nanosecond"
	like "$("$pantrace" report --locks --json -w 'comm == "fight"' locks | jq -c 'select(.kind != "mutex")' | head -n 1)" '"caller":"(filename_create|do_rmdir|do_mkdirat|[a-z_]*futex[a-z_]*|0x[0-9a-f]+)"' "whose caller is not the lock itself (a libc without symbols has addresses)"
	like "$("$pantrace" report --locks -g --json locks | grep rwsem:W | head -n 1)" '"stack":\["(filename_create|do_rmdir|start_dirop|end_dirop).*"do_syscall_64"' "-g: stacks"
	perf script --ns -i locks -F tid,time,event,trace 2>/dev/null | awk '/sys_enter_futex:.*op: 0x0*(80|00|109|189)[, ]/ { s[$1] = $2 } /sys_exit_futex:/ && $1 in s { split(s[$1], a, /[.:]/); split($2, b, /[.:]/); if ($4 != "0xfffffffffffffff5") { n++; sum += (b[1] - a[1]) * 1e9 + b[2] - a[2] } delete s[$1] } END { printf "%d %.0f\n", n, sum }' >want
	is "$("$pantrace" report --locks --json locks | jq -r -s '[.[] | select(.kind == "futex")] | "\(map(.waits) | add) \(map(.total_ns) | add)"')" "$(cat want)" "waiting in futex(2), and how long"
	for _ in 1 2 3 4 5; do # until they have fought
		"$pantrace" record -q -o locks.dat -e lock:contention_begin -R stacktrace -e lock:contention_end -e raw_syscalls:* -- ./fight >/dev/null 2>&1
		"$pantrace" report --locks --per-task --json locks.dat >table
		grep -q rwsem:W table && break
	done
	like "$(grep rwsem:W table | head -n 1)" '"task":"fight-[0-9]+","kind":"rwsem:W","lock":"0x[0-9a-f]+","caller":"(filename_create|do_rmdir|start_dirop|end_dirop)"' "a trace.dat: stacks are events of their own"
	like "$(grep '"futex"' table | grep -v '"failed":0')" '"task":"fight-[0-9]+","kind":"futex","lock":"0x[0-9a-f]+ of [0-9]+"' "futex among raw system calls, one that failed"
else
	echo "# perf cannot record contention: --locks is not tested"
fi

# ---- two hosts on one time line: threads, CPUs and locks of one number are different ones ----
"$pantrace" record -q --v6 -o one.dat -e sched:sched_switch -e raw_syscalls -- ./calls
python3 - <<'P'
import os
host = os.uname().nodename.encode()
data = open("one.dat", "rb").read()
at = data.index(b"Linux " + host + b" ") + 6
other = bytes(b + 1 if b in b"abcxyz0123" else b"a"[0] for b in host)
open("two.dat", "wb").write(data[:at] + other + data[at + len(host):])
P
for table in 'syscalls .calls,.total_ns' 'sched .switches,.on_ns' 'latency=sys_enter,sys_exit .count'; do
	set -- $table
	bad=$(for files in one.dat 'one.dat two.dat'; do "$pantrace" report --$1 --json $files | jq -s "[.[] | $2] | add"; done | paste -s -d ' ' | awk '$2 != 2 * $1 || !$1')
	is "$bad" "" "--${1%=*} of two hosts: twice that of one"
done

# ---- what was not recorded ----
for one in sched syscalls faults block locks functions; do
	file=sched
	[ $one != sched ] || file=raw
	[ $one != locks ] || file=soft
	run report --$one $file
	like "$rc $(printf '%s' "$out$err" | tr '\n' ' ')" '^1 .*was recorded.*HINT: `pantrace record -[ep]' "--$one: says what to record"
done
done_testing
