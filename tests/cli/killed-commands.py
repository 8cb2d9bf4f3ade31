# SPDX-License-Identifier: GPL-2.0-or-later
# usage: killed-commands.py TOOL SLEEPER: tracers of the command SLEEPER, each killed at some moment of its beginning: 40 at random,
# then at each system call in which the two speak to each other (strace sends the signal). Prints what is left of the command.
import os
import random
import shutil
import signal
import subprocess
import sys
import time

tool, sleeper = sys.argv[1:]
recorded = sleeper + ".recorded"
ways = (["record", "-q", "-u", "none:*", "-o", recorded, "--", sleeper, "1000"],
        ["hist", "sched:sched_switch", "prev_comm", "--", sleeper, "1000"],
        ["-q", "-c", sleeper + " 1000", "-e", "uprobe:libc:malloc { @ = count(); }"],
        ["-q", "-c", sleeper + " 1000", "-e", "tracepoint:syscalls:sys_enter_read { @ = count(); }"],
        ["record", "-q", "-e", "sched:sched_process_exec", "-F", "99", "-o", recorded, "--", sleeper, "1000"],
        ["flame", "--text", "--", sleeper, "1000"], ["stat", "-e", "cs", "--", sleeper, "1000"])
calls = ("wait4", "ptrace")


def stat(pid, field):
    """A field of /proc/PID/stat behind the name (proc(5): 3 is the first); "" = gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[field - 3]
    except OSError:
        return ""


def commands():
    """What runs SLEEPER, or is still a copy of the tracer that was to run it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = os.fsdecode(f.read()).split("\0")
        except OSError:
            continue
        if sleeper + " 1000" in " ".join(words) and words[0] != "strace":
            found.append(pid)
    return [pid for pid in found if stat(pid, 3) not in ("", "Z")]


def check(what):
    end = time.time() + 10
    while (left := commands()) and time.time() < end:
        time.sleep(0.002)
    for pid in left:
        print(f"{what}: {pid} is left, in state {stat(pid, 3)}")
        os.kill(int(pid), signal.SIGKILL)


def start(before, way):
    shutil.rmtree(recorded, ignore_errors=True)  # which would be refused
    return subprocess.Popen(before + [tool] + way, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


for i in range(40):
    tracer = start([], ways[i % len(ways)])
    time.sleep(random.random() * random.choice((0.003, 0.01, 0.1)))
    tracer.kill()
    tracer.wait()
    check(" ".join(ways[i % len(ways)][:2]))
for call in calls:
    for when in range(1, 4):
        for way in ways[:4]:  # the others start theirs by the same lines
            tracer = start(["strace", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                            f"inject={call}:signal=KILL:when={when}"], way)
            try:
                tracer.wait(2)
            except subprocess.TimeoutExpired:  # there are not so many of these calls before it runs
                for pid in commands():
                    os.kill(int(pid), signal.SIGKILL)
                tracer.wait()
            check(f"{' '.join(way[:2])}, killed in {call}, number {when}")
