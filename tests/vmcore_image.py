#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""vmcore_image.py FILE [FORMAT [CLOCK]]: a small dump of a dead machine that never was, for tests and as a seed: page tables, kallsyms, BTF and
the ring buffers of two CPUs and of an instance. Prints the events that are in it. FORMAT: elf, zlib, lzo, snappy, zstd, flat (a flattened zlib).
CLOCK: of the instance, mono unless it is said."""
import struct
import sys
import zlib

BASE, PHYSICAL = 0xFFFFFFFF9E200000, 0x600000  # where the kernel is mapped, as KASLR would have it; a page of 2 MB
PAGE = 4096
memory = bytearray(32 * PAGE)
used = PAGE
symbols = {}


def put(data, align=8):
    global used
    used = (used + align - 1) // align * align
    at = used
    memory[at : at + len(data)] = data
    used += len(data)
    if used > len(memory):
        sys.exit("the memory is too small")
    return BASE + at


def poke(address, *words):
    struct.pack_into(f"<{len(words)}Q", memory, address - BASE, *words)


def text(s):
    return put(s.encode() + b"\0", 1)


# ---- types: members of 1 to 8 bytes, or arrays of characters
TYPES = {
    "list_head": "next prev",
    "uts_namespace": "name",
    "new_utsname": "sysname:65 nodename:65 release:65 version:65 machine:65",
    "timekeeper": "tkr_mono:40 tkr_raw:40 offs_real offs_boot offs_tai",
    "tk_read_base": "clock cycle_last shift/4 xtime_nsec base",
    "cyc2ns_data": "cyc2ns_mul/4 cyc2ns_shift/4 cyc2ns_offset",
    "task_struct": "pid comm:16",
    "module": "list name:56 kallsyms",
    "mod_kallsyms": "symtab num_symtab strtab typetab",
    "trace_array": "list array_buffer:16 name clock_id/4",
    "array_buffer": "tr buffer",
    "trace_buffer": "flags buffers subbuf_order/4",
    "ring_buffer_per_cpu": "nr_pages pages reader_page commit_page entries overrun commit_overrun dropped_events read lost_events last_overrun",
    "buffer_page": "list:16 read/4 entries/4 page",
    "buffer_data_page": "time_stamp commit data:4",
    "trace_event_call": "list:16 class name event:8 print_fmt data flags/4",
    "trace_event": "type/4",
    "trace_event_class": "system get_fields fields:16",
    "tracepoint": "name",
    "ftrace_event_field": "link:16 name type filter_type/4 offset/4 size/4 is_signed/4 len/4",
    "saved_cmdlines_buffer": "map_cmdline_to_pid cmdline_num/4 saved_cmdlines",
    "": "func name in_ns/4",
}
layout = {}  # "structure.member" -> (offset, size)
sizes = {}


def make_btf():
    strings, types = bytearray(b"\0"), bytearray()

    def name(s):
        at = len(strings) if s else 0
        if s:
            strings.extend(s.encode() + b"\0")
        return at

    number = 0

    def add(*words):
        nonlocal number
        types.extend(struct.pack(f"<{len(words)}I", *words))
        number += 1
        return number

    integers = {n: add(name(f"u{n * 8}"), 1 << 24, n, n * 8) for n in (1, 4, 8)}
    add(name("trace_buffer"), 4 << 24 | 1, 8, name("other"), integers[8], 0)  # another structure of this name
    for structure, members in TYPES.items():
        offset, rows = 0, []
        for member in members.split():
            size, type_id = 8, integers[8]
            if "/" in member:
                member, size = member.split("/")[0], int(member.split("/")[1])
                type_id = integers[size]
            elif ":" in member:
                member, size = member.split(":")[0], int(member.split(":")[1])
                type_id = add(0, 3 << 24, 0, integers[1], integers[4], size)
            offset = offset if ":" in member else (offset + min(size, 8) - 1) // min(size, 8) * min(size, 8) if size in (4, 8) else offset
            layout[f"{structure}.{member}"] = (offset, size)
            rows += [name(member), type_id, offset * 8]
            offset += size
        sizes[structure] = (offset + 7) // 8 * 8
        add(name(structure), 4 << 24 | len(rows) // 3, sizes[structure], *rows)
    add(name("flags"), 6 << 24 | 1, 4, name("TRACE_EVENT_FL_TRACEPOINT"), 16)
    return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + strings


def make(structure, **values):
    """An object of the structure; the address it gets."""
    data = bytearray(sizes[structure])
    for member, value in values.items():
        offset, size = layout[f"{structure}.{member}"]
        data[offset : offset + size] = (value if isinstance(value, bytes) else value.to_bytes(size, "little")).ljust(size, b"\0")
    return put(data)


def member(address, structure, name):
    return address + layout[f"{structure}.{name}"][0]


def link(head, nodes):
    """Nodes that have their list_head at these addresses, behind the head."""
    ring = [head, *nodes]
    for i, node in enumerate(ring):
        poke(node, ring[(i + 1) % len(ring)], ring[i - 1])


# ---- clocks: what the timekeeper and the TSC's factors below make of each, CLOCK_MONOTONIC - clock
CLOCKS = {"mono": 0, "local": 41700, "boot": -5000, "tai": -37000, "mono_raw": 300, "counter": None}
clock_of_small = sys.argv[3] if len(sys.argv) > 3 else "mono"


def make_clocks():
    symbols["clocksource_tsc"] = symbols["native_sched_clock"] = put(bytes(8))
    symbols["__SCK__pv_sched_clock"] = put(struct.pack("<Q", symbols["native_sched_clock"]))
    symbols["__per_cpu_offset"] = put(struct.pack("<Q", PAGE))
    symbols["cyc2ns"] = make("cyc2ns_data", cyc2ns_mul=3, cyc2ns_shift=1, cyc2ns_offset=800) - PAGE
    last = {"clock": symbols["clocksource_tsc"], "cycle_last": 5000, "shift": 4, "xtime_nsec": 2000 << 4}
    # the TSC was 5000: 8300 ns of the clock local, 50000 of mono, 49700 of mono_raw
    clocks = [bytes(memory[make("tk_read_base", base=base, **last) - BASE :][: sizes["tk_read_base"]]) for base in (48000, 47700)]
    symbols["shadow_timekeeper"] = make("timekeeper", tkr_mono=clocks[0], tkr_raw=clocks[1], offs_real=1700000000 * 10**9, offs_boot=5000, offs_tai=37000)
    symbols["trace_clocks"] = put(b"".join(struct.pack("<QQQ", 0, text(name), name != "counter") for name in CLOCKS))


# ---- ring buffers
events = []


def record(cpu, instance, number, time):
    events.append((time + (instance and CLOCKS[clock_of_small] or 0), cpu, instance, number))
    return struct.pack("<HBBiQ", 7, 0, 0, 100 + cpu, number)


def data_page(time, records):
    """records: (delta, bytes); a page of 4 KB at an address of its own."""
    body = b"".join(struct.pack("<I", delta << 5 | len(r) // 4) + r for delta, r in records)
    return put((struct.pack("<QQ", time, len(body)) + body).ljust(PAGE, b"\0"), PAGE)


def ring(cpu, instance, overrun):
    """Of four events, the first of which was read; the oldest page of the ring is its second."""
    time = 1000000 * (cpu + 1)
    old = record(cpu, instance, 0, time)
    events.pop()
    pages = [
        make("buffer_page", page=data_page(time, [(0, old), (10, record(cpu, instance, 1, time + 10))]), read=len(old) + 4),
        make("buffer_page", page=data_page(time + 300, [(0, record(cpu, instance, 3, time + 300)), (5, record(cpu, instance, 4, time + 305))])),
        make("buffer_page", page=data_page(time + 200, [(0, record(cpu, instance, 2, time + 200))])),
    ]
    reader, newest, oldest = pages
    links = [member(p, "buffer_page", "list") for p in (newest, oldest)]
    poke(links[0], links[1] | 1, links[1])
    poke(links[1], links[0], links[0])
    return make("ring_buffer_per_cpu", nr_pages=2, pages=links[0], reader_page=reader, commit_page=newest, entries=5 + overrun,
                overrun=overrun, read=1)  # fmt: skip


def buffer(instance, clock, overrun):
    rings = put(struct.pack("<2Q", ring(0, instance, overrun), ring(1, instance, 0) if not instance else 0))
    inner = make("trace_buffer", buffers=rings)
    array = make("trace_array", array_buffer=struct.pack("<QQ", 0, inner), name=text(instance) if instance else 0, clock_id=[*CLOCKS].index(clock))
    return member(array, "trace_array", "list")


def make_kernel():
    btf = make_btf()
    symbols["__start_BTF"] = put(btf)
    symbols["__stop_BTF"] = symbols["__start_BTF"] + len(btf)
    uts = b"".join(s.encode().ljust(65, b"\0") for s in ("Linux", "deadhost", "6.12.0-made", "#1", "x86_64"))
    symbols["init_uts_ns"] = put(uts)
    symbols["nr_cpu_ids"] = put(struct.pack("<I", 2))
    symbols["modules"] = put(bytes(16))
    link(symbols["modules"], [])
    make_clocks()
    pids = put(struct.pack("<2I", 100, 101))
    saved = make("saved_cmdlines_buffer", map_cmdline_to_pid=pids, cmdline_num=2, saved_cmdlines=put(b"zero".ljust(16, b"\0") + b"one".ljust(16, b"\0")))
    symbols["savedcmd"] = put(struct.pack("<Q", saved))

    def field(kind, name, offset, size, signed):
        f = make("ftrace_event_field", name=text(name), type=text(kind), offset=offset, size=size, is_signed=signed)
        return member(f, "ftrace_event_field", "link")

    # a list of fields has the last one first
    common = [field("unsigned short", "common_type", 0, 2, 0), field("unsigned char", "common_flags", 2, 1, 0),
              field("unsigned char", "common_preempt_count", 3, 1, 0), field("int", "common_pid", 4, 4, 1)]  # fmt: skip
    symbols["ftrace_common_fields"] = put(bytes(16))
    link(symbols["ftrace_common_fields"], common[::-1])
    kind = make("trace_event_class", system=text("dead"))
    link(member(kind, "trace_event_class", "fields"), [field("unsigned long", "number", 8, 8, 0)])
    point = make("tracepoint", name=text("beat"))
    call = make("trace_event_call", **{"class": kind, "name": point, "event": struct.pack("<I", 7), "flags": 16, "print_fmt": text('"number=%lu", REC->number')})
    symbols["ftrace_events"] = put(bytes(16))
    link(symbols["ftrace_events"], [member(call, "trace_event_call", "list")])
    arrays = [buffer("small", clock_of_small, 0), buffer("", "mono", 7)]
    symbols["ftrace_trace_arrays"] = put(bytes(16))
    link(symbols["ftrace_trace_arrays"], arrays)


# ---- how it is found
def make_info():
    symbols["_stext"] = BASE
    table = [0] * 3
    for i in range(3):
        table[i] = put(bytes(PAGE), PAGE)
    physical = [PHYSICAL + t - BASE for t in table]
    poke(table[0] + (BASE >> 39) % 512 * 8, physical[1] | 3)
    poke(table[1] + (BASE >> 30) % 512 * 8, physical[2] | 3)
    poke(table[2] + (BASE >> 21) % 512 * 8, PHYSICAL | 0x83)
    tokens, index = bytearray(), []
    for i in range(256):
        index.append(len(tokens))
        tokens.extend((chr(i) if 32 < i < 127 else "?").encode() + b"\0")
    names = b"".join(bytes([len(name) + 1]) + b"D" + name.encode() for name in symbols)
    offsets = [address - BASE for address in symbols.values()]
    info = {
        "OSRELEASE": "6.12.0-made",
        "SYMBOL(swapper_pg_dir)": table[0],
        "SYMBOL(_stext)": BASE,
        "SYMBOL(kallsyms_names)": put(names),
        "SYMBOL(kallsyms_num_syms)": put(struct.pack("<I", len(symbols))),
        "SYMBOL(kallsyms_token_table)": put(tokens),
        "SYMBOL(kallsyms_token_index)": put(struct.pack("<256H", *index)),
        "SYMBOL(kallsyms_offsets)": put(struct.pack(f"<{len(offsets)}i", *offsets)),
        "SYMBOL(kallsyms_relative_base)": put(struct.pack("<Q", BASE)),
    }
    lines = [f"{key}={value:x}" if isinstance(value, int) else f"{key}={value}" for key, value in info.items()]
    return "\n".join([*lines, f"NUMBER(phys_base)={PHYSICAL - (BASE - 0xFFFFFFFF80000000)}", ""]).encode()


# ---- formats of dumps
def elf(info):
    note = struct.pack("<III", 11, len(info), 0) + b"VMCOREINFO\0\0" + info.ljust((len(info) + 3) // 4 * 4, b"\0")
    at = 64 + 2 * 56
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    heads = struct.pack("<IIQQQQQQ", 4, 0, at, 0, 0, len(note), len(note), 0)
    heads += struct.pack("<IIQQQQQQ", 1, 7, at + len(note), BASE, PHYSICAL, len(memory), len(memory), 0)
    return head + heads + note + memory


def snappy(page):
    """Literals, and one copy of the last byte where the rest is the same."""
    body = page.rstrip(page[-1:])
    out = b"\x80\x20"
    for i in range(0, len(body) + 1, 60):
        part = (body + page[-1:])[i : i + 60]
        out += bytes([(len(part) - 1) << 2]) + part if part else b""
    left = PAGE - len(body) - 1
    while left:
        n = min(left, 64)
        out += bytes([(n - 1) << 2 | 2]) + struct.pack("<H", 1)
        left -= n
    return out


def lzo(page):
    """Literals, and one match for the last byte where the rest is the same (LZO1X: lengths above what fits go on in bytes of 255)."""

    def more(n):
        return bytes((n - 1) // 255) + bytes([(n - 1) % 255 + 1])

    body = page.rstrip(page[-1:]) + page[-1:]
    left = PAGE - len(body)
    begin = bytes([len(body) + 17]) if len(body) <= 238 else b"\0" + more(len(body) - 18)
    return begin + body + (b"\x20" + more(left - 33) + b"\0\0" if left > 33 else page[:PAGE]) + b"\x11\0\0"


def zstd(page):
    """A raw block, and one of the last byte repeated."""
    body = page.rstrip(page[-1:])
    blocks = struct.pack("<I", len(body) << 3)[:3] + body + struct.pack("<I", (PAGE - len(body)) << 3 | 1 << 1 | 1)[:3] + page[-1:]
    return b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", PAGE - 256) + blocks


def kdump(info, packing):
    first, count = PHYSICAL // PAGE, len(memory) // PAGE
    bitmap = bytearray(PAGE)
    for page in range(first, first + count):
        bitmap[page // 8] |= 1 << page % 8
    pack = {"zlib": (1, zlib.compress), "lzo": (2, lzo), "snappy": (4, snappy), "zstd": (32, zstd)}[packing]
    head = (b"KDUMP   " + struct.pack("<I", 6)).ljust(428, b"\0") + struct.pack("<IIII", PAGE, 1, 2, first + count)
    second = (bytes(32) + struct.pack("<QQ", PAGE + 512, len(info))).ljust(96, b"\0") + struct.pack("<Q", first + count)
    out = head.ljust(PAGE, b"\0") + (second.ljust(512, b"\0") + info).ljust(PAGE, b"\0") + bitmap + bitmap
    at, descriptions, pages = len(out) + 24 * count, b"", b""
    for i in range(count):
        page = bytes(memory[i * PAGE : (i + 1) * PAGE])
        packed, flags = pack[1](page), pack[0]
        if len(packed) >= PAGE:
            packed, flags = page, 0
        descriptions += struct.pack("<QIIQ", at + len(pages), len(packed), flags, 0)
        pages += packed
    return out + descriptions + pages


def flatten(data):
    """The second half before the first, as no order is promised."""
    half = len(data) // 2
    chunks = [(half, data[half:]), (0, data[:half])]
    out = (b"makedumpfile\0\0\0\0" + struct.pack(">qq", 1, 1)).ljust(PAGE, b"\0")
    return out + b"".join(struct.pack(">qq", at, len(part)) + part for at, part in chunks) + struct.pack(">qq", -1, -1)


def main():
    make_kernel()
    info = make_info()
    kind = sys.argv[2] if len(sys.argv) > 2 else "elf"
    data = elf(info) if kind == "elf" else flatten(kdump(info, "zlib")) if kind == "flat" else kdump(info, kind)
    with open(sys.argv[1], "wb") as f:
        f.write(data)
    for time, cpu, instance, number in sorted(events):
        print(f"{time} {cpu} {instance or '-'} {number}")


main()
