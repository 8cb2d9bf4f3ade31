#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""made_trace.py FILE [HOST]: a trace.dat of one CPU, clock mono, with the events of standard input: lines "NS PID SYSTEM:EVENT FIELD=NUMBER...".
All events of a name have the same fields. For what no machine at hand would record."""
import struct
import sys

PAGE = 4096
KINDS = [("unsigned short", "common_type", 0, 2, 0), ("unsigned char", "common_flags", 2, 1, 0), ("unsigned char", "common_preempt_count", 3, 1, 0),
         ("int", "common_pid", 4, 4, 1)]  # fmt: skip
PAGE_HEAD = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" \
            "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"  # fmt: skip


def sized(form, data):
    data = data if isinstance(data, bytes) else data.encode()
    return struct.pack(form, len(data)) + data


def text(number, name, fields):
    rows = KINDS + [("u64", field, 8 + 8 * i, 8, 0) for i, field in enumerate(fields)]
    lines = [f"\tfield:{kind} {field};\toffset:{at};\tsize:{size};\tsigned:{signed};\n" for kind, field, at, size, signed in rows]
    shown = " ".join(f"{field}=%llu" for field in fields)
    return f"name: {name}\nID: {number}\nformat:\n{''.join(lines)}\nprint fmt: \"{shown}\"{''.join(f', REC->{field}' for field in fields)}\n"


kinds, records = {}, []
for line in sys.stdin:
    ns, pid, event, *pairs = line.split()
    values = dict(pair.split("=") for pair in pairs)
    number = 100 + list(kinds).index(event) if event in kinds else 100 + len(kinds)
    kinds.setdefault(event, list(values))
    records.append((int(ns), struct.pack("<HBBi", number, 0, 0, int(pid)) + b"".join(struct.pack("<Q", int(v, 0)) for v in values.values())))
begin = records[0][0]
pages, body, last = [], b"", begin
for ns, record in records:
    if len(body) + len(record) + 12 > PAGE - 16:
        pages.append((begin, body))
        begin, body, last = ns, b"", ns
    delta = ns - last
    extend = struct.pack("<II", (delta & 0x7FFFFFF) << 5 | 30, delta >> 27) if delta >= 1 << 27 else b""
    body += extend + struct.pack("<I", (0 if extend else delta) << 5 | len(record) // 4) + record
    last = ns
pages.append((begin, body))
data = b"".join((struct.pack("<QQ", at, len(b)) + b).ljust(PAGE, b"\0") for at, b in pages)
systems = {}
for i, (event, fields) in enumerate(kinds.items()):
    system, name = event.split(":")
    systems.setdefault(system, []).append(text(100 + i, name, fields))
formats = struct.pack("<I", len(systems))
for system, texts in systems.items():
    formats += system.encode() + b"\0" + struct.pack("<I", len(texts)) + b"".join(sized("<Q", t) for t in texts)
names = "".join(f"{pid} made\n" for pid in sorted({struct.unpack_from("<i", r, 4)[0] for _, r in records}))
head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE) + b"header_page\0" + sized("<Q", PAGE_HEAD) + b"header_event\0" + sized("<Q", "")
head += struct.pack("<I", 0) + formats + sized("<I", "") + sized("<I", "") + sized("<Q", names) + struct.pack("<I", 1) + b"options  \0"
said = "pantrace 0, CLOCK_REALTIME - CLOCK_MONOTONIC = 1700000000000000000"
for number, value in (4, "[mono]\0"), (5, f"Linux {sys.argv[2] if len(sys.argv) > 2 else 'made'} 6.1 x86_64\0"), (9, said + "\0"):
    head += struct.pack("<H", number) + sized("<I", value)
head += struct.pack("<H", 0) + b"flyrecord\0"
at = (len(head) + 16 + PAGE - 1) // PAGE * PAGE
with open(sys.argv[1], "wb") as f:
    f.write((head + struct.pack("<QQ", at, len(data))).ljust(at, b"\0") + data)
