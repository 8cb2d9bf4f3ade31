#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# top: its numbers against what a process knows of itself, the screen in a terminal of tmux, and the terminal afterwards.
# among tracers: it looks at processes of its own by their numbers
import atexit
import json
import os
import re
import signal
import subprocess
import sys
import time

from tap import done, equal, need, ok, pantrace, run, scratch
from terminal import Pty, Tmux, check_endings

need('gcc', 'tmux')
work = scratch()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then, too
os.environ['LC_ALL'] = 'C.UTF-8'

# A child that works, calls and writes a known amount, and says by its parent what the kernel charged it; then one that stays: it burns in
# burn_here(), its second thread sleeps in sleep_here(). Its name is one that no terminal should see.
with open('w.c', 'w', encoding='utf-8') as f:
    f.write(r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long n;
__attribute__((noinline)) void burn_here(void) { for (int i = 0; i < 1000000; i++) n += i; }
static void *sleep_here(void *arg) { prctl(PR_SET_NAME, "sleeper"); for (;;) usleep(50000); return arg; }
int main(int argc, char **argv)
{
	if (argc > 1) {
		pthread_t t;
		prctl(PR_SET_PDEATHSIG, 9);
		prctl(PR_SET_NAME, "e\033[41mvil\tx");
		pthread_create(&t, NULL, sleep_here, NULL);
		for (;;) burn_here();
	}
	pid_t child = fork();
	if (!child) {
		struct timespec t = {0};
		char *pages = malloc(500 * 4096);
		for (int i = 0; i < 12345; i++) syscall(SYS_getppid);
		for (int i = 0; i < 100; i++) syscall(SYS_write, 1, pages, 10000);
		for (int i = 0; i < 500; i++) pages[i * 4096] = 1;
		while (t.tv_nsec < 300000000 && !t.tv_sec) { burn_here(); syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t); n++; }
		_exit(0);
	}
	int status;
	struct rusage u;
	wait4(child, &status, 0, &u);
	fprintf(stderr, "%d %ld %ld\n", child, (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec, u.ru_minflt);
}
''')
subprocess.run(['gcc', '-O1', '-fno-omit-frame-pointer', '-o', 'w', 'w.c', '-lpthread'], check=True)


def rounds(*words):
    """Each reading of top -j, as it comes."""
    p = subprocess.Popen([pantrace, 'top', '-j', *words], stdout=subprocess.PIPE, text=True)
    atexit.register(p.kill)
    return p


# ---- numbers ----
top = rounds('-d', '0.3')
top.stdout.readline()  # it counts from here on
made = subprocess.run(['strace', '-f', '-o', 'calls', './w'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
strace_child = made.stderr.split()[0]
calls = sum(line.startswith(strace_child + ' ') and '+++' not in line for line in open('calls', encoding='utf-8'))
made = subprocess.run(['./w'], stdout=open('/dev/null', 'w'), stderr=subprocess.PIPE, text=True, check=True)
child, cpu_us, faults = map(int, made.stderr.split())
mine, last = [], None
for line in top.stdout:
    row = json.loads(line)
    last = last or row['time_ns']
    mine += [row] if row['pid'] == child else []
    if mine and row['time_ns'] > mine[-1]['time_ns']:
        break
top.send_signal(signal.SIGTERM)
top.stdout.read()
equal(top.wait(), 0, 'SIGTERM ends it')


def total(name):
    return sum(row[name] for row in mine)


# strace's run differs by calls of clock_gettime(), one for each burn_here()
in_loop = open('calls', encoding='utf-8').read().count('clock_gettime')
ok(12345 + 100 < total('syscalls') < calls + 2000 and calls - in_loop <= total('syscalls'), 'system calls: those that strace saw',
   f'{total("syscalls")}, strace {calls}')
ok(abs(total('cpu_ns') / 1000 - cpu_us) < 20000, 'CPU time: what wait4() says', f'{total("cpu_ns") / 1000} {cpu_us}')
equal(mine[-1]['total_cpu_ns'], total('cpu_ns'), 'CPU time since it began: the same of a process that began meanwhile')
ok(abs(total('minor_faults') + total('major_faults') - faults) < 60, 'page faults: what wait4() says', f'{total("minor_faults")} {faults}')
equal(total('written_bytes'), 1000000, 'bytes written')
equal(mine[-1]['state'], 'X', 'it has ended, and was counted to its end')
shares = [row['cpu_ns'] + row['runq_ns'] + row['off_cpu_ns'] for row in mine[1:-1]]
ok(all(s > 0.9 * row['interval_ns'] for s, row in zip(shares, mine[1:-1])), 'on a CPU, waiting for one, or off it: nothing is missing',
   shares)

# ---- without a screen ----
evil = subprocess.Popen(['./w', 'stay'])
atexit.register(evil.kill)
code, out, err = run('top', '-d', '0.1', '-n', '2', '-p', str(evil.pid))
lines = out.splitlines()
equal((code, err, len(lines)), (0, '', 7), 'a pipe: lines, two rounds')
ok(lines[2].endswith('e\\x1b[41mvil\\x09x') and lines[1].split()[:4] == ['PID', 'THR', 'S', 'CPU%'], 'a hostile name is escaped', *lines)
code, out, err = run('top', '-H', '-d', '0.1', '-n', '1', '-p', str(evil.pid), '-s', 'name')
equal([line.split()[-1] for line in out.splitlines()[2:]], ['e\\x1b[41mvil\\x09x', 'sleeper'], '-H: threads; -s: by their names')
code, out, err = run('top', '-t', '-d', '0.1', '-n', '1')
ok(re.search(r'   e\\x1b\[41mvil', out), '-t: below its parent', *[line for line in out.splitlines() if 'vil' in line])
equal(len(run('top', '-d', '0.1', '-n', '1', '-l', '3')[1].splitlines()), 5, '-l: so many rows')
equal(run('top', '-s', 'colour', '-b')[0], 2, 'a column that there is not')
head = subprocess.run(f'{pantrace} top -d 0.1 | head -1', shell=True, capture_output=True, text=True)
ok('processes' in head.stdout and head.stderr == '', '| head ends it, without a word', head.stderr)

# ---- the terminal ----
TOP = 'top', '-d', '0.2'
check_endings(TOP, b'CALLS/s')
p = Pty(*TOP)
p.until(b'CALLS/s')
p.resize(20, 8)
at = len(p.seen)
ok(p.until(b'PID', at) and b'CALLS/s' not in p.seen[at:], 'a narrow window has the columns that fit', p.seen[at:])
os.write(p.fd, b'q')
p.end()
for term in 'dumb', '':
    p = Pty(*TOP, term=term)
    p.until(b'lines')
    ok(p.end() == 1 and p.seen.count(b'\n') == 1 and b'-b prints lines' in p.seen, f'TERM={term!r} is refused in a sentence',
       p.seen)

# ---- keys, in a terminal ----
tmux = Tmux()
screen, shows = tmux.screen, tmux.shows
EVIL = r'e\\x1b\[41mvil\\x09x'
screen('stty -a >before; ' + pantrace + ' top -d 0.2', 'Enter')
shows('the table', r'PID +THR S +CPU%.*READ/s')
shows('F1: help', r'Keys.*F4 \\.*Columns', 'F1')
shows('Esc: back', r'PID +THR', 'Escape')
shows('?: help, too; q: back', r'PID +THR', '?', 'q')
shows('H: threads', r'PID S +CPU%', 'H')
shows('\\: a filter, as it is written', r"only 'vil'.*^ +\d+ R +\d.*" + EVIL, '\\', 'v', 'i', 'l')
shows('Enter keeps it', 'F4 ?Filter', 'Enter')
shows('another, F4; Esc takes it away', r'by CPU%, every 0.2 s', 'F4', 'Escape')
shows('H: processes', r'PID +THR', 'H')
for key, by in (('N', 'PID'), ('T', 'TIME'), ('P', 'CPU%'), ('>', 'RUNQ%'), ('<', 'CPU%'), ('F6', 'RUNQ%'), ('P', 'CPU%')):
    shows(f'{key}: by {by}', f'; by {by}', key)
shows('N, End, Home: by number', r'THR[^\n]*\n +[12] ', 'N', 'End', 'Home')
shows('I, Home: the other way round', r'THR[^\n]*\n +\d{3,} ', 'I', 'Home')
shows('t: the tree', r'[├└]─', 'P', 't', 'Home')
shows('F5: no tree', r'^ [^├└]*$', 'F5')
frozen = shows('Z: frozen', 'frozen', 'Z')
time.sleep(0.5)
equal(screen().splitlines()[1:], frozen.splitlines()[1:], 'and nothing moves')
shows('Z: goes on', r'every 0.2 s {10}', 'Z')
shows('/ finds, Enter opens its stacks: on CPUs', r'^process ' + str(evil.pid) + r' .*on-CPU.*\d+\.\d%  \d+ sample.*burn_here', '/', *str(evil.pid),
      'Enter', 'Enter')
shows('Tab: off-CPU', r'off-CPU.*%  \d+\.\d+ s.*\[k\] __schedule.*nanosleep', 'Tab')
shows('c: anew', r'in [0-3]\.\d s', 'c')
shows('Left: back', r'PID +THR', 'Left')
tmux.resize(20, 6)
text = shows('20 columns', r'^ +PID +CPU% NAME *$')
ok(all(len(line) <= 20 for line in text.splitlines()), 'and no more')
tmux.resize(130, 40)
shows('wide again', r'READ/s')
tmux.check_stopping(r'PID +THR +S +CPU%.*READ/s')
equal(run('top', '--help')[0], 0, '--help')
done()
