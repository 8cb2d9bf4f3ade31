#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# flame: 20 recordings as SVG, against the frames and widths that flamegraph.pl draws of them: computed here by its rules, and by
# stackcollapse-perf.pl and flamegraph.pl themselves where they are installed.
# parallel: records its own children
import collections
import html
import re
import shutil
import subprocess

from perf_script import record
from tap import done, equal, need, ok, run, scratch

need('perf')
work = scratch()
with open('work.c', 'w', encoding='utf-8') as f:
    f.write('''#include <stdlib.h>
#include <string.h>
volatile unsigned long s;
static int by_value(const void *a, const void *b) { s++; return *(const int *)a - *(const int *)b; }
static inline __attribute__((always_inline)) void inlined(int n) { for (int i = 0; i < n; i++) s += i; }
__attribute__((noinline)) void deep(int n) { if (n) deep(n - 1); else inlined(200000); s++; }
int main(void)
{
    static int numbers[20000];
    for (int i = 0; i < 40; i++) {
        char *p = malloc(1 << 20);
        memset(p, i, 1 << 20);
        for (int k = 0; k < 20000; k++) numbers[k] = k * 7919 % 20011;
        qsort(numbers, 20000, sizeof(*numbers), by_value);
        deep(i);
        free(p);
    }
}
''')
subprocess.run(['gcc', '-O1', '-g', '-fno-omit-frame-pointer', 'work.c', '-o', 'work'], check=True)
COMMANDS = (['./work'], ['ls', '-lR', '/usr/share/doc'], ['sh', '-c', 'for i in 1 2 3 4 5; do ls / | sort; done'],
            ['python3', '-c', 'print(len({i: str(i) for i in range(100000)}))'], ['gzip', '-c', '/proc/self/maps', '/usr/bin/perf'])
EVENTS = (['-e', 'cpu-clock', '-F', '1999', '-g'], ['-e', 'page-faults', '-c', '1', '-g'], ['-e', 'page-faults', '-c', '3', '-g'],
          ['-e', 'cpu-clock:u', '-F', '4999', '-g'])


def name_of(symbol, place):
    """As stackcollapse-perf.pl shows a function: without its arguments, by its file if it has no name."""
    if symbol == '[unknown]':
        return symbol if place == '[unknown]' else f'[{place.split("/")[-1]}]'
    anonymous = re.split(r'\((?!anonymous namespace\))', symbol)[0]
    return re.sub('["\']', '', re.sub(r'\+0x[0-9a-f]+$', '', anonymous))


def kind_of(place):
    """Frames of one name are told apart by whose they are."""
    user = place in ('[vdso]', '[vsyscall]', '[heap]', '[stack]', '[uprobes]')
    return ('inlined' if place == 'inlined' else '' if place == '[unknown]' else 'kernel' if place[0] == '[' and not user else
            'library' if user or '.so' in place.split('/')[-1] else 'program')


def stacks_of(text):
    """{stack from the outermost on, of (name, kind): its weight}"""
    stacks = collections.Counter()
    for sample in re.split(r'\n\s*\n', text):
        first, *lines = [line for line in sample.splitlines() if line.strip()] or ['']
        m = re.match(r' *(.*?) +\d+ .*?: +(\d+) +\S+:', first)
        frames = [re.match(r'\s*[0-9a-f]+ (.*) \((.*)\)$', line) for line in lines]
        if m and frames:
            stacks[((m[1], ''), *((name_of(re.sub(r'\+0x[0-9a-f]+$', '', f[1]), f[2]), kind_of(f[2])) for f in reversed(frames)))] += int(m[2])
    return stacks


def widths(stacks):
    """(name, weight): widths in tenths of pixels; frames narrower than one are left out. Of 1,200 pixels 10 are left free on each side."""
    nodes = collections.Counter()
    for stack, weight in stacks.items():
        for i in range(len(stack) + 1):
            nodes[stack[:i]] += weight
    all_of, found = nodes[()], collections.defaultdict(list)
    for path, weight in nodes.items():
        if weight * 1180 >= all_of * 0.1:
            found[path[-1][0] if path else 'all', weight].append(weight * 1180 / all_of)
    return found


def drawn(svg):
    found = collections.defaultdict(list)
    for m in re.finditer(r'<title>(.*?) \(([\d,]+) samples.*?<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', svg, re.S):
        found[html.unescape(m[1]), int(m[2].replace(',', ''))].append(float(m[3]))
    return found


def differ(ours, theirs):
    """What is in one and not in the other, or wider there by more than both ends are rounded."""
    return [(key, sorted(ours.get(key, [])), sorted(theirs.get(key, []))) for key in {*ours, *theirs}
            if len(ours.get(key, [])) != len(theirs.get(key, [])) or any(abs(a - b) > 0.1001 for a, b in zip(sorted(ours[key]), sorted(theirs[key])))]


n = 0
for command in COMMANDS:
    for words in EVENTS:
        n += 1
        what = f'{" ".join(command)[:24]}, {" ".join(words)}'
        record(*words, '-o', 'a.data', 'sh', '-c', 'exec "$@" >/dev/null 2>&1', 'sh', *command)
        text = subprocess.run(['perf', 'script', '-i', 'a.data'], capture_output=True, text=True, errors='replace').stdout
        with open('a.txt', 'w', encoding='utf-8') as f:
            f.write(text)
        stacks = stacks_of(text)
        code, out, err = run('flame', '--svg', '--unit', 'samples', '-o', '-', 'a.txt')
        ours, wrong = drawn(out), differ(drawn(out), widths(stacks))
        ok(code == 0 and len(ours) > 5 and not wrong, f'{n}. {what}: {sum(map(len, ours.values()))} frames', err, len(ours), *wrong[:9])
        if shutil.which('flamegraph.pl') and shutil.which('stackcollapse-perf.pl'):
            with open('a.folded', 'wb') as f:
                subprocess.run(['stackcollapse-perf.pl', 'a.txt'], stdout=f, check=True)
            theirs = drawn(subprocess.run(['flamegraph.pl', 'a.folded'], capture_output=True, check=True).stdout.decode(errors='replace'))
            wrong = differ(drawn(run('flame', '--svg', '--unit', 'samples', '-o', '-', 'a.folded')[1]), theirs)
            ok(theirs and not wrong, '  as flamegraph.pl draws it', *wrong[:9])
equal(n, 20, '20 recordings')
done()
