#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of flame graphs in a headless Chromium: it draws, searches, zooms by keys, comes back to its state from the
# address, has its numbers as report has them, survives hostile names, and asks the network for nothing.
# parallel: it traces its own children only
import decimal
import re
import subprocess

from browser import Browser
from perf_script import record
from tap import done, equal, need, ok, pantrace, scratch

need('chromium', 'perf')

# Names as a hostile program may have them: HTML, a script's end, quotes, ESC, a text's direction.
HOSTILE = ['<img src=x onerror=alert(1)>', '</script><script>alert(1)</script>', 'quotes "\'`${1}', 'escape \x1b[31m', 'turned \u202eabc']
PROGRAM = r'''
volatile unsigned long s;
static __attribute__((noinline)) void burn(int n) { for (int i = 0; i < n; i++) s += i * n; }
%s
__attribute__((noinline)) void big(void) { burn(250000); burn(250000); }
__attribute__((noinline)) void small(void) { burn(100000); }
int main(void) { for (int i = 0; i < 300; i++) { big(); small(); %s } }
'''
work = scratch()
# No compiler takes such names: they are put into the file in place of others of their length.
plain = [f'plain_{i}'.ljust(len(n.encode()), '_') for i, n in enumerate(HOSTILE)]
functions = ''.join(f'__attribute__((noinline)) void {n}(void) {{ burn(20000); }}\n' for n in plain)
with open('w.c', 'w', encoding='utf-8') as f:
    f.write(PROGRAM % (functions, ' '.join(n + '();' for n in plain)))
built = subprocess.run(['gcc', '-O0', '-g', 'w.c', '-o', 'w'],
                       capture_output=True, text=True)
ok(built.returncode == 0, 'the program is built', built.stderr[-300:])
with open('w', 'r+b') as f:
    image = f.read()
    for old, new in zip(plain, HOSTILE):
        image = image.replace(old.encode() + b'\0', new.encode() + b'\0')
    f.seek(0)
    f.write(image)
record('-F', '2000', '-e', 'cpu-clock:u', '-g', '-o', 'a.data', './w')
made = subprocess.run([pantrace, 'flame', '--count', 'a.data', '-o', 'a.html'], capture_output=True, text=True)
equal((made.returncode, made.stderr), (0, ''), 'pantrace flame')
subprocess.run([pantrace, 'flame', '--count', 'a.data', '-o', 'b.html'])
ok(open('a.html', 'rb').read() == open('b.html', 'rb').read(), 'the same input gives the same bytes')
samples = int(subprocess.run([pantrace, 'report', '-c', 'a.data'], capture_output=True, text=True).stdout.split()[0])

page = 'file://' + work + '/a.html'


def share(part):
    """As JavaScript rounds: 73.125 up, where Python takes the even one."""
    return f'{decimal.Decimal(100 * part / samples).quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP)}%'


with Browser() as b:
    b.open(page)
    ok(b.wait('globalThis.page'), 'the page draws', *b.complaints())
    equal(b.run('page.tree.total[0]'), samples, f'as many samples as report has: {samples}')
    ok(b.wait('''(() => { const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data,
        s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })() > 8'''), 'in several colours')
    names = b.run('page.tree.names')
    for n in HOSTILE:
        ok(n in names, f'a hostile name is a name: {n.encode("unicode_escape").decode()}', names)
    equal(b.run('document.querySelectorAll("img").length'), 0, 'and no element')

    # the table against the samples: main is below every stack of the program
    table = b.run('''Object.fromEntries([...document.querySelectorAll('#tables tbody tr')].map(r =>
        [r.cells[0].textContent, [...r.cells].map(c => c.textContent)]))''')
    equal(table['main'][5], 'program', 'main is of the program')
    script = subprocess.run(['perf', 'script', '-i', 'a.data', '-F', 'ip,sym'], capture_output=True, text=True).stdout
    stacks = [[line.split(None, 1)[1] for line in s.splitlines()] for s in re.split(r'\n\s*\n', script.strip())]
    for name in ('big', 'burn', 'main'):
        own = sum(1 for s in stacks if s[0].split('+')[0] == name)
        total = sum(1 for s in stacks if name in [f.split('+')[0] for f in s])
        equal((table[name][1], table[name][3]), (str(own), str(total)), f'{name}: {own} of its own, {total} in all, as perf script has them')

    # search
    b.run("document.getElementById('search').focus()")
    b.ask('Input.insertText', text='big')
    total = sum(1 for s in stacks if 'big' in [f.split('+')[0] for f in s])
    equal(b.run("document.getElementById('matched').value"), f'matched: {share(total)}', 'search tells the share of what it found')
    ok('search=big' in b.run('location.hash'), 'and stands in the address')

    # keys: to the widest frame above all, zoom, back
    b.run("document.querySelector('canvas').focus()")
    for _ in range(3):
        b.key('ArrowUp')
    ok(b.run('page.tree.depth[page.drawings[0].at]') == 3, 'three keys, three frames up')
    b.key('Enter')
    zoom = b.run('page.drawings[0].zoom')
    ok(zoom > 0 and f'zoom={zoom}' in b.run('location.hash'), 'Enter zooms', b.run('location.hash'))
    state = b.run('location.hash')
    b.key('Backspace')
    equal(b.run('page.drawings[0].zoom'), b.run(f'page.tree.parent[{zoom}]'), 'Backspace: one frame out')
    b.key('Escape')
    equal(b.run('page.drawings[0].zoom'), 0, 'Escape: all')

    # frames that are chosen: the sum of their samples, of one in another the outer alone
    b.run("page.drawings[0].look(page.tree.names.includes('big') ? page.tree.name.findIndex((n, i) => page.tree.names[n] === 'big') : 0)")
    b.key(' ')
    ok(f"1 frame: {b.run('Number(page.tree.exact[page.drawings[0].at])'):,} " in b.run("document.getElementById('sum').value"), 'space: one frame',
       b.run("document.getElementById('sum').value"))
    b.key('ArrowUp')
    b.key(' ')
    b.key('ArrowDown')
    both = b.run("Number(page.tree.exact[page.drawings[0].at])") + b.run('(i => { page.drawings[0].look(i); return Number(page.tree.exact[i]); })(page.drawings[0].sibling(page.drawings[0].at, 1))')
    b.key(' ')
    equal(b.run("document.getElementById('sum').value"), f'3 frames: {both:,} samples, {share(both)}', 'and one within it, and one beside it')
    ok('sum=' in b.run('location.hash'), 'the address has them')
    chosen = b.run('location.hash')
    b.key('Escape')
    equal(b.run("document.getElementById('sum').value"), '', 'Escape: none')
    b.key('i')
    equal(b.run('[page.drawings[0].up, document.getElementById("icicle").getAttribute("aria-pressed")]'), [False, 'true'], 'i: an icicle')
    b.key('f')
    b.key('/')
    equal(b.run('document.activeElement.id'), 'search', '/: the search')

    # a click into the picture; a name in the table
    box = b.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('canvas').getBoundingClientRect())")
    b.click(box[0] + box[2] / 2, box[1] + box[3] - 18 - 9)
    equal(b.run('page.tree.depth[page.drawings[0].zoom]'), 1, 'a click zooms to the frame that is there')
    b.run("[...document.querySelectorAll('#tables tbody button')].find(x => x.textContent === 'burn').click()")
    equal(b.run('page.drawings.length'), 2, 'a name in the table opens its callers and callees')
    total = sum(1 for s in stacks if 'burn' in [f.split('+')[0] for f in s])
    equal(b.run('page.drawings.map(d => d.tree.total[0])'), [total, total], 'of all its samples')
    callers = b.run('''(t => Array.from(t.depth, (d, i) => [d, t.names[t.name[i]], t.total[i]]).filter(x => x[0] === 1)
        .map(x => [x[1], x[2]]))(page.drawings[0].tree)''')
    by_caller = {}
    for s in stacks:
        f = [x.split('+')[0] for x in s]
        if 'burn' in f:
            by_caller[f[f.index('burn') + 1]] = by_caller.get(f[f.index('burn') + 1], 0) + 1
    equal(dict(map(tuple, callers)), by_caller, 'callers as perf script has them')
    equal(b.complaints(), [], 'no error, no request')

    b.open(page + state)
    b.wait('globalThis.page')
    equal(b.run('[page.drawings[0].zoom, document.getElementById("search").value]'), [zoom, 'big'], 'the address brings it back')
    b.open(page + chosen)
    b.wait('globalThis.page')
    equal(b.run("document.getElementById('sum').value"), f'3 frames: {both:,} samples, {share(both)}', 'the sum, too')
    for words in ('sum=x.-1.99999999&zoom=99999999', 'sum=1e-1', 'zoom=0.5'):
        b.open(page + f'#{words}&view=nothing&of=-1&search=%2F(%2F')
        b.wait('globalThis.page')
        equal(b.run("[page.drawings[0].zoom, page.state.view, document.getElementById('sum').value]"), [0, 'flame', ''], f'an address that means nothing: {words}')
    equal(b.complaints(), [], 'still no error')

    # a comparison
    subprocess.run([pantrace, 'flame', '--count', '--compare', 'a.data', 'a.data', '-o', 'c.html'])
    b.open('file://' + work + '/c.html')
    b.wait('globalThis.page')
    equal(b.run('[page.whole.now, page.whole.old]'), [samples, samples], 'a comparison has both sums')

    # without scripts: the table, and the picture as SVG
    b.ask('Emulation.setScriptExecutionDisabled', value=True)
    b.open(page)
    dom = b.ask('DOM.getDocument', depth=-1)
    count = len(b.ask('DOM.querySelectorAll', nodeId=dom['root']['nodeId'], selector='noscript svg rect')['nodeIds'])
    ok(count > 10, 'without scripts there is SVG', count)
    equal(b.complaints(), [], 'which its policy lets in')

with Browser(dark=True) as b:
    b.open(page)
    b.wait('globalThis.page')
    ok(b.run('getComputedStyle(document.body).backgroundColor') != 'rgb(255, 255, 255)', 'dark where the system is')
    equal(b.complaints(), [], 'no error')

done()
