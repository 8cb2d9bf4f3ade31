#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pantrace top` costs: the CPU time of its process on a pseudo-terminal of 120 columns and 40 rows, and that of its
programs in the kernel (bpf_stats_enabled), while the machine does what it does, beside `top`.
   usage: bench/top.py BINARY [SECONDS]"""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

STATS = '/proc/sys/kernel/bpf_stats_enabled'
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20


def programs(pid):
    """Times run and nanoseconds, of all programs that the process holds."""
    runs = spent = 0
    for name in os.listdir(f'/proc/{pid}/fdinfo'):
        try:
            with open(f'/proc/{pid}/fdinfo/{name}', encoding='utf-8') as f:
                fields = dict(line.split(':', 1) for line in f if ':' in line)
        except OSError:
            continue
        if 'run_cnt' in fields:  # a program, not a link
            runs += int(fields['run_cnt'])
            spent += int(fields['run_time_ns'])
    return runs, spent


def measure(words):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 120, 0, 0))
    p = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=os.environ | {'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8'})

    def look(until):
        while time.time() < until:
            if select.select([master], [], [], 0.1)[0]:
                os.read(master, 65536)
        with open(f'/proc/{p.pid}/schedstat', encoding='utf-8') as f:
            return time.time(), int(f.read().split()[0]), *programs(p.pid)

    first = look(time.time() + 4)
    last = look(first[0] + seconds)
    p.terminate()
    look_after = time.time() + 2
    while p.poll() is None and time.time() < look_after:
        if select.select([master], [], [], 0.1)[0]:
            os.read(master, 65536)
    p.kill()
    span = last[0] - first[0]
    own, events, spent = (last[1] - first[1]) / 1e7 / span, (last[2] - first[2]) / span, (last[3] - first[3]) / 1e7 / span
    print(f'{" ".join(os.path.basename(w) for w in words):24} its process {own:5.2f} %, its programs {spent:5.2f} % of a CPU at {events:,.0f} events/s')


def set_stats(value):
    with open(STATS, 'w', encoding='utf-8') as f:
        f.write(value)


with open(STATS, encoding='utf-8') as f:
    before = f.read()
set_stats('1')
try:
    measure([sys.argv[1], 'top'])
    measure([sys.argv[1], 'top', '-H'])
    measure(['top', '-d', '1.5'])
finally:
    set_stats(before)
