#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# record --guest trace-cmd:ADDRESS: an agent of this test says what Debian's trace-cmd 3.1 says (tests/vm/agent.sh has that itself), with
# the events of a recording whose contents are known. Then it lies, dies, and says half of it. Nothing of the kernel is traced.
# parallel: it records nothing here
import glob
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time

from tap import *

scratch()
PROBES = 339
CLOSE, SEND_DATA, FIN_DATA, REQUEST, RESPONSE, CLOSE_RESPONSE, SYNC = 0, 3, 4, 6, 7, 8, 9


def message(kind, head=b'', data=b''):
    return struct.pack('>III', 12 + len(head) + len(data), kind, len(head)) + head + data


def sync(number, data=b'', way=b'ptp'):
    return message(SYNC, struct.pack('>16sI', way, number), data)


def hear(c):
    size, kind, head = struct.unpack('>III', c.recv(12, socket.MSG_WAITALL))
    body = c.recv(size - 12, socket.MSG_WAITALL) if size > 12 else b''
    return kind, body[:head], body[head:]


def listen():
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    s.listen()
    return s


def pages(cpu, count, first_ns, step_ns, lost=0):
    """Pages of a ring with events of type 1 of 4 bytes, each with its number; lost: before the second page."""
    made = []
    for n in range(count):
        events = b''
        for i in range(100):
            # a record of 12 bytes: id, flags, preempt count, pid, number
            events += struct.pack('<I', 3 | (step_ns if i else 0) << 5) + struct.pack('<HBBiI', 700, 0, 0, 42, n * 100 + i)
        missed = lost if n == 1 else 0
        flags = (1 << 31 | 1 << 30) if missed else 0
        page = struct.pack('<QQ', first_ns + n * 100 * step_ns, len(events) | flags) + events
        page += struct.pack('<Q', missed) if missed else b''
        made.append(page.ljust(4096, b'\0'))
    return made


FORMAT = b'''name: tick
ID: 700
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned int n;\toffset:8;\tsize:4;\tsigned:0;

print fmt: "n=%u", REC->n
'''


def head():
    """As trace-cmd sends it: version 6, up to its options."""
    def text(t):
        return struct.pack('<Q', len(t)) + t

    def option(number, t):
        return struct.pack('<HI', number, len(t) + 1) + t + b'\0'
    page = b'''\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
'''
    return (b'\x17\x08\x44tracing6\0\0\x08' + struct.pack('<I', 4096) + b'header_page\0' + text(page) + b'header_event\0' + text(b'') +
            struct.pack('<I', 0) + struct.pack('<I', 1) + b'test\0' + struct.pack('<I', 1) + text(FORMAT) +
            struct.pack('<I', len(SYMBOLS)) + SYMBOLS + struct.pack('<I', 1) + b'\0' + text(b'42 ticker\n') + struct.pack('<I', 2) + b'options  \0' +
            option(4, b'local [mono]') + option(6, b'Linux there 6.1 x86_64') + option(9, b'3.1.6') + struct.pack('<H', 0))


SYMBOLS = b'ffffffff81000000 T _text\n\0'
AHEAD_NS = 5000000000  # its clock, of ours


def its_now():
    return time.monotonic_ns() + AHEAD_NS


class Agent:
    """One host. change: {what: bytes}, said instead of the truth."""

    def __init__(self, change=None, dies=False, lost=0):
        self.change = change or {}
        self.dies = dies
        self.lost = lost
        self.control = listen()
        self.port = self.control.getsockname()[1]
        self.words = self.results = self.asked_to_end = None
        self.records = threading.Event()
        self.thread = threading.Thread(target=self.quietly, daemon=True)
        self.thread.start()

    def quietly(self):
        try:
            self.serve()
        except (OSError, struct.error):
            pass  # it has left

    def say(self, c, what, true):
        c.sendall(self.change.get(what, true))
        if what in self.change:
            c.shutdown(socket.SHUT_WR)
            raise OSError

    def compare(self, c):
        while True:
            kind, of, data = hear(c)
            if of[16:] != struct.pack('>I', 1):
                return
            self.say(c, 'begin', sync(1, struct.pack('>II', 1, 3)))
            hear(c)
            times = []
            for i in range(1, PROBES + 1):
                sent = its_now()
                self.say(c, 'probe', sync(2, struct.pack('>I', i)))
                assert hear(c)[2] == struct.pack('>I', i)
                times.append((sent, its_now()))
            self.say(c, 'end', sync(5))
            data = hear(c)[2]
            series, count = struct.unpack('>II', data[:8])
            results = [struct.unpack_from('>qI', data, 8 + 12 * i) for i in range(count)]
            self.results = series, count, [r[1] for r in results] == list(range(1, PROBES + 1)), sum(r[0] != 0 for r in results)
            chosen = next(i for i, r in enumerate(results) if r[0])
            middle = sum(times[chosen]) // 2
            self.say(c, 'offset', sync(4, struct.pack('>qq', middle, results[chosen][0] - middle)))

    def serve(self):
        c = self.control.accept()[0]
        kind, of, data = hear(c)
        part, size, count = struct.unpack('>III', data[:12])
        self.words = kind, part, data[12:8 + size].decode().split('\0')[:count], data[8 + size:]
        cpus = [listen(), listen()]
        clock = listen()
        self.say(c, 'response', message(RESPONSE, struct.pack('>IIIQ16sI', 0, 2, 4096, 1, b'ptp', clock.getsockname()[1]),
                                        b''.join(b'%d\0' % s.getsockname()[1] for s in cpus)))
        threading.Thread(target=lambda: self.compare_quietly(clock), daemon=True).start()
        all = head()
        for at in range(0, len(all), 1000):
            self.say(c, 'head', message(SEND_DATA, data=all[at:at + 1000]))
        self.say(c, 'fin', message(FIN_DATA))
        streams = [s.accept()[0] for s in cpus]
        self.first_ns = its_now()
        for cpu, s in enumerate(streams):
            sent = b''.join(pages(cpu, 3, self.first_ns + cpu * 500, 1000, self.lost * cpu))
            s.sendall(self.change.get('pages', sent[:-1000] if self.dies else sent))
        self.records.set()
        if not self.dies:
            self.asked_to_end = hear(c)[0] == CLOSE
        for s in streams:
            s.close()
        if not self.dies:
            self.say(c, 'close', message(CLOSE_RESPONSE))
        c.close()

    def compare_quietly(self, clock):
        try:
            self.compare(clock.accept()[0])
        except (OSError, struct.error):
            pass


def record(agent, output, *words):
    return run('record', '--guest', f'there=trace-cmd:127.0.0.1:{agent.port}', *words, '-o', output, '-d', '0.5')


def events(where):
    lines = run('report', '--json', where)[1].splitlines()
    return [(e['host'], int(e['time_ns']), e['fields']['n']) for e in map(json.loads, lines)]


# ---- the truth
agent = Agent()
code, out, err = record(agent, 'one', '-e', 'test:tick', '-b', '64')
ok(code == 0 and re.match(r'there: 2 CPUs in trace.dat, \d+ bytes; 0 lost\n', err), 'it is recorded', code, err)
equal(agent.words, (REQUEST, 0, ['-C', 'mono', '-e', 'test:tick', '-b', '64'], struct.pack('>II', 1, 5) + b'ptp\0\0'),
      'the words go to trace-cmd as they are, with the clock')
equal(agent.results, (1, PROBES, True, 1), 'of the comparison of clocks one probe counts')
equal(sorted(os.listdir('one/there')), ['clock', 'trace.dat'], 'a directory as of any other guest')
got = events('one')
equal(sorted(e[2] for e in got), sorted(list(range(300)) * 2), 'all of its events')
equal({e[0] for e in got}, {'there'}, 'with its name')
clock = [line.split() for line in open('one/there/clock')]
host = next(int(words[1]) for words in clock if words[0] == 'host-realtime')
worst = json.loads(run('info', '--json', 'one')[1])['worst_ns']
true = sorted(agent.first_ns - AHEAD_NS + host + cpu * 500 + n * 1000 for cpu in (0, 1) for n in range(300))
off = [shown - t for shown, t in zip((e[1] for e in got), true)]
ok(max(map(abs, off)) <= worst + 1000, 'each time is the true one of our clock, within what info says', min(off), max(off), worst)
exchanges = [list(map(int, words[1:])) for words in clock if words[0] == 'exchange']
ok(exchanges and all(a - b <= -AHEAD_NS <= d - c for a, b, c, d in exchanges), 'each exchange holds the true distance of the clocks', exchanges)

# ---- losses, and an agent that goes
agent = Agent(lost=7)
code, out, err = record(agent, 'lost', '-e', 'test:tick', '-q')
ok(code == 3 and '7 lost' in err, 'what its ring lost is counted, and the code says it', code, err)
agent = Agent(dies=True)
code, out, err = record(agent, 'dies', '-e', 'test:tick')
ok(code == 3 and 'its trace-cmd has gone' in err, 'an agent that goes before it is asked to: it is said', code, err)
equal(len(events('dies')), 400, 'the whole pages that it had sent are there')

agent = Agent()
recorder = subprocess.Popen([pantrace, 'record', '-q', '--guest', f'there=trace-cmd:127.0.0.1:{agent.port}', '-e', 'test:tick', '-o', 'killed'])
agent.records.wait(60)
recorder.kill()
recorder.wait()
agent.thread.join(60)
ok(agent.asked_to_end and not agent.thread.is_alive(), 'a recorder that is killed: the agent is asked to end, and everybody leaves')

# ---- what is none
response = struct.pack('>IIIQ16sI', 0, 2, 4096, 1, b'ptp', 1)
lies = {
    'response': [b'', b'\0' * 12, struct.pack('>III', 1 << 31, RESPONSE, 0), struct.pack('>III', 20, RESPONSE, 100) + bytes(8),
                 message(99), message(RESPONSE), message(RESPONSE, response, b'1\0'), message(RESPONSE, response, b'1\0x\0'),
                 message(RESPONSE, struct.pack('>IIIQ16sI', 0, 1 << 31, 4096, 1, b'ptp', 1), b'1\0'),
                 message(RESPONSE, struct.pack('>IIIQ16sI', 0, 1, 4096, 1, b'kvm', 1), b'1\0'),
                 message(RESPONSE, struct.pack('>IIIQ16sI', 0, 1, 4096, 1, b'ptp', 1 << 20), b'1\0')],
    'begin': [b'', sync(2), sync(1)],
    'probe': [sync(2), sync(2, struct.pack('>I', 2)), sync(5), sync(2, way=b'kvm')],
    'offset': [sync(4, struct.pack('>qq', 5, 5)), sync(4)],
    'head': [b'', message(FIN_DATA), message(SEND_DATA, data=b'\x1b[31m' * 20) + message(FIN_DATA), message(CLOSE_RESPONSE)],
}
for what, texts in lies.items():
    for i, text in enumerate(texts):
        agent = Agent({what: text})
        code, out, err = record(agent, 'lied', '-e', 'test:tick')
        ok(code == 1 and err.count('ERROR: there: ') == 1 and '\x1b' not in err and not glob.glob('lied'),
           f'an agent that lies: {what} {i}', code, err, os.path.exists('lied'))
agent = Agent({'pages': b'\xff' * 8192})
code, out, err = record(agent, 'pages', '-e', 'test:tick')
equal(code, 3, 'pages that are none are not written, and count as lost')

# ---- words
for words, why in ((['-C', 'local'], 'clock is mono'), (['-B', 'x'], 'main buffer'), ([], 'which events')):
    code, out, err = run('record', '--guest', 'trace-cmd:127.0.0.1:1', *words, '-o', 'none')
    ok(code == 2 and why in err, f'refused: {words}', err)
code, out, err = run('record', '--guest', 'trace-cmd:127.0.0.1:1', '-e', 'x', '-o', 'none')
ok(code == 1 and 'no agent is there' in err and 'trace-cmd agent -N' in err, 'nobody is there: what to start', err)
code, out, err = run('record', '--guest', 'trace-cmd:there.example:1', '-e', 'x', '-o', 'none')
ok(code == 1 and 'is meant' in err, 'a name is no address', err)
code, out, err = run('run', '--guest', 'trace-cmd:127.0.0.1:1', '-e', 'BEGIN { exit() }')
ok(code == 1 and 'runs no scripts' in err, 'scripts are for our own agent', err)
done()
