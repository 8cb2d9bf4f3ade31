#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The time line's search by conditions, in a headless Chromium: the events that report -w has.
# parallel: reads a text that it has made itself
import subprocess

from browser import Browser
from tap import done, equal, need, ok, pantrace, run, scratch

need('chromium')
work = scratch()
with open('lines.txt', 'w', encoding='utf-8') as f:
    for i in range(600):
        thread, after = 101 + i % 5, 101 + (i + 1) % 5
        print(f'  t{thread} {thread:5} [{i % 3:03}] {10 + i / 1000:.9f}: sched:sched_switch: prev_comm=t{thread} prev_pid={thread} prev_prio={i % 7} '
              f'prev_state={"SRD"[i % 3]} ==> next_comm=t {after} next_pid={after} next_prio=120', file=f)
        if i % 4 == 0:
            print(f'  t{thread} {thread:5} [{i % 3:03}] {10.0001 + i / 1000:.9f}: raw_syscalls:sys_enter: NR {i % 9} (3, 4, 5, 0, 0, 0)', file=f)
equal(run('timeline', '-o', 'page.html', 'lines.txt')[0], 0, 'a page')


def truth(condition):
    r = subprocess.run([pantrace, 'report', '--no-pager', '-w', condition, 'lines.txt'], capture_output=True, text=True)
    return sum('sched_switch:' in line or 'sys_enter:' in line for line in r.stdout.splitlines())


CONDITIONS = ['cpu == 1', 'cpu != 1', 'tid >= 103 && tid < 105', 'comm == "t103"', 'comm ~ "t10[45]" || cpu == 2', 'prev_prio > 3', 'prev_prio <= 3 && !(cpu == 0)',
              'next_comm == "t 102"', 'prev_comm ~ "t?0*2"', 'id == 3', 'id == 3 || prev_prio == 1', '!(id == 3)', 'id != 3', 'prev_prio == 0x5', 'prev_prio && cpu == 1',
              'tid == prev_pid', '(cpu == 0 || cpu == 1) && prev_prio == 2', 'nothing == 1', 'nothing == 1 || cpu == 0']
with Browser() as b:
    b.open(f'file://{work}/page.html')
    ok(b.wait('globalThis.page'), 'the page opens')
    for condition in CONDITIONS:
        b.run(f'page.search.value = {condition!r}; page.find()')
        equal(b.run('page.hits.reduce((x, y) => x + y, 0)'), truth(condition), condition)
    ok('no event has nothing' in b.run('page.matched.value'), 'a name that no event has is said', b.run('page.matched.value'))
    rows = 'page.shown.map(r => r.label)'
    for condition, expected in (('comm == "t103" || tid > 104', ['t103-103', 't105-105']), ('cpu >= 1', ['CPU 1', 'CPU 2']), ('cpu == 1 || pid != 1', ['CPU 1']),
                                ('!(comm ~ "t*10[12]")', ['t103-103', 't104-104', 't105-105']), ('t104', ['t104-104']), ('__proto__ == 1', []),
                                ('', ['CPU 0', 'CPU 1', 'CPU 2', 't 101-101'] + [f't{n}-{n}' for n in range(102, 106)])):
        b.run(f'page.filter.value = {condition!r}; page.arrange()')
        equal(sorted(b.run(rows)), expected, f'rows: {condition or "all"}')
    b.run("document.getElementById('match').click(); page.search.value = 'cpu == 2 && tid == 103'; page.find()")
    ok(b.wait('page.list.rows.length > 1 && [...page.list.rows].every(r => r.cells[1].textContent === "2" && r.cells[2].textContent === "t103-103")'),
       'only those that match are listed', b.run('page.list.textContent'))
    b.run("page.search.value = 'operator<'; page.find()")
    equal(b.run('page.matched.value'), 'matched: 0 events, 0.00%', 'what is no condition is text')
    b.run("page.search.value = 't105'; page.find(); page.later()")
    ok(b.wait('location.hash.includes("match=1")'), 'the address has it')
    equal(b.complaints(), [], 'no error, no request')
    for state in ('search=%3Cimg%20src=x%20onerror=alert(1)%3E&rows=/(/&order=toString&row=__proto__&sel=constructor', 'from=NaN&span=-5&a=x&b=1e400&sel=999999999&path=1&only=1',
                  '__proto__=1&constructor=2&rows=%E0%A4%A', '%'):
        b.open(f'file://{work}/page.html#{state}')
        ok(b.wait('globalThis.page') and not b.run("document.querySelector('main img, main script')") and not b.complaints(), f'an address that somebody made up: {state}', *b.complaints())
done()
