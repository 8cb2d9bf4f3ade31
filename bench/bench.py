#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pantrace beside its peer, in one run, printed as a table with ratios: medians of several, of costs of events the minimum.

    bench/bench.py BINARY WORKLOADS [ROWS...]
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import time

PANTRACE = os.path.realpath(sys.argv[1])
WORK = os.path.realpath(sys.argv[2])
WANTED = sys.argv[3:]
PEER = "/usr/bin/bpftrace"
DEVNULL = subprocess.DEVNULL


def run_once(argv):
    """Wall seconds of one run."""
    start = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    os.waitpid(pid, 0)
    return time.monotonic() - start


def peak_memory(argv):
    """MB; through a small parent, see programs.c."""
    return int(subprocess.check_output([WORK, "memory"] + argv)) / 1024


def first_event(argv):
    """Seconds from exec to the first line of output, while events happen all the time."""
    start = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=DEVNULL, stdin=DEVNULL) as p:
        for line in p.stdout:
            if b"EVENT" in line:
                break
        took = time.monotonic() - start
        p.send_signal(signal.SIGKILL)
    return took


def under(tracer, script, workload):
    """Nanoseconds per call of the workload, as the child of the tracer that runs the script; it prints them itself."""
    argv = [WORK] + workload
    if tracer:
        argv = [tracer, "-c", " ".join(argv), "-e", script]
    out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=DEVNULL, stdin=DEVNULL, timeout=120).stdout
    return float(re.search(rb"^\d+\.\d\d$", out, re.M).group())


def thousand_lines():
    """A script of 1,000 lines: 50 probes that use what scripts use."""
    body = """	$a{0} = nsecs - @start[tid, {0}];
	if ($a{0} > 1000 && comm != "idle") {{
		@hist[comm] = hist($a{0} / 1000);
		@count[pid, {0}] = count();
	}} else {{
		@sum[cpu] = sum($a{0} % {0}7);
	}}
	$task{0} = (struct task_struct *)curtask;
	$parent{0} = $task{0}->real_parent;
	if ($parent{0}->pid == pid) {{
		printf("%s %d %lld\\n", comm, $parent{0}->tgid, $a{0});
	}}
	@max = max($a{0});
	@avg[comm, pid] = avg($a{0});
	@start[tid, {0}] = nsecs;
	@last = strftime("%H:%M:%S", nsecs);
	delete(@start, (tid, {0}1));
"""
    return "".join(f"interval:s:{n} {{\n{body.format(n)}}}\n\n" for n in range(1, 51))


def median(f, n):
    values = [f() for _ in range(n)]
    return statistics.median(values)


def row(name, ours, theirs, unit):
    ratio = f"{ours / theirs:8.3f}" if theirs else "       -"
    peer = f"{theirs:12.2f}" if theirs else "           -"
    print(f"{name:<58} {ours:12.2f} {peer} {unit:<4} {ratio}", flush=True)


def wanted(name):
    return not WANTED or any(w in name for w in WANTED)


def main():
    peer = PEER if os.access(PEER, os.X_OK) else None
    print(f"{'':<58} {'pantrace':>12} {'bpftrace':>12} {'':<4} {'ratio':>8}")

    if wanted("floor"):
        for what in ("clock", "lock"):
            row(f"floor: {what}", float(subprocess.check_output([WORK, what, "10000000"])), 0, "ns")
        base = median(lambda: under(None, "", ["getppid", "1000000"]), 3)
        row("floor: a system call", base, 0, "ns")
        empty = median(lambda: under(PANTRACE, "rawtracepoint:sys_enter { }", ["getppid", "1000000"]), 3)
        row("floor: an empty program on the raw tracepoint of system calls", empty - base, 0, "ns")

    if wanted("startup"):
        script = ["-e", "BEGIN { exit() }"]
        ours = median(lambda: run_once([PANTRACE] + script), 21)
        theirs = median(lambda: run_once([peer] + script), 5) if peer else 0
        row("startup: begin { exit() }: wall", ours * 1e3, theirs * 1e3, "ms")
        row("startup: begin { exit() }: peak memory", peak_memory([PANTRACE] + script),
            peak_memory([peer] + script) if peer else 0, "MB")

    if wanted("attach"):
        noise = subprocess.Popen([WORK, "forever"], stdout=DEVNULL)
        script = ["-e", "tracepoint:syscalls:sys_enter_getppid { printf(\"EVENT %s\\n\", comm); }"]
        ours = median(lambda: first_event([PANTRACE] + script), 11)
        theirs = median(lambda: first_event([peer] + script), 5) if peer else 0
        noise.kill()
        noise.wait()
        row("attach: exec to first event of a tracepoint", ours * 1e3, theirs * 1e3, "ms")

    if wanted("compile"):
        path = "/usr/sbin/tcplife.bt"  # of the package bpftrace
        if os.path.exists(path):
            ours = median(lambda: run_once([PANTRACE, "-d", "bpf", path]), 21)
            theirs = median(lambda: run_once([peer, "-d", path]), 5) if peer else 0
            row("compile: tcplife.bt to bytecode (peer: not loaded)", ours * 1e3, theirs * 1e3, "ms")
        path = "/tmp/pantrace-bench.bt"
        with open(path, "w") as f:
            f.write(thousand_lines())
        ours = median(lambda: run_once([PANTRACE, "-d", "bpf", path]), 11)
        row("compile: a script of 1,000 lines to bytecode", ours * 1e3, 0, "ms")
        ours = median(lambda: run_once([PANTRACE, "--dry-run", path]), 11)
        theirs = median(lambda: run_once([peer, "-d", path]), 3) if peer else 0
        row("compile: and loaded by the kernel (peer: not loaded)", ours * 1e3, theirs * 1e3, "ms")
        os.unlink(path)

    if wanted("list"):
        for what in ("tracepoint:*", "kprobe:*"):
            ours = median(lambda: run_once([PANTRACE, "-l", what]), 11)
            theirs = median(lambda: run_once([peer, "-l", what]), 3) if peer else 0
            row(f"list: {what}", ours * 1e3, theirs * 1e3, "ms")

    if wanted("wildcard"):
        script = ["-e", "tracepoint:syscalls:sys_enter_* { @ = count(); } interval:ms:10 { exit(); }"]
        ours = median(lambda: run_once([PANTRACE] + script), 5)
        theirs = run_once([peer] + script) if peer else 0
        row("wildcard: 361 system calls, attach and detach", ours * 1e3, theirs * 1e3, "ms")

    n = 1000000
    rows = [
        ("count", "tracepoint:syscalls:sys_enter_getppid { @[comm] = count(); }", ["getppid", str(n)]),
        ("count, no key", "tracepoint:syscalls:sys_enter_getppid { @ = count(); }", ["getppid", str(n)]),
        ("hist", "tracepoint:syscalls:sys_enter_getppid { @ = hist(nsecs & 0xffff); }", ["getppid", str(n)]),
        ("@[comm, args.fd] = sum()", "tracepoint:syscalls:sys_enter_openat { @[comm, args->dfd] = sum(args->flags); }",
         ["open", str(n // 5)]),
        ("no event of its own", "tracepoint:syscalls:sys_enter_reboot { @ = count(); }", ["getppid", str(n)]),
        ("@[comm, id] = sum()", "tracepoint:raw_syscalls:sys_enter { @[comm, args->id] = sum(1); }", ["getppid", str(n)]),
        ("raw_syscalls count by comm", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }", ["getppid", str(n)]),
        ("ustack as key", "tracepoint:syscalls:sys_enter_getppid { @[ustack(8)] = count(); }", ["getppid", str(n)]),
        ("printf of a string", "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args->filename)); }",
         ["open", str(n // 5)]),
    ]
    for name, script, workload in rows:
        if not wanted("event " + name):
            continue
        pairs = []
        for _ in range(5):  # interleaved, so that a noisy minute hits all three alike
            base = under(None, "", workload)
            ours = under(PANTRACE, script, workload)
            theirs = under(peer, script, workload) if peer else 0
            pairs.append((base, ours, theirs))
        base, ours, theirs = (min(p[i] for p in pairs) for i in range(3))
        row("event: " + name, ours - base, theirs - base if peer else 0, "ns")

    if wanted("size"):
        stripped = "/tmp/pantrace-bench-stripped"
        subprocess.check_call(["strip", "-o", stripped, PANTRACE])
        row("size: stripped static binary", os.path.getsize(stripped) / 1e6, 0, "MB")
        os.unlink(stripped)


main()
