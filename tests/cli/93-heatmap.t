#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# heatmap: its cells against what report and perf script say of the same recordings, and its page in a headless Chromium.
# among tracers: records switches of the whole machine
import json
import re
import subprocess

from browser import Browser
from perf_script import events, record, script, switch
from tap import done, equal, need, ok, run, scratch

need('chromium', 'perf')


def cells(*words):
    code, out, err = run('heatmap', '--json', *words)
    return [{k: int(v) for k, v in json.loads(line).items()} for line in out.splitlines()]


work = scratch()
with open('w.c', 'w', encoding='utf-8') as f:
    f.write('''#include <unistd.h>
volatile unsigned long s;
__attribute__((noinline)) void burn(int n) { for (int i = 0; i < n; i++) s += i * n; }
int main(void) { for (int i = 0; i < 300; i++) { burn(300000); usleep(3000); } }
''')
subprocess.run(['gcc', '-O0', '-g', 'w.c', '-o', 'w'], check=True)
record('-F', '999', '-e', 'cpu-clock:u', '-g', '-o', 'cpu.data', './w')
record('-F', '999', '-e', 'cpu-clock:u', '-k', 'mono', '-o', 'clock.data', './w')
record('-a', '-m', '8M', '-e', 'sched:sched_switch,sched:sched_wakeup', '-o', 'sched.data', './w')

# ---- latency: as many as report has, each in its row ----

pair = 'sched:sched_wakeup, sched:sched_switch, pid=next_pid'
code, out, _ = run('report', '--json', '--latency', pair, 'sched.data')
report = json.loads(out.splitlines()[0])
found = cells('--latency', pair, 'sched.data')
equal(sum(c['count'] for c in found), report['count'], f"latency: the cells have report's {report['count']} pairs")
ok(any(c['row'] <= int(report['max_ns']) < c['row_end'] for c in found) and max(c['row_end'] for c in found) > int(report['max_ns']),
   'the longest is in the highest row', report)
wider = cells('--latency', pair, '--interval', '0.5', 'sched.data')
ok(all(c['duration_ns'] == 500000000 and c['time_ns'] % 500000000 == 0 for c in wider), '--interval')
equal(sum(c['count'] for c in wider), report['count'], 'with the same sum')

# ---- CPUs: what the switches say ----

busy, at, last, first = 0, {}, 0, None
for _, cpu, now, event, text in events('sched.data'):
    first = now if first is None else first
    last = now
    if 'sched_switch' not in event:
        continue
    prev, _, following = switch(text)
    # some switches of idle CPUs are not recorded on some kernels: what ran is what the last one said
    since, running = at.get(cpu, (first, prev))
    busy += now - since if running else 0
    at[cpu] = now, following
busy += sum(last - since for since, following in at.values() if following)
used = cells('--cpu', 'sched.data')
equal(sum(c['count'] for c in used), busy, f'--cpu: as long in use as the switches say, {busy} ns')
ok(all(c['count'] <= c['duration_ns'] for c in used), 'no cell is more than full')

# ---- values, parts of the second ----

total = script('cpu.data', 'time').count(':')
equal(sum(c['count'] for c in cells('cpu.data')), total, f'each sample is in a cell: {total}')
want = {}
for t in script('cpu.data', 'time').split():
    want[int(t.split('.')[1][:9]) // 20000000] = want.get(int(t.split('.')[1][:9]) // 20000000, 0) + 1
code, out, err = run('heatmap', '--value', 'period', '--unit', 'ns', '--json', 'cpu.data')
periods = [int(p) for p in script('cpu.data', 'period').split()]
for c in map(json.loads, out.splitlines()):
    for p in periods:
        if int(c['row']) <= p < int(c['row_end']):
            break
    else:
        ok(False, '--value: a cell without a value', c)
equal(sum(int(json.loads(x)['count']) for x in out.splitlines()), total, '--value: of every sample')

# ---- a pair that events are missing in, whatever event stands behind them ----

with open('lost.txt', 'w', encoding='utf-8') as to:
    for i, line in enumerate(('alpha: x=1', 'CPU:0 [LOST 5 EVENTS]', 'gamma: x=2', 'beta: x=1', 'alpha: x=1', 'gamma: x=2', 'beta: x=1')):
        print(line if 'LOST' in line else f'  t-11 [000] 10.{i:06}: {line}', file=to)
for words in ([], ['-w', 'x == 1']):
    code, out, err = run('heatmap', '--json', '--latency', 'alpha,beta', *words, 'lost.txt')
    equal((code, sum(int(json.loads(line)['count']) for line in out.splitlines())), (3, 1), f'{words}: the pair across the loss is not drawn')
    ok('1 begun and not ended' in err and 'lost 5 events' in err, 'and is counted', err)

# ---- pictures ----

code, out, err = run('heatmap', '--text', '--latency', pair, 'sched.data')
ok(code == 0 and f" {report['count']} events, most in a cell" in out and out.count('|') % 2 == 0, '--text', out, err)
code, out, err = run('heatmap', '--title', '<script>"x" \x1b[31m', '-o', 'x.svg', 'cpu.data')
ok(code == 0 and subprocess.run(['python3', '-c', "import xml.dom.minidom; xml.dom.minidom.parse('x.svg')"]).returncode == 0, 'SVG: well-formed', err)
equal(open('x.svg').read().count('<rect'), len(cells('cpu.data')) + 2, 'a rectangle for each cell')
for words, why in ((['--latency', 'nothing,else', 'sched.data'], "no event 'nothing'"), (['--value', 'nothing', 'cpu.data'], 'no event has such a value'),
                   (['--cpu', 'cpu.data'], 'no sched_switch was recorded'), (['-e', 'nothing:*', 'cpu.data'], 'no event was recorded')):
    code, out, err = run('heatmap', *words)
    ok(code == 1 and why in err, ' '.join(words[:2]), code, err)
for words, why in ((['--cpu', '--offset'], 'choose one'), (['--latency', 'x'], 'the second event is missing'), (['--unit', 'ns', 'cpu.data'], '--value'),
                   (['--cpu', '-i', '0.000001', 'sched.data'], 'takes'), (['--cpu', '-i', '0.00001', 'sched.data'], 'takes')):
    code, out, err = run('heatmap', *words)
    ok(code == 2 and why in err, ' '.join(words), code, err)
open('empty', 'w').close()
equal(run('heatmap', 'empty')[0], 1, 'a file of 0 bytes')

run('heatmap', '-o', 'a.html', 'cpu.data')
run('heatmap', '-o', 'b.html', 'cpu.data')
ok(open('a.html', 'rb').read() == open('b.html', 'rb').read(), 'the same input gives the same bytes')
run('heatmap', '--latency', pair, '-o', 'lat.html', 'sched.data')
run('heatmap', '--cpu', '-o', 'cpu.html', 'sched.data')
run('heatmap', '--title', '</title><script>alert(1)</script>', '-o', 'odd.html', 'cpu.data')
with open('stacks.txt', 'w', encoding='utf-8') as to:
    for at, event in ((0, 'alpha: x=1'), (30, 'beta: x=1'), (500, 'alpha: x=1'), (501, 'beta: x=1')):
        print(f'  t 11 [000] 10.{at:03}000000: {event}\n\t    401 {"late" if at == 30 else "soon"} (/w)\n\t    402 main (/w)\n', file=to)
run('heatmap', '--latency', 'alpha,beta', '-o', 'stacks.html', 'stacks.txt')
run('heatmap', '-o', 'clock.html', 'clock.data')
page = 'file://' + work + '/'
with Browser() as b:
    b.open(page + 'a.html')
    ok(b.wait('globalThis.page'), 'the page draws', *b.complaints())
    equal(b.run('page.heat.total'), total, 'all samples are in it')
    equal(b.run('page.graph.drawing.tree.total[0]'), total, 'the flame graph of all has all')
    ok(b.wait('''(() => { const c = document.querySelector('#heat'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data,
        s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })() > 4'''), 'in several colours')
    b.run("document.querySelector('#heat').focus()")
    b.key('ArrowRight')
    cell = b.run('page.cursor')
    ok(cell >= 0 and f'from={cell}' in b.run('location.hash'), 'an arrow key chooses a cell, which stands in the address', b.run('location.hash'))
    equal(b.run('page.graph.drawing.tree.total[0]'), b.run(f'page.heat.counts[{cell}]'), 'whose flame graph has its samples')
    # a range in time: its samples are those that perf script has between these times
    b.run(f'page.choose({cell}, {cell} + 15)')
    rows = b.run('page.heat.rows')
    equal(b.run('page.graph.drawing.tree.total[0]'), b.run(f'page.heat.counts.slice({cell}, {cell} + 16).reduce((a, b) => a + b)'), 'a range')
    equal(b.run('page.sum()'), b.run('page.graph.drawing.tree.total[0]'), 'and its sum')
    listed = [line.split()[0] for line in b.run("document.getElementById('events').textContent").split('\n')]
    times = sorted(t.rstrip(':') for t in script('cpu.data', 'time').split())
    ok(len(listed) == b.run('page.sum()') and listed == times[times.index(listed[0]):][:len(listed)], 'its events are listed: those that perf script has at this time', listed, times)
    by_row = b.run('Array.from({length: page.heat.rows}, (_, r) => page.heat.counts.filter((_, i) => i % page.heat.rows === r).reduce((a, b) => a + b, 0))')
    equal({i: n for i, n in enumerate(by_row) if n}, want, 'rows are the fiftieths of the second that perf script has')
    b.run("document.getElementById('search').focus()")
    b.ask('Input.insertText', text='burn')
    ok(re.match(r'matched: \d', b.run("document.getElementById('matched').value")), 'search')
    state = b.run('location.hash')
    b.open(page + 'a.html' + state)
    b.wait('globalThis.page')
    equal(b.run('[page.from, page.to, page.search.value]'), [cell, cell + 15, 'burn'], 'the address brings it back')
    b.run("document.querySelector('#heat').focus()")
    b.key('Escape')
    equal(b.run('[page.from, page.graph.drawing.tree.total[0]]'), [-1, total], 'Escape: all')
    b.open(page + 'a.html#from=99999999&to=x&scale=nothing')
    b.wait('globalThis.page')
    equal(b.run('[page.from, page.state.scale]'), [-1, 'root'], 'an address that means nothing')
    table = b.run("[...document.querySelectorAll('#tables table')].map(t => [...t.tBodies[0].rows].reduce((n, r) => n + Number(r.cells[1].textContent), 0))")
    equal(table, [total, total], 'both tables sum up to all')
    b.open(page + 'clock.html')
    b.wait('globalThis.page')
    b.run('(first => page.choose(first, first + 20))(page.heat.counts.findIndex(n => n))')
    told = b.run("document.getElementById('detail').textContent")
    times = re.search(r"pantrace view -b '([\d:.]+)' -E '([\d:.]+)' clock.data", told)
    ok(times, 'the command that draws the range', told)
    equal(run('report', '-b', times[1], '-E', times[2], '--json', 'clock.data')[1].count('\n'), b.run('page.sum()'), f'report has its events between {times[1]} and {times[2]}')
    for name in ('lat.html', 'cpu.html', 'odd.html'):
        b.open(page + name)
        ok(b.wait('globalThis.page') and b.run('page.heat.columns * page.heat.rows === page.heat.counts.length'), name)
        box = b.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('#heat').getBoundingClientRect())")
        b.click(box[0] + box[2] / 2, box[1] + box[3] / 2)
    equal(b.complaints(), [], 'no error, no request')
    b.open(page + 'stacks.html')
    b.wait('globalThis.page')
    frames = '(t => [...t.name.keys()].filter(i => t.exact[i]).map(i => t.names[t.name[i]]))(page.graph.drawing.tree)'
    equal(b.run(frames), ['all', 't', 'main', 'late', 'soon'], 'latencies: the stacks of the second event')
    b.run('(cell => page.choose(cell, cell))(page.heat.counts.findLastIndex((n, i) => n && i % page.heat.rows > page.heat.rows / 2))')
    equal(b.run(frames), ['all', 't', 'main', 'late'], 'of a cell')
    equal(b.run("document.getElementById('events').textContent"), '10.030000000  30 ms  t-11 [000] beta: x=1', 'whose event is listed')
    b.key('Escape')
    equal(b.run("document.getElementById('events').closest('section').hidden"), True, 'nothing is chosen, nothing is listed')
    b.ask('Emulation.setScriptExecutionDisabled', value=True)
    b.open(page + 'a.html')
    dom = b.ask('DOM.getDocument', depth=-1)
    ok(len(b.ask('DOM.querySelectorAll', nodeId=dom['root']['nodeId'], selector='noscript svg rect')['nodeIds']) > 10, 'without scripts there is SVG')
with Browser(dark=True) as b:
    b.open(page + 'lat.html')
    b.wait('globalThis.page')
    ok(b.run('getComputedStyle(document.body).backgroundColor') != 'rgb(255, 255, 255)', 'dark where the system is')
    equal(b.complaints(), [], 'no error')
done()
