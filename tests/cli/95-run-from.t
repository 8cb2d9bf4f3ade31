#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run --from: a script over a recording gives what it gave live, and what a recording does not hold is refused before the first event.
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1

cp "$(command -v dd)" ddtruth
# One run, seen by the script live and by the recorder. What the program does by itself is counted:
# writes of one byte, which nothing else of this name makes.
cat >truth.bt <<'E2'
BEGIN { printf("begin\n"); }
tracepoint:raw_syscalls:sys_enter /comm == "ddtruth" && args.id == 1 && args.args[2] == 1/ {
	@n = count(); @by[comm, args.id] = sum(args.args[2]); @fd = hist(args.args[0]); @last = args.args[1] != 0;
	@stats[comm] = stats(args.id + 1); @l = lhist(args.args[2], 0, 10, 1); @min = min(args.id); @max = max(args.args[2]);
	@avg[args.id] = avg(args.args[0]); @plain++; @text[comm] = "one"; @pair = (args.id, comm);
	if (@plain == 3000) { printf("the last one of %s: %d\n", comm, args.id); }
}
END { for ($kv : @by) { printf("%s %d\n", $kv.0.0, (int64)$kv.1); } printf("end\n"); }
E2
"$pantrace" record -q -o rec -e raw_syscalls:sys_enter -- \
	"$pantrace" -q truth.bt -c "$work/ddtruth if=/dev/zero of=/dev/null bs=1 count=3000 status=none" >live 2>live.err
"$pantrace" run -q --from rec truth.bt >from 2>from.err
rc=$?
is "$rc" 0 "over the recording of the same run"
grep -q '@n: 3000' from && cmp -s live from
ok "maps and lines are those of the live run" || { diff live from | head -20; head -3 live.err from.err; } | sed 's/^/# /'
"$pantrace" -q --from rec/trace.dat truth.bt >file 2>/dev/null
cmp -s from file
ok "the file alone, and without the word run"
"$pantrace" run -f json --from rec -e 'tracepoint:raw_syscalls:sys_enter /comm == "ddtruth" && args.id == 1 && args.args[2] == 1/ { @n = count(); }' >json
like "$(cat json)" '"data": *\{"@n": *3000\}' "as JSON"

# the clock is the recording's
from() { run run -q --from "$@"; }
from rec -e 'BEGIN { @b = elapsed } interval:ms:10 { @ticks = count(); @at = max(elapsed) } tracepoint:sched:x { } END { @e = elapsed }'
like "$err" "No matches for tracepoint sched:x in the recording" "what was not recorded is refused"
from rec -e 'BEGIN { printf("%d\n", elapsed) } interval:ms:1 { @n++; if (elapsed != @n * 1000000) { @wrong++ } } END { printf("%d\n", elapsed / 1000000 == @n) }'
is "$(echo "$out" | head -2 | tr '\n' ' ')" "0 1 " "timers fire by the recording's clock, from its first event to its last"
like "$out" "@wrong: 0" "each when it is due"
from rec -e 'tracepoint:raw_syscalls:sys_enter { @n++; if (@n == 5) { exit(7) } } END { printf("over\n") }'
is "$rc $(echo "$out" | tr -d '\n')" "7 over@n: 5" "exit() ends it at once"
from rec -e 'tracepoint:raw_syscalls:* { @[probe] = count() } tracepoint:raw_syscalls:sys_enter { @x[tid, cpu] = count(); clear(@x); @z[1] = 1; delete(@z[1]); }'
like "$out" '@\[tracepoint:raw_syscalls:sys_enter\]: [0-9]+' "wildcards are those of the recording"
from rec -e 'BEGIN { @["a"] = 1; @["b"] = 2; print(@); clear(@); @["c"] = 3; }'
is "$(echo "$out" | tr '\n' ' ')" "@[a]: 1 @[b]: 2 @[c]: 3 " "print and clear act when the probe is done"

# what a recording does not hold
refused() { # SCRIPT TEXT NAME
	from rec -e "$1"
	is "$([ "$rc" -ne 0 ] && echo refused)" refused "$3: refused"
	like "$err" "$2" "$3"
}
refused 'tracepoint:raw_syscalls:sys_enter { printf("%s", str(args.args[1])) }' '1:50-67: ERROR: the recording does not hold the memory that this reads' "memory behind a pointer"
refused 'tracepoint:raw_syscalls:sys_enter { @[uid] = count() }' '1:39-42: ERROR: uid: a recording does not hold this' "users"
refused 'tracepoint:raw_syscalls:sys_enter { @[kstack] = count() }' '1:39-45: ERROR: this recording does not hold stacks' "stacks that were not taken"
refused 'tracepoint:raw_syscalls:sys_enter { @ = curtask.pid }' 'ERROR: curtask: a recording does not hold this' "the kernel's structures"
refused 'kprobe:vfs_read { @ = count() }' 'ERROR: kprobe probes cannot run over a recording' "probes that were not there"
refused 'interval:s:1 { @[comm] = count() }' 'ERROR: comm: over a recording, interval has no thread' "the thread of a timer"
refused 'tracepoint:raw_syscalls:sys_enter { @ = ncpus }' 'ERROR: ncpus: a recording' "the machine"
refused 'BEGIN { @ = nsecs(tai) }' 'ERROR: nsecs\(tai\): a recording has one clock' "other clocks"
if command -v trace-cmd >/dev/null && trace-cmd record -q -o tc.dat -C mono -e raw_syscalls:sys_enter ./ddtruth if=/dev/zero of=/dev/null bs=1 count=500 status=none >/dev/null 2>&1; then
	from tc.dat -e 'tracepoint:raw_syscalls:sys_enter { @ = pid }'
	like "$err" '1:41-44: ERROR: this recording does not hold which process' "the process, if it is only known by its threads"
	from tc.dat -e 'tracepoint:raw_syscalls:sys_enter /comm == "ddtruth" && args.id == 1 && args.args[2] == 1/ { @n = count(); @t[tid] = count() }'
	like "$out" "@n: 500" "a recording of trace-cmd"
else
	skip "a recording of trace-cmd" "there is no trace-cmd, or it cannot record here"
fi
from rec -e 'tracepoint:raw_syscalls:sys_enter { self.x = 1 }'
like "$err" "WARNING: the recording has no sched:sched_process_exit" "values of threads may stay: that is said"
from rec -c true -e 'BEGIN { }'
is "$rc" 1 "-c is for live runs"
like "$err" "is for live runs" "and says so"
from missing -e 'BEGIN { }'
like "$err" "missing" "a file that is not there"
: >empty
from empty -e 'BEGIN { }'
like "$err" "'empty' is not a recording" "a file of 0 bytes"

# which process: of threads that lived for a moment, too
cat >threads.py <<'E2'
import os, threading
def look(): os.getppid()
for i in range(20):
    t = threading.Thread(target=look); t.start(); t.join()
E2
"$pantrace" record -q -o threads -e syscalls:sys_enter_getppid -- python3 threads.py
from threads -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3"/ { @[pid == tid] = count(); @p[pid] = count() }'
# The kernel keeps a name in a slot that a thread of another program may take: a few may be missing on a busy machine.
like "$out" '@\[false\]: (1[5-9]|20)$' "threads and the process that they are of"
is "$(echo "$out" | grep -c '^@p')" 1 "which is one"

# tools
run syscount --from rec -c --json
like "$out" '"syscall":"write","count":30[0-9][0-9]' "syscount --from"
run syscount --from rec -- true
is "$rc" 2 "and no command beside"
run opensnoop --from rec
like "$err" "No matches for tracepoint" "a tool whose events were not recorded says so"

# perf.data: its samples know the process, and may have gaps
if command -v perf >/dev/null; then
	cat >calls.c <<'E2'
#include <unistd.h>
#include <sys/syscall.h>
__attribute__((noinline)) void inner_call(void) { for (int i = 0; i < 50; i++) syscall(SYS_getppid); }
__attribute__((noinline)) void outer_call(void) { inner_call(); __asm__(""); }
int main(void) { outer_call(); return 0; }
E2
	gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o calls calls.c
	perf record -q -g -o stacks.data -e syscalls:sys_enter_getppid,sched:sched_process_exit -- ./calls 2>/dev/null
	stacks='tracepoint:syscalls:sys_enter_getppid /comm == "calls"/ { @[ustack(3)] = count(); }'
	"$pantrace" -q -e "$stacks" -c ./calls >live
	from stacks.data -e "$stacks"
	is "$out" "$(cat live)" "stacks are those of a live run"
	like "$out" "outer_call" "with the recording's names"
	from stacks.data -e 'tracepoint:sched:sched_process_exit { @[kstack(2)] = count() }'
	like "$out" "do_exit" "stacks of the kernel"
	perf record -q -a -o perf.data -e raw_syscalls:sys_enter -- ./ddtruth if=/dev/zero of=/dev/null bs=1 count=3000 status=none 2>/dev/null
	from perf.data -e 'tracepoint:raw_syscalls:sys_enter /comm == "ddtruth" && args.id == 1 && args.args[2] == 1/ { @[comm, pid == tid] = count(); }'
	# what perf itself finds in the same file, which may lack what it lost: the program's name and its writes of one byte
	seen=$(perf script -i perf.data -F comm,event,trace 2>/dev/null | grep -c '^ *ddtruth .*NR 1 ([^,]*, [^,]*, 1,')
	is "$([ "$seen" -gt 1000 ] && echo many)" many "perf script has $seen of the calls"
	is "$(echo "$out" | tail -1)" "@[ddtruth, true]: $seen" "perf.data: as many as perf script finds"
else
	skip "perf.data" "perf is not installed"
fi

# A perf.data with a hole in it: what could be read is counted, and the run fails.
if [ -s perf.data ]; then
	size=$(stat -c %s perf.data)
	head -c $((size * 2 / 3)) perf.data >cut.data
	from cut.data -e 'tracepoint:raw_syscalls:sys_enter { @n = count(); }'
	like "$rc $(echo "$err" | head -1)" '^1 ERROR: cut.data: damaged or cut off' "a perf.data that was cut short fails"
fi

# anybody may read a recording of their own
chmod 755 "$work" rec && chmod 644 rec/trace.dat
out=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$pantrace" run -q --from "$work/rec" -e 'tracepoint:raw_syscalls:sys_enter /comm == "ddtruth" && args.id == 1 && args.args[2] == 1/ { @n = count(); }' 2>&1)
is "$(echo "$out" | tail -1)" "@n: 3000" "without any privilege"

# Damage is told, and nothing but what is there is counted.
head -c $(($(stat -c %s rec/trace.dat) * 2 / 3)) rec/trace.dat >cut.dat
from cut.dat -e 'tracepoint:raw_syscalls:sys_enter { @n = count(); }'
[ "$rc" -ne 0 ]
ok "a file that was cut short fails" || echo "# $rc $out $err"
done_testing
