#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# perf.data: perf records and prints it, pantrace prints the same.
. "$(dirname "$0")/lib.sh"
need_root

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1
cat >spin.c <<'C'
#include <unistd.h>
#include <sys/syscall.h>
volatile unsigned long n;
__attribute__((noinline)) void inner_spin(void) { for (int i = 0; i < 30000000; i++) n += i; for (int i = 0; i < 500; i++) syscall(SYS_getppid); }
__attribute__((noinline)) void outer_spin(void) { inner_spin(); n++; }
int main(void) { outer_spin(); return 0; }
C
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -o spin spin.c || exit 1

record() # FILE OPTIONS...
{
	file=$1
	shift
	perf record -q -o "$file" "$@" >/dev/null 2>"$work/record.err"
}

# An address of a program may have two names, of which perf takes the one and pantrace the other; perf calls stubs of libraries NAME@plt.
unnamed() { sed -E 's/ [^ ]+ \(\// (\//'; }

same() # FILE NAME
{
	perf script -i "$1" 2>/dev/null >"$work/want"
	"$pantrace" report "$1" >"$work/got" 2>"$work/err"
	[ -s "$work/want" ] && cmp -s "$work/want" "$work/got"
	ok "$2: $(wc -l <"$work/want") lines of perf script" || { cat "$work/want.err"; diff "$work/want" "$work/got" | head -6; } 2>/dev/null | sed 's/^/# /'
}

same_but_names() # FILE NAME
{
	perf script -i "$1" 2>/dev/null | unnamed >"$work/want"
	[ -s "$work/want" ] || perf script -i "$1" 2>"$work/want.err" | unnamed >"$work/want" # perf printed nothing, once, on a busy machine
	"$pantrace" report "$1" 2>"$work/err" | unnamed >"$work/got"
	[ -s "$work/want" ] && cmp -s "$work/want" "$work/got"
	ok "$2: $(wc -l <"$work/want") lines of perf script" || diff "$work/want" "$work/got" | head -6 | sed 's/^/# /'
}

record tracepoints -e raw_syscalls:sys_enter,raw_syscalls:sys_exit,syscalls:sys_enter_openat,sched:sched_process_exec -- sh -c './spin; ls / >/dev/null; cat /proc/self/stat >/dev/null'
same tracepoints "tracepoints"
record several -e raw_syscalls:sys_exit,page-faults -c 1 -- ls /
same_but_names several "tracepoints and samples"
record packed -z -e raw_syscalls:sys_exit -- ls /
same packed "compressed"
perf record -q -o - -e raw_syscalls:sys_exit -- ls / 2>/dev/null >pipe
same pipe "what perf record wrote to a pipe"
record clock -e cpu-clock -- ./spin
same_but_names clock "samples"
# A sample may come anywhere: in code whose names perf and pantrace choose differently, too.
sampled()
{
	record chains -g -e cpu-clock -- ./spin
	perf script -i chains 2>/dev/null | unnamed >"$work/want"
	"$pantrace" report chains 2>"$work/err" | unnamed | diff "$work/want" - >&2
}
settled sampled
same_but_names chains "samples with call chains"
record points -g -e raw_syscalls:sys_exit -- ./spin
same_but_names points "tracepoints with call chains"
"$pantrace" report chains | tr '\n' ' ' >"$work/flat"
like "$(cat "$work/flat")" "inner_spin\+0x[0-9a-f]+ \([^)]*/spin\)[[:space:]]+[0-9a-f]+ outer_spin\+0x[0-9a-f]+ \([^)]*/spin\)[[:space:]]+[0-9a-f]+ main\+0x" "a chain has its functions, innermost first"

# conditions and counts
is "$("$pantrace" report -c -e '*sys_enter' tracepoints | awk '{ print $1, $2 }')" "$(perf script -i tracepoints 2>/dev/null | grep -c raw_syscalls:sys_enter:) raw_syscalls:sys_enter" "-c -e: a count"
is "$("$pantrace" report -e sys_enter -w 'id == 110 && comm == "spin"' tracepoints | grep -c .)" 500 "-w: system calls by number and thread"
is "$("$pantrace" report -n 7 tracepoints | grep -c .)" 7 "-n"
is "$("$pantrace" report -w 'addr > 0 && period == 1' several | grep -c .)" 0 "a field that was not recorded is not 0"
run report -e raw_syscalls:sys_entr tracepoints
like "$err" "did you mean 'raw_syscalls:sys_enter'" "an event that it has not: the nearest"
like "$("$pantrace" complete pantrace report tracepoints -e raw_syscalls:sys_e | cut -f1)" '^raw_syscalls:sys_enter$' "completion: events of the recording"

# on a time line
run report --json clock
is "$rc" 1 "without a known clock there is no time line"
like "$err" 'HINT: perf record -k mono' "how to have one"
before=$(date +%s)
record mono -k mono -g -e cpu-clock,raw_syscalls:sys_exit -- ./spin
run report --json mono
is "$rc" 0 "with one there is"
printf '%s\n' "$out" | BEFORE=$before python3 -c '
import json, os, sys
events = [json.loads(l) for l in sys.stdin]
begin = int(os.environ["BEFORE"])
assert all(begin - 2 < int(e["time_ns"]) / 1e9 < begin + 600 for e in events), events[0]
assert all(int(a["time_ns"]) <= int(b["time_ns"]) for a, b in zip(events, events[1:]))
assert sum(e["event"] == "raw_syscalls:sys_exit" and e["fields"]["id"] == 110 for e in events) == 500
assert any(any(f.startswith("inner_spin+0x") for f in e.get("frames", [])) for e in events)' 2>"$work/why"
ok "--json: times of day, fields, frames" || sed 's/^/# /' "$work/why" >&2

# Another program at that path has other addresses.
sed -i 's/inner_spin/other_name/g' spin.c
mkdir kept && mv spin kept/
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -o spin spin.c
# perf has kept the first one in ~/.debug
home=$HOME
HOME=$work/none
run report chains
HOME=$home
unlike "$out" 'inner_spin|other_name' "a file with another build-id gives no names"
like "$out" '\[unknown\] \([^)]*/spin\)' "its addresses are shown"
run report --files kept chains
like "$out" 'inner_spin\+0x' "--files: the one that was recorded"

# lost
record lost -m 1 -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- dd if=/dev/zero of=/dev/null bs=1 count=200000
run report -c lost
kept=$(printf '%s\n' "$out" | awk '{ n += $1 } END { print n + 0 }')
lost=$(printf '%s\n' "$err" | sed -n 's/.*lost \([0-9]*\) events.*/\1/p')
is "$rc" "$([ "${lost:-0}" -gt 0 ] && echo 3 || echo 0)" "lost events: exit code"
# what dd does besides reading and writing are a few hundred
[ $((kept + ${lost:-0})) -ge 800000 ] && [ $((kept + ${lost:-0})) -lt 801000 ]
ok "kept and lost are what was produced: $kept + ${lost:-0}"

# Rounds that perf ended too early: an event comes after later ones have gone. What perf script shows late, and counts, is in its place elsewhere.
rounds() # FILE ITEM...: a perf.data of samples at these times, in us; round: the end of a round; N*T: N samples at T
{
	python3 -c '
import struct, sys
def record(kind, body=b""):
    return struct.pack("<IHH", kind, 2 if kind == 9 else 0, 8 + len(body)) + body
data = b""
for item in sys.argv[2:]:
    n, _, time = item.rpartition("*")
    data += record(68) if item == "round" else record(9, struct.pack("<QIIQQ", 0x1000, 7, 7, int(time) * 1000, 0)) * int(n or 1)
attr = struct.pack("<IIQQQQQ", 1, 128, 0, 1, 1 | 2 | 4 | 128, 0, 1 << 18).ljust(128, b"\0")
with open(sys.argv[1], "wb") as to:
    to.write(b"PERFILE2" + struct.pack("<12Q", 104, 144, 104, 144, 248, len(data), *[0] * 6) + attr + struct.pack("<QQ", 0, 0) + data)' "$@"
}
event_times() { grep -o '[0-9]*\.[0-9]*:' | tr '\n' ' '; }

rounds late.data 10 20 round 30 40 round 50 round round 25 60 round 70
run report late.data
is "$(printf '%s\n' "$out" | event_times)" "$(perf script -i late.data -F comm,tid,time,event 2>/dev/null | event_times)" "late events come where perf script has them"
like "$err" '1 record is out of order' "and are told, as perf tells them ($(perf script -i late.data 2>&1 >/dev/null | grep 'out of order'))"
run convert late.data late.csv
is "$rc:$(cut -d, -f1 late.csv | tail -n +2 | sort -c && echo sorted)" "0:sorted" "elsewhere they are in their place"
unlike "$err" "out of order" "and nothing is said"
rounds later.data 10 round 120000*30 round 120000*40 round 25 round 50
run convert later.data later.csv
like "$err" 'WARNING: .*: 1 record is out of order' "what is later than a few MB is told"
rounds endless.data 30 20 10 50 40
is "$("$pantrace" report endless.data | event_times)" "$(perf script -i endless.data -F comm,tid,time,event 2>/dev/null | event_times)" "without rounds all are in order"
rounds far.data 10 18446744073709551 round 30 round 20 round
is "$("$pantrace" report far.data | event_times)" "$(perf script -i far.data -F comm,tid,time,event 2>/dev/null | event_times)" "a time as large as there is"

# what is none, or no longer
for n in 3 20 103 400 2000; do
	head -c $n tracepoints >cut
	run report cut
	[ "$rc" = 1 ] && [ -n "$err" ]
	ok "cut after $n bytes: told ($rc)"
done
size=$(stat -c %s packed)
for how in tracepoints packed pipe; do
	head -c $(($(stat -c %s $how) * 2 / 3)) $how >cut
	run report cut
	[ "$rc" = 1 ] && printf '%s' "$err" | grep -q 'damaged or cut off'
	ok "two thirds of $how: told ($rc)"
done
printf '2ELIFREP%0200d' 0 >big
run report big
like "$rc $err" '^1 .*big-endian' "of a machine of the other byte order: refused by name"
: >empty
run report empty
like "$rc $err" "^1 .*'empty' is not a recording" "an empty file"
cp "$pantrace" tool
cp tracepoints private
chmod 711 "$work"
chmod 755 tool
chmod 600 private
err=$(setpriv --reuid=nobody --clear-groups ./tool report private 2>&1)
like "$? $err" "^1 .*cannot open 'private': Permission denied" "one that its reader may not open"
run report -f trace-cmd tracepoints
like "$rc $err" '^1 .*-f trace-cmd is for a trace.dat' "another tool's lines"
run report --live tracepoints
is "$rc" 1 "--live is for CTF traces"
mkdir several.d && cp mono several.d/mono.data
run report -c several.d
like "$out" ' 500  *raw_syscalls:sys_exit|raw_syscalls:sys_exit' "a directory that holds one"
done_testing
