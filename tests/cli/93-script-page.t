#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# --page: what a script prints, as a page in a headless Chromium; its numbers are those of -f json.
# parallel: traces its own child
import atexit
import html
import json
import os
import re
import signal
import subprocess
import sys
import time

from browser import Browser
from tap import done, equal, need, ok, pantrace, run, scratch

need('chromium', 'gcc')
work = scratch()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then, too
with open('w.c', 'w', encoding='utf-8') as f:
    f.write('''volatile int s;
__attribute__((noinline)) void leaf(int n) { s += n; }
__attribute__((noinline)) void outer(int n) { leaf(n); s++; }
int main(void) { for (int i = 0; i < 100; i++) outer(i); for (int i = 0; i < 20; i++) leaf(i); }
''')
subprocess.run(['gcc', '-O1', '-fno-omit-frame-pointer', '-g', '-no-pie', 'w.c', '-o', 'w'], check=True)
script = r'''uprobe:./w:leaf { @calls["all"] = count(); @calls[arg0 < 50 ? "<script>alert(1)</script>" : "upper"] = count(); @n = lhist(arg0, 0, 100, 10);
    @by[arg0 < 50] = hist(arg0); @s[ustack(3), comm] = count(); @t = tseries(arg0, 1s, 4, "max"); @many[arg0] = stats(arg0); @big = (uint64)18446744073709551615; }
BEGIN { @p = 2; print(@p); print(@p); printf("<b>hello\x1b[31m %d\n", 42); }
END { printf("the end\n"); }'''

code, out, err = run('-f', 'json', '-c', './w', '-e', script)
lines = [json.loads(line) for line in out.splitlines()]
maps = {name: v for line in lines if line['type'] in ('map', 'hist', 'stats', 'tseries') for name, v in line['data'].items()}
code, out, err = run('--page', 'p.html', '-c', './w', '-e', script)
ok(code == 0 and out == '', 'a page instead of text', code, out, err)
for words in (['-o', 'x'], ['-f', 'text']):
    code, out, err = run('--page', 'q.html', *words, '-e', 'BEGIN { exit() }')
    ok(code != 0 and '--page' in err, f'--page with {words[0]}', code, err)
ok(not os.path.exists('q.html'), 'writes nothing')
run('--page', 'nothing.html', '-e', 'BEGIN { exit() }')
code, out, err = run('--page', '/nowhere/x.html', '-e', 'BEGIN { exit() }')
ok(code == 1 and '/nowhere/x.html' in err, 'a file that cannot be made is told before it runs', code, err)
page = 'file://' + work + '/p.html'
with Browser() as b:
    b.open(page)
    ok(b.wait('globalThis.page'), 'the page draws', *b.complaints())
    sections = "Object.fromEntries([...document.querySelectorAll('#output > section')].map(s => [s.querySelector('h2').textContent, %s]))"
    table = b.run(sections % "[...s.querySelectorAll('td[data-value]')].map(c => c.dataset.value)")
    equal(sorted(table['@calls']), sorted(str(x) for kv in maps['@calls'].items() for x in kv), 'a map: all keys and values')
    equal(len(table['@many']), 100 * 4, 'stats: count, average, total of each key')
    counts = b.run(sections % "[...s.querySelectorAll('.barred')].map(t => [...t.rows].reduce((n, r) => n + Number(r.cells[1].textContent), 0))")
    equal(counts['@n'], [sum(x['count'] for x in maps['@n'])], 'lhist: all counts')
    equal(sorted(counts['@by']), sorted(sum(x['count'] for x in v) for v in maps['@by'].values()), 'hist: of each key')
    equal(b.run(sections % "s.textContent")['@big'], '@big18,446,744,073,709,551,615', 'a number beyond 2^53 is whole')
    equal(b.run('page.drawings.map(d => [d.tree.total[0], d.tree.names.filter(n => ["leaf", "outer", "main", "w"].includes(n)).length])'), [[120, 4]],
          'stacks: a flame graph of 120 calls, leaf in outer in main of w')
    equal(b.run("(d => { const i = d.tree.name.findIndex(n => d.tree.names[n] === 'outer'); return d.tree.total[i]; })(page.drawings[0])"), 100, '100 of them by outer')
    equal(b.run("document.querySelectorAll('polyline').length"), 1, 'tseries: a line')
    equal(b.run("[...document.querySelectorAll('details section')].map(s => s.textContent)"), ['@p2', '@p2'], 'what was printed before is folded')
    text = b.run("[...document.querySelectorAll('#output > pre.printed')].map(p => p.textContent).join('')")
    ok('<b>hello\\x1b[31m 42\n' in text and 'the end\n' in text and not b.run("document.querySelector('#output b, #output script')"), 'text stays text', repr(text))
    b.run("document.getElementById('search').focus()")
    b.ask('Input.insertText', text='outer')
    ok(re.match(r'matched: [\d,]+ rows?, 83.33%', b.run("document.getElementById('matched').value")), 'search', b.run("document.getElementById('matched').value"))
    hash_ = b.run('location.hash')
    b.open(page + hash_)
    b.wait('globalThis.page')
    equal(b.run("document.getElementById('search').value"), 'outer', 'the address brings it back')
    b.run("[...document.querySelectorAll('th button')][1].click()")
    equal(b.complaints(), [], 'no error, no request')
    b.ask('Emulation.setScriptExecutionDisabled', value=True)
    b.open(page)
    root = b.ask('DOM.getDocument', depth=-1)['root']['nodeId']
    still = b.ask('DOM.getOuterHTML', nodeId=b.ask('DOM.querySelector', nodeId=root, selector='noscript')['nodeId'])['outerHTML']
    ok('the end' in still and '<b>' not in still and '<script' not in still, 'without scripts the text is there', still[:200])
    cells = re.findall(r'<td>([^<]*)</td>', still)
    wanted = [str(x) for kv in maps['@calls'].items() for x in kv] + [str(bucket['count']) for bucket in maps['@n']] + ['average', '18446744073709551615']
    missing = [w for w in wanted if html.escape(w) not in cells and w not in still]
    ok(not missing and len(cells) > 300, 'and maps are tables', missing, len(cells))
with Browser(dark=True, width=420) as b:
    b.open('file://' + work + '/nothing.html')
    b.wait('globalThis.page')
    equal(b.run("document.getElementById('output').textContent"), 'The script printed nothing.', 'a script that prints nothing')
    b.open(page)
    b.wait('globalThis.page')
    ok(b.run('document.documentElement.scrollWidth <= innerWidth'), 'a narrow window needs no scrolling to the side')
    equal(b.complaints(), [], 'no error')

# ---- heat maps of what is printed again and again, or has many keys ----

code, out, err = run('--page', 'heat.html', '-e', r'''BEGIN { $i = 0; while ($i < 20) { @keys[$i * 2] = hist($i); @keys[$i * 2] = hist(1000); $i++; } @t["a"] = tseries(1, 1s, 3, "sum"); @t["b"] = tseries(4, 1s, 3, "sum"); }
    interval:hz:20 { @n = lhist(5, 0, 100, 10); @n = lhist(72, 0, 100, 10); print(@n); clear(@n); @count++; if (@count == 12) { exit() } }''')
with Browser() as b:
    b.open('file://' + work + '/heat.html')
    ok(b.wait('globalThis.page'), 'the page of a histogram over time', err, *b.complaints())
    heats = b.run("Object.fromEntries(page.heats.map(d => [d.whole.closest('section').firstChild.textContent, d.heat]))")
    equal(b.run('document.title'), 'BEGIN { $i = 0; while ($i < 20) { @keys[$i * 2] = hist($i); @keys[$i * 2] = hist(1000); $i++; } @t["a"] = tseries(1, 1s, ...', 'its title')
    n, keys, t = heats['@n'], heats['@keys'], heats['@t']
    columns = b.run("page.prints.get('@n').length")  # on a busy machine one may have the counts of two
    ok(1 < columns < 13, 'printed again and again', columns)
    equal((n['columns'], n['total'], n['rowTexts'][0], n['rowTexts'][-1]), (columns, 24, '0 to 9', '70 to 79'), '@n: a column for each print, all counts')
    equal(n['rowTexts'][1:-1], ['10 to 19', '20 to 29', '30 to 39', '40 to 49', '50 to 59', '60 to 69'], 'rows between those that have any')
    ok(all(re.fullmatch(r'\d\d:\d\d:\d\d\.\d{3}', at) for at in n['columnTexts'][:columns]), 'when they were printed', n['columnTexts'])
    equal((keys['columns'], keys['total'], keys['columnTexts'][:3]), (39, 40, ['0', '1', '2']), '@keys: a column for each key, and each number between them')
    equal((sorted(t['rowTexts']), t['total']), (['a', 'b'], 5), '@t: a row for each key of a time series')
    equal(b.run("[...document.querySelectorAll('details.before > summary')].map(s => s.textContent)"), ['@n: printed before' + (f', {columns - 1} times' if columns > 2 else '')], 'one fold')
    b.run("page.heats.find(d => d.heat.total === 24).canvas.focus()")
    b.key('ArrowUp')
    told = b.run("page.heats.find(d => d.heat.total === 24).told.textContent")
    count = int(n['counts']['0'])
    equal(told, f"{n['columnTexts'][0]}: 0 to 9{count}, {100 * count / 24:.2f}% of all", 'the keyboard goes to a cell')
    equal(b.complaints(), [], 'no error')

# ---- --serve: the same page, live ----


def serve(*words):
    p = subprocess.Popen([pantrace, '--serve', *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(p.kill)
    return p, p.stdout.readline().strip()


with Browser() as b:
    server, address = serve('--page', 'also.html', '-c', './w', '-e', script)
    b.open(address)
    ok(b.wait('globalThis.page'), 'served: the page draws', *b.complaints())
    ok(b.wait("document.getElementById('output')?.textContent.includes('the end')"), 'what END prints comes by itself')
    for _ in range(100):  # the last maps come behind the text
        served = b.run(sections % "[...s.querySelectorAll('td[data-value]')].map(c => c.dataset.value)")
        if all(sorted(served.get(n, [])) == sorted(v) for n, v in table.items() if n != '@t'):
            break
        time.sleep(0.1)
    equal({n: sorted(v) for n, v in served.items() if n != '@t'}, {n: sorted(v) for n, v in table.items() if n != '@t'}, 'its maps are those of the file')
    equal(b.complaints(address), [], 'no error, and no request but to its own address')
    server.send_signal(signal.SIGINT)
    equal((server.wait(120), os.path.exists('also.html')), (0, True), 'Ctrl-C ends it; --page is written, too')
    server, address = serve('-e', 'interval:hz:50 { @ticks = count(); } END { printf("the end\\n"); }')
    b.open(address)
    ticks = "Number(document.getElementById('output')?.textContent.match(/@ticks([0-9,]+)/)?.[1].replace(/,/g, '') ?? 0)"
    ok(b.wait(ticks + ' > 0') and b.wait(f'{ticks} > {b.run(ticks)}'), 'maps as they are now, again and again')
    b.key('p')
    paused = b.run(ticks)
    b.run('new Promise(done => setTimeout(done, 1500))')
    equal((b.run(ticks), b.run('page.note.value')), (paused, 'paused'), 'p: paused')
    b.key('p')
    ok(b.wait(f'{ticks} > {paused}'), 'p: goes on')
    server.send_signal(signal.SIGTERM)
    ok(b.wait("document.getElementById('output')?.textContent.includes('the end')"), 'a signal ends the run: the page still gets what END prints')
    equal(server.wait(120), 0, 'and the process ends')
    ok(b.wait("page.note.value.includes('has ended')"), 'which the page says')
# ---- what a reader has opened, sorted, zoomed and scrolled stays as it is ----

stacks = r"""@s["\n        leaf\n        outer\n"] = count(); @s["\n        leaf\n        other\n"] = count();"""
many = ' '.join(f'@k[{k}] = {k * 7 % 60};' for k in range(60))
with Browser() as b:
    server, address = serve('-e', 'BEGIN { ' + many + ' @k[99] = 0; } interval:hz:20 { @z = count(); @h[1] = hist(nsecs); @k[99]++; ' + stacks + ' }')
    b.open(address)
    section = "[...document.querySelectorAll('#output > section')].find(s => s.firstChild.textContent === '%s')"
    key, stack, ticks = section % '@k', section % '@s', f"Number(({section % '@z'})?.querySelector('pre').textContent.replace(/,/g, '') ?? 0)"
    ok(b.wait(f"{ticks} > 0 && {stack} && page.drawings.length"), 'a live page of several maps', *b.complaints())
    b.run(f"({key}).querySelector('th button').click()")
    b.run(f"({key}).querySelector('.scroll').scrollTop = 77")
    b.run(f"({stack}).querySelector('details').open = true")
    b.run("(d => { d.zoomTo(d.tree.name.findIndex(n => d.tree.names[n] === 'outer')); d.canvas.focus(); })(page.drawings[0])")
    b.run('scrollTo(0, 60)')
    before = b.run(ticks)
    ok(b.wait(f'{ticks} > {before}'), 'it is drawn anew')
    state = f"""[({key}).querySelector('th').getAttribute('aria-sort'), ({key}).querySelector('td').textContent, ({key}).querySelector('.scroll').scrollTop,
        ({stack}).querySelector('details').open, (d => d.tree.names[d.tree.name[d.zoom]])(page.drawings[0]), document.activeElement.tagName, scrollY]"""
    equal(b.run(state), ['descending', '99', 77, True, 'outer', 'CANVAS', 60], 'sorted, scrolled, unfolded, zoomed, in focus as before')
    server.send_signal(signal.SIGINT)
    server.wait(30)
    server, address = serve('-e', r'BEGIN { $i = 0; while ($i < 1300) { printf("%900d\n", $i); $i++; } exit() } END { printf("the end\n"); }')
    b.open(address)
    ok(b.wait("document.getElementById('output')?.textContent.includes('the end')"), 'more than a megabyte of text: the end of it')
    lines = b.run("document.querySelector('.printed').textContent").split('\n')
    told = re.match(r'([\d,]+) lines that were printed before are not kept', lines[0])
    equal([int(line) for line in lines[1:-2]], list(range(int(told[1].replace(',', '')) - 1 if told else 0, 1300)), 'how many lines are not kept: the first is attached_probes')
    server.send_signal(signal.SIGINT)
    equal(server.wait(30), 3, 'which the exit code says')
equal([run('--serve', *words, '-e', 'BEGIN { exit() }')[0] for words in (['-o', 'x'], ['-f', 'text'])], [1, 1], '--serve with -o, -f')
done()
