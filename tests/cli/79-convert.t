#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# convert: recordings as files of other programs. How many events there are, perf script and trace-cmd say; what the files say,
# independent readers of each format.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
PATH=/usr/bin:$PATH # Debian's python3, which has the judges
cd "$work" || exit 1

perf record -q -k mono -g -o kernel.data -e cpu-clock,sched:sched_switch,sched:sched_process_exec,raw_syscalls:sys_enter,raw_syscalls:sys_exit \
	-- sh -c 'ls / >/dev/null; sleep 0.01; cat /proc/self/stat >/dev/null' >/dev/null 2>&1
perf script -i kernel.data -F event 2>/dev/null | sed 's/^ *//; s/:\{0,1\} *$//' | grep . >events.txt
n=$(grep -c . events.txt)
run record -q -u 'traced:*' -o user -- "$traced" 500

judge() # NAME FILE, then the judge as Python
{
	python3 - "$2" "$n" >"$work/why" 2>&1
	ok "$1" || tail -3 "$work/why" | sed 's/^/# /' >&2
}

# ---- the file ----

run convert kernel.data out.ndjson
is "$rc" 0 "a recording, its format by the suffix"
is "$(wc -l <out.ndjson)" "$n" "as many events as perf script has: $n"
run convert kernel.data out.ndjson
like "$rc $err" "^1 .*out.ndjson: it is there; --force replaces it" "what is there stays"
echo old >other && ln -s other link.ndjson
run convert --force kernel.data link.ndjson
is "$rc $(cat other) $(wc -l <link.ndjson)" "0 old $n" "--force: a link goes, not what it leads to"
cp kernel.data same.data
ln -s same.data link.data
for in in same.data link.data; do
	run convert --force $in same.data
	is "$rc $(cmp kernel.data same.data && echo whole) $(grep -c 'same.data: it is what is converted' err)" "1 whole 1" "--force: $in is not replaced by itself"
done
run convert --to ndjson kernel.data -
is "$(grep -c . out)" "$n" "- is standard output"
run convert kernel.data out.ndjson.gz
is "$(zcat out.ndjson.gz | cksum)" "$(cksum <out.ndjson)" ".gz: the same, compressed"
run convert kernel.data out.unknown
like "$rc $err" "^2 .*'out.unknown' does not say the format; --to does: ndjson, csv" "no format"
run convert --to cvs kernel.data x
like "$rc $err" "^2 .*unknown format 'cvs'" "an unknown one"
run convert kernel.data
like "$rc $err" "^2 .*OUT is missing" "no OUT"
run convert nothing out2.ndjson
[ "$rc" = 1 ] && [ ! -e out2.ndjson ]
ok "no recording: nothing is made"
mkfifo fifo
timeout 20 cat fifo >from-fifo &
run convert --to ndjson kernel.data fifo
wait $!
is "$(wc -l <from-fifo)" "$n" "a FIFO is written to"
run convert --to ndjson kernel.data /dev/full
like "$rc $err" '^1 .*No space left' "a full device is an error"
mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
	run convert kernel.data full/out.ndjson
	is "$rc $(ls -A full)" "1 " "a full disk: an error, and nothing is left"
	umount full
else
	skip "a full disk" "nothing can be mounted"
fi
# killed while it writes: the file has no name yet
perf record -q -k mono -o many.data -e raw_syscalls:sys_enter -- dd if=/dev/zero of=/dev/null bs=1 count=100000 >/dev/null 2>&1
for signal in INT KILL; do
	mkdir killed
	env --default-signal=INT "$pantrace" convert --to csv $(for i in $(seq 20); do echo many.data; done) killed/out 2>/dev/null &
	until_true sh -c "ls -l /proc/$!/fd | grep -q '(deleted)'"
	kill -$signal $! 2>/dev/null
	wait $! 2>/dev/null
	is "$? $(ls -A killed)" "$([ $signal = INT ] && echo 130 || echo 137) " "SIG$signal: nothing half written is left"
	rm -rf killed
done

# ---- which events ----

run convert --to ndjson -e raw_syscalls:sys_enter kernel.data -
is "$(grep -c . out)" "$(grep -c 'sys_enter$' events.txt)" "-e"
run convert --to ndjson -w 'id == 59' -e sys_enter kernel.data -
is "$(grep -c . out)" "$("$pantrace" report -e sys_enter -w 'id == 59' kernel.data | grep -c 'sys_enter:')" "-w, as report's"
run convert --to ndjson -n 3 kernel.data -
is "$(grep -c . out)" 3 "-n"
run convert --to ndjson -e raw_syscalls:sys_entr kernel.data -
like "$err" "did you mean 'raw_syscalls:sys_enter'" "a misspelt event: the nearest"
run convert --to ndjson -w 'id ==' kernel.data out3.ndjson
[ "$rc" = 2 ] && [ ! -e out3.ndjson ]
ok "a condition that is none"
head -c $(($(stat -c %s kernel.data) / 2)) kernel.data >cut.data
run convert cut.data cut.ndjson
[ "$rc" = 1 ] && [ -s cut.ndjson ] && [ -n "$err" ]
ok "a damaged recording: what could be read, told, code 1"

# ---- ndjson ----

run convert user user.ndjson
is "$(wc -l <user.ndjson)" "$("$pantrace" report user | grep -c .)" "ndjson: a CTF trace"
"$pantrace" report --json user | cmp -s - user.ndjson
ok "the lines of report --json"
"$pantrace" convert --json-schema >schema.json
cat out.ndjson user.ndjson >all.ndjson
judge "--json-schema: an independent validator takes all of them" all.ndjson <<'P'
import json, sys, jsonschema
schema = json.load(open("schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in open(sys.argv[1]):
    validator.validate(json.loads(line))
for bad in ({"event": "x"}, {"time_ns": 2**60, "event": "x"}, {"time_ns": 1, "event": "x", "other": 1}):
    assert not validator.is_valid(bad), bad
P

# ---- csv ----

run convert kernel.data out.csv
judge "csv: a reader of CSV has the same events and fields" out.csv <<'P'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(l) for l in open("out.ndjson")]
assert len(rows) == len(lines) == int(sys.argv[2])
for row, line in zip(rows, lines):
    assert row["time_ns"] == str(line["time_ns"]) and row["event"] == line["event"]
    assert row["cpu"] == str(line.get("cpu", "")) and row["tid"] == str(line["context"]["tid"])
    assert row["comm"] == line["context"]["procname"]
    assert json.loads(row["fields"]) == line["fields"], (row, line)
P
run convert -e sched_switch --field prev_comm --field next_pid --field nothing kernel.data switches.csv
judge "csv: fields as columns" switches.csv <<'P'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
want = [json.loads(l)["fields"] for l in open("out.ndjson") if '"event":"sched:sched_switch"' in l]
assert rows and [(r["prev_comm"], r["next_pid"]) for r in rows] == [(f["prev_comm"], str(f["next_pid"])) for f in want]
assert all(r["nothing"] == "" for r in rows)
P
like "$err" "no event in what was read has a field 'nothing'|^$" "a column that no event has"
run convert --field x kernel.data x.ndjson
like "$rc $err" '^2 .*--field is for csv' "--field of another format"
# ---- call chains ----

# What perf script prints, with all that names may have; and what stackcollapse-perf.pl makes of it (but for ESC and a file that is gone).
printf '%s\n' '# ========' '# captured on: Mon' '#' '' \
	'V8 WorkerThread 24636/25607 [000] 94564.109216:    250000 cycles:u: ' \
	'	          401136 ns::f(int, char)+0x8b (/full/path/to/a.out)' '	          4069f5 (anonymous namespace)::g(int)+0x935 (/a b)' '	    7f6d2148eb25 [unknown] (/lib64/libc-2.33.so)' '	    7ffc71ee9580 [unknown] ([unknown])' '' \
	'java 12688 [002] 6544038.708352:        235 cycles:u: ' '	    7f722d142778 Lorg/A;.call(Lorg/B;)V+0x1 (/tmp/perf-19982.map)' '	ffffffff8103ce3b do_syscall_64+0x7f8f80b8 ([kernel.kallsyms])' '' \
	'sh  -1 1.000000:      1 cycles:u: ' '	  401136 operator()+0x5 (/tmp/x (deleted))' '	  1 net/http.(*Client).Do+0x5 (/go)' "	  13a80b608e0a RegExp:[&<>\"'] (/tmp/perf-7539.map)" '' \
	"e$(printf '\033')[2J 7 1.000000:      2 cycles:u: " '	 1 main+0x1 (/x)' '' 'e 7 1.000000:      1 other: ' '	 1 main+0x1 (/x)' '' >text
# 2^53 + 1, twice: sums are exact
for i in 1 2; do printf 'big 7 2.00000%d:      4503599627370497 cycles:u: \n\t 1 main+0x1 (/x)\n\n' $i; done >>text
cat >want <<'F'
V8_WorkerThread;[unknown];[libc-2.33.so];(anonymous namespace)::g;ns::f 250000
big;main 9007199254740994
e\x1b[2J;main 2
java;do_syscall_64;org/A:.call 235
sh;RegExp:[&<>];net/http.(*Client).Do;operator 1
F
run convert text text.folded
is "$rc $(cat text.folded)" "0 $(cat want)" "folded: the text of perf script, as stackcollapse-perf.pl has it"
is "$err" "WARNING: folded: left out: 1 event of another kind than the first one with a call chain; -e chooses the kind" "what is left out is said"
run convert text.folded again.folded
cmp -s text.folded again.folded
ok "folded stacks are read, and written as they were"
run report text
sed 's/\\x1b/\x1b/; /^#/d' out >out2
sed '/^#/d' text | sed 1d | cmp - out2
ok "report prints the lines"
run report --json text
like "$rc $err" '^1 .*nothing says when that was' "on a time line it has no place"
perf script -i kernel.data >kernel.txt 2>/dev/null
is "$("$pantrace" report -c kernel.txt)" "$("$pantrace" report -c kernel.data)" "the text of perf script has the events of perf.data"
run convert -e cpu-clock kernel.txt kernel.folded
python3 - >want <<'P'
# what the text says, in the plainest way
import collections, re
weights, chain, task = collections.Counter(), [], None
def done():
    if task: weights[";".join([task[0]] + chain[::-1])] += task[1]
for line in open("kernel.txt", errors="surrogateescape"):
    line = line.rstrip("\n")
    head = re.match(r"^ *(\S.*?) +\d+ +(?:\[\d+\] +)?\d+\.\d+: +(?:(\d+) +)?([^ ]+):(?: |$)", line)
    if line[:1] != "\t" and head:
        done()
        chain, task = [], (head[1].replace(" ", "_"), int(head[2] or 1)) if head[3] == "cpu-clock" else None
    elif line.strip() and task:
        symbol, file = re.match(r"^\s*[0-9a-f]+ (.*) \((.*)\)$", line).groups()
        symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
        chain.append(symbol if symbol != "[unknown]" else "[%s]" % (file.split("/")[-1] if file != "[unknown]" else "unknown"))
done()
for key in weights: print(key, weights[key])
P
LC_ALL=C sort want >want.sorted
[ -s want.sorted ] && cmp want.sorted kernel.folded
ok "folded: the $(grep -c . kernel.folded) chains of perf script" || diff want.sorted kernel.folded | head -5 | sed 's/^/# /' >&2
run convert -e cpu-clock kernel.data data.folded
threads() { awk '{ split($0, part, ";"); sum[part[1]] += $NF } END { for (c in sum) print c, sum[c] }' "$1" | sort; }
is "$(threads data.folded)" "$(threads kernel.folded)" "folded: perf.data weighs the same, by thread"
run convert -e cpu-clock kernel.data cpu.speedscope.json
judge "speedscope: every sample, and frames that are there" cpu.speedscope.json <<'P'
import collections, json, sys
d = json.load(open(sys.argv[1]))
p, frames = d["profiles"][0], d["shared"]["frames"]
assert d["$schema"] == "https://www.speedscope.app/file-format-schema.json" and p["type"] == "sampled" and p["unit"] == "nanoseconds"
assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
sums = collections.Counter()
for stack, weight in zip(p["samples"], p["weights"]):
    sums[";".join(frames[i]["name"] for i in stack)] += weight
want = {l.rpartition(" ")[0]: int(l.rpartition(" ")[2]) for l in open("data.folded")}
assert sums == want, (len(sums), len(want))
P
run convert -e cpu-clock kernel.data cpu.pb.gz
zcat cpu.pb.gz | protoc --decode_raw >cpu.raw 2>"$work/why"
ok "pprof: gzip, and protobuf" || cat "$work/why" >&2
cat >protobuf.py <<'P'
# An independent decoder of protobuf's encoding.
import collections
def varint(b, i):
    v = shift = 0
    while True:
        v |= (b[i] & 127) << shift; shift += 7; i += 1
        if b[i - 1] < 128: return v, i
def fields(b):
    i, out = 0, collections.defaultdict(list)
    while i < len(b):
        tag, i = varint(b, i)
        if tag & 7 == 0: v, i = varint(b, i)
        elif tag & 7 == 1: v, i = int.from_bytes(b[i:i + 8], "little"), i + 8
        elif tag & 7 == 2:
            n, i = varint(b, i); v, i = b[i:i + n], i + n
            assert len(v) == n
        else: raise ValueError(tag)
        out[tag >> 3].append(v)
    return out
def packed(b):
    i, out = 0, []
    while i < len(b):
        v, i = varint(b, i); out.append(v)
    return out
P
judge "pprof: the same samples, with files and build-ids" cpu.pb.gz <<'P'
import collections, gzip, subprocess, sys
sys.path.insert(0, ".")
from protobuf import fields, packed
p = fields(gzip.open(sys.argv[1]).read())
strings = [s.decode() for s in p[6]]
assert strings[0] == ""
types = [tuple(strings[fields(t)[k][0]] for k in (1, 2)) for t in p[1]]
assert types == [("samples", "count"), ("cpu-clock", "nanoseconds")], types
functions = {fields(f)[1][0]: strings[fields(f)[2][0]] for f in p[5]}
mappings = {fields(m)[1][0]: fields(m) for m in p[3]}
locations = {}
for l in map(fields, p[4]):
    assert l[2][0] in mappings and l[3][0] < mappings[l[2][0]][3][0]
    locations[l[1][0]] = functions[fields(l[4][0])[1][0]]
sums, count = collections.Counter(), 0
for s in map(fields, p[2]):
    label = fields(s[3][0])
    assert strings[label[1][0]] == "comm"
    values = packed(s[2][0])
    count += values[0]
    sums[";".join([strings[label[2][0]]] + [locations[i] for i in packed(s[1][0])][::-1])] += values[1]
assert sums == {l.rpartition(" ")[0]: int(l.rpartition(" ")[2]) for l in open("data.folded")}
assert count == sum(1 for l in open("events.txt") if l.strip() == "cpu-clock")
listed = subprocess.run(["perf", "buildid-list", "-i", "kernel.data"], capture_output=True, text=True).stdout
ids = {l.split(None, 1)[1].strip(): l.split()[0] for l in listed.splitlines()}
named = {strings[m[5][0]]: strings[m[6][0]] for m in mappings.values() if m[6][0]}
assert named and all(ids[f] == i for f, i in named.items()), (named, ids)
P
run convert cpu.pb.gz cpu.folded
is "$rc $(sort cpu.folded | cksum)" "0 $(sort data.folded | cksum)" "pprof: read again, the stacks of the recording"

# ---- time lines ----

# The whole machine for a moment, and calls of a program that strace has counted.
perf record -q -a -k mono -o switches.data -e sched:sched_switch,sched:sched_waking -- sleep 0.2 >/dev/null 2>&1
run convert kernel.data kernel.json
judge "chrome: every event once, system calls as slices" kernel.json <<'P'
import collections, json, sys
d = json.load(open(sys.argv[1]))
lines = [json.loads(l) for l in open("out.ndjson")]
got = collections.Counter((e["ph"], e["cat"]) for e in d["traceEvents"] if e["ph"] != "M")
want = collections.Counter(l["event"] for l in lines)
enter, exit = "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"
assert got["X", enter] > 10
assert got["X", enter] + got["i", enter] + got["B", enter] == want[enter], got
assert got["X", enter] + got["i", exit] == want[exit], got
assert got["i", "cpu-clock"] == want["cpu-clock"]
begin = int(d["otherData"]["begin_ns"])
assert begin == int(lines[0]["time_ns"]) and d["otherData"]["clock"] == "since 1970"
# each slice is a call that the lines have, to the nanosecond
open_calls, calls = {}, set()
for l in lines:
    tid, f = l["context"]["tid"], l["fields"]
    if l["event"] == enter: open_calls[tid] = (int(l["time_ns"]), f["id"])
    elif l["event"] == exit and tid in open_calls:
        at, number = open_calls.pop(tid)
        if number == f["id"]: calls.add((tid, at - begin, int(l["time_ns"]) - at, number, str(f["ret"])))
slices = {(e["tid"], round(e["ts"] * 1000), round(e["dur"] * 1000), e["args"]["begin"]["id"], str(e["args"]["end"]["ret"])) for e in d["traceEvents"] if e["ph"] == "X" and e["cat"] == enter}
assert slices == calls, (len(slices), len(calls), list(slices - calls)[:2], list(calls - slices)[:2])
assert any(e["name"] == "execve" for e in d["traceEvents"] if e["ph"] == "X")
named = {(e["pid"], e["tid"]) for e in d["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
assert all((e["pid"], e["tid"]) in named for e in d["traceEvents"])
# call chains end at the outermost frame
frames = d["stackFrames"]
for e in d["traceEvents"]:
    if "sf" in e:
        f = str(e["sf"])
        while f != "0": f = str(frames[f].get("parent", 0))
P
run convert switches.data switches.json
judge "chrome: who ran on a CPU, one after the other, and from where threads were woken" switches.json <<'P'
import collections, json, subprocess, sys
d = json.load(open(sys.argv[1]))
events = d["traceEvents"]
lines = subprocess.run(["perf", "script", "-i", "switches.data", "-F", "event"], capture_output=True, text=True).stdout.split()
switches = sum("sched_switch" in l for l in lines)
slices = [e for e in events if e["ph"] == "X"]
assert slices and len(slices) <= switches
last = {}
for e in sorted(slices, key=lambda e: e["ts"]):
    assert e["args"]["prev_pid"] != 0 # its name may be another by then: exec
    assert e["ts"] >= last.get(e["tid"], 0) - 1e-6, e
    last[e["tid"]] = e["ts"] + e["dur"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
assert all(names[e["pid"], e["tid"]].startswith("CPU ") for e in slices)
starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
assert ends and all(starts[i] <= t for i, t in ends.items())
P
run convert user user.json
judge "chrome: events of a program, with their fields" user.json <<'P'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "i"]
lines = [json.loads(l) for l in open("user.ndjson")]
assert [(e["name"], e["args"]) for e in events] == [(l["event"], l["fields"]) for l in lines]
P

for name in kernel switches user; do run convert $( [ $name = user ] && echo user || echo $name.data ) $name.pftrace; done
protoc --decode_raw <kernel.pftrace >perfetto.raw 2>"$work/why"
ok "perfetto: protobuf" || cat "$work/why" >&2
for name in kernel switches user; do
judge "perfetto: $name: slices, instants, names, fields and call chains are those of chrome" $name.pftrace <<'P'
# Field numbers of protos/perfetto/trace: trace_packet.proto, track_event/*.proto, interned_data.proto.
import codecs, collections, json, re, struct, subprocess, sys
sys.path.insert(0, ".")
from protobuf import fields
name = sys.argv[1].split(".")[0]
chrome = json.load(open(name + ".json"))
begin = int(chrome["otherData"]["begin_ns"])
text = {k: {} for k in (1, 2, 5, 16, 17)}
mappings, frames, chains, tracks, open_slices = {}, {}, {}, {}, collections.defaultdict(list)
got, realtime = collections.Counter(), None
# without \xNN: other tests name threads with what turns the direction of text; a byte that is no UTF-8 is U+00NN in JSON
codecs.register_error("number", lambda e: ("".join(map(chr, e.object[e.start:e.end])), e.end))
def plain(text):
    return re.sub(r"(\\x[0-9a-f]{2})+", lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode("utf-8", "number"), text)
def value(a):
    if a[3]: return a[3][0]
    if a[5]: return struct.unpack("<d", a[5][0].to_bytes(8, "little"))[0]
    if a[4]: return a[4][0] - (1 << 64) if a[4][0] >> 63 else a[4][0]
    if a[6]: return plain(a[6][0].decode())
    if a[2]: return bool(a[2][0])
    if a[11]: return {m[10][0].decode(): value(m) for m in map(fields, a[11])}
    return [value(fields(e)) for e in a[12]] if a[12] else []
def arguments(e): return {a[10][0].decode(): value(a) for a in map(fields, e[4])}
def chain(iid): return [text[5][frames[f]] for f in chains[iid]]
last = None
for packet in map(fields, fields(open(sys.argv[1], "rb").read())[1]):
    assert packet[10] == [1]
    for clock in (fields(c) for s in packet[6] for c in fields(s)[1]):
        if clock[1] == [1]: realtime = clock[2][0]
    for i in map(fields, packet[12]):
        for kind, table in text.items():
            for t in map(fields, i[kind]):
                assert t[1][0] not in table
                table[t[1][0]] = t[2][0].decode() if kind != 16 else t[2][0].hex()
        for m in map(fields, i[19]): mappings[m[1][0]] = (text[17][m[7][0]], text[16][m[2][0]])
        for f in map(fields, i[6]): frames[f[1][0]] = f[2][0]; assert f[3][0] in mappings
        for c in map(fields, i[7]): chains[c[1][0]] = c[2]
    for t in map(fields, packet[60]):
        tracks[t[1][0]] = fields(t[4][0])[2][0] if t[4] else fields(t[3][0])[1][0] if t[3] else t[2][0].decode()
        assert not t[5] or t[5][0] in tracks
    for e in map(fields, packet[11]):
        track, ns = tracks[e[11][0]], packet[8][0] - begin
        if e[9][0] == 2:
            at, n, c, args, stack = open_slices[e[11][0]].pop()
            got["X", n, c, at, ns - at] += 1
            continue
        n, c = plain(text[2][e[10][0]]), text[1][e[3][0]]
        if e[9][0] == 1: open_slices[e[11][0]].append((ns, n, c, None, None))
        else: got["i", n, c, ns, json.dumps(arguments(e), sort_keys=True)] += 1
        if e[56] : assert all(chain(e[56][0]))
for s in open_slices.values():
    for at, n, c, *rest in s: got["B", n, c, at, None] += 1
want = collections.Counter()
for e in chrome["traceEvents"]:
    ns = lambda key: round(e[key] * 1000)
    if e["ph"] == "X": want["X", e["name"], e["cat"], ns("ts"), ns("dur")] += 1
    elif e["ph"] == "B": want["B", e["name"], e["cat"], ns("ts"), None] += 1
    elif e["ph"] == "i": want["i", e["name"], e["cat"], ns("ts"), json.dumps(e["args"], sort_keys=True)] += 1
assert want and got == want, (list((got - want))[:2], list((want - got))[:2])
assert realtime == begin
if name == "kernel":
    listed = subprocess.run(["perf", "buildid-list", "-i", "kernel.data"], capture_output=True, text=True).stdout
    ids = {l.split(None, 1)[1].strip(): l.split()[0] for l in listed.splitlines()}
    named = {"/" + p: i for p, i in mappings.values() if i}
    assert chains and named and all(ids[f] == i for f, i in named.items()), named
P
done

# ---- hostile names ----

# ESC, quotes, HTML, C1, bytes that are no UTF-8, what turns the direction of text; in threads, functions, files and fields
odd="$(printf '</title><script>"q"&;,\\ \033[2J \302\233 \377\303 \342\200\256!')"
printf '%s 7 [000] 1.000000:          3 cycles:u: \n\t 1 %s+0x1 (/x%s)\n\n%s 7 [000] 1.500000: a:b: text=%s n=1\n' "$odd" "$odd" "$odd" "=1+1$odd" "$odd" >odd
for to in ndjson csv folded speedscope chrome pprof perfetto; do
	run convert -e cycles:u --to $to odd odd.$to
	is "$rc" 0 "hostile names: $to"
done
run convert -e a:b odd odd2.ndjson
judge "hostile names: each is what its readers take, and nothing reaches a terminal raw" odd <<'P'
import csv, json, re
control = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
for name in "ndjson", "folded", "speedscope", "chrome":
    text = open("odd." + name, "rb").read().decode("utf-8", "strict")
    assert not control.search(text), (name, control.search(text))
    if name != "folded":
        for line in text.splitlines(): json.loads(line)
folded = open("odd.folded").read()
assert folded.count("\n") == 1 and folded.count(";") == 1 and folded.endswith(" 3\n"), folded
raw = open("odd", "rb").read().split(b" 7 [000]")[0]
row = next(csv.DictReader(open("odd.csv", newline="", encoding="latin-1")))
assert row["comm"].encode("latin-1") == raw, row # bytes as they are
assert json.loads(open("odd2.ndjson").read())["fields"]["n"] == 1
P

# ---- text that is none ----

for text in 'a b' '{"a": 1}' 'main;work x' 'x 1' '2024-01-01 12:00:00 sh 12: a;b' "$(cat "$top/tests/cli/79-convert.t")"; do
	printf '%s\n' "$text" >strange
	run convert --to ndjson strange -
	[ "$rc" = 1 ] && printf '%s' "$err" | grep -q "is not a recording"
	ok "not taken for a recording: $(printf '%s' "$text" | head -1 | cut -c1-30)"
done
{ cat text; for i in $(seq 300); do echo; done; for i in $(seq 4000); do echo '# a comment'; done; echo 'no such line'; } >strange
run convert strange strange.folded
like "$rc $err" "^1 .*strange: 1 line is not understood, the first one is line $(grep -c '' strange)" "a line that is not understood is told"
is "$(cat strange.folded)" "$(cat text.folded)" "and the others are converted"
printf 'cpus=2\n          ls-926   [001] d..2. 36585.188777: sched_wakeup:         comm=a b pid=7 prio=120 target_cpu=001\nCPU:1 [LOST 5 EVENTS]\n          <idle>-0     [001] 36585.288777: kernel_stack:         <stack trace >\n=> do_idle (ffffffff82203249)\n=> cpu_startup_entry+0x5 (ffffffff82203250)\n' >trace-cmd.txt
run convert --to ndjson trace-cmd.txt -
is "$rc $(sed 's/,"text.*//' "$work/out" | tr '\n' ' ')" '3 {"time_ns":36585188777000,"event":"sched_wakeup","cpu":1,"context":{"procname":"ls","tid":926},"fields":{"comm":"a b","pid":7,"prio":120,"target_cpu":1} {"time_ns":36585288777000,"event":"kernel_stack","cpu":1,"context":{"procname":"<idle>","tid":0},"fields":{},"frames":["do_idle","cpu_startup_entry+0x5"] ' "the text of trace-cmd report: fields, a chain, and lost events"
# each kind of slice: both its ends are one; where time goes backwards there are two instants
for pair in irq_handler_entry,irq_handler_exit,eth0 workqueue_execute_start,workqueue_execute_end,wb_workfn \
	reschedule_entry,reschedule_exit,reschedule_entry softirq_entry,softirq_exit,"softirq SCHED" sys_enter_openat,sys_exit_openat,openat func_entry,func_exit,"function 9"; do
	IFS=, read -r begins ends name <<-P
		$pair
	P
	for time in 300 100; do
		printf '  sh-9     [000]   10.000200: %s: irq=5 name=eth0 vec=7 addr=9 function=wb_workfn\n  sh-9     [000]   10.000%s: %s: vec=7 addr=9\n' \
			"$begins" $time "$ends" >pair.txt
		run convert --to chrome pair.txt -
		python3 -c 'import json, sys; print(*[(e["ph"], e["name"], e.get("dur")) for e in json.load(sys.stdin)["traceEvents"] if e["ph"] in "Xi"])' <out >items
		is "$(cat items)" "$([ $time = 300 ] && echo "('X', '$name', 100.0)" || echo "('i', '$begins', None) ('i', '$ends', None)")" \
			"$begins to $ends, $time: $([ $time = 300 ] && echo a slice || echo no slice)"
	done
done
perf record -q -o nothing.data -e sched:sched_process_hang -- true >/dev/null 2>&1
for to in ndjson csv folded speedscope pprof chrome perfetto; do
	run convert --to $to nothing.data nothing.$to
	[ "$rc" = 0 ] && [ -e nothing.$to ]
	ok "$to: an empty recording is an empty file of its kind"
done
run convert -e cpu-clock --to pprof kernel.data -
[ "$rc" = 0 ] && [ "$(zcat "$work/out" | cksum)" = "$(zcat cpu.pb.gz | cksum)" ]
ok "binary to standard output, where that is no terminal"
printf 'a;b 18446744073709551615\na;c 1\na;b 0\n' >large.folded
for to in folded speedscope pprof; do
	run convert --to $to large.folded -
	like "$rc $err" "^1 .*$to: the sum of all weights is too large" "$to: no sum is wrapped around"
done
printf 'cpus=1\n sh-9 [000] 1.000000: a: b=1\nCPU:0 [EVENTS DROPPED]\n' >dropped.txt
run convert --to csv dropped.txt -
is "$rc" 3 "lost events that nobody counted are losses"
{ printf ' sh-9 [000] 1.000000: a: b='; head -c 3000000 /dev/zero | tr '\0' x; printf '\n sh-9 [000] 2.000000: a: b=2\n'; } >long.txt
run convert --to ndjson long.txt -
like "$rc $(grep -c . out) $(printf '%s' "$err" | tail -1)" '^1 2 .*1 line is longer than 1 MiB' "a line that is read in part is told"
for i in $(seq 30); do seq ${i}001 ${i}999 | sed "s/.*/ x-& [000] 1.000000: sys_enter_read: fd=1/"; done >threads.txt
timeout 60 "$pantrace" convert threads.txt threads.json 2>err
is "$? $(grep -o '"ph":"B"' threads.json | grep -c .)" "0 29970" "29,970 threads that wait at the end"
printf ' s\033[2Jh-9 [000] 1.000000: a: b=\033[2J\n' >odd.txt
script -qec "$pantrace convert --to csv odd.txt - 2>/dev/null" /dev/null </dev/null >typed
is "$(grep -c "$(printf '\033')" typed) $(grep -c '2Jh' typed)" "0 1" "csv: nothing controls a terminal"
done_testing
