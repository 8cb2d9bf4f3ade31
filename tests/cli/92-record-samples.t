#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pantrace record: samples into a perf.data that perf opens, too; counts of known workloads; what is lost is told; killed recorders.
. "$(dirname "$0")/lib.sh"
need_root

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1
cat >work.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
volatile unsigned long n;
__attribute__((noinline)) void inner_work(long loops) { for (long i = 0; i < loops; i++) n += i; syscall(SYS_getppid); }
__attribute__((noinline)) void outer_work(long loops) { inner_work(loops); n++; }
static void *thread(void *arg) { outer_work((long)arg); return NULL; }
/* work MODE COUNT: spin LOOPS, threads LOOPS, faults PAGES, calls COUNT (waits for a line of input first) */
int main(int argc, char **argv)
{
	long count = atol(argv[2]);
	pthread_t t;
	switch (*argv[1]) {
	case 's': outer_work(count); break;
	case 't': pthread_create(&t, NULL, thread, (void *)count); pthread_join(t, NULL); break;
	case 'f': {
		char *p = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(p, count * 4096, MADV_NOHUGEPAGE);
		for (long i = 0; i < count; i++) p[i * 4096] = 1;
		printf("%lu %lu\n", (unsigned long)p, (unsigned long)p + count * 4096);
		break;
	}
	case 'c': getchar(); for (long i = 0; i < count; i++) syscall(SYS_getpriority, 0, 0); break;
	}
	return 0;
}
C
gcc -O1 -g -pthread -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -o work work.c || exit 1

# An address of a program may have two names, of which perf takes the one and pantrace the other.
unnamed() { sed -E 's/ [^ ]+ \(\// (\//'; }
# Of programs that are none of this test's: events without addresses.
heads() { grep -v "^$(printf '\t')" | grep . | sed -E 's/ (cpu-clock|page-faults|context-switches): +[0-9a-f]+ .* \(.*\)$/ \1:/; s/ +$//'; }

same() # FILE NAME FILTER
{
	perf script -i "$1" 2>"$work/complaints" | ${3:-unnamed} >"$work/want"
	"$pantrace" report -f perf "$1" 2>"$work/err" | ${3:-unnamed} >"$work/got"
	[ -s "$work/want" ] && cmp -s "$work/want" "$work/got" && [ ! -s "$work/complaints" ]
	ok "$2: $(wc -l <"$work/want") lines of perf script" || { diff "$work/want" "$work/got" | head -6; cat complaints; } | sed 's/^/# /'
}

# wait_for COMMAND: until it succeeds, half a minute at most
wait_for()
{
	for _ in $(seq 300); do
		eval "$1" && return
		sleep 0.1
	done
	echo "# in vain: $1"
}

# ---- counts ----
run record -e page-faults -o faults.data -- ./work faults 3000
is "$rc" 0 "page faults of a command"
set -- $out
is "$("$pantrace" report -c -w "addr >= $1 && addr < $2" faults.data | awk '{ print $1 }')" 3000 "each page that it touched is a sample, at its address"
run record -c 1 -e sched:sched_process_exec -o exec.data -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done'
is "$("$pantrace" report -c exec.data | awk '{ print $1, $2 }')" "10 sched:sched_process_exec" "every exec of a command and what it starts"
like "$err" '^exec.data: 10 of sched:sched_process_exec$' "the last line says what was recorded"
run record -c 10 -e 'syscalls:sys_enter_getpriority /which == 0/' -o tenth.data -- taskset -c 0 ./work calls 1000
is "$("$pantrace" report -c tenth.data | awk '{ print $1 }')" 100 "-c 10: each tenth, with a condition"

# ---- perf opens them, and says the same ----
run record -F 999 -g -e cpu-clock -o chains.data -- ./work spin 300000000
same chains.data "samples with call chains"
"$pantrace" report -f perf chains.data | tr '\n' ' ' >flat
like "$(cat flat)" "inner_work\+0x[0-9a-f]+ \([^)]*/work\)[[:space:]]+[0-9a-f]+ outer_work\+0x[0-9a-f]+ \([^)]*/work\)[[:space:]]+[0-9a-f]+ main\+0x" "a chain has its functions, innermost first"
samples=$("$pantrace" report -c chains.data | awk '{ print $1 }')
like "$(perf report --stdio -i chains.data 2>&1)" "# Samples: $samples .*of event 'cpu-clock'" "perf report counts the same samples"
like "$(perf report --stdio -i chains.data 2>&1)" "work +work +\[\.\] inner_work" "and names the function"
run record -F 999 -a -e cpu-clock,page-faults,context-switches -e sched:sched_switch -o all.data -- ./work spin 100000000
same all.data "several events of the whole machine" heads
run record -c 1 -e raw_syscalls:sys_enter,raw_syscalls:sys_exit --compress zstd -o packed.data -- ls /
same packed.data "compressed"
like "$(perf report --header-only -i packed.data 2>&1)" 'compressed : Zstd' "perf says so"
run record -F 999 --call-graph dwarf -e cpu-clock -o dwarf.data -- ./work spin 100000000
perf script -i dwarf.data 2>/dev/null | tr '\n' ' ' >flat
like "$(cat flat)" "inner_work\+0x[0-9a-f]+ \([^)]*/work\)[[:space:]]+[0-9a-f]+ outer_work\+0x[0-9a-f]+ \([^)]*/work\)[[:space:]]+[0-9a-f]+ main\+0x" "--call-graph dwarf: perf unwinds what was recorded"
# What is inlined perf and pantrace show with and without the function around it: the addresses of each sample are compared. perf
# goes on by the frame pointer and by rbx where pantrace ends (code without call frame information, the stub of a first call); where
# the stack was not to be had, it leaves out the first address, too.
addresses() { awk '/^\t/ { if ($1 != "ffffffffffffffff" && $1 != last) line = line " " $1; last = $1; next } /./ { line = last = "" } !NF { print line " ." }'; }
alike() # FILE NAME: is one the beginning of the other?
{
	perf script -i "$1" 2>/dev/null | addresses >want
	"$pantrace" report -f perf "$1" | addresses >got
	paste -d '|' want got | awk -F'|' '{ w = $1; g = $2; sub(/\.$/, "", w); sub(/\.$/, "", g); if (w == g) same++; else if (index(w, g) != 1 && index(g, w) != 1) print }
		END { if (NR < 5 || same < 0.7 * NR) print same + 0 " of " NR " are the same" }' >differs
	is "$(cat differs)" "" "$2: $(wc -l <want) samples"
}
alike dwarf.data "pantrace unwinds the same"
# The registers of a system call that is exec are those of the program before it.
run record -F 15000 --call-graph dwarf -e cpu-clock -o exec.data -- ./work spin 100000
alike exec.data "a program that begins"
is "$("$pantrace" report -f perf exec.data | grep -c '\[unknown\] (\[unknown\])')" 0 "exec has none of the program before it"
cat >inlined.c <<'C'
volatile unsigned long n;
static inline __attribute__((always_inline)) void innermost(long count) { for (long i = 0; i < count; i++) n += i; }
static inline __attribute__((always_inline)) void within(long count) { n++; innermost(count); }
__attribute__((noinline)) void around(long count) { within(count); n++; }
int main(void) { around(200000000); return n == 0; }
C
gcc -O2 -g -fomit-frame-pointer -o inlined inlined.c
run record -F 999 --call-graph dwarf -e cpu-clock:u -o inlined.data -- ./inlined
"$pantrace" report inlined.data | tr '\n' ' ' >flat
like "$(cat flat)" "innermost\+0x[0-9a-f]+ \(inlined\)[[:space:]]+[0-9a-f]+ within\+0x[0-9a-f]+ \(inlined\)[[:space:]]+[0-9a-f]+ around\+0x[0-9a-f]+ \([^)]*/inlined\)[[:space:]]+[0-9a-f]+ main\+" "inlined functions are shown, without frame pointers"
like "$(perf buildid-list -i chains.data)" '\[kernel.kallsyms\]' "the kernel's build-id is told"
like "$(perf script --show-mmap-events -i chains.data)" "r-xp $work/work" "mappings are told"
like "$(perf buildid-list -i chains.data)" "^$(readelf -n work | awk '/Build ID/ { print $3 }') $work/work" "and the build-ids of what was mapped"

# ---- beside other recorders ----
# perf aborts over a mapping record that the kernel marks wrongly, if any recorder beside it asks for build-ids.
"$pantrace" record -q -a -F 99 -e cpu-clock -o beside.data -- sleep 60 &
recorder=$!
until_true [ -s beside.data ]
codes=''
for _ in 1 2 3 4 5; do
	command perf record -q -e cpu-clock -o theirs.data -- sh -c 'ls; cat /dev/null' >/dev/null 2>&1
	codes="$codes$? "
done
kill -INT $recorder
wait $recorder
is "$codes" "0 0 0 0 0 " "perf record works while we record all CPUs"
# Such a record of a file on a SCSI disk: the number of the device, 8, stands where the size of an id would.
python3 - chains.data marked.data "$work/work" <<'PY'
import struct, sys
data, path = bytearray(open(sys.argv[1], 'rb').read()), sys.argv[3].encode() + b'\0'
at = data.find(path)
while at >= 0:
    record = at - 72
    if data[record:record + 4] == b'\x0a\0\0\0':  # MMAP2
        data[record + 5] |= 0x40
        struct.pack_into('<IIQQ', data, record + 40, 8, 1, 4711, 4712)
    at = data.find(path, at + 1)
open(sys.argv[2], 'wb').write(data)
PY
! cmp -s chains.data marked.data
ok "the mapping is marked"
is "$("$pantrace" report --top symbol marked.data)" "$("$pantrace" report --top symbol chains.data)" "a device's number is not taken for a build-id"

# ---- on another machine ----
cat >kernel.s <<'A'
.globl _text, everything
.text
_text:
everything: nop
.type everything, @function
.size everything, 0x10000000
A
other=$(printf '%040d' 12345678)
as -o kernel.o kernel.s && ld -Ttext=0xffffffff81000000 --build-id=0x$other -e _text -o vmlinux kernel.o || exit 1
python3 -c '
import re, sys
notes = open("/sys/kernel/notes", "rb").read()
mine = re.search(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", notes, re.S).group(1)
theirs = open("all.data", "rb").read().replace(mine, bytes.fromhex(sys.argv[1]))
open("known.data", "wb").write(theirs)
# without the functions that the recording holds, which are a frame of zstd
open("other.data", "wb").write(theirs.replace(b"\x28\xb5\x2f\xfd", b"none"))' $other
[ "$("$pantrace" report -e context-switches known.data | grep -c 'schedule+0x')" -gt 0 ]
ok "functions of another kernel are in the recording"
is "$("$pantrace" report -e context-switches other.data 2>/dev/null | grep -c '[a-z]+0x')" 0 "where they are not, no function is guessed"
like "$("$pantrace" report --files . -e context-switches other.data)" ' everything\+0x[0-9a-f]+ \(\[kernel.kallsyms\]\)' "its vmlinux is found by build-id"

# ---- the vdso ----
cat >vdso.c <<'C'
#include <time.h>
int main(void) { struct timespec t; for (long i = 0; i < 5000000; i++) clock_gettime(CLOCK_MONOTONIC, &t); return 0; }
C
gcc -O1 -g -fno-omit-frame-pointer -o vdso vdso.c
run record -F 999 -g -e cpu-clock:u -o vdso.data -- ./vdso
like "$("$pantrace" report vdso.data)" 'clock_gettime\+0x[0-9a-f]+ \(\[vdso\]\)' "functions of the vdso have names"
like "$("$pantrace" report --top symbol vdso.data)" 'clock_gettime' "in tables, too"

# ---- whose ----
mkfifo go
./work calls 500 <go & pid=$!
exec 3>go
"$pantrace" record -c 1 -e syscalls:sys_enter_getpriority -p $pid -o pid.data 2>told & recorder=$!
wait_for 'perf script -i pid.data --show-mmap-events 2>/dev/null | grep -q /work'
perl -e 'getpriority(0, 0) for 1 .. 50'
echo >&3
exec 3>&-
wait $pid
wait $recorder
is "$?" 0 "a recorder of a process ends with it"
is "$("$pantrace" report -c pid.data | awk '{ print $1 }')" 500 "-p: its calls, and no others"
run record -F 999 -e cpu-clock -o threads.data -- ./work threads 100000000
is "$("$pantrace" report --json threads.data | grep -c '"tid":')" "$("$pantrace" report -c threads.data | awk '{ print $1 }')" "samples of a thread that the command starts"

# ---- losses ----
./work calls 200000 <go & pid=$!
exec 3>go
"$pantrace" record -c 1 -e syscalls:sys_enter_getpriority -b 64 -p $pid -o lost.data 2>told & recorder=$!
wait_for 'perf script -i lost.data --show-mmap-events 2>/dev/null | grep -q /work'
kill -STOP $recorder
echo >&3
exec 3>&-
wait $pid
kill -CONT $recorder
wait $recorder
is "$?" 3 "what was lost while the recorder stood makes the exit code 3"
kept=$("$pantrace" report -c lost.data 2>/dev/null | awk '/getpriority/ { print $1 }')
lost=$(sed -n 's/.* of syscalls:sys_enter_getpriority (\([0-9]*\) lost).*/\1/p' told)
is "$((kept + lost))" 200000 "kept ($kept) and lost ($lost) are all"
[ "$lost" -gt 0 ]
ok "some were lost"
told=$("$pantrace" report -c lost.data 2>&1 >/dev/null | sed -n 's/.* lost \([0-9]*\) events.*/\1/p')
[ "$((told - lost))" -ge 0 ] && [ "$((told - lost))" -lt 10 ] # with records of the process's end
ok "report says so, too"

# ---- another tracer decides ----
"$programs/dropper" "$(cat /sys/kernel/tracing/events/syscalls/sys_enter_getpriority/id)" >other & other=$!
until_true grep -q attached other
run record -c 1 -e syscalls:sys_enter_getpriority -o dropped.data -- ./work calls 10
like "$rc $err" '^3 .*another tracer has a BPF program on syscalls:sys_enter_getpriority' "a program that drops events is told of"
kill $other

# ---- killed ----
"$pantrace" record -F 999 -g -a -e cpu-clock -e sched:sched_switch -o killed.data 2>told & recorder=$!
wait_for '[ "$(perf script -i killed.data 2>/dev/null | grep -c sched_switch:)" -gt 10 ]'
kill -9 $recorder
wait $recorder 2>/dev/null
same killed.data "a recorder that was killed" heads

# ---- what is refused ----
run record -F 0 -o no.data -- true
is "$rc" 2 "-F 0"
run record -F 1000000000 -o no.data -- true
like "$err" 'at most [0-9]+ samples a second' "more than the kernel takes"
run record -F 9 -c 9 -o no.data -- true
is "$rc" 2 "-F and -c"
run record --call-graph dwarf,1M -o no.data -- true
like "$err" 'at most 65528 bytes' "too much stack"
run record -e cpu-clok -o no.data -- true
[ "$rc" != 0 ]
ok "an unknown event"
run record -F 99 -p 999999999 -o no.data
like "$err" 'there is no process' "an unknown process"
[ ! -e no.data ]
ok "none of these leaves a file"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	chmod 755 . && mkdir theirs && chmod 777 theirs
	setpriv --reuid=nobody --clear-groups "$pantrace" record -F 999 -o theirs/own.data -- ./work spin 100000000 2>told
	is "$? $("$pantrace" report theirs/own.data | grep -c 'cpu-clock:u: .*inner_work')" \
		"0 $(sed -n 's/.*own.data: \([0-9]*\) of cpu-clock:u$/\1/p' told)" "any user samples what a program of theirs does"
	setpriv --reuid=nobody --clear-groups "$pantrace" record -F 999 -a -o theirs/all.data -- true 2>told
	like "$? $(cat told)" '^4 .*only root' "but not the machine"
fi
ln -s target link.data
run record -F 99 -o link.data -- true
[ "$rc" = 1 ] && [ ! -e target ]
ok "a link is not followed"
for size in nonsense 0 -1 10T; do
	run record -F 99 -b "$size" -o no.data -- true
	is "$rc $(ls no.data 2>/dev/null)" "2 " "-b $size"
done
# where everybody can make files, those of others are not opened: a FIFO would wait; a second name leads elsewhere
mkdir -m 1777 all && chmod 755 .
setpriv --reuid=nobody --clear-groups sh -c 'cd all && mkfifo fifo.data && : >file.data'
echo ours >ours && ln ours all/name.data
for planted in fifo file name; do
	timeout 60 "$pantrace" record -F 99 -o all/$planted.data -- true 2>told
	like "$? $(cat told)" "^1 ERROR: cannot write 'all/$planted.data': Permission denied" "$planted of another user"
done
is "$(cat ours)" ours "nothing is written elsewhere"
# two recorders into one place: the second one is refused, the first one's file is whole
for kind in "-F 99 -a -o both.data" "-e sched:sched_process_exec -a -o both.dat"; do
	start record $kind
	run record $kind -d 1
	like "$rc $err" "^1 .*'${kind##* }': another recorder writes it" "$kind: one recorder at a time"
	./work spin 1000000
	kill -INT $tracer
	wait $tracer
	is "$? $("$pantrace" report --count "${kind##* }" | grep -c .)" "0 1" "$kind: the first one is whole"
done
# a limit of files' size ends no recorder: what could be written is whole, and it is told
for kind in '-F 999 -g -a -o limited.data' '-F 999 -g -a --compress zstd -o packed.data'; do
	bash -c "ulimit -f 2000; exec '$pantrace' record $kind -- ./work spin 300000000" 2>told
	is "$("$pantrace" report --count ${kind##* } 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')" "$(sed -n 's/.*data: \([0-9]*\) of cpu-clock.*/\1/p' told)" \
		"$kind: what was written is told as kept"
done
bash -c "ulimit -f 200; exec '$pantrace' record -e raw_syscalls -o limited.dat -- true" 2>told
like "$? $(cat told) $(ls limited.dat 2>/dev/null)" "^1 ERROR: cannot write 'limited.dat': File too large \$" "no room for the head of a trace.dat: refused, and nothing is left"
bash -c "ulimit -f 200; exec '$pantrace' record -F max -g -a -o limited.data -- ./work spin 900000000" 2>told
like "$? $(tr '\n' ' ' <told)" "^1 .*lost.*not everything is written to limited.data: File too large" "samples that could not be written are lost"
is "$("$pantrace" report --count limited.data 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')" "$(sed -n 's/.*data: \([0-9]*\) of cpu-clock.*/\1/p' told)" "  and not told as kept"
done_testing
