#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeline: states and slices against what report and perf script say of the same recording, and its page in a headless Chromium.
# among tracers: records switches of the whole machine
import json
import os
import re
import subprocess
import unicodedata
from collections import Counter

from browser import Browser
from perf_script import events, switch
from tap import done, equal, need, ok, run, scratch

need('chromium', 'perf')
work = scratch()
# two that wake each other 200 times, because neither takes the CPU from the other (chrt); the name of one is hostile
with open('w.c', 'w', encoding='utf-8') as f:
    f.write(r'''#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long s;
int main(void)
{
    int to[2], back[2], n = 0;
    char c = 0;
    pipe(to), pipe(back);
    if (!fork()) {
        prctl(PR_SET_NAME, "<b>\"x\033[31m&");
        while (close(to[1]), read(to[0], &c, 1) == 1) { for (int i = 0; i < 20000; i++) s += i; write(back[1], &c, 1); }
        return 0;
    }
    fprintf(stderr, "%d\n", getpid());
    for (; n < 200; n++) { for (int i = 0; i < 20000; i++) s += i; write(to[1], &c, 1); read(back[0], &c, 1); }
    nanosleep(&(struct timespec){0, 20000000}, 0);
}
''')
subprocess.run(['gcc', '-O0', '-w', 'w.c', '-o', 'w'], check=True)
# until all is certain: nothing is lost, no switch of an idle CPU is missing, and perf has written all events in the order of time
for _ in range(30):
    r = subprocess.run(['perf', 'record', '-q', '-a', '-k', 'mono', '-m', '16M', '-e', 'sched:sched_switch,sched:sched_waking,irq:softirq_*', '-e',
                        'raw_syscalls:sys_*', '--filter', 'common_pid != 0', '-o', 'run.data', 'chrt', '-f', '5', 'taskset', '-c', '0', './w'],
                       capture_output=True, text=True)
    code, out, err = run('timeline', '--json', 'run.data')
    if code == 0 and not err:
        break
parent = int(re.search(r'^\d+$', r.stderr, re.M)[0])
recorded = events('run.data')
ok(code == 0, 'the recording is read', code, err)
found = [json.loads(line) for line in out.splitlines()]
states = [x for x in found if x['what'] == 'state']

# ---- time on CPUs: from the switch that a thread comes with to the one that it goes with ----

truth, on, odd = Counter(), {}, set()
for _, cpu, now, event, text in recorded:
    if 'sched_switch' not in event:
        continue
    prev, _, following = switch(text)
    since, running = on.get(cpu, (None, None))
    if running == prev and prev:
        truth[prev] += now - since
    elif running is not None:  # some switches of idle CPUs are not recorded on some kernels
        odd |= {running, prev}
    on[cpu] = now, following
ran = Counter()
for s in states:
    if s['name'] == 'running' and s['ended']:
        ran[s['tid']] += int(s['duration_ns'])
equal(ran, truth, f'each of {len(truth)} threads runs as long as its switches say')
code, out, _ = run('report', '--json', '--sched', 'run.data')
report = {int(row['task'].rsplit('-', 1)[1]): int(row['on_ns']) for row in map(json.loads, out.splitlines()) if row.get('task')}
equal({tid: n for tid, n in report.items() if tid not in odd and n}, {tid: n for tid, n in ran.items() if tid not in odd and n},
      f'report --sched has the same times ({len(odd)} threads aside, whose switches contradict each other)')
ok(len(report) > 2 * len(odd) and parent in report, 'most threads, and the workload among all', len(report), odd)
summary = subprocess.run(['perf', 'sched', 'timehist', '-i', 'run.data', '--summary'], capture_output=True, text=True, errors='replace').stdout
of_perf = {int(m[1]): float(m[2]) for m in re.finditer(r'\[(\d+)(?:/\d+)?\] +-?\d+ +\d+ +(\d+\.\d+) ', summary)}
compared = [tid for tid in of_perf if tid and tid not in odd and tid in ran]
# perf leaves out a run of a thread now and then, whose switches say otherwise (above)
others = [(tid, of_perf[tid], ran[tid]) for tid in compared if abs(of_perf[tid] - ran[tid] / 1e6) >= 0.0011]
ok(parent in compared and parent not in [tid for tid, *_ in others] and len(others) * 10 <= len(compared),
   f'perf sched timehist has the same times of {len(compared) - len(others)} of {len(compared)} threads, the workload among them', others, summary[:2000])
for s in states:
    s['end'] = int(s['time_ns']) + int(s['duration_ns'])
of_parent = [s for s in states if s['tid'] == parent]
ok(all(a['end'] == int(b['time_ns']) for a, b in zip(of_parent, of_parent[1:])), 'a state begins where the one before it ends')
letters = Counter(switch(text)[1][0] for tid, _, _, event, text in recorded if 'sched_switch' in event and switch(text)[0] == parent)
names = Counter(s['name'] for s in of_parent)
equal((names['sleeping'], names['preempted'], names['ended']), (letters['S'], letters['R'], letters['X'] + letters['Z']), f'states are prev_state: {dict(letters)}')

# ---- slices: each system call that began and ended ----

begun, calls = {}, Counter()
for tid, _, now, event, text in recorded:
    number = re.search(r'NR (-?\d+)', text)
    if event == 'raw_syscalls:sys_enter' and number:
        begun[tid] = number[1], now
    elif event == 'raw_syscalls:sys_exit' and tid in begun and number and begun[tid][0] == number[1]:
        calls[tid, number[1], now - begun.pop(tid)[1]] += 1
slices = [x for x in found if x['what'] == 'slice' and x['ended']]
equal(sorted(int(x['duration_ns']) for x in slices if x['tid'] == parent and not x['name'].startswith('exit')),
      sorted(d for (tid, _, d), n in calls.items() for _ in range(n) if tid == parent), 'the system calls of the workload, each as long as perf script says')
ok({'read', 'write', 'clock_nanosleep'} <= {x['name'] for x in slices if x['tid'] == parent}, 'by their names')

# ---- every state, from text; and a recording of one process, whose switches are all that there is ----

WAKING = 'sched:sched_waking: comm=%s pid=%d prio=120 target_cpu=000'


def switches(lines):
    """A file of perf script's text, a millisecond a line: (tid, its prev_state, tid after), or the event as text."""
    with open('lines.txt', 'w', encoding='utf-8') as to:
        for n, (tid, state, after) in enumerate(lines):
            text = f'sched:sched_switch: prev_comm=t prev_pid={tid} prev_prio=120 prev_state={state} ==> next_comm=t next_pid={after} next_prio=120'
            print(f'  t {tid:7} [000] {10 + n / 1000:.9f}: {WAKING % ("t", after) if state == "wakes" else text}', file=to)
    rc, lines_out, errors = run('timeline', '--json', 'lines.txt')
    return [(x['tid'], x['name'], int(x['duration_ns']) // 10**6, x['ended']) for x in map(json.loads, lines_out.splitlines())], errors


equal(switches([(0, 'R', 11), (11, 'D', 12), (12, 'wakes', 11), (12, 'R+', 11), (11, 'T', 12), (12, 'Z', 0)])[0],
      [(11, 'running', 1, True), (11, 'blocked', 1, True), (11, 'runnable', 1, True), (11, 'running', 1, True), (11, 'stopped', 1, False),
       (12, 'running', 2, True), (12, 'preempted', 1, True), (12, 'running', 1, True), (12, 'ended', 0, False)], 'states by prev_state and wake-ups')
partly, why = switches([x for i in range(12) for x in ((31 + 2 * i % 4, 'R', 20), (20, 'S', 31 + (2 * i + 1) % 4))])
ok(sum(d for tid, name, d, ended in partly if tid == 20 and name == 'running' and ended) == 12 and not any(ended for tid, _, _, ended in partly if tid != 20)
   and 'of 4 threads only some switches' in why, 'a thread that is recorded only beside another is in no sum', partly, why)

code, out, err = run('timeline', '-o', 'partly.html', 'lines.txt')
rows = re.findall(r'<tr data-row="t\d+"><td>\D*(\d+)</td><td[^>]*>([^<]*)</td>', open('partly.html', encoding='utf-8').read())
ok(('20', '12.000') in rows and [ms for tid, ms in rows if tid != '20'] == ['?'] * 4, 'nor has it times in the page', rows)
ok('In use, at least (ms)' in open('partly.html', encoding='utf-8').read(), 'whose CPUs were in use at least so long')

late = [f'  t 11 [000] {time}: {WAKING % ("t", 12)}\n' for time in ('10.000002000', '10.000001500', '10.000003000')]
with open('late.txt', 'w', encoding='utf-8') as to:
    to.writelines(late)
code, out, err = run('timeline', '--json', 'late.txt')
ok(code == 0 and '1 event is recorded after later ones: drawn at the time of those, up to 500 ns too late' in err, 'events out of order', code, err)

# ---- times that no difference could be made of; labels as wide as others ----

with open('far.txt', 'w', encoding='utf-8') as to:
    for seconds in (10, 5 * 10**9):
        print(f'  t 11 [000] {seconds}.000000000: {WAKING % ("t", 12)}', file=to)
code, out, err = run('timeline', '--json', 'far.txt')
ok(code == 1 and "far.txt: an event's time is 5000000000 s: out of range" in err, 'a time far off is refused', code, err)
equal(run('timeline', '--json', '-w', 'cpu == 0', '-n', '1', 'far.txt')[0], 0, 'and what is before it can be drawn')
with open('names.txt', 'w', encoding='utf-8') as to:
    for n, comm in enumerate(('plain', '\u00e9\u00e9\u00e9', '\u6f22\u5b57\u6f22\u5b57\u6f22', 'e\u0301e\u0301', '\u6f22' * 8 + 'x')):
        print(f'  {comm} {10**6 + n} [000] 10.{n:09}: {WAKING % (comm, 10**6 + n)}', file=to)
code, out, err = run('timeline', '--text', 'names.txt')
labels = [line.split('|')[0] for line in out.splitlines() if line.endswith('|')]
equal({sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in 'WF') for c in label) for label in labels}, {23},
      f'{len(labels)} labels of one width')
ok(len(labels) == 6 and all(label.split()[-1].endswith(f'-{10**6 + n}') for n, label in enumerate(sorted(labels[1:], key=lambda x: x.split('-')[-1]))),
   'each with its number', labels)

# ---- two hosts: each row says whose it is ----

with open('run.data', 'rb') as f:
    recording = f.read()
node = os.uname().nodename.encode()
before, length, after = recording.rpartition(b'\x40\0\0\0' + node + b'\0')  # as perf writes a string: its padded length, its bytes
with open('other.data', 'wb') as f:
    f.write(before + length.replace(node, b'x' * len(node)) + after)
code, out, err = run('timeline', '--json', 'run.data', 'other.data')
rows = {json.loads(line)['row'].split()[0] for line in out.splitlines()}
equal(rows, {node.decode(), 'x' * len(node)}, 'two recordings, two hosts')

# ---- other forms ----

code, out, err = run('timeline', '--text', 'run.data')
ok(code in (0, 3) and 'CPU 0 ' in out and '# running' in out and '\x1b' not in out, '--text', out, err)
code, out, err = run('timeline', '--title', '<script>"x" \x1b[31m', '-o', 'x.svg', 'run.data')
ok(code in (0, 3) and subprocess.run(['python3', '-c', "import xml.dom.minidom; xml.dom.minidom.parse('x.svg')"]).returncode == 0, 'SVG: well-formed', err)
open('empty', 'w').close()
for words, code_wanted, why in ((['empty'], 1, 'empty'), (['-e', 'nothing:*', 'run.data'], 1, 'no event was recorded'), (['--json', '--svg'], 2, 'choose one'),
                                (['-b', 'x', 'run.data'], 2, 'is not a time')):
    code, out, err = run('timeline', *words)
    ok(code == code_wanted and why in err, ' '.join(words), code, err)
run('timeline', '-o', 'a.html', 'run.data')
run('timeline', '-o', 'b.html', 'run.data')
ok(open('a.html', 'rb').read() == open('b.html', 'rb').read(), 'the same input gives the same bytes')
run('timeline', '-w', f'tid=={parent}', '--title', '</title><script>alert(1)</script>', '-o', 'one.html', 'run.data')
ok(not os.path.exists('timeline.html'), 'nothing else is written')
with open('stacks.txt', 'w', encoding='utf-8') as to:
    for at, (tid, event, frames) in enumerate(((11, 'cpu-clock:', 'work main'), (12, 'raw_syscalls:sys_enter: NR 1', 'main _start'), (11, 'raw_syscalls:sys_enter: NR 0', 'lone'),
                                               (11, 'cpu-clock:', 'work main'), (12, 'cpu-clock:', 'work main'), (11, 'cpu-clock:', 'work main'),
                                               (11, 'raw_syscalls:sys_exit: NR 0 = 0', ''), (11, 'cpu-clock:', 'rest main'), (12, 'cpu-clock:', 'work main'))):
        print(f"  t {tid} [000] 10.{at:03}000000: {'1 ' if 'clock' in event else ''}{event}", file=to)
        for frame in frames.split():
            print(f'\t          40{len(frame)} {frame} (/w)', file=to)
        print(file=to)
ok(run('timeline', '-o', 'stacks.html', 'stacks.txt')[0] == 0, 'a recording with stacks')

# ---- the page ----

page = 'file://' + work + '/a.html'
DRAWN = 'new Promise(yes => requestAnimationFrame(() => requestAnimationFrame(yes)))'
with Browser() as b:
    b.open(page)
    ok(b.wait('globalThis.page'), 'the page draws', *b.complaints())
    equal(b.run('page.data.events.count'), len(recorded), 'all events are in it')
    table = b.run("[...document.querySelectorAll('#threads tbody tr')].map(r => [r.cells[0].textContent, Number(r.cells[1].dataset.value)])")
    equal({int(name.rsplit('-', 1)[1]): ns for name, ns in table if ns}, {tid: ns for tid, ns in ran.items() if ns}, 'the table has the same times')
    equal(b.run('Object.fromEntries([...page.data.rows.values()].filter(r => r.isThread && r.ns[RUNS]).map(r => [page.data.threads.tid[r.index], r.ns[RUNS]]))'),
          {str(tid): ns for tid, ns in ran.items() if ns}, 'and so has the drawing')
    colours = '''(() => { const c = page.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data,
        s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()'''
    ok(b.wait(colours + ' > 8'), 'in several colours', b.run(colours))
    row = b.run(f"[...page.data.rows.values()].find(r => r.isThread && page.data.threads.tid[r.index] === {parent}).id")

    # shares of a row's pixels sum up to its time, at any zoom
    drawn = f'''(() => {{ const lane = page.data.rows.get('{row}').lane; let sum = 0;
        const n = 777, step = page.data.last / n;
        lane.draw(0, step, n, i => {{ if (lane.what[i] === RUNS && !lane.cut[i]) sum += lane.to(i) - lane.from(i); }}, (x, s) => sum += s[RUNS] * step);
        return Math.round(sum); }})()'''
    equal(b.run(drawn), ran[parent], 'what is drawn of the workload is as long as it ran')

    # who woke whom: the two woke each other
    b.run(f"page.select('{row}', page.data.rows.get('{row}').wakeups[100])")
    b.run("document.getElementById('path').click()")
    woken_by = b.run('[...new Set(page.path.steps.slice(0, 20).map(s => page.data.threadName(s.thread)))]')
    steps = b.run('page.path.steps.length')
    ok(steps > 100 and len(woken_by) == 2 and any(name.endswith(f'-{parent}') for name in woken_by) and any('<b>' in name for name in woken_by),
       'critical path: from one to the other and back', steps, woken_by, b.run('page.path.end'))
    ok('x\\x1b[31m' in b.run("document.getElementById('steps').textContent") and not b.run("document.querySelector('#picture b b, #list b')"),
       'a hostile name is only text', b.run("document.getElementById('steps').textContent")[:300])

    # keys
    b.run('page.canvas.focus()')
    b.key('+')
    b.key('+')
    span = b.run('page.data.last')
    ok(abs(b.run('page.span') - span / 4) < 2, '+ zooms', b.run('page.span'))
    b.key('ArrowRight')
    b.key('a')
    b.run("page.select(page.state.row, page.state.sel + 100)")
    b.key('b')
    ok(re.search(r'^A [\d.:]+ +B [\d.:]+ +B\u2212A [\d.]+ .?s$', b.run("document.getElementById('markers').value")), 'markers', b.run("document.getElementById('markers').value"))
    b.run("document.getElementById('search').focus()")
    b.ask('Input.insertText', text='clock_nanosleep')
    matched = b.run("document.getElementById('matched').value")
    ok(re.match(r'matched: [1-9][\d,]* events?, \d', matched), 'search', matched)
    b.run('page.canvas.focus()')
    b.key('n')
    ok(b.run('page.hits[page.state.sel]') == 1, 'n: the next match')
    b.run(DRAWN)
    first = b.run("document.querySelector('#list tr.chosen td')?.textContent")
    equal(first, b.run('page.timeText(page.data.events.time[page.state.sel])'), 'stands in the list of events')
    ok(b.wait("location.hash.includes('search=clock')"), 'all of it is in the address')
    state = b.run('location.hash')
    want = b.run('JSON.stringify([Math.round(page.from), Math.round(page.span), page.state])')
    b.open(page + state)
    b.wait('globalThis.page')
    equal(b.run('JSON.stringify([Math.round(page.from), Math.round(page.span), {...page.state, from: page.state.from, span: page.state.span}])').replace('"', ''),
          want.replace('"', ''), 'the address brings all of it back')
    b.run('page.canvas.focus()')
    b.run('page.look(page.data.last / 2, 0.001)')
    equal(b.run('page.span'), 20, 'down to nanoseconds')
    b.key('0')
    b.key('Escape')
    equal(b.run('[page.from, page.span, page.state.row, page.state.a]'), [0, span, '', ''], '0: all; Escape: nothing is selected')
    b.run("(f => { f.value = 'CPU'; f.dispatchEvent(new Event('input')); })(page.filter)")
    ok(b.run("page.shown.length === page.data.cpus.count"), 'the filter leaves the CPUs')

    # the pointer: what is clicked is what is there
    b.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(page.filter)")
    b.run(f"page.look(page.data.events.time[page.data.rows.get('{row}').wakeups[50]] - 1e6, 4e6); page.select('{row}', -1); page.reveal()")
    b.run(DRAWN)
    at = b.run(f'''(() => {{ const r = page.data.rows.get('{row}'), box = page.canvas.getBoundingClientRect();
        const i = r.lane.at(page.from + page.span / 2);
        return [box.x + page.x(page.from + page.span / 2), box.y + r.y + AXIS - page.box.scrollTop + 12, r.lane.begin[i]]; }})()''')
    b.click(at[0], at[1])
    equal(b.run('[page.state.row, page.state.sel]'), [row, at[2]], 'a click selects the state under it')

    # two fingers that go apart, to twice the distance
    b.run('page.look(0, 0)')
    b.ask('Emulation.setTouchEmulationEnabled', enabled=True)
    for kind, half in (('touchStart', 100), ('touchMove', 150), ('touchMove', 200), ('touchEnd', None)):
        b.ask('Input.dispatchTouchEvent', type=kind, touchPoints=[{'x': at[0] + d * half, 'y': at[1], 'id': d + 1} for d in (-1, 1)] if half else [])
    ok(abs(b.run('page.span') / span - 0.5) < 0.02, 'two fingers zoom', b.run('page.span'), span)
    for fragment in ('#from=x&span=-5&row=t99999&sel=1e99&a=zz&order=no&search=%2F(%2F', ''):
        b.open(page + fragment)
        ok(b.wait('globalThis.page'), 'an address that means nothing')
    b.open('file://' + work + '/one.html')
    b.wait('globalThis.page')
    equal(b.complaints(), [], 'no error, no request')

    # flame graphs of what is selected, of each kind of events with stacks
    b.open('file://' + work + '/stacks.html')
    b.wait('globalThis.page')
    equal(b.run("[document.getElementById('graph').hidden, [...document.getElementById('stacksOf').options].map(o => o.textContent)]"),
          [True, ['cpu-clock (6)', 'raw_syscalls:sys_enter (1)']], 'stacks: of two kinds of events, and at first no flame graph')
    b.run('page.canvas.focus()')
    b.key('g')
    graph = """(t => [...t.name.keys()].filter(i => t.exact[i]).map(i => [t.names[t.name[i]], Number(t.exact[i])]))(page.graph.drawing.tree)"""
    whole = [['all', 6], ['t', 6], ['main', 6], ['rest', 1], ['work', 5]]
    equal(b.run(graph), whole, 'g: all of them')
    b.run('page.canvas.focus(); page.selectEvent(2)')
    ok(b.wait(f"JSON.stringify({graph}) === '" + json.dumps([['all', 2], ['t', 2], ['main', 2], ['work', 2]], separators=(',', ':')) + "'"),
       "a system call: its thread's stacks between its beginning and its end", b.run(graph))
    ok(b.run("document.querySelector('#graph h2').textContent").startswith('Stacks of t-11, '), 'it says whose they are')
    b.run("page.graph.drawing.zoomTo(page.graph.drawing.tree.count - 1)")
    ok(b.wait("location.hash.includes('flame=') && location.hash.includes('zoom=')"), 'the address has it')
    state = b.run('location.hash')
    b.open('file://' + work + '/stacks.html' + state)
    b.wait('globalThis.page')
    equal([b.run(graph), b.run('page.graph.drawing.zoom')], [[['all', 2], ['t', 2], ['main', 2], ['work', 2]], b.run('page.graph.drawing.tree.count - 1')],
          'and brings it back')
    b.run("page.select('', -1); page.mark('a', 4e6); page.mark('b', 5e6)")
    ok(b.wait(f"{graph}[0][1] === 2"), 'between the markers', b.run(graph))
    b.run("(s => { s.value = [...s.options].at(-1).value; s.dispatchEvent(new Event('change')); })(page.stacksOf); page.mark('a', 0)")
    ok(b.wait(f"JSON.stringify({graph}) === '" + json.dumps([['all', 1], ['t', 1], ['_start', 1], ['main', 1]], separators=(',', ':')) + "'"),
       'the other kind; where an event was is no stack', b.run(graph))
    equal(b.complaints(), [], 'no error, no request')
    b.ask('Emulation.setScriptExecutionDisabled', value=True)
    b.open(page)
    dom = b.ask('DOM.getDocument', depth=-1)
    ok(len(b.ask('DOM.querySelectorAll', nodeId=dom['root']['nodeId'], selector='noscript svg rect')['nodeIds']) > 10, 'without scripts there is SVG')
with Browser(dark=True, width=420) as b:
    b.open(page)
    b.wait('globalThis.page')
    ok(b.run('getComputedStyle(document.body).backgroundColor') != 'rgb(255, 255, 255)', 'dark where the system is')
    ok(b.run('document.documentElement.scrollWidth <= innerWidth'), 'a narrow window needs no scrolling to the side')
    equal(b.complaints(), [], 'no error')
done()
