#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record: the kernel's events in a trace.dat that trace-cmd prints as we do. What is kept and what is lost is what a known program
# made: with a recorder that stands still, a full disk, one that is killed.
. "$(dirname "$0")/lib.sh"
need_root
instances=/sys/kernel/tracing/instances
mkdir "$instances/record_test.$$" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }
rmdir "$instances/record_test.$$"
command -v trace-cmd >/dev/null || { echo "1..0 # SKIP no trace-cmd"; exit 0; }
cd "$work" || exit 1

# counted PATH [EVENT]: how many events report counts
counted() { "$pantrace" report -c ${2:+-e "$2"} "$1" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
# theirs FILE: how many events trace-cmd prints
theirs() { trace-cmd report -N -i "$1" 2>/dev/null | grep -c '^ *.*-[0-9]* *\['; }
# said WORD: the number before it in the last summary
kept() { printf '%s\n' "$err" | sed -n 's/^\([0-9]*\) events of the kernel, .*/\1/p' | tail -1; }
lost() { printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p' | tail -1; }
copy() { printf 'dd if=/dev/zero of=/dev/null bs=1 count=%s' "$1"; }

# ---- how many there are: strace says it
if command -v strace >/dev/null; then
	strace -f -e trace=read,write -o strace.txt $(copy 3000) 2>/dev/null
	want=$(grep -cE '(read|write)\(' strace.txt)
	run record -e 'raw_syscalls:sys_enter /args.id == 0 || args.id == 1/' -o reads -- $(copy 3000)
	is "$rc" 0 "a command, with a condition" || printf '%s\n' "$err" >&2
	is "$(counted reads)" "$want" "as many as strace sees"
else
	skip "a command, with a condition" "no strace"
fi

# ---- the same text as trace-cmd's, in all kinds of file
for kind in zstd none v6; do
	case $kind in v6) option=--v6 ;; *) option="--compress $kind" ;; esac
	run record -e raw_syscalls -e sched/sched_process_exec -e sched:sched_process_fork $option -o "$kind.dat" -- sh -c 'ls / >/dev/null; cat /proc/self/stat >/dev/null; :'
	is "$rc" 0 "$kind: recorded" || printf '%s\n' "$err" >&2
	is "$(theirs $kind.dat)" "$(kept)" "$kind: trace-cmd report has what was kept: $(kept)"
	is "$(counted $kind.dat)" "$(kept)" "$kind: report has it, too"
	trace-cmd report -N -i $kind.dat 2>/dev/null | grep -v '^cpus=' >want
	"$pantrace" report -f trace-cmd $kind.dat 2>/dev/null | grep -v '^cpus=' >got
	[ -s want ] && cmp -s want got
	ok "$kind: the same lines" || diff want got | head -6 | sed 's/^/# /' >&2
done
is "$(counted zstd.dat sched_process_exec)" 3 "children are followed: three programs"
is "$(grep -c 'sched_process_exec.*filename=' got)" 3 "and nobody else is"
trace-cmd dump --validate -i zstd.dat >/dev/null 2>&1
ok "trace-cmd dump finds the file valid"

# ---- processes by number; a function that has ended
sh -c 'while [ ! -e go ]; do sleep 0.05; done; /bin/true; /bin/true; sleep 1000' &
worker=$!
start record -e sched:sched_process_exec -p $worker -o pid.dat
: >go
until_true sh -c "pgrep -P $worker -x sleep | grep -q . && grep -q 1000 /proc/\$(pgrep -P $worker -x sleep)/cmdline"
stop
kill $(pgrep -P $worker) $worker 2>/dev/null
wait $worker 2>/dev/null
is "$(counted pid.dat)" "$("$pantrace" report pid.dat 2>/dev/null | grep -cE 'filename=[^ ]*(true|sleep) ')" "-p: a process and what it starts"
[ "$("$pantrace" report pid.dat 2>/dev/null | grep -cE 'filename=[^ ]*true ')" = 2 ]
ok "each of them"

# ---- CPUs, cgroups
run record -e raw_syscalls -C 0 -o cpu.dat -- sh -c "taskset -c 0 $(copy 500); taskset -c $(($(nproc) - 1)) $(copy 500)"
is "$("$pantrace" report cpu.dat 2>/dev/null | grep -vc '\[000\]')/$([ "$(counted cpu.dat)" -ge 2000 ] && [ "$(counted cpu.dat)" -lt $((2000 * $(nproc))) ]; echo $?)" 0/0 "-C: what ran on that CPU"
run record -e raw_syscalls -C 8000 -o cpu8000.dat -- true
like "$rc $err" '^[1-9] .*CPU 8000 is not online' "a CPU that is not there"
group=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)/pantrace-test-$$
if mkdir -p "$group/below" 2>/dev/null && sh -c 'echo 0 >"$1/cgroup.procs"' - "$group" 2>/dev/null; then
	run record -e sched:sched_process_exec -G "$group" -d 1 -o empty.dat
	like "$rc $err" '^1 .*no process is in the cgroup' "an empty cgroup"
	sh -c 'echo 0 >"$1/below/cgroup.procs"; while [ ! -e in ]; do sleep 0.05; done; /bin/true; /bin/true; sleep 1000' - "$group" &
	worker=$!
	until_true grep -q . "$group/below/cgroup.procs"
	start record -e sched:sched_process_exec -G "$group" -o group.dat
	: >in
	sh -c 'echo 0 >"$1/cgroup.procs"; sleep 0.5; exec sh -c :' - "$group"
	until_true sh -c "pgrep -P $worker -x sleep | grep -q . && grep -q 1000 /proc/\$(pgrep -P $worker -x sleep)/cmdline"
	stop
	kill $(pgrep -P $worker) $worker 2>/dev/null
	wait $worker 2>/dev/null
	is "$("$pantrace" report group.dat 2>/dev/null | grep -c 'filename=/bin/true ')" 2 "-G: who was in it, also below, and what that started"
	is "$("$pantrace" report group.dat 2>/dev/null | grep -cE 'filename=[^ ]*/sh ')" 1 "who was moved into it"
	mkdir -p "$group/below/$(printf 'd/%.0s' $(seq 65))"
	sh -c 'echo 0 >"$1/cgroup.procs"; exec sleep 1000' - "$group" &
	worker=$!
	until_true grep -q . "$group/cgroup.procs"
	run record -q -e sched:sched_process_exec -G "$group" -d 0.1 -o deep.dat
	like "$err" 'not recorded: threads of cgroups more than 64 below' "cgroups too deep to be followed are named"
	kill $worker
	wait $worker 2>/dev/null
	until_true find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
else
	skip 4 "no cgroup2 that can be written to"
	rmdir "$group/below" "$group" 2>/dev/null
fi

# ---- names, exclusions, triggers
run record -e 'sched_process_*' -x sched_process_fork -o globs.dat -- sh -c '/bin/true; :'
is "$("$pantrace" report -c globs.dat | grep -cE 'sched_process_(exec|exit)$')/$("$pantrace" report -c globs.dat | grep -c fork)" 2/0 "a pattern of events; -x"
run record -e sched_process_exec,sched:sched_process_exit -o comma.dat -- sh -c '/bin/true; :'
is "$("$pantrace" report -c comma.dat | grep -cE 'sched_process_(exec|exit)$')" 2 "names separated by commas"
# as if it were of an earlier boot
want=$("$pantrace" report --seconds comma.dat | head -1)
touch -d 2001-01-01 comma.dat
run report --seconds comma.dat
is "$rc $(printf '%s\n' "$out" | head -1 | cut -d. -f1)" "0 $(printf '%s\n' "$want" | cut -d. -f1)" "what the times are stands in the file"
run record -e raw_syscalls:sys_enter -R 'traceoff if id == 1' -o off.dat -- $(copy 100)
is "$(trace-cmd report -N -i off.dat 2>/dev/null | grep -c 'NR 1 ')" 1 "-R traceoff: nothing after it"
run record -a -e sched:sched_switch -R 'traceon if prev_prio > 5' -d 0.3 -o on.dat
is "$rc/$(lost)/$(counted on.dat)" "0/0/$(kept)" "-R traceon: nothing comes in after the end" || printf '%s\n' "$err" >&2
run record -e raw_syscalls:sys_exit -f 'id == 0 && ret == 1' --stack -o stack.dat -- $(copy 10)
is "$(counted stack.dat raw_syscalls:sys_exit)" 10 "-f"
like "$(trace-cmd report -N -i stack.dat 2>/dev/null)" 'kernel_stack|=> ' "--stack"

# ---- what is lost is counted
# always started in the same way: a shell in the background makes other system calls
recorded() # WORDS...
{
	start record "$@"
	wait $tracer
	rc=$? err=$(cat "$work/trace.err")
}
recorded -e raw_syscalls -o all.dat -- sh -c "kill -CONT \$PPID; $(copy 40000); : >made"
made=$(($(kept) + $(lost)))
is "$rc/$(lost)" 0/0 "40000 reads and writes: nothing is lost"
is "$(theirs all.dat)" "$made" "all of them are there"
rm made
start record -e raw_syscalls -b 64 -o still.dat -- sh -c "kill -STOP \$PPID; $(copy 40000); : >made"
until_true [ -e made ]
sleep 0.2
kill -CONT $tracer
wait $tracer
rc=$? err=$(cat "$work/trace.err")
is "$rc" 3 "a recorder that stood still: code 3" || printf '%s\n' "$err" >&2
[ "$(lost)" -gt 50000 ] && [ $(($(kept) + $(lost))) = "$made" ]
ok "what was overwritten is counted: $(kept) kept, $(lost) lost"
is "$(counted still.dat)/$(theirs still.dat)" "$(kept)/$(kept)" "what was kept is there"
like "$err" 'CPU [0-9]+: [0-9]+ kept, [0-9]+ lost \([0-9]+ overwritten' "by CPU"
like "$err" 'buffer of 64 KB was full' "why"
like "$err" 'HINT: -b 128 doubles it' "and what to do"

# two at once: each has all
start record -a -e raw_syscalls:sys_exit -f 'id == 140 && ret > 0' -o first.dat
run record -e raw_syscalls:sys_exit -f 'id == 140 && ret > 0' -o second.dat -- python3 -c 'import os
for i in range(3000): os.getpriority(os.PRIO_PROCESS, 0)'
stop
[ "$(counted second.dat)" = 3000 ] && [ "$(counted first.dat)" -ge 3000 ]
ok "two recorders at once: $(counted first.dat) and $(counted second.dat)"

mkdir full
empty=$(($(stat -c %s zstd.dat) + 65536))
for kind in none zstd; do
	case $kind in none) size=9m ;; *) size=$empty ;; esac
	mount -t tmpfs -o size=$size none full
	recorded -e raw_syscalls --compress $kind -o full/r.dat -- sh -c "kill -CONT \$PPID; $(copy 40000); : >made"
	is "$rc" 3 "a full disk, $kind: code 3" || printf '%s\n' "$err" >&2
	like "$err" 'No space left on device; [0-9]+ events are lost' "it is said"
	is "$(($(kept) + $(lost)))" "$made" "$(kept) kept and $(lost) lost are what the command made"
	is "$(counted full/r.dat)/$(theirs full/r.dat)" "$(kept)/$(kept)" "what was written is readable"
	umount full
done

# ---- killed
start record -e raw_syscalls -o killed -- sh -c "$(copy 40000); : >copied; sleep 1000"
until_true [ -e copied ]
sleep 1.3 # full pages are written every second
kill -9 $tracer
wait $tracer 2>/dev/null
pkill -x -f 'sleep 1000' -P 1 2>/dev/null
until_true sh -c "! ls $instances | grep -q '^pantrace-$tracer-'"
ok "kill -9: the instance is gone"
n=$(counted killed)
[ "$n" -gt 100000 ]
ok "what was recorded before is readable: $n events"
is "$(theirs killed/trace.dat)" "$n" "by trace-cmd, too"

# ---- a flight recorder
start record -e raw_syscalls:sys_enter -f 'id == 1 || id == 59' --overwrite -b 64 -o box -- sh -c "$(copy 20000); : >one; while [ ! -e two ]; do sleep 0.05; done; $(copy 5)"
until_true [ -e one ]
kill -USR1 $tracer
until_true [ -s box/trace-1.dat ]
: >two
wait $tracer
is "$?" 0 "--overwrite: what is forgotten is not lost"
n=$(counted box/trace-1.dat)
[ "$n" -gt 500 ] && [ "$n" -lt 19000 ]
ok "SIGUSR1: the newest of 20000 writes: $n"
n=$(trace-cmd report -N -i box/trace.dat 2>/dev/null | grep -c 'NR 1 ')
[ "$n" -ge 5 ] && [ "$n" -lt 100 ]
ok "what came after that is written at the end: $n"

start record -e raw_syscalls:sys_enter -R 'snapshot if id == 230' --overwrite -b 64 -o frozen -- sh -c "$(copy 2000); sleep 0.01; until grep -q trace-1.dat trace.err; do :; done; $(copy 1000); sleep 0.02; until grep -q trace-2.dat trace.err; do :; done"
wait $tracer
is "$?" 0 "-R snapshot: exit code"
is "$(for n in 1 2; do trace-cmd report -N -i frozen/trace-$n.dat 2>/dev/null | tail -1 | grep -o 'sleep-.*NR 230'; done | sed 's/-.*NR/ NR/' | tr '\n' ' ')" "sleep NR 230 sleep NR 230 " "-R snapshot: each ends with the event itself" || cat trace.err >&2

# ---- one file after the other
recorded --rotate-size 1M --compress none -b 2M -e raw_syscalls -o chunks -- sh -c "kill -CONT \$PPID; $(copy 40000); : >made"
is "$(($(kept) + $(lost)))" "$made" "--rotate-size: nothing gets lost between files (code $rc, $(lost) lost while the recorder did not run)"
n=$(ls chunks | grep -c '^trace-00000[0-9].dat$')
[ "$n" -ge 2 ] # more where a busy machine loses nothing
ok "$n files"
is "$(counted chunks)/$(for f in chunks/*.dat; do theirs $f; done | awk '{ n += $1 } END { print n }')" "$(kept)/$(kept)" "each is whole, all together have everything"
recorded --rotate-size 1M --compress none -b 2M --keep 2 -e raw_syscalls -o newest.dat -- sh -c "kill -CONT \$PPID; $(copy 40000); : >made"
is "$(ls | grep -c '^newest-.*dat$')/$(ls newest.dat 2>&1 | grep -c 'No such')" 2/1 "--keep: the newest two"
is "$(($(kept) + $(lost) + $(printf '%s\n' "$err" | sed -n 's/.* \([0-9]*\) in [0-9]* older files that are removed.*/\1/p' | grep . || echo 0)))" "$made" "what was removed is told"
is "$(for f in newest-*.dat; do counted $f; done | awk '{ n += $1 } END { print n }')" "$(kept)" "what was kept is there"
# what happens while the second file is opened may still be in the first, but not after it has been asked for the third
trues() { for file; do "$pantrace" report $file 2>/dev/null; done | grep -c 'filename=/bin/true '; }
start record -e sched:sched_process_exec -p $$ --rotate-time 1000 -o asked.dat
for n in 2 3; do
	kill -USR2 $tracer
	until_true [ -e asked-00000$n.dat ]
done
/bin/true
stop
is "$rc/$(trues asked-000001.dat)" 0/0 "SIGUSR2: the next file" || ls -la >&2
is "$(trues asked-000002.dat asked-000003.dat)" 1 "what happens then is in it"
run record -e sched --rotate-size 1M --overwrite -o refused
like "$rc $err" '^2 .*no chunks' "a flight recorder has no chunks"
run record -e sched -R snapshot -o refused
like "$rc $err" '^2 .*--overwrite' "-R snapshot without --overwrite"

# ---- the end by itself
run record -e sched -d 0.3 -o time.dat
is "$rc" 0 "-d"
run record -e raw_syscalls --max-size 2M --compress none -o size -- $(copy 100000000)
case $rc in 0|3) ;; *) false ;; esac && [ "$(stat -c %s size/trace.dat)" -gt 2000000 ] && [ "$(stat -c %s size/trace.dat)" -lt 400000000 ]
ok "--max-size (code $rc: a busy machine loses some): $(stat -c %s size/trace.dat) bytes"

# ---- on a terminal
if command -v script >/dev/null; then
	script -qec "'$pantrace' record -e raw_syscalls -o tty.dat -- $(copy 600000)" tty.out </dev/null >/dev/null 2>&1
	like "$(tr '\r' '\n' <tty.out)" '[0-9] s: [1-9][0-9]* events, [1-9][0-9]*/s, [0-9.]+ MB, [0-9]+ lost' "progress: events, their rate, bytes, losses"
	# after the last erasure no rate; what each CPU lost comes first, if any did
	like "$(perl -0777 -ne 'print /.*\r\e\[K(.*)/s' tty.out)" '^[^/]*[0-9]+ events of the kernel' "which the last line takes the place of"
else
	skip "progress" "no script"
fi

# ---- refused; nothing is left
refused() # WORDS REGEX NAME
{
	words=$1
	eval "run record $words -o refused"
	like "$rc $err" "$2" "$3"
	[ ! -e refused ]
	ok "$3: no file" || rm -rf refused
}
refused '-e sched:sched_swich' "^1 .*no event 'sched:sched_swich'" "an event that is not there"
refused '-e sched_swich' "^1 .*no event 'sched_swich'" "without its system"
refused "-e 'sched:sched_switch /args.zzz > 1/'" "^1 .*no field 'args.zzz'|^1 .*no field 'zzz'" "a field that is not there"
refused "-e 'sched:sched_switch /str(args.prev_comm) == strftime(\"%H\", 1)/'" '^1 .*filters cannot say' "a condition that the kernel cannot say"
refused "-f 'a > 1'" '^2 .*belongs to the event' "-f without -e"
refused '-e sched -p nosuchtracer' "^5 .*no tracer 'nosuchtracer'" "a tracer that is not there"
grep -qw irqsoff /sys/kernel/tracing/available_tracers || refused '-p irqsoff' "^5 .*the kernel has no tracer 'irqsoff'" "a tracer that this kernel lacks"
refused '-p irqsoff --overwrite' '^2 .*the tracer irqsoff keeps only its longest latency' "a flight recorder of what keeps only its longest latency"
refused '-e sched -p 999999999' 'no process 999999999' "a process that is not there"
refused '-e sched -b 0' '^2 .*-b takes' "a buffer of nothing"
run record -e sched -u 'a:b' -o one.dat
like "$rc $err" '^2 .*single file' "one file for two kinds"
ln -s /etc/passwd link.dat
run record -e sched -d 0.1 -o link.dat
is "$rc/$(head -c 4 /etc/passwd)" 1/root "no link is followed"
is "$(ls $instances | grep -c "^pantrace-$$-")" 0 "no instance is left"
run record -e sched_switch -o - -- true
is "$rc $(ls -d ./-* 2>/dev/null)" "2 " "-o - is refused: nothing is called so"

done_testing
