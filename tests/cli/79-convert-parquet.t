#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# convert to Parquet: read by pyarrow where that is installed, else by a decoder written from parquet.thrift, it is the table that csv has.
# parallel: traces only its own child
. "$(dirname "$0")/lib.sh"

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
command -v zstd >/dev/null || { echo "1..0 # SKIP no zstd"; exit 0; }
PATH=/usr/bin:$PATH # Debian's python3
cd "$work" || exit 1

cat >table.py <<'P'
import struct, subprocess, sys

def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            return v, at

def value(b, at, kind):
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return b[at], at + 1
    if kind in (4, 5, 6):
        v, at = varint(b, at)
        return v >> 1 ^ -(v & 1), at
    if kind == 8:
        n, at = varint(b, at)
        return b[at:at + n], at + n
    if kind == 9:
        n, kind, at = b[at] >> 4, b[at] & 15, at + 1
        if n == 15:
            n, at = varint(b, at)
        out = []
        for _ in range(n):
            v, at = value(b, at, kind)
            out.append(v)
        return out, at
    assert kind == 12, kind
    fields, last = {}, 0
    while b[at]:
        assert b[at] >> 4, "long form"
        last += b[at] >> 4
        fields[last], at = value(b, at + 1, b[at] & 15)
    return fields, at + 1

def own(path):
    b = open(path, "rb").read()
    assert b[:4] == b[-4:] == b"PAR1"
    size = struct.unpack("<I", b[-8:-4])[0]
    meta, end = value(b, len(b) - 8 - size, 12)
    assert end == len(b) - 8
    schema = meta[2]
    assert schema[0][5] == len(schema) - 1
    columns = {s[4].decode(): [] for s in schema[1:]}
    assert len(columns) == len(schema) - 1
    for group in meta[4]:
        assert len(group[1]) == len(columns)
        for s, chunk in zip(schema[1:], group[1]):
            m = chunk[3]
            assert m[3] == [s[4]] and m[1] == s[1] and m[4] == 6 and m[5] == group[3]
            page, at = value(b, m[9], 12)
            assert at + page[3] == m[9] + m[7] and page[5][1] == group[3]
            data = subprocess.run(["zstd", "-dc"], input=b[at:at + page[3]], capture_output=True).stdout
            assert len(data) == page[2] and at - m[9] + len(data) == m[6]
            at, there = 0, [True] * group[3]
            if s[3] == 1:
                n = struct.unpack_from("<I", data)[0]
                head, p = varint(data, 4)
                assert head & 1 and p + (head >> 1) == 4 + n
                there = [bool(data[p + i // 8] >> i % 8 & 1) for i in range(group[3])]
                at = 4 + n
            out = columns[s[4].decode()]
            for is_there in there:
                if not is_there:
                    out.append(None)
                elif s[1] == 6:
                    n = struct.unpack_from("<I", data, at)[0]
                    out.append(data[at + 4:at + 4 + n].decode())
                    at += 4 + n
                else:
                    out.append(struct.unpack_from("<d" if s[1] == 5 else "<Q" if s.get(6) == 14 else "<q", data, at)[0])
                    at += 8
            assert at == len(data)
            if s[4] == b"time_ns":
                assert struct.pack("<q", min(out[-group[3]:])) == m[12][6] and struct.pack("<q", max(out[-group[3]:])) == m[12][5]
    assert meta[3] == sum(g[3] for g in meta[4]) == len(columns["time_ns"])
    return columns

def read(path):
    try:
        import pyarrow.parquet as pq
    except ImportError:
        return own(path)
    table = pq.read_table(path)
    columns = {n: table[n].to_pylist() for n in table.column_names}
    columns["time_ns"] = [t.value for t in columns["time_ns"]]
    return columns
P

judge() # NAME, then the judge as Python
{
	{ echo 'from table import read'; cat; } >judge.py
	python3 judge.py >why 2>&1
	ok "$1" || tail -3 why | sed 's/^/# /' >&2
}

perf record -q -k mono -o kernel.data -e cpu-clock,sched:sched_switch,sched:sched_process_exec,raw_syscalls:sys_enter,raw_syscalls:sys_exit \
	-- sh -c 'ls / >/dev/null; dd if=/dev/zero of=/dev/null bs=1 count=150 2>/dev/null; sleep 0.01; cat /proc/self/stat >/dev/null' >/dev/null 2>&1
run convert kernel.data out.parquet
is "$rc $err" "0 " "a perf.data"
"$pantrace" convert kernel.data out.csv
judge "the table of csv" <<'P'
import csv, json
rows = list(csv.DictReader(open("out.csv", newline="")))
t = read("out.parquet")
assert rows and list(t) == list(rows[0])
for name in t:
    have = [str(v) if v is not None else "" for v in t[name]]
    assert have == [r[name] for r in rows], name
P
# more than one row group
run convert $(for i in $(seq 80); do echo kernel.data; done) many.parquet
"$pantrace" convert --force --field prev_comm --field next_pid --field period --field args --field cpu kernel.data fields.parquet
"$pantrace" convert --force --field prev_comm --field next_pid --field period kernel.data fields.csv
judge "several row groups" <<'P'
one, many = read("out.parquet"), read("many.parquet")
n = len(one["time_ns"])
assert n * 80 > 65536, n
assert len(many["time_ns"]) == n * 80
assert many["time_ns"] == sorted(t for t in one["time_ns"] for _ in range(80)) and many["event"].count("sched:sched_switch") == 80 * one["event"].count("sched:sched_switch")
P
judge "fields as columns, of their own types; what has none is null" <<'P'
import csv
t = read("fields.parquet")
assert list(t)[6:] == ["prev_comm", "next_pid", "period", "args", "cpu_2"]
rows = list(csv.DictReader(open("fields.csv", newline="")))
assert {type(v) for v in t["next_pid"]} == {int, type(None)} and {type(v) for v in t["prev_comm"]} == {str, type(None)}
for name in ("prev_comm", "next_pid", "period"):
    assert [str(v) if v is not None else "" for v in t[name]] == [r[name] for r in rows], name
assert set(t["args"]) == {None}
P
# a column's type is what its first values say; texts that are no UTF-8; numbers beyond 63 bits
printf ' a\377b-1 [000] .... 1.000001: ev: big=18446744073709551615 mixed=1 late=\n a-1 [001] .... 1.000002: ev: big=1 mixed=-2.5 name=\342\202\254\n' >text.txt
run convert --field big --field mixed --field name text.txt text.parquet
judge "unsigned numbers, mixed ones as text, what is no UTF-8 escaped" <<'P'
t = read("text.parquet")
assert t["big"] == [2**64 - 1, 1] and t["mixed"] == ["1", "-2.5"] and t["name"] == [None, "\u20ac"], t
assert t["comm"][0] == "a\\xffb", t["comm"]
P
run convert --to parquet kernel.data -
is "$rc $(head -c 4 out)" "0 PAR1" "to standard output"
: >empty.txt
run convert -e nothing:at_all kernel.data none.parquet
judge "no event: a table without rows" <<'P'
t = read("none.parquet")
assert len(t) == 7 and not any(t.values())
P
run convert --field x kernel.data x.ndjson
like "$rc $err" '^2 .*--field is for csv and parquet' "--field of another format"

done_testing
