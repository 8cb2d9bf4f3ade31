#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# crash --kernel VMCORE: dumps of a machine that never was, in all formats; damaged and filtered ones. tests/vm/vmcore.sh has real ones.
# parallel: reads files
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
image=$OLDPWD/tests/vmcore_image.py

# dump FILE FORMAT [CLOCK]: its events in `truth`
dump() { python3 "$image" "$@" >truth; }
# shown FILE: "TIME CPU INSTANCE NUMBER" of each event, as in truth
shown()
{
	"$pantrace" report --json "$1" 2>/dev/null | sed 's/.*"time_ns":"1700000000//; s/",.*"cpu":\([0-9]*\).*"number":\([0-9]*\).*/ \1 \2/; s/^0*//' | sort -n
}
for format in elf zlib lzo snappy zstd flat; do
	dump made $format
	run crash --kernel made --json -o $format.dat
	is "$rc $err" "0 " "$format: is read"
	is "$(shown $format.dat)" "$(awk '{ print $1, $2, $4 }' truth)" "$format: all events, with their times"
done
is "$out" '{"cpu":0,"events":4,"overwritten":7,"dropped":0,"unreadable":0,"instance":""}
{"cpu":1,"events":4,"overwritten":0,"dropped":0,"unreadable":0,"instance":""}
{"cpu":0,"events":4,"overwritten":0,"dropped":0,"unreadable":0,"instance":"small"}' "what was read and what was overwritten"
like "$("$pantrace" report elf.dat 2>/dev/null)" 'CPU:0 \[LOST 7 EVENTS\]' "the place where events were overwritten"
like "$("$pantrace" report elf.dat 2>/dev/null)" 'zero-100 +\[000\]' "names of tasks"
is "$("$pantrace" report --json elf.dat 2>/dev/null | grep -c '"host":"deadhost"')" 12 "whose they are"
if command -v trace-cmd >/dev/null; then
	is "$(trace-cmd report elf.dat 2>/dev/null | grep -c '^small: .*beat: .*number=')" 4 "trace-cmd shows the events of the instance"
else
	skip "trace-cmd shows the instance" "it is not installed"
fi
dump made elf
run crash --kernel -B small made -o small.dat
is "$rc $(shown small.dat | wc -l)" "0 4" "-B: one instance"
run crash --kernel -B nosuch made -o none.dat
like "$rc $err" "^1 .*has no trace buffer 'nosuch'" "-B: there is none"
[ ! -e none.dat ]
ok "and no file is left"

# ---- clocks
for clock in local boot tai mono_raw; do
	dump made elf $clock
	run crash --kernel made -o $clock.dat
	is "$(shown $clock.dat)" "$(awk '{ print $1, $2, $4 }' truth)" "the clock $clock: where its times lie beside the others"
done
dump made elf local
sed 's/native_sched_clock/paravt_sched_clock/' made >other
run crash --kernel other -o other.dat
run report --json other.dat
like "$rc $err" "^1 ERROR: .*of the clock 'local', and nothing says when that was" "a hypervisor's clock is not taken for the TSC"
dump made elf counter
run crash --kernel made -o counter.dat
run report --json counter.dat
like "$rc $err" "^1 ERROR: .*of the clock 'counter', and nothing says when that was" "the clock counter: refused on the time line"
like "$err" 'HINT: alone, in columns' "and how it is shown all the same"
like "$("$pantrace" report counter.dat)" 'small: +zero-100 .* 1000200: ' "in columns, as recorded"

mkfifo pipe
timeout 120 "$pantrace" crash --kernel made -o pipe 2>err
is "$? $(cat err)" "1 ERROR: cannot write 'pipe': it is a FIFO, and a recording is written at several places" "a FIFO in place of the file: nobody waits for its reader"

# ---- what cannot be read
printf 'a small text file' >short
for file in short "$pantrace" made.cut; do
	head -c 4000 made >made.cut
	run crash --kernel "$file" -o none.dat
	like "$rc $err" '^1 ERROR: [^ ]*: (not a dump|damaged or cut off)' "refused: ${file##*/}"
done
sed 's/swapper_pg_dir/swapper_pg_xxx/' made >nowhere
run crash --kernel nowhere -o none.dat
like "$rc $err" '^1 .*does not say where its symbols are' "a kernel that does not say where its symbols are"
sed 's/VMCOREINFO/VMCOREINFX/' made >nameless
run crash --kernel nameless -o none.dat
like "$rc $err" '^1 .*has no VMCOREINFO' "no VMCOREINFO"
like "$err" 'HINT: .*-device vmcoreinfo' "and how it gets there"
sed 's/ring_buffer_per_cpu/ring_buffer_per_cpx/' made >other
run crash --kernel other -o none.dat
like "$rc $err" "^1 .*has no 'struct ring_buffer_per_cpu'" "a kernel that has no such structure"
# A page of events is missing, as if a filter had left it out: one of the instance is in no segment.
dump made elf
python3 - made <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
begin = struct.unpack_from('<Q', data, 64 + 56 + 8)[0]
at = data.find(struct.pack('<QQ', 1000200, 20), begin) # the page whose time this is
where = at - begin
physical, = struct.unpack_from('<Q', data, 64 + 56 + 24)
size, = struct.unpack_from('<Q', data, 64 + 56 + 32)
# two segments around it, the second in the place of the notes, which go to the end
notes = struct.unpack_from('<IIQQQQQQ', data, 64)
heads = [(4, 0, len(data) + 56, 0, 0, notes[5], notes[5], 0), (1, 7, begin + 56, 0, physical, where, where, 0),
         (1, 7, begin + 56 + where + 4096, 0, physical + where + 4096, size - where - 4096, size - where - 4096, 0)]
note = data[notes[2]:notes[2] + notes[5]]
out = data[:56] + struct.pack('<H', 3) + data[58:64] + b''.join(struct.pack('<IIQQQQQQ', *h) for h in heads) + data[64 + 112:] + note
open('holed', 'wb').write(out)
PY
run crash --kernel holed --json -o holed.dat
like "$rc $err" '^3 WARNING: holed: .*not in the dump or damaged: 1$' "a page that is not in the dump: code 3"
like "$out" '"cpu":0,"events":3,.*"unreadable":1,"instance":"small"' "its events are counted by what the kernel had counted"
like "$("$pantrace" report holed.dat 2>/dev/null)" 'CPU:0 \[LOST EVENTS\]' "and their place is shown"
# A ring that is said to be long, and whose pages follow each other in a circle without the newest one.
sed 's/nr_pages=2,/nr_pages=1 << 24,/; s/commit_page=newest/commit_page=8/' "$image" >looped.py
python3 looped.py made >truth
timeout 60 "$pantrace" crash --kernel made --json -o looped.dat >out 2>err
is "$? $(cut -d, -f2,5 out | tr '\n' ' ')" '3 "events":4,"unreadable":1 "events":4,"unreadable":1 "events":4,"unreadable":1 ' "pages in a circle: each is read once, and the damage is told" || cat out err
run crash --kernel made made
like "$rc $err" '^2 .*takes one VMCORE' "two dumps"
done_testing
