#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run --engine user: a script over a trace buffer, without bpf(2): the same numbers as in the kernel, and as over a recording of the run.
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1

# One run is seen three times: by the kernel's programs, by those in pantrace, and by a recorder. Threads come and go, and change names.
cat >busy.c <<'C'
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *name)
{
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 700; i++)
		syscall(SYS_getppid);
	return NULL;
}
int main(void)
{
	pthread_t one, two;
	run("busy-main");
	pthread_create(&one, NULL, run, "busy-one");
	pthread_create(&two, NULL, run, "busy-two");
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	if (!fork())
		run("busy-child"), _exit(0);
	wait(NULL);
	return 0;
}
C
gcc -O1 -pthread -o busy busy.c || exit 1
cat >count.bt <<'E2'
BEGIN { printf("begin\n"); }
tracepoint:syscalls:sys_enter_getppid /strncmp(comm, "busy", 4) == 0/ {
	@n = count(); @by[comm, pid == tid] = count(); @nr = hist(args.__syscall_nr); @text[comm] = "one";
	@processes[pid] = 1; @threads[tid] = 1; @depth++;
	if (@depth == 2800) { printf("the last one\n"); }
}
END { printf("%d processes, %d threads\n", len(@processes), len(@threads)); clear(@processes); clear(@threads); }
E2
user() { "$pantrace" run -q --engine user "$@"; }
"$pantrace" record -q -o rec -e syscalls:sys_enter_getppid -- \
	"$pantrace" run -q --engine user count.bt -c "$pantrace run -q count.bt -c ./busy -o kernel" -o user 2>err
is $? 0 "a run seen three times" || cat err
grep -q '@n: 2800' kernel && grep -q '2 processes, 4 threads' kernel
ok "in the kernel" || cat kernel
cmp -s kernel user
ok "in pantrace: the same" || diff kernel user
"$pantrace" run -q --from rec count.bt >from 2>err
# There a thread has its last name all the time (a shell, before it becomes "busy"), and a name may be missing on a busy machine.
like "$(grep @n: from)" '^@n: (280[0-9]|210[0-9])$' "over the recording: the same"

# Without the rights for bpf(2)
rights='--bounding-set=-bpf,-sys_admin,-perfmon'
run_without() { setpriv $rights "$pantrace" run "$@" >out 2>err; rc=$?; out=$(cat out); err=$(cat err); }
run_without -q count.bt -c ./busy
is "$rc" 4 "BPF is refused"
like "$err" 'HINT: --engine user' "which is said with the way out"
run_without -q --engine user count.bt -c ./busy
is "$rc $(echo "$out" | grep @n:)" "0 @n: 2800" "and the script runs there"
is "$(strace -f -e trace=bpf,perf_event_open "$pantrace" run -q --engine user count.bt -c ./busy 2>&1 | grep -c '^\[*[a-z0-9 ]*\]* *\(bpf\|perf_event_open\)(')" 0 "not one bpf(2)"

# Timers go by the clock, between the events
out=$(user -e 'interval:ms:20 { @ticks = count(); if (elapsed / 20000000 > 10) { exit(7) } } tracepoint:sched:sched_switch { @s = count(); if (nsecs < @last) { @back = count() } @last = nsecs; }')
is $? 7 "exit(7)"
like "$out" '@ticks: 11' "each timer, when it is due"
unlike "$out" '@back' "time does not go back"
sleep 0.3 &
user -e 'tracepoint:sched:sched_process_exit { @[comm] = count() }' -p $! >out
like "$(cat out)" '@\[sleep\]: [1-9]' "-p: until it ends, whose end is seen"

# What a trace buffer does not hold is refused before anything is made
refused() { # SCRIPT TEXT NAME
	user -e "$1" >out 2>err
	is $? 1 "$3: refused"
	like "$(tr '\n' ' ' <err)" "$2.*trace buffer" "$3"
}
refused 'tracepoint:syscalls:sys_enter_openat { printf("%s", str(args.filename)) }' '1:[0-9-]+: ERROR: the recording does not hold the memory' "memory"
refused 'tracepoint:sched:sched_switch { @[ustack] = count() }' '1:[0-9-]+: ERROR: ustack:' "stacks of programs"
refused 'tracepoint:sched:sched_switch { @[uid] = count() }' 'ERROR: uid: a recording does not hold this' "users"
refused 'profile:hz:99 { @ = count() }' 'ERROR: profile probes need BPF' "samples"
refused "uprobe:./busy:main { printf(\"%s\", str(arg1)) }" 'ERROR: the recording does not hold the memory' "memory behind an argument"

# The kernel's stacks: those that programs in the kernel see, but for the function of ftrace or perf that took an event of syscalls
cat >stacks.bt <<'E2'
tracepoint:raw_syscalls:sys_exit /comm == "busy-main" && args.id == 110/ { @exit[kstack] = count(); }
tracepoint:syscalls:sys_enter_getppid /comm == "busy-main"/ { @enter[kstack] = count(); @three[kstack(3)] = count(); }
tracepoint:sched:sched_process_fork /comm == "busy-main"/ { @fork[kstack] = count(); }
E2
taken() { grep -v -e '^ *perf_syscall_enter+' -e '^ *ftrace_syscall_enter+'; }
user -o user stacks.bt -c "$pantrace run -q stacks.bt -c ./busy -o kernel" 2>err
is $? 0 "stacks, seen twice" || cat err
taken <kernel >want
taken <user >got
[ "$(grep -c do_syscall_64 want)" = 4 ] && [ "$(grep -c ': 700$' want)" = 3 ] && cmp -s want got
ok "the same stacks, as often" || diff want got
# Probes of functions, with their arguments and results
cat >probes.bt <<'E2'
uprobe:./busy:run { @[comm == "busy-two", arg0 != 0, func, probe, pid == cpid] = count(); }
uretprobe:./busy:run { @returned[retval, func] = count(); }
E2
"$pantrace" run -q probes.bt -c ./busy >want 2>err
user probes.bt -c ./busy >got 2>>err
[ "$(grep -c '^@\[false, true, run, uprobe:./busy:run, true\]: 1$' want)" = 3 ] && cmp -s want got
ok "the same calls, arguments and results" || { cat err; diff want got; }
user -e 'uprobe:./busy:run { @ = count() }' -c ./busy >out
is "$(grep @: out)" "@: 3" "-c: a probe in a file is of the command alone, and of no child"
mkdir 'a b'
cp busy 'a b'
user -e 'uprobe:"a b/busy":run { @ = count() }' >out 2>err
like "$? $(cat err)" "^1 .*does not take a path with blanks or '#'" "a path that tracefs cannot have is refused with the reason"

# Tools
"$pantrace" syscount --engine user -cj -o user -- ./busy 2>err
is $? 0 "syscount --engine user" || cat err
is "$(jq -r 'select(.syscall == "getppid") | .count' user 2>/dev/null)" 2800 "it counts all"
"$pantrace" opensnoop --engine user >out 2>err
is $? 1 "opensnoop needs the memory of programs: refused"
"$pantrace" syscount --engine users >out 2>err
is $? 2 "an engine that there is none"

# Killed: the guard takes the buffer back
"$pantrace" run --engine user -e 'tracepoint:sched:sched_switch { @ = count() }' >out 2>&1 &
pid=$!
has_buffer() { ls /sys/kernel/tracing/instances | grep -q "^pantrace-$pid-"; }
has_none() { ! has_buffer; }
until_true has_buffer
ok "while it runs it has a buffer of its own"
kill -9 $pid
wait $pid 2>/dev/null
until_true has_none
ok "killed, nothing stays"
done_testing
