#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tools cost: the traced program per event, the tool itself per event, and how many events it loses when there are many.

    bench/tools.py BINARY WORKLOADS [ROWS...]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

PANTRACE = os.path.realpath(sys.argv[1])
WORK = os.path.realpath(sys.argv[2])
WANTED = sys.argv[3:]
OUT = "/dev/shm/pantrace-bench.out"
FLOOD = """config = { perf_rb_pages = 4096; }
tracepoint:syscalls:sys_enter_getppid /comm == "programs"/
{
	$now = nsecs;
	$us = (uint64)1234567;
	row("STARTs=%-17T ENDs=%-17T COMM=%-12s PID=%-6d TYPE=%-4s%s%s%s%s%s DEV=%-8s BLOCK=%-12u BYTES=%-7u LATms=%7u.%03u ERR=%s",
	    $now, $now, comm, tid, "", "R", "", "", "S", "", disk_name((uint64)7340032), $now, (uint64)4096, $us / 1000, $us % 1000, errno_name(0));
}"""


class Tool:
	"""A tool that is attached while the block runs; afterwards its CPU time and what it printed."""

	def __init__(self, *words):
		self.words = list(words)

	def __enter__(self):
		env = dict(os.environ, __BPFTRACE_NOTIFY_PROBES_ATTACHED="1")
		self.process = subprocess.Popen([PANTRACE] + self.words + ["-o", OUT], stdout=subprocess.PIPE,
						stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env)
		self.process.stdout.readline()
		return self

	def __exit__(self, *_):
		time.sleep(0.2)
		self.process.send_signal(signal.SIGINT)
		self.stderr = self.process.stderr.read().decode(errors="replace")
		_, self.status, self.usage = os.wait4(self.process.pid, 0)
		self.process.returncode = 0
		with open(OUT) as f:
			self.lines = f.readlines()
		os.unlink(OUT)

	def lost(self):
		found = re.search(r"Total lost event count: (\d+)", self.stderr)
		return int(found.group(1)) if found else 0


def work(*words):
	return float(subprocess.check_output([WORK] + [str(w) for w in words], stderr=subprocess.DEVNULL))


def wanted(name):
	return not WANTED or any(w in name for w in WANTED)


class Loop:
	"""A loop device over memory."""

	def __enter__(self):
		self.image = "/dev/shm/pantrace-bench.img"
		with open(self.image, "wb") as f:
			f.write(os.urandom(1 << 20) * 64)
		self.path = subprocess.check_output(["losetup", "-f", "--show", self.image], text=True).strip()
		self.name = os.path.basename(self.path)
		return self

	def __exit__(self, *_):
		subprocess.call(["losetup", "-d", self.path])
		os.unlink(self.image)

	def reads(self):
		"""Requests completed, as the kernel counts them."""
		with open(f"/sys/block/{self.name}/stat") as f:
			return int(f.read().split()[0])


def per_event(loop):
	print(f"{'':<44} {'alone':>10} {'traced':>10} {'added':>10} {'tool user':>10} {'tool sys':>10}   nanoseconds per event")
	self_path = WORK
	cached = "/var/tmp/pantrace-bench.file"
	with open(cached, "wb") as f:
		f.write(os.urandom(1 << 20) * 32)
	rows = [
		("iosnoop", ["iosnoop", "-d", loop.name], ["direct", 50000, loop.path]),
		("iosnoop -Q", ["iosnoop", "-Q", "-d", loop.name], ["direct", 50000, loop.path]),
		("iolatency", ["iolatency", "-d", loop.name, "60"], ["direct", 50000, loop.path]),
		("bitesize", ["bitesize", "-D", loop.name], ["direct", 50000, loop.path]),
		("opensnoop", ["opensnoop"], ["open", 50000]),
		("opensnoop, another system call", ["opensnoop"], ["getppid", 1000000]),
		("execsnoop", ["execsnoop"], ["spawn", 1000]),
		("killsnoop", ["killsnoop"], ["kill", 100000]),
		("syscount", ["syscount"], ["getppid", 1000000]),
		("syscount -c", ["syscount", "-c"], ["getppid", 1000000]),
		("syscount -cv", ["syscount", "-cv"], ["getppid", 1000000]),
		("cachestat, a read of 4 KB from the cache", ["cachestat", "60"], ["read", 200000, cached]),
		("perf-stat-hist", ["perf-stat-hist", "syscalls:sys_enter_pread64", "count"], ["read", 200000, cached]),
		("funccount -u", ["funccount", "-u", self_path, "bench_function"], ["call", 100000]),
		("funcslower -u, none is slow", ["funcslower", "-u", self_path, "bench_function", "1000000"], ["call", 50000]),
		("tcpretrans, another system call", ["tcpretrans"], ["getppid", 1000000]),
	]
	for name, tool, workload in rows:
		runs = []
		for _ in range(3):
			alone = work(*workload)
			with Tool(*tool) as t:
				traced = work(*workload)
			n = workload[1]
			runs.append((alone, traced, t.usage.ru_utime * 1e9 / n, t.usage.ru_stime * 1e9 / n))
		alone, traced, user, system = (min(r[i] for r in runs) for i in range(4))
		print(f"{name:<44} {alone:10.0f} {traced:10.0f} {traced - alone:10.0f} {user:10.0f} {system:10.0f}", flush=True)
	os.unlink(cached)


def copy(before=()):
	"""As dd bs=1: CPU seconds of 4 million system calls."""
	out = subprocess.run(list(before) + [WORK, "copy", "2000000"], capture_output=True, text=True).stdout
	return float(re.search(r"^CPU ([0-9.]+)$", out, re.M).group(1))


def copy_traced(words):
	with Tool(*words):
		return copy()


def trace_cmd():
	"""The peer: all of its system calls recorded."""
	data = OUT + ".dat"
	wrapper = os.path.join(os.path.dirname(os.path.realpath(__file__)), "trace-cmd.sh")
	seconds = copy([wrapper, "record", "-q", "-o", data, "-e", "raw_syscalls", "-F"])
	if os.path.exists(data):
		os.unlink(data)
	return seconds


def slowdown():
	"""What dd bs=1 does: 4 million system calls and nothing else."""
	rows = [
		("syscount", lambda: copy_traced(["syscount"])),
		("syscount -c", lambda: copy_traced(["syscount", "-c"])),
		("syscount -cv", lambda: copy_traced(["syscount", "-cv"])),
		("perf-stat-hist syscalls:sys_enter_read count", lambda: copy_traced(["perf-stat-hist", "syscalls:sys_enter_read", "count"])),
	]
	if shutil.which("trace-cmd"):
		rows.append(("(trace-cmd record -e raw_syscalls -F)", trace_cmd))
	times = {}
	for _ in range(3):
		times.setdefault("", []).append(copy())
		for name, run in rows:
			times.setdefault(name, []).append(run())
	base = min(times[""])
	print(f"\n{'as dd bs=1 count=2000000, alone':<60} {base:8.3f} s of CPU time")
	for name, _ in rows:
		print(f"{name:<60} {min(times[name]):8.3f} s {min(times[name]) / base:6.2f} times")


def flood(loop):
	if shutil.which("fio"):
		fio = ["fio", "--name=a", f"--filename={loop.path}", "--direct=1", "--rw=randread", "--bs=512", "--ioengine=io_uring",
		       "--iodepth=64", "--runtime=3", "--time_based", "--numjobs=2", "--group_reporting", "--output-format=json"]

		def ios():
			before = loop.reads()
			subprocess.check_output(fio, stderr=subprocess.DEVNULL)
			return loop.reads() - before

		alone = ios()
		with Tool("iosnoop", "-d", loop.name) as t:
			n = ios()
		rows = sum(1 for l in t.lines if " R" in l)
		print(f"\niosnoop, fio on a loop device: {alone / 3:.0f} requests/s alone, {n / 3:.0f} traced; {n} completed by "
		      f"/sys/block, {rows} rows, {t.lost()} said to be lost; tool: {t.usage.ru_utime * 1e9 / n:.0f} ns user, "
		      f"{t.usage.ru_stime * 1e9 / n:.0f} ns system per event")
	for rate in (1000000, 2000000):
		n = 3 * rate
		with Tool("run", "-q", "-e", FLOOD) as t:
			reached = work("paced", n, rate)
		rows = len(t.lines) - 1
		print(f"rows of iosnoop's kind, {reached:.0f} events/s: {n} events, {rows} rows, {t.lost()} said to be lost; tool: "
		      f"{t.usage.ru_utime * 1e9 / rows:.0f} ns user, {t.usage.ru_stime * 1e9 / rows:.0f} ns system per row")


def main():
	with Loop() as loop:
		if wanted("event"):
			per_event(loop)
		if wanted("flood"):
			flood(loop)
	if wanted("slowdown"):
		slowdown()


main()
