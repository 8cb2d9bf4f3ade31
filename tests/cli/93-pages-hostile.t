#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Pages of odd recordings in a headless Chromium without WebGL: deep stacks, long and hostile names, bytes that are no UTF-8, one event.
# parallel: it draws files that it has made itself
import re

from browser import Browser
from tap import done, equal, need, ok, run, scratch

need('chromium')
work = scratch()
DEEP = 4000
LONG = b'</script><img src=x onerror=alert`1`>"\'&\x1b[31m\xff\xfe' + b'n' * 10000


def write(name, events):
    """perf script's text: (name of the thread, its number, ms, event, frames from the innermost on)"""
    with open(name, 'wb') as f:
        for comm, tid, ms, event, frames in events:
            f.write(b' %s %d [000] 10.%03d000000: %s\n' % (comm, tid, ms, event))
            f.writelines(b'\t          40%04x %s (/w)\n' % (i, frame) for i, frame in enumerate(frames))
            f.write(b'\n')


deep = [LONG, *(b'f%d' % i for i in range(DEEP - 1))]
SWITCH = b'sched:sched_switch: prev_comm=t prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=t next_pid=%d next_prio=120'
odd_comm = b'<b>"\'&\x1b[31m\xff'
write('odd.txt', [(odd_comm, 11 + i % 2, i, b'1 cpu-clock:' if i % 3 else SWITCH % (11 + i % 2, 12 - i % 2), deep) for i in range(6)])
write('one.txt', [(b't', 11, 0, b'1 cpu-clock:', [b'main'])])
with open('large.folded', 'wb') as f:
    f.write(b'all;huge 9007199254740993\nall;' + b';'.join(reversed(deep)) + b' 1\n')
FLAME = 'page.tree.names'
PAGES = {  # a command, its page, an expression: texts of the page in which the long name is
    'flame-odd': (['flame', '--count', '-e', 'cpu-clock', 'odd.txt'], FLAME),
    'flame-large': (['flame', 'large.folded'], FLAME),
    'heatmap-odd': (['heatmap', '-e', 'cpu-clock', 'odd.txt'], 'page.graph.drawing.tree.names'),
    'timeline-odd': (['timeline', 'odd.txt'], 'page.data.stacks.tree.names'),
    'flame-one': (['flame', 'one.txt'], None),
    'heatmap-one': (['heatmap', 'one.txt'], None),
    'timeline-one': (['timeline', 'one.txt'], None),
}
for name, (words, _) in PAGES.items():
    code, out, err = run(*words, '-o', name + '.html')
    ok(code == 0, f'{name}: a page', err)
    text = open(name + '.html', encoding='utf-8').read()  # fails on anything else
    ok(not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f]', text), f'{name}: valid text, without control characters')
for command in 'flame', 'heatmap', 'timeline':
    code, out, err = run(command, '-b', '20', '-E', '21', '-o', 'none.html', 'odd.txt')
    equal((code, err.splitlines()[-1:]), (1, [f'pantrace {command}: no event was recorded']), f'{command}: a range of time without events')

with Browser(flags=('--disable-3d-apis',)) as b:
    for name, (_, names) in PAGES.items():
        b.open(f'file://{work}/{name}.html')
        ok(b.wait('globalThis.page'), f'{name}: draws', *b.complaints())
        equal(b.run("document.createElement('canvas').getContext('webgl')"), None, '  without WebGL')
        if names:
            ok(b.run(f'{names}.some(n => n.length > 10000)'), '  the long name is there', b.run(f'{names}.map(n => n.length).reduce((a, b) => Math.max(a, b))'))
        equal(b.run("document.querySelectorAll('img, #picture b b').length"), 0, '  and no element of its making')
        b.run("document.querySelector('canvas[tabindex]').focus()")
        for key in 'ArrowUp', 'ArrowUp', 'ArrowRight', 'Enter', '?', 'Escape':
            b.key(key)
        ok(b.run('document.documentElement.scrollWidth <= innerWidth'), '  no scrolling to the side', b.run('document.documentElement.scrollWidth'))
        equal(b.complaints(), [], '  no error, no request')
    b.open(f'file://{work}/timeline-one.html')
    b.wait('globalThis.page')
    equal(b.run("document.getElementById('detail').textContent"), '1 event in 0 ns1 thread, 1 CPU', 'what is one is called one')
    b.open(f'file://{work}/flame-large.html')
    b.wait('globalThis.page')
    equal(b.run("[...page.tree.exact].map(String).slice(0, 2)"), ['9007199254740994'] * 2, 'counts beyond 2^53 are whole')
    ok('9,007,199,254,740,994' in b.run("document.getElementById('detail').textContent"), '  where they are told', b.run("document.getElementById('detail').textContent"))
    equal(b.run("[...document.querySelectorAll('#tables tbody tr')].find(r => r.cells[0].textContent === 'huge').cells[1].textContent"), '9007199254740993', '  and in the table')
    b.open(f'file://{work}/flame-odd.html')
    b.wait('globalThis.page')
    equal(b.run('Math.max(...page.tree.depth)'), DEEP + 1, 'all frames are there')
    b.run(f'page.drawings[0].zoomTo(page.tree.depth.indexOf({DEEP + 1}))')
    told = b.run("document.querySelector('#picture').textContent")
    ok('\\x1b[31m\ufffd\ufffdn' in told and '\x1b' not in told, 'the innermost tells its name, with what no text has made visible', told[:300])
    b.run("document.getElementById('search').focus()")
    b.ask('Input.insertText', text='onerror')
    equal(b.run("document.getElementById('matched').value"), 'matched: 100.00%', 'and is found')
    equal(b.complaints(), [], 'no error, no request')
    b.ask('Emulation.setScriptExecutionDisabled', value=True)
    for name in PAGES:
        b.open(f'file://{work}/{name}.html')
        root = b.ask('DOM.getDocument', depth=-1)['root']['nodeId']
        found = [len(b.ask('DOM.querySelectorAll', nodeId=root, selector=s)['nodeIds']) for s in ('noscript svg rect, noscript p', '#tables table, table', 'img')]
        ok(found[0] and found[1] and not found[2], f'{name}: without scripts there are a picture and a table', found)
done()
