#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# convert to trace.dat and perf.data: trace-cmd and perf read the files, and print what they print of the recordings themselves.
# among tracers: counts events of its own commands
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
need_root
[ -d /sys/kernel/tracing/instances ] || { echo "1..0 # SKIP no tracefs"; exit 0; }
for peer in perf trace-cmd; do command -v $peer >/dev/null || { echo "1..0 # SKIP no $peer"; exit 0; }; done
cd "$work" || exit 1

work_to_do='ls / >/dev/null; dd if=/dev/zero of=/dev/null bs=1 count=150 2>/dev/null; cat /proc/self/stat >/dev/null; sleep 0.01'
run record -q -e raw_syscalls -e sched:sched_process_exec -e sched:sched_switch -o ours.dat -- sh -c "$work_to_do"
perf record -q -k mono -g --sample-cpu -o theirs.data -e cpu-clock,sched:sched_process_exec,raw_syscalls:sys_enter -- sh -c "$work_to_do" >/dev/null 2>&1

# lines FILE: as the peer of its format prints it; -a: a thread's name may be any bytes
lines()
{
	case $1 in
	*.dat) trace-cmd report -t "$1" 2>/dev/null | grep -av '^cpus=' ;;
	*) perf script -i "$1" -F comm,tid,cpu,time,event,ip,sym,dso,trace 2>/dev/null ;;
	esac
}
# same NAME FILE FILE: the peer prints the same of both, and something
same()
{
	lines "$2" >want
	lines "$3" >got
	[ -s want ] && cmp -s want got
	ok "$1: $(grep -c . want) lines" || diff want got | head -6 | sed 's/^/# /' >&2
}
# values FILE: all events as a table: time, CPU, process, thread, name, kind, fields
values() { "$pantrace" convert --to csv "$@" - 2>/dev/null; }
# events FILE: how many
events() { values "$@" | sed 1d | grep -c .; }

# ---- trace.dat
for version in 7 6; do
	option=$([ $version = 6 ] && echo --v6)
	run convert $option ours.dat $version.dat
	is "$rc $err" "0 " "trace.dat of a trace.dat, version $version"
	same "version $version: trace-cmd prints the same of both" ours.dat $version.dat
	values ours.dat >want
	values $version.dat | cmp -s - want
	ok "version $version: all values, since the epoch"
	is "$(dd if=$version.dat bs=1 skip=10 count=1 2>/dev/null)" $version "it is of version $version"
done
trace-cmd dump --validate -i 7.dat >/dev/null 2>&1
ok "trace-cmd finds the file valid"
run convert -e sys_enter -w 'id == 1' ours.dat cut.dat
lines ours.dat | grep -c 'sys_enter: *NR 1 ' >want
is "$rc $(lines cut.dat | wc -l)" "0 $(cat want)" "-e and -w"
run convert ours.dat 7.dat
like "$rc $err" "^1 .*7.dat: it is there; --force replaces it" "what is there stays"
run convert --force cut.dat 7.dat
is "$rc $(lines 7.dat | wc -l)" "0 $(cat want)" "--force"
like "$(ls -A | tr '\n' ' ')" '^6.dat 7.dat cut.dat ' "nothing is left beside it"

# a range of time: the events that the whole has there, and most of the file is not read
run record -q -e raw_syscalls -o long.dat -- dd if=/dev/zero of=/dev/null bs=1 count=100000
run convert --v6 long.dat long6.dat
seconds() { echo "${1%?????????}.${1#"${1%?????????}"}"; }
# bytes FILE WORDS...: how many are read
bytes()
{
	strace -qq -f -e trace=pread64 -o calls "$pantrace" convert --to csv "$@" - >range 2>/dev/null
	awk -F' = ' '{ n += $NF } END { print n + 0 }' calls
}
for file in long.dat long6.dat; do
	values $file | sed 1d >all
	from=$(sed -n "$(($(wc -l <all) / 2))p" all | cut -d, -f1)
	to=$(sed -n "$(($(wc -l <all) / 2 + 1000))p" all | cut -d, -f1)
	awk -F, -v from="$from" -v to="$to" '$1 "" >= from "" && $1 "" <= to ""' all >want
	head=$(bytes -n 1 $file) whole=$(bytes $file)
	some=$(bytes -b "$(seconds "$from")" -E "$(seconds "$to")" $file)
	sed 1d range | cmp -s - want
	ok "$file: $(grep -c . want) of $(grep -c . all) events by their time"
	[ $(((some - head) * 4)) -lt $((whole - head)) ]
	ok "$file: $((some - head)) of $((whole - head)) bytes of pages were read"
done

# losses stay where they were, also those before events that are left out
run record -q -b 16 -e raw_syscalls -o lossy.dat -- dd if=/dev/zero of=/dev/null bs=1 count=200000
losses() { "$pantrace" report "$1" 2>&1 >/dev/null | sed "s/^.*$1: //"; }
losses lossy.dat >want
run convert lossy.dat lossy2.dat
is "$rc" 3 "a recording with losses"
losses lossy2.dat | cmp -s - want
ok "as many losses are in it: $(cat want)"
same "and trace-cmd marks them there" lossy.dat lossy2.dat

# of perf.data: the kernel's record; call chains behind their events
run convert theirs.data of-perf.dat
is "$rc" 0 "trace.dat of a perf.data" || echo "# $err"
perf script -i theirs.data -F comm,tid,time,event 2>/dev/null | grep -c . >want
is "$(lines of-perf.dat | grep -c ': .*: ')" "$(($(cat want) + $(lines of-perf.dat | grep -c '[lr]_stack:')))" "its events: $(cat want), and their call chains"
perf script -i theirs.data -F event,trace 2>/dev/null | sed -n 's/^ *raw_syscalls:sys_enter: //p' >want
lines of-perf.dat | sed -n 's/^.* sys_enter: *//p' | cmp -s - want
ok "fields as perf prints them: $(wc -l <want) system calls"
is "$(lines of-perf.dat | grep -c 'cpu-clock\|cpu_clock: *ip=')" "$(perf script -i theirs.data -F event 2>/dev/null | grep -c cpu-clock)" "samples become events of their fields"

# of CTF: formats are made of the fields
run convert ours.dat kernel.ctf
run convert kernel.ctf of-ctf.dat
is "$rc" 0 "trace.dat of a CTF trace"
values kernel.ctf >want
values of-ctf.dat | cmp -s - want
ok "all values of its events"
of_an_event=" \[[0-9]*\] *[0-9]*\.[0-9]*: " # the name of a thread may hold a line feed
is "$(lines of-ctf.dat | grep -ac "$of_an_event")" "$(lines ours.dat | grep -ac "$of_an_event")" "and trace-cmd prints as many" || { lines of-ctf.dat >got; lines ours.dat | diff - got | head | sed 's/^/# /'; }
run record -q -u 'traced:*' -o user -- "$traced" 500
run convert user user.dat
is "$rc $(events user.dat)" "0 $(events user)" "events of programs"
is "$(lines user.dat | grep -c .)" "$(events user)" "which trace-cmd prints"

# text: what such files cannot hold, and what was lost before it
line='            bash-1234  [000] d..1.   100.00000%d: made: %s=%s\n'
{
	printf '# tracer: nop\n#\n'
	printf "$line" 1 common_pid 5
	echo 'CPU:0 [LOST 7 EVENTS]'
	printf "$line" 2 long "$(head -c 70000 /dev/zero | tr '\0' x)"
	printf "$line" 3 last 1
} >made.txt
for file in made.dat made.data; do
	run convert made.txt $file
	like "$err" "left out: 1 event that is longer than 64 KiB" "$file: an event that is too long is left out"
	is "$(losses $file)" "pantrace report: the tracer lost 7 events, at 1 place, 100.000003000" "$file: what was lost before it is told before the next one"
	is "$(values $file | sed 1d | cut -d, -f6- | tr -d '"\r' | tr '\n' ' ')" 'recorded:made,{_common_pid:5} recorded:made,{last:1} ' "$file: a field with a name that every record has"
done

# ---- perf.data
run convert theirs.data ours.data
is "$rc $err" "0 " "perf.data of a perf.data"
same "perf script prints the same of both" theirs.data ours.data
values theirs.data >want
values ours.data | cmp -s - want
ok "all values, since the epoch"
perf report --stdio --header -i ours.data 2>header.err >header
is "$(grep -c "^# hostname : $(uname -n)\|^# event : name = cpu-clock" header) $(cat header.err)" "2 " "perf report --header reads it"
table() { perf report --stdio --no-children -g none -i "$1" 2>/dev/null | grep '%' | sort; }
for _ in 1 2 3; do # perf 6.1 ends by itself now and then, in the middle of a table
	table theirs.data >want
	table ours.data >got
	cmp -s got want && break
done
[ -s want ] && cmp -s got want
ok "perf report: the same table, $(wc -l <want) lines" || diff want got | head -10 | sed 's/^/# /'
run convert -e raw_syscalls:sys_enter -w 'id == 1' theirs.data cut.data
is "$rc $(perf script -i cut.data -F event 2>/dev/null | grep -c sys_enter)" \
	"0 $(perf script -i theirs.data -F event,trace 2>/dev/null | grep -c 'sys_enter: NR 1 ')" "-e and -w"
if perf record -q -k mono --call-graph dwarf -F 2000 -o dwarf.data -- sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done' >/dev/null 2>&1; then
	run convert dwarf.data chains.data
	is "$rc $("$pantrace" convert --to folded dwarf.data - 2>/dev/null | cksum)" "0 $("$pantrace" convert --to folded chains.data - 2>/dev/null | cksum)" "stacks that were unwound are call chains"
fi
run convert ours.dat of-dat.data
is "$rc" 0 "perf.data of a trace.dat" || echo "# $err"
perf script -i of-dat.data -F tid,cpu,time,event,trace 2>/dev/null | sed 's/^ *//' >got
is "$(wc -l <got)" "$(lines ours.dat | wc -l)" "perf script has as many events as trace-cmd"
lines ours.dat | sed -n 's/.* \([0-9.]*\): sys_enter: *\(NR [0-9]*\).*/\1 \2/p' >want
perf script --ns -i of-dat.data -F time,event,trace 2>/dev/null | sed -n 's/^ *\([0-9.]*\): *raw_syscalls:sys_enter: \(NR [0-9]*\).*/\1 \2/p' | cmp -s - want
ok "the same times and fields, to the nanosecond: $(wc -l <want)"

# ---- several
run convert ours.dat theirs.data both.dat
is "$rc $(events -e sys_enter both.dat)" "0 $(($(events -e sys_enter ours.dat) + $(events -e sys_enter theirs.data)))" "a trace.dat and a perf.data in one trace.dat"
# without names: a thread that both know has that of the later one
calls_of() { lines $1 | sed -n 's/^.*-\([0-9]* *\[[0-9]*\].*sys_enter:\)/\1/p' | sort; }
calls_of ours.dat >want
calls_of both.dat | comm -12 - want | cmp -s - want
ok "the times of the first one's clock"
run convert ours.dat theirs.data both.data
is "$rc $(perf script -i both.data -F event 2>/dev/null | grep -c 'sys_enter')" "0 $(events -e sys_enter both.dat)" "in one perf.data"
# the same, said to be of a machine of another name
other=$(uname -n | tr 'a-z0-9-' 'b-za1-90x')
python3 - theirs.data elsewhere.data "$(uname -n)" "$other" <<-'EOF'
	import sys
	data, here, there = open(sys.argv[1], 'rb').read(), sys.argv[3].encode(), sys.argv[4].encode()
	open(sys.argv[2], 'wb').write(data.replace(here + b'\0', there + b'\0'))
	EOF
for file in two.dat two.data; do
	run convert ours.dat elsewhere.data $file
	like "$rc $err $(ls $file 2>&1)" "^1 .*$file: such a file knows threads by their numbers alone, and these recordings are of several machines.*No such file" "$file: of two machines"
done

# ---- what cannot be
if perf record -q -k mono -s --sample-cpu --code-page-size -F 2000 -e cpu-clock -o parts.data -- sh -c 'sh -c "ls /"; i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done' >/dev/null 2>&1; then
	run convert parts.data less.data
	like "$rc $(echo $err)" "^0 .*parts.data: [0-9]* counters? of threads that ended (was|were) left out .READ..*perf.data: left out: $(events parts.data) samples' sizes of pages" "what perf.data does not carry is counted"
	same "the rest is there" parts.data less.data
fi
run convert --v6 ours.dat x.ndjson
like "$rc $err" '^2 .*--v6 is for trace.dat' "--v6 of another format"
run convert --to trace.dat ours.dat -
like "$rc $err" "^2 .*trace.dat is written at several places.*'-'" "standard output"
run convert --to perf.data ours.dat /dev/null
like "$rc $err" "^1 .*/dev/null: it is not a regular file" "a device"
run convert -e nothing:at_all ours.dat none.dat
run convert -e nothing:at_all ours.dat none.data
is "$rc $(events none.dat) $(perf script -i none.data 2>/dev/null | wc -l)" "0 0 0" "no events: whole files without any"
mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
	run convert --v6 ours.dat full/out.dat
	is "$rc $(ls -A full)" "1 " "a full disk: an error, and nothing is left"
	run convert ours.dat full/out.data
	is "$rc $(ls -A full)" "1 " "the same of perf.data"
	umount full
else
	skip "a full disk" "nothing can be mounted"
	skip "the same of perf.data" "nothing can be mounted"
fi

done_testing
