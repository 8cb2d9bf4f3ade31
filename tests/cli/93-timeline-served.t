#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeline --serve: parts of a long time line in a headless Chromium, against what is in the file; and requests of strangers.
# parallel: reads a text that it has made itself
import atexit
import collections
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from browser import Browser
from tap import done, equal, need, ok, pantrace, run, scratch

need('chromium')
work = scratch()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then, too

# ---- a recording: two CPUs switch between five threads each, every 10 us; before every tenth switch a system call of 1 us ----
EVENTS, calls, runs, ran = [], [], collections.defaultdict(list), collections.Counter()  # of each thread: (from, to) in ns
on = {0: (101, 0), 1: (201, 5000)}
with open('long.txt', 'w', encoding='utf-8') as f:
    for i in range(180000):
        cpu, ns = i % 2, i * 5000
        thread, since = on[cpu]
        base = 101 + 100 * cpu
        after = base + (thread - base + 1 + i // 7 % 3) % 5

        def line(at, event):
            EVENTS.append(at)
            print(f'  t{thread} {thread:5} [{cpu:03}] {10 + at / 1e9:.9f}: {event}', file=f)
        if i % 10 == 0:
            line(ns, 'raw_syscalls:sys_enter: NR 0 (3, 4, 5, 0, 0, 0)')
            line(ns + 1000, 'raw_syscalls:sys_exit: NR 0 = 1')
            calls.append((thread, ns, ns + 1000))
            ns += 2000
        line(ns, f'sched:sched_switch: prev_comm=t{thread} prev_pid={thread} prev_prio=120 prev_state={"RS"[i % 3 > 0]} ==> '
                 f'next_comm=t{after} next_pid={after} next_prio=120')
        if i > 1:
            runs[thread].append((since, ns))
            ran[thread] += ns - since
        on[cpu] = after, ns


def serve(*words):
    """The process, the address, port and token."""
    p = subprocess.Popen([pantrace, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    atexit.register(p.kill)
    url = p.stdout.readline().strip()
    return p, url, int(url.split(':')[2].split('/')[0]), url.split('/')[3]


server, address, port, token = serve('view', '--serve', 'long.txt')


# ---- strangers ----
def ask(request, at=None):
    """The status, and the answer's body."""
    with socket.create_connection(('127.0.0.1', at or port), 20) as s:
        s.sendall(request)
        answer = b''
        try:
            while more := s.recv(1 << 16):
                answer += more
        except ConnectionResetError:  # more was sent than is ever read
            pass
    head, _, body = answer.partition(b'\r\n\r\n')
    return (int(head.split()[1]) if head else 0), body


def get(target, *headers, method='GET', host=None):
    lines = [f'{method} {target} HTTP/1.1', f'Host: {host or f"127.0.0.1:{port}"}', *headers, '', '']
    return ask('\r\n'.join(lines).encode())


status, body = get(f'/{token}/')
ok(status == 200 and b"connect-src 'self'" in body and len(token) == 32, 'the page', status, body[:300])
with open('elsewhere', 'w', encoding='utf-8') as f:
    f.write('secret')
STRANGERS = {
    'another token': (404, f'/{"0" * 32}/'),
    'no token': (404, '/'),
    'a piece of the token': (404, f'/{token[:31]}/'),
    'another piece': (404, f'/{token}/elsewhere'),
    'a way out': (400, f'/{token}/../elsewhere'),
    'a way out, encoded': (400, f'/{token}/%2e%2e/elsewhere'),
    'a file of the machine': (404, f'/{token}//etc/passwd'),
    'another host': (403, f'/{token}/', 'evil.example'),
    'another port': (403, f'/{token}/', f'127.0.0.1:{port + 1}'),
    'localhost': (403, f'/{token}/', f'localhost:{port}'),
}
for what, (want, target, *host) in STRANGERS.items():
    status, body = get(target, host=host[0] if host else None)
    ok(status == want and len(body) < 100 and token.encode() not in body, f'{what}: {want}', status, body[:300])
equal([get(f'/{token}/', method=m)[0] for m in ('POST', 'HEAD', 'OPTIONS', 'get')], [405] * 4, 'other methods: 405')
equal(get(f'/{token}/data', 'Sec-Fetch-Site: cross-site')[0], 403, 'a page of another origin: 403')
equal(get(f'/{token}/', 'Content-Length: 5')[0], 400, 'a body: 400')
equal(get(f'/{token}/', 'Host: evil.example')[0], 400, 'two hosts: 400')
equal(ask(f'GET /{token}/ HTTP/1.1\r\n\r\n'.encode())[0], 400, 'no host: 400')
equal(ask(f'GET /{token}/ HTTP/2.0\r\nHost: 127.0.0.1:{port}\r\n\r\n'.encode())[0], 505, 'another version: 505')
equal(ask(b'GET / HTTP/1.1\r\nX: ' + b'x' * 20000)[0] in (431, 0), True, 'no end of headers: 431')
ok(ask(os.urandom(5000) + b'\r\n\r\n')[0] in (400, 505), 'noise is refused')
for query in 'from=99999999999999999999&to=1&columns=0', 'from=5&to=4', 'columns=4294967296', 'from=-1&to=x', 'from=&to=&=':
    ok(get(f'/{token}/data?{query}')[0] == 200, f'a range that there is not: {query}')
silent = [socket.create_connection(('127.0.0.1', port)) for _ in range(40)]  # there is room for 32
for s in silent:
    s.sendall(b'G')
    s.setblocking(False)
status = get(f'/{token}/alive')[0]
try:
    still = bool(silent[31].recv(1))
except BlockingIOError:
    still = True
ok(status == 200 and still, 'those who say little are in nobody\'s way: the oldest make room, before their time is over')
for s in silent:
    s.close()


def trickle():
    """A request of which a byte comes now and then; ends when nobody waits for the next one."""
    with socket.create_connection(('127.0.0.1', port)) as s:
        try:
            while not select.select([s], [], [], 0.2)[0]:
                s.sendall(b'x')
        except (BrokenPipeError, ConnectionResetError):
            pass


slow = threading.Thread(target=trickle, daemon=True)
slow.start()
listening = [line.split()[1] for line in open(f'/proc/{server.pid}/net/tcp', encoding='utf-8') if f':{port:04X} ' in line and ' 0A ' in line]
equal(listening, [f'0100007F:{port:04X}'], 'it listens at 127.0.0.1 alone')

# ---- the page ----
FROM, TO = 300000000, 302000000
with Browser() as b:
    b.open(address)
    ok(b.wait('globalThis.page?.data'), 'the page opens')
    total, columns, last, note = b.run('[page.data.part.total, page.data.part.columns, page.data.last, page.note.value]')
    ok(total == len(EVENTS) and columns and last == EVENTS[-1] and 'zoom in' in note, 'all of it: shares of states, and that is said', total, note)
    shares = b.run('''Object.fromEntries([...page.data.rows.values()].filter(r => r.isThread).map(r => {
        let sum = 0, before = 0;
        r.lane.ends.forEach((end, run) => { sum += (end - before) * r.lane.shares[run * STATES.length + RUNS] / 255; before = end; });
        return [r.label, [sum / page.data.part.columns, r.ns[RUNS]]];
    }))''')
    ok(all(abs(shares[f't{t}-{t}'][0] * last - ran[t]) < 0.01 * ran[t] + 1e6 for t in ran), 'shares of running are the time that threads run', shares, ran)
    ok(all(abs(shares[f't{t}-{t}'][1] - ran[t]) < 10001 for t in ran), 'so is the sum of each', shares, ran)
    b.run(f'page.look({FROM}, {TO - FROM})')
    ok(b.wait('!page.data.part.columns && !page.isLoading'), 'zoomed in: its events')
    inside = [at for at in EVENTS if FROM <= at <= TO]
    equal(b.run(f'Array.from(page.data.events.time).filter((t, i) => i >= page.data.firstWhole && i < page.data.endWhole && t >= {FROM} && t <= {TO})'),
          inside, 'all that are in view')
    found = b.run(f'''[...page.data.rows.values()].filter(r => r.isThread).map(r => [r.label, Array.from(r.lane.what, (w, i) => [w, r.lane.from(i), r.lane.to(i)])
        .filter(([w, from, to]) => w === RUNS && from <= {TO} && to >= {FROM}).map(([w, ...times]) => times)])''')
    equal({label: spans for label, spans in found},
          {f't{t}-{t}': [[a, e] for a, e in runs[t] if a <= TO and e >= FROM] for t in runs}, 'each state from its begin to its end, beyond what is in view, too')
    sliced = b.run(f'''[...page.data.rows.values()].filter(r => r.isThread && r.lanes.length).flatMap(r => Array.from(r.lanes[0].begin, (e, i) =>
        [page.data.threads.tid[r.index], r.lanes[0].from(i), r.lanes[0].to(i)])).filter(([t, from, to]) => from <= {TO} && to >= {FROM})''')
    equal(sorted(map(tuple, sliced)), sorted(c for c in calls if c[1] <= TO and c[2] >= FROM), 'its slices')
    b.run('page.select("t" + [...page.data.rows.values()].find(r => r.label === "t103-103").index, -1); page.nextInRow(1)')
    detail = b.run('page.detail.textContent')
    b.wait('location.hash.includes("sel=")')
    hashed = b.run('location.hash')
    ok('t103-103' in detail and ('µs' in detail), 'an interval that is selected tells its time', detail)
    b.open('about:blank')
    b.open(address + hashed)
    ok(b.wait('globalThis.page?.data.part && !page.data.part.columns && page.state.sel !== ""'), 'the address restores what was looked at')
    equal(b.run('page.detail.textContent'), detail, 'and what was selected')
    b.key('0')
    ok(b.wait('page.data.part.columns > 0'), '0: all of it again')
    equal(b.complaints(address), [], 'no error, and no request but to its own address')
    slow.join(60)
    ok(not slow.is_alive(), 'a request that never ends is dropped')
    server.send_signal(signal.SIGINT)
    equal(server.wait(120), 0, 'Ctrl-C ends it')
    b.run('page.look(500000000, 1000000)')
    ok(b.wait('page.note.value.includes("has ended")'), 'what the page says then')

# ---- other pictures of what is seen ----
with open('stacks.txt', 'w', encoding='utf-8') as f:
    for i in range(400):
        thread, after = 101 + i % 2, 102 - i % 2
        print(f'  t{thread} {thread} [000] {10 + i / 1000:.9f}: sched:sched_switch: prev_comm=t{thread} prev_pid={thread} prev_prio=120 prev_state=S ==> '
              f'next_comm=t{after} next_pid={after} next_prio=120\n\tffffffff81000100 schedule+0x10 ([kernel.kallsyms])\n\t4005d0 wait_{i % 4}+0x10 (/bin/w)\n', file=f)
server, address, port, token = serve('timeline', '--serve', '-e', 'sched:*', '--idle', '100', 'stacks.txt')
with Browser() as b:
    b.open(address)
    b.wait('globalThis.page?.data')
    b.run('page.look(100000000, 99500000); page.select([...page.data.rows.values()].find(r => r.label === "t101-101").id, -1)')
    href = b.run('page.links.map(a => { page.link(a); return a.href; })[0]')
    b.open(href)
    ok(b.wait("document.getElementById('picture')?.childElementCount"), 'a flame graph of the selected thread, of what is in view', href)
    equal(b.run('[document.title, page.tree.total[0], page.tree.names.filter(n => n.startsWith("wait_")).sort()]'),
          ['flame: t101-101, 10.100000000 to 10.199500000', 50, ['wait_0', 'wait_2']], 'of its events')
    equal(b.complaints(address), [], 'no error')
    b.open(address + 'heatmap?from=0&to=99999999')
    ok('heatmap: 10.000000000 to 10.099999999' in b.run('document.title') and b.run("document.querySelector('noscript') !== null"), 'a heat map')
equal([get(f'/{token}/{name}')[0] for name in ('flame?thread=99', 'report', 'timeline', 'view')], [404] * 4, 'no such thread, no such picture')
server.send_signal(signal.SIGINT)
equal(server.wait(120), 0, 'Ctrl-C ends it')
server, address, port, token = serve('timeline', '--serve', 'long.txt')
status, body = get(f'/{token}/flame?from=0&to=1000000')
ok(status == 200 and body.startswith(b'pantrace flame made no picture'), 'no stacks: no flame graph, and that is said', body[:200])
server.kill()
equal([run('flame', '--text', '-b', begin, 'stacks.txt')[0] for begin in ('10.1', '00:00:10')], [0, 1],
      '-b as recorded, where the day is not known; not of a day')

# ---- its end ----
server, address, port, token = serve('timeline', '--serve', '--idle', '0.5', 'long.txt')
equal(server.wait(120), 0, 'it ends by itself where no page is open')
ok('0.5 s' in server.stderr.read(), 'which it says before')
equal(run('timeline', '--serve', '-o', 'x.html', 'long.txt')[0], 2, '--serve and -o are refused')
equal(sorted(os.listdir('.')), ['elsewhere', 'long.txt', 'stacks.txt'], 'nothing is written')
done()
