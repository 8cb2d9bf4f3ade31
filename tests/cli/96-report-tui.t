#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# report --calls, --annotate and --tui: numbers against perf's, every key in a terminal of tmux, and the terminal afterwards.
# parallel: records its own child
import atexit
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

from tap import done, equal, need, ok, pantrace, run, scratch
from terminal import Pty, Tmux, check_endings

need('gcc', 'tmux', 'perf')
work = scratch()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then, too
os.environ['LC_ALL'] = 'C.UTF-8'

with open('w.c', 'w', encoding='utf-8') as f:
    f.write(r'''
volatile unsigned long n;
__attribute__((noinline)) void burn(int times)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));	/* a leaf, with its frame */
	for (int i = 0; i < times; i++)
		n += i * n;	/* here */
}
__attribute__((noinline)) void few(void) { burn(10000); n++; }
__attribute__((noinline)) void many(int depth) { if (depth) many(depth - 1); else burn(50000); n++; }
int main(void)
{
	for (int i = 0; i < 8000; i++) {
		few();
		many(2);
	}
	return 0;
}
''')
subprocess.run(['gcc', '-g', '-O1', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls', '-o', 'w', 'w.c'], check=True)
subprocess.run(['perf', 'record', '-q', '-F', '997', '-e', 'cpu-clock:u', '-g', '-o', 'w.data', './w'], check=True)
if not os.path.getsize('w.data'):
    print('1..0 # SKIP perf records nothing')
    sys.exit(0)


def lines(command):
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def rows(*words):
    return [json.loads(line) for line in run('report', '--json', *words, 'w.data')[1].splitlines()]


# ---- what perf says: each sample's chain, the innermost function first ----
chains, chain = [], None
for line in lines(['perf', 'script', '-i', 'w.data', '-F', 'comm,ip,sym']) + ['']:
    if line.startswith('\t') and chain is not None:
        chain.append(line.split(None, 1)[1])
    elif line:
        chain = []
    elif chain:
        chains.append(chain)
        chain = None
with_burn = [c[c.index('burn') + 1:] for c in chains if 'burn' in c]
callers = collections.Counter(tuple(c[:i + 1]) for c in with_burn for i in range(len(c)))
mine = collections.Counter()
for r in rows('--calls', 'burn'):
    if r['direction'] == 'callers':  # perf has no addresses where a libc has no symbols
        mine[tuple('[unknown]' if f.startswith('0x') else f for f in r['frames'])] += r['count']
ok(len(callers) > 5 and mine == {(): len(with_burn), **callers}, '--calls: callers are those of perf script', mine, callers)
with_few = sum('few' in c for c in chains)
mine = [r for r in rows('--calls', 'few') if r['direction'] == 'callees']
equal([(r['frames'], r['count']) for r in mine if len(r['frames']) < 2],
      [([], with_few), (['burn'], sum('few' in c and c[0] == 'burn' for c in chains))], '--calls: what it called')

of_perf = {}
for line in lines(['perf', 'annotate', '-i', 'w.data', '--stdio', '-s', 'burn']):
    m = re.match(r' +([\d.]+) +: +([0-9a-f]+): ', line)
    if m and float(m[1]):
        of_perf[int(m[2], 16)] = float(m[1])
annotated = rows('--annotate', 'burn')
mine = {int(r['address'], 16): r['percent'] for r in annotated}
ok(of_perf and mine.keys() == of_perf.keys() and all(abs(mine[a] - of_perf[a]) < 0.02 for a in mine), '--annotate: addresses of perf annotate',
   mine, of_perf)
equal(sum(r['count'] for r in annotated), sum(c[0] == 'burn' for c in chains), '--annotate: all its own samples')
place = {a: line.split(':')[-1].split()[0]
         for a, line in zip(mine, lines(['addr2line', '-e', 'w', *map(hex, mine)]))}
equal([re.match(r'w\.c:(\d+):', r['line'])[1] for r in annotated], [place[int(r['address'], 16)] for r in annotated], '--annotate: lines of addr2line')
text = run('report', '--annotate', 'burn', 'w.data')[1]
ok(re.search(r'^ +0\.00% +0 w\.c:5: {9}__asm__ ', text, re.M) and re.search(r'^ *\d+\.\d\d% +\d+ w\.c:7: +n \+= i \* n; {5}/\* here \*/$', text, re.M),
   '--annotate: all lines of the function, tabs as spaces', text)
equal(run('report', '--annotate', 'nowhere', 'w.data')[0], 1, 'a function that no sample was in')
os.rename('w.c', 'elsewhere.c')
code, out, err = run('report', '--annotate', 'burn', 'w.data')
ok(code == 0 and 'w.c cannot be read' in err and re.search(r' w\.c:7$', out, re.M), 'no source: lines have no text, which is said', err, out)
os.mkdir('sources')
os.rename('elsewhere.c', 'sources/w.c')
code, out, err = run('report', '--annotate', 'burn', '--files', 'sources', 'w.data')
ok('/* here */' in out and err == '', '--files finds the source', err)
os.rename('sources/w.c', 'w.c')

# ---- without a screen ----
equal(run('report', '--tui', 'w.data'), run('report', '--top', 'w.data'), 'a pipe: the table as text')
equal([run('report', '--tui', word, 'w.data')[0] for word in ('--json', '--count', '-n3')], [2, 2, 2], 'what does not go with it')
for term in 'dumb', '':
    p = Pty('report', '--tui', 'w.data', term=term)
    p.until(b'lines')
    ok(p.end() == 1 and p.seen.count(b'\n') == 1, f'TERM={term!r} is refused in a sentence', p.seen)
p = Pty('report', '--tui', 'absent.data')
code = p.end()
ok(code == 1 and b'absent.data' in p.seen and p.is_restored, 'no such recording: said in the terminal, as it was', code, p.seen)

# ---- the terminal ----
check_endings(('report', '--tui', 'w.data'), b'PERCENT')
for name, env, has, lacks in (('16', {'TERM': 'xterm'}, b'\x1b[0;30;42m', b'\x1b[38'), ('none', {'NO_COLOR': '1'}, b'\x1b[0;7m', b'\x1b[0;30')):
    p = Pty('report', '--tui', 'w.data', env=env)
    ok(p.until(b'PERCENT') and p.until(b'F1') and has in p.seen and lacks not in p.seen, f'colours: {name}', p.seen)
    os.write(p.fd, b'q')
    p.end()

# ---- keys ----
tmux = Tmux()
screen, shows = tmux.screen, tmux.shows
screen('stty -a >before; ' + pantrace + ' report --tui w.data', 'Enter')
text = shows('the first table', r'^pantrace report --top w\.data.*PERCENT +COUNT EVENT, COMM, OBJECT, SYMBOL.*Quit')
table = [line.split()[:2] for line in run('report', '--top', 'w.data')[1].splitlines()[1:]]
equal([line.split()[:2] for line in text.splitlines()[3:3 + len(table)]], table, "its numbers are those of report's table")
helped = shows('F1: help', r'^Keys.*F4 \\', 'F1')
shows('Esc: back', r'^PERCENT', 'Escape')
shows('?: help, too; q: back', r'^PERCENT', '?', 'q')
shows('h: help; Backspace: back', r'^PERCENT', 'h', 'BSpace')
shows('Down', r'^cpu-clock:u > w$', 'Down')
shows('Up', r'^cpu-clock:u$', 'Up')
shows('End: the last row', r'^cpu-clock:u > w > \S+ > \S+$', 'End')
shows('Home: the first', r'^cpu-clock:u$', 'Home')
shows('Left folds', r'COUNT EVENT[^\n]*\n[^\n]*▸ cpu-clock:u\n\n', 'Left')
shows('Right unfolds', r'▾ cpu-clock:u\n[^\n]*▾ w\n', 'Right')
shows('+ folds', r'▸ cpu-clock:u\n\n', '+')
shows('e unfolds', r'▾ cpu-clock:u\n', 'e')
shows('C folds all', r'▸ cpu-clock:u\n\n', 'C')
shows('/ finds what is folded; Backspace takes a whole character', r'^cpu-clock:u > w > \S+/w > burn$', '/', *'BUä', 'BSpace', 'R', 'Enter')
shows('Left: to the row above', r'^cpu-clock:u > w > \S+/w$', 'Left')
shows('Tab: functions and who called them', r'--top event,comm,object,symbol -g callee w\.data.*▸ burn', 'Tab')
shows('E unfolds all', r'▾ burn\n.*▾ many\n.*▾ many\n', 'E')
shows('Tab: call trees', r'--top event -g caller w', 'Tab')
for what in 'event,task', 'task,event', 'event,stack':
    text = shows(f'Tab: {what}', rf'--top {what} w', 'Tab')
shows('a stack in one line', 'burn ← few ← main', 'E')
shows('Tab: the first again', r'report --top w', 'Tab')
shows('F6: by the first column', r'; by PERCENT', 'F6')
shows('>: by the second', r'; by COUNT', '>')
shows('I: the other way round', r'by COUNT, the least first', 'I')
shows('<: by the first', r'by PERCENT, the least first', '<')
shows('<: as it was', r'w\.data *$', 'I', '<')
shows('\\: a filter, as it is written', r"only '/w'.*▾ w\n[^\n]*/w\n[^\n]* burn\n", '\\', *'/w')
shows('Enter keeps it', 'Filter.*Quit', 'Enter')
shows('F4; Esc takes it away', r' burn$', 'F4', 'Escape')
shows('F3 finds, Enter twice: callers and callees', r'--calls burn w\.data.*▾ callers\n[^\n]*▸ (few|many)\n', 'F3', *'burn', 'Enter', 'Enter')
shows('and of one of these', r'--calls (few|many) w\.data', '/', *'many', 'Enter', 'Enter')
shows('q: back', r'--calls burn w', 'q')
text = shows('a: annotated, for a row that is a function', r'this row is not a function', 'Home', 'a')
shows('back, a: annotated', r'--annotate burn w\.data.*^ *\d+\.\d\d% +\d+ ▸ w\.c:7: +n \+= i', 'Escape', 'a')
shows('Right: its addresses', r'0x[0-9a-f]+\n', '/', *'here', 'Enter', 'Right')
count = re.search(r'(\d+) ▾ w\.c:7', screen())[1]
shows('l: their events', rf'^{count} events of w\.c:7: .*\n.*cpu-clock:u.*\n +[0-9a-f]+ burn\+', 'l')
shows('Right: to the right', r'^[0-9.]* ', 'Right')
shows('Left: to the left', r'^w +\d+ ', 'Left')
first = re.escape(screen().splitlines()[1])
shows('PgDn', rf'events of[^\n]*\n(?!{first})', 'PageDown')
shows('Space, PgUp, PgUp: the first', rf'events of[^\n]*\n{first}', 'Space', 'PageUp', 'PageUp')
shows('/: the next line with this', r'events of[^\n]*\n +[0-9a-f]+ burn', '/', *'burn+', 'Enter')
shows('n: the one behind it', r'events of[^\n]*\n +[0-9a-f]+ burn', 'n')
shows('Esc: back', r'--annotate burn', 'Escape')
shows('Esc, Esc: the first table', r'^pantrace report --top w', 'Escape', 'Escape')
tmux.resize(30, 6)
text = shows('30 columns', r'^PERCENT EVENT')
ok(all(len(line) <= 30 for line in text.splitlines()), 'and no more')
tmux.resize(130, 40)
shows('wide again', r'^PERCENT +COUNT')
tmux.check_stopping(r'^PERCENT +COUNT')

# ---- --every: the screen of a process that reads a number of bytes of its own
if os.geteuid() == 0:
    child = subprocess.Popen([sys.executable, '-c', "import os, time\nwhile True: os.pread(0, 1, 0); time.sleep(0.001)"], stdin=open('w.c', 'rb'))
    atexit.register(child.kill)
    words = ('report', '--syscalls', '--every', '0.5', '-p', str(child.pid))
    check_endings(words, b'pread64')
    screen(f'{pantrace} {" ".join(words)}', 'Enter')
    counts = set()
    for _ in range(1200):
        counts |= set(re.findall(r' (\d+) +0 .* pread64', screen()))
        if len(counts) > 2:
            break
        time.sleep(0.05)
    ok(len(counts) > 2, '--every: a table again and again', counts)
    shows('what it is of, and how it is ended', rf'^process {child.pid}: of each 0.5 s *\n.*PERCENT.*q quit')
    tmux.resize(30, 6)
    text = shows('30 columns', r'^PERCENT.*q quit')
    ok(all(len(line) <= 30 for line in text.splitlines()), 'and no more')
    shows('q: the screen from before', r'stty -a >after', 'q')
    child.kill()
    code, _, said = run('report', '--syscalls', '--every', '0.5', '--', 'true')
    ok(code == 2 and 'without a command' in said, '--every and a command', said)
done()
