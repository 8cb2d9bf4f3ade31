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

# ---- names, exclusions, triggers
run record -e 'sched_process_*' -x sched_process_fork -o globs.dat -- sh -c '/bin/true; :'
is "$("$pantrace" report -c globs.dat | grep -cE 'sched_process_(exec|exit)$')/$("$pantrace" report -c globs.dat | grep -c fork)" 2/0 "a pattern of events; -x"
run record -e sched_process_exec,sched:sched_process_exit -o comma.dat -- sh -c '/bin/true; :'
is "$("$pantrace" report -c comma.dat | grep -cE 'sched_process_(exec|exit)$')" 2 "names parted by commas"
# as if it were of an earlier boot
want=$("$pantrace" report --seconds comma.dat | head -1)
touch -d 2001-01-01 comma.dat
run report --seconds comma.dat
is "$rc $(printf '%s\n' "$out" | head -1 | cut -d. -f1)" "0 $(printf '%s\n' "$want" | cut -d. -f1)" "what the times are stands in the file"
run record -e raw_syscalls:sys_enter -R 'traceoff if id == 1' -o off.dat -- $(copy 100)
is "$(trace-cmd report -N -i off.dat 2>/dev/null | grep -c 'NR 1 ')" 1 "-R traceoff: nothing after it"
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

mkdir full
mount -t tmpfs -o size=9m none full
recorded -e raw_syscalls -o full/r -- sh -c "kill -CONT \$PPID; $(copy 40000); : >made"
is "$rc" 3 "a full disk: code 3"
like "$err" 'No space left on device; [0-9]+ events are lost' "it is said"
is "$(($(kept) + $(lost)))" "$made" "$(kept) kept and $(lost) lost are what the command made"
is "$(counted full/r)/$(theirs full/r/trace.dat)" "$(kept)/$(kept)" "what was written is readable"
umount full

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

# ---- the end by itself
run record -e sched -d 0.3 -o time.dat
is "$rc" 0 "-d"
run record -e raw_syscalls --max-size 2M --compress none -o size -- $(copy 100000000)
case $rc in 0|3) ;; *) false ;; esac && [ "$(stat -c %s size/trace.dat)" -gt 2000000 ] && [ "$(stat -c %s size/trace.dat)" -lt 400000000 ]
ok "--max-size (code $rc: a busy machine loses some): $(stat -c %s size/trace.dat) bytes"

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
refused '-e sched -p 999999999' 'no process 999999999' "a process that is not there"
refused '-e sched -b 0' '^2 .*-b takes' "a buffer of nothing"
run record -e sched -u 'a:b' -o one.dat
like "$rc $err" '^2 .*single file' "one file for two kinds"
ln -s /etc/passwd link.dat
run record -e sched -d 0.1 -o link.dat
is "$rc/$(head -c 4 /etc/passwd)" 1/root "no link is followed"
is "$(ls $instances | grep -c "^pantrace-$$-")" 0 "no instance is left"
done_testing
