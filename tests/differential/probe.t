#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# parallel: only prints what the kernel would be told
"""probe -D beside perf's: programs of two compilers, with and without optimisation, in both forms of DWARF; functions, lines,
parameters, variables, returns, patterns. Each difference is a fault of perf that is known (FAULTS says which), or a failure.
PROBE_SEED chooses other lines."""
import os, random, re, shutil, subprocess, sys, tempfile

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pantrace = os.environ.get("PANTRACE", top + "/build/pantrace")
source = top + "/tests/programs/probed.c"
BUILDS = ["gcc -O0 -gdwarf-4", "gcc -O1 -gdwarf-5", "gcc -O2 -gdwarf-4", "gcc -O2 -gdwarf-5 -gz", "gcc -O2 -g -flto",
	  "gcc -O2 -g -no-pie", "clang -O0 -gdwarf-5", "clang -O1 -gdwarf-4", "clang -O2 -gdwarf-5"]

# What perf 6.1 prints or says where it is wrong or gives up, and we are not or do not.
FAULTS = [
	("bit-fields", lambda q, o, p: "Failed to get the offset" in p.err or re.search(r":b\d+@\d+/\d+", p.out)),
	("only the first operation of a location", lambda q, o, p: re.search("is computed|is a sum", o.err)),
	("a float takes the others down", lambda q, o, p: "register number 17" in p.err),
	("a missing value", lambda q, o, p: "deade12d" in p.out),
	("clang's optimised code counts as unoptimised", lambda q, o, p: q.build.startswith("clang -O") and "-O0" not in q.build
		and "Skipping prologue" in p.err),
	("it crashes", lambda q, o, p: p.code < 0),
	("a struct or an array is cut to 8 bytes", lambda q, o, p: "max-bitwidth" in p.err
		or re.search("which has no single value", o.err)),
	("before it is stored", lambda q, o, p: "has only begun here" in o.err),
	("a line that shares its address is refused", lambda q, o, p: "sharing the address" in p.err),
	("a line whose code is in several parts is several probes", lambda q, o, p: o.out and
		set(o.out.splitlines()) < set(p.out.splitlines())),
	("a line behind the function's end is one of another", lambda q, o, p: "has no code from there on" in o.err),
	("clang's pointers have no size", lambda q, o, p: q.build.startswith("clang")
		and re.sub(r":x64\b", "", o.out) == re.sub(r":x64\b", "", p.out)),
	("a prologue is skipped for nothing", lambda q, o, p: "Skipping prologue" in p.err and "%bp" not in p.out and o.out),
	("what is there is not found", lambda q, o, p: o.out and not p.out),
	("what can be fetched is given up", lambda q, o, p: "don't support this variable location" in p.err
		or "Failed to find" in p.err and "left out" in o.err),
]


class Run:
	def __init__(self, argv, env=None):
		r = subprocess.run(argv, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=120)
		# Globals of programs: perf names the symbol, which the kernel refuses.
		out = re.sub(r"@\+0x[0-9a-f]+|@\w+[-+]\d+", "@GLOBAL", r.stdout)
		self.out = "\n".join(sorted(out.splitlines()))
		self.err, self.code = r.stderr, r.returncode


class Query:
	def __init__(self, build, text):
		self.build, self.text = build, text


def queries(build):
	lines = open(source).read().splitlines()
	begin = {n: next(i + 1 for i, l in enumerate(lines) if re.search(r"\b%s\(" % n, l)) for n in ("handle", "mix", "many", "main")}
	seed = random.Random(int(os.environ.get("PROBE_SEED", "7")))
	found = ["handle", "mix", "many", "main", "ma*", "handle@probed.c", "handle%return $retval", "many%return",
		 "handle $params", "handle $vars", "mix $params", "mix $vars", "mix x y", "many $params", "main $params", "main argv[0]:string",
		 "handle n->id msg=text:string len:x8 text[1]", "handle n->next->next->inner.tag[2] n->inner.half:u", "handle n->inner.tag:string",
		 "handle n->flags", "handle n->kind n->wide", "handle counter hidden", "handle n->weight n->colour", "handle text:ustring text:string@user",
		 "handle nosuch", "handle n->nosuch", "handle n.id", "handle len->x", "handle len:string", "nosuch", "handle:3000",
		 "handle;sum*", "probed.c;counter*", "ev=handle a=%di b=$stack0 c=\\5", "handle n->numbers[3] n->call"]
	found += ["%s:%d" % (n, k) for n in begin for k in seed.sample(range(1, 15), 3)]
	found += ["probed.c:%d" % k for k in seed.sample(range(begin["handle"], begin["main"] + 30), 4)]
	return [Query(build, t) for t in found]


def main():
	perf = shutil.which("perf")
	if not perf:
		print("1..0 # SKIP needs perf (linux-perf)")
		return
	work = tempfile.mkdtemp(prefix="pantrace-test.")
	env = dict(os.environ, PERF_CONFIG="/dev/null", HOME=work, LC_ALL="C")
	n = compared = 0
	known = {}
	for build in BUILDS:
		app = work + "/app" + re.sub("[^a-zO0-9]", "", build)
		failed = []
		n += 1
		if not shutil.which(build.split()[0]) or subprocess.run(build.split() + ["-o", app, source]).returncode:
			print("ok %d - %s # SKIP it cannot be built" % (n, build))
			continue
		for q in queries(build):
			ours = Run([pantrace, "probe", "-x", app, "-D", q.text])
			theirs = Run([perf, "--buildid-dir", work, "probe", "-x", app, "-D", q.text], env)
			compared += 1
			if ours.out == theirs.out:
				continue
			why = next((name for name, is_it in FAULTS if is_it(q, ours, theirs)), None)
			known[why] = known.get(why, 0) + 1
			if not why:
				failed.append((q, ours, theirs))
		print("%s %d - %s" % ("not ok" if failed else "ok", n, build))
		for q, ours, theirs in failed:
			print("# %s" % q.text)
			for who, r in (("ours", ours), ("perf", theirs)):
				for line in (r.out + "\n" + r.err).splitlines()[:12]:
					print("#   %s: %s" % (who, line))
	for why in sorted(known, key=str):
		print("# perf differs, known: %s: %d" % (why, known[why]))
	print("# %d definitions compared" % compared)
	print("1..%d" % n)
	shutil.rmtree(work)


main()
