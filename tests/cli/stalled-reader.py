# SPDX-License-Identifier: GPL-2.0-or-later
# usage: stalled-reader.py TOOL DIRECTORY: commands that run until they are ended, or print much, with readers that stall or leave.
# DIRECTORY has trace.dat and perf.data; there is a session "stalled". Prints the commands which do not end then, or whose exit code does
# not say that something was lost.
import multiprocessing.pool
import os
import signal
import subprocess
import sys
import time

tool, directory = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it, and so would they until they begin
kernel, samples = directory + "/trace.dat", directory + "/perf.data"
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
    ["record", "-q", "-e", "sched:sched_switch", "-o", directory + "/kernel"],
    ["record", "-q", "-F", "99", "-o", directory + "/samples"],
    ["stat", "-i", "0.1", "-e", "sched:sched_switch"], ["stat", "-j", "-i", "0.1", "-e", "sched:sched_switch"],
    ["top", "-d", "0.1"], ["top", "--json", "-d", "0.1"],
    ["show", "-p", "-B", "stalled"], ["show", "-B", "stalled"], ["status"],
    ["flame", "--text", "-a", "-o", "-"], ["flame", "--offcpu", "-a", "-o", "-"],
    ["report", kernel], ["report", "--json", kernel], ["report", "--count", kernel], ["report", "--top", kernel],
    ["convert", "--to", "ndjson", kernel, "-"], ["convert", "--to", "chrome", kernel, "-"],
    ["convert", "--to", "parquet", kernel, "-"],
    ["flame", "-o", "-", samples], ["flame", "--text", samples], ["heatmap", "--text", kernel], ["timeline", "--text", kernel],
    ["heatmap", "--json", "--cpu", kernel],
    ["run", "--from", kernel, "-e", "tracepoint:sched:sched_switch { printf(\"%0100d\\n\", args.next_pid) }"],
    ["split", "-e", "1000", "-o", directory + "/piece", kernel], ["list"],
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
        return process.wait(180)  # a hang's, not a slow machine's
    except subprocess.TimeoutExpired:
        bad(command, how, "does not end")
        process.kill()
        process.wait()
    return None


def stalls(command, sig, with_messages, seconds):
    """True if the run was ended, and says that something was lost."""
    reader, writer = full_pipe()
    how = signal.Signals(sig).name + (", messages stall, too" if with_messages else "")
    p = subprocess.Popen([tool] + command, stdin=subprocess.DEVNULL, stdout=writer,
                         stderr=writer if with_messages else subprocess.DEVNULL)
    os.close(writer)
    work(time.time() + seconds)
    p.send_signal(sig)
    code = ended(p, command, how)
    # -sig: it had not begun yet
    good = code in (None, 3, -sig) or (code == 0 and any(w in command for w in quiet))
    if not good and seconds > 10:
        bad(command, how, f"code {code}")
    os.close(reader)
    return good


def leaves(command):
    reader, writer = os.pipe()
    p = subprocess.Popen([tool] + command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    work(time.time() + 0.2)
    os.close(reader)
    work(time.time() + 0.1)
    code = ended(p, command, "the reader leaves")
    # flame: no sample was taken yet; -B: a buffer of the whole machine's events, of which a busy one loses some
    fine = {"flame": 1, "show": 3}.get(command[0])
    if code not in (None, 0, -signal.SIGPIPE, fine):
        bad(command, "the reader leaves", f"code {code}")


def check(n):
    for seconds in (0.7, 3, 12):  # on a busy machine it may not have begun to trace
        if stalls(commands[n], (signal.SIGINT, signal.SIGTERM)[n % 2], n % 3 == 0, seconds):
            break
    if commands[n][0] != "record":  # which prints nothing there
        leaves(commands[n])


with multiprocessing.pool.ThreadPool(4) as pool:
    pool.map(check, range(len(commands)))
