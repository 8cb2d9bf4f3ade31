# SPDX-License-Identifier: GPL-2.0-or-later
# usage: stalled-reader.py TOOL DIRECTORY: commands that run until they are ended, with readers that stall or leave. Prints the
# commands which do not end then, or whose exit code does not say that something was lost.
import multiprocessing.pool
import os
import signal
import subprocess
import sys
import time

tool, directory = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it, and so would they until they begin
commands = (
    ["-e", "interval:ms:1 { printf(\"%0100d\\n\", 1) }"],
    ["-e", "interval:ms:1 { @[nsecs] = count() } end { print(1) }"],
    ["-f", "json", "-e", "interval:ms:1 { printf(\"x\"); warnf(\"y\") }"],
    ["-B", "full", "-e", "tracepoint:syscalls:sys_enter_* { printf(\"%s\\n\", probe) }"],
    ["opensnoop"], ["execsnoop"], ["killsnoop"], ["syscount"], ["bitesize", "1"],
    ["hist", "-i", "0.1", "sched:sched_switch", "keys=prev_comm"],
    ["hist", "--engine", "bpf", "-i", "0.1", "sched:sched_switch", "keys=prev_comm"],
    ["hist", "sched:sched_switch", "keys=prev_comm"],
    ["tpoint", "sched:sched_switch"], ["tpoint", "-d", "1000", "sched:sched_switch"],
    ["tpoint", "-j", "sched:sched_switch"],
    ["uprobe", "p:libc:malloc"], ["uprobe", "-s", "p:libc:malloc"],
    ["record", "-u", "none:*", "-o", directory + "/recorded"],
)
quiet = ("-d", "killsnoop", "record", "-B")  # what may well have written nothing in that time


def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


def work(until):
    while time.time() < until:
        subprocess.run(["/bin/true"])


def bad(command, how, what):
    print(f"{' '.join(command)}, {how}: {what}")


def ended(process, command, how):
    try:
        return process.wait(30)
    except subprocess.TimeoutExpired:
        bad(command, how, "does not end")
        process.kill()
        process.wait()
    return None


def stalls(command, sig, with_messages):
    reader, writer = full_pipe()
    how = signal.Signals(sig).name + (", messages stall, too" if with_messages else "")
    p = subprocess.Popen([tool] + command, stdin=subprocess.DEVNULL, stdout=writer,
                         stderr=writer if with_messages else subprocess.DEVNULL)
    os.close(writer)
    work(time.time() + 0.7)
    p.send_signal(sig)
    code = ended(p, command, how)
    # -sig: it had not begun yet
    if code not in (None, 3, -sig) and not (code == 0 and any(w in command for w in quiet)):
        bad(command, how, f"code {code}")
    os.close(reader)


def leaves(command):
    reader, writer = os.pipe()
    p = subprocess.Popen([tool] + command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    time.sleep(0.2)
    os.close(reader)
    work(time.time() + 0.1)
    code = ended(p, command, "the reader leaves")
    if code not in (None, 0, -signal.SIGPIPE):
        bad(command, "the reader leaves", f"code {code}")


def check(n):
    stalls(commands[n], (signal.SIGINT, signal.SIGTERM)[n % 2], n % 3 == 0)
    if commands[n][0] != "record":  # which prints nothing there
        leaves(commands[n])


with multiprocessing.pool.ThreadPool(4) as pool:
    pool.map(check, range(len(commands)))
