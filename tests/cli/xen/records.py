#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Another reader of xentrace's files, as simple as it can be, and a writer of small ones (xen/include/public/trace.h).
# usage: records.py count FILE | times FILE MHZ | runs FILE WHO | causes LINES | write all
import collections, json, struct, sys

CHANGE = 0x2001f003


def read(path):
    data, at, last, records = open(path, 'rb').read(), 0, {}, []
    while at < len(data):
        head, cpu, size = struct.unpack_from('<III', data, at)
        assert head == CHANGE
        at += 12
        end = at + size
        while at < end:
            head, = struct.unpack_from('<I', data, at)
            at += 4
            if head >> 31:
                last[cpu], = struct.unpack_from('<Q', data, at)
                at += 8
            n = head >> 28 & 7
            words = struct.unpack_from('<%dI' % n, data, at)
            at += 4 * n
            records.append((last.get(cpu, 0), cpu, head & 0xfffffff, words))
    return sorted(records, key=lambda r: r[:2])


def count(path):
    for event, n in collections.Counter(r[2] for r in read(path)).items():
        print(n, '%x' % event)


def times(path, mhz):
    states, spent, waits = {}, {}, collections.Counter()
    for tsc, cpu, event, words in read(path):
        if event & ~0xff0 != 0x21001:
            continue
        old, new, who = event >> 8 & 15, event >> 4 & 15, words[0]
        spent.setdefault(who, [0] * 4)
        if who in states:
            assert states[who][0] == old
            spent[who][old] += tsc - states[who][1]
            waits[who] += old == 1
        states[who] = new, tsc
    for who in sorted(spent):
        name = 'd[IDLE]' if who >> 16 == 0x7fff else 'd%d' % (who >> 16)
        print('%sv%d' % (name, who & 0xffff), *('%.0f' % (t * 1000 / mhz) for t in spent[who]), waits[who])


# How often a virtual CPU has run: from a change to running to the next one of its own.
def runs(path, who):
    changes = [event >> 4 & 15 for _, _, event, words in read(path) if event & ~0xff0 == 0x21001 and words[0] == who]
    print(sum(state == 0 for state in changes[:-1]))


# Of the program's events: how many lie before Xen's first one; how many where Xen runs their virtual CPU; where it does not.
def causes(path):
    running, early, right, wrong = {}, 0, 0, 0
    for line in open(path):
        e = json.loads(line)
        f = e.get('fields', {})
        if e['event'] == 'xen_sched:runstate_change' and f['dom'] == 0:
            running[f['vcpu']] = f['new_state'] == 'running'
        elif e['event'] == 'dom0:tick':
            known = running.get(e['cpu'])
            early += known is None
            right += known is True
            wrong += known is False
        if e['event'] == 'xen_sched:runstate_change':
            last = right, wrong
    print(early, last[0], last[1])


def record(event, *words, tsc=None):
    return struct.pack('<I', event | len(words) << 28 | (tsc is not None) << 31) + \
        (struct.pack('<Q', tsc) if tsc is not None else b'') + struct.pack('<%dI' % len(words), *words)


def piece(cpu, *records):
    body = b''.join(records)
    return struct.pack('<III', CHANGE, cpu, len(body)) + body


def state(who, old, new, tsc):
    return record(0x21001 | old << 8 | new << 4, who, tsc=tsc)


def write(_):
    files = {
        'vmx': piece(1, state(3 << 16 | 1, 1, 0, 1000),
                     record(0x81102, 0, 0x81000000, 0xffffffff, tsc=1010), record(0x82101, 2, 0x1000, 0x7fff),
                     record(0x81001, tsc=1020), record(0x81002, 10, 0x1234, tsc=1030), record(0x8200e, 1, 2, 3, 4, 5),
                     record(0x1f002, 0, 0, 0), record(0x82fff, 1, 2, 3, 4, 5, 6, 7)) +
        piece(1, record(0x20100d, 20 | 1 << 20 | 2 << 24, 0x14, 6, 5, tsc=1040),
              record(0x10f010, 2, 1, 3, 0, 3 | 9 << 16, 0, tsc=1050), record(0x2800e, 3)),
        'new': piece(0, record(0x81003, 0x13, 1, tsc=1), record(0x81103, 0x78, 2, 0, tsc=2)),
        'unproven': piece(0, record(0x81002, 0, 1, tsc=5)),
        # d1v0 on CPU 0; CPU 1 loses 7 records from 200 to 300, in which it may have run
        'blind': piece(0, state(1 << 16, 0, 2, 50), state(1 << 16, 2, 1, 150), state(1 << 16, 1, 2, 200 - 5),
                       state(1 << 16, 2, 1, 250), state(1 << 16, 1, 2, 350), state(1 << 16, 2, 1, 350), state(1 << 16, 1, 0, 355)) +
        piece(1, record(0x1f001, 7, 2 | 0 << 16, 200, 0, tsc=300)),
    }
    for name, data in files.items():
        open(name, 'wb').write(data)


{'count': count, 'times': lambda p: times(p, float(sys.argv[3])), 'runs': lambda p: runs(p, int(sys.argv[3])), 'causes': causes, 'write': write}[sys.argv[1]](sys.argv[2])
