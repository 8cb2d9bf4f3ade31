# SPDX-License-Identifier: GPL-2.0-or-later
"""perf's recordings and what perf script says of them, for tests that compare with it."""
import re
import subprocess

# a thread's name may hold line feeds and anything else: a record ends where the next one begins
EVENT = re.compile(r'^\s*(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+(\S+):(.*?)(?=^\s*-?\d+\s+\[\d+\]\s+\d+\.\d{9}:|\Z)', re.M | re.S)
SWITCH = re.compile(r' prev_pid=(\d+) prev_prio=.* prev_state=(\S+) ==> .* next_pid=(\d+) next_prio=', re.S)


def script(path, fields):
    return subprocess.run(['perf', 'script', '--ns', '-i', path, '-F', fields], capture_output=True, text=True, errors='replace').stdout


def events(path):
    """[(tid, CPU, nanoseconds, name, its fields as text)]"""
    return [(int(m[1]), int(m[2]), int(m[3]) * 10**9 + int(m[4]), m[5], m[6]) for m in EVENT.finditer(script(path, 'tid,cpu,time,event,trace'))]


def switch(text):
    """(tid before, its state, tid after) of a sched_switch."""
    m = SWITCH.search(text)
    return int(m[1]), m[2], int(m[3])


def record(*words):
    r = subprocess.run(['perf', 'record', '-q', *words], capture_output=True, text=True, errors='replace')
    if r.returncode:
        raise RuntimeError(f'perf record: {r.returncode}: {r.stderr}')
