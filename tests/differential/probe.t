#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# parallel: only prints what the kernel would be told
"""probe -D and -L beside perf's: programs of two compilers, with and without optimisation, in both forms of DWARF, linked and
packed in each way that debug information is, of C, C++ and Rust, and a vmlinux if there is one: functions, lines, parameters,
variables, returns, patterns.

Where perf cannot read the debug information of a build, a twin of the same code that it can read is asked in its place.
Each difference is a fault of perf that is known (FAULTS says which, and which of perf's own words or output show it), or a
failure. Each build is asked every third question, the next build the ones beside it, so that each is asked of ten builds;
PROBE_ALL=1, which make check-all sets, asks all of all. PROBE_SEED chooses other functions and lines, PROBE_COUNT how many of
vmlinux, PROBE_VMLINUX the file."""
import glob, os, random, re, shutil, subprocess, sys, tempfile

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pantrace = os.environ.get("PANTRACE", top + "/build/pantrace")
source = top + "/tests/programs/probed.c"
seed = random.Random(int(os.environ.get("PROBE_SEED", "7")))

CPP = """
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace ns {
struct base { int id; };
struct thing : base { long value; std::string label; __attribute__((noinline)) long get(int extra) const { return value + extra; }
	virtual ~thing() { std::printf("gone %d\\n", id); } };
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
__attribute__((noinline)) int over(int number) { return number + 1; }
__attribute__((noinline)) long over(const thing &t) { return t.value; }
}
__attribute__((noinline)) static size_t words(const std::vector<std::string> &list, std::map<std::string, int> &count)
{
	for (auto &word : list)
		count[word]++;
	return count.size();
}
int main(int argc, char **argv)
{
	std::map<std::string, int> count;
	ns::thing t;
	t.value = argc;
	return (int)(words({argv, argv + argc}, count) + ns::twice(8) + ns::twice(9l) + t.get(argc) + ns::over(argc) + ns::over(t)) == 0;
}
"""
RUST = """
mod deep {
    pub struct P { pub a: i32, pub b: u64 }
    impl P {
        #[inline(never)] pub fn show(&self, extra: i32) -> u64 { println!("{}", self.a); self.b + extra as u64 }
    }
    #[inline(never)] pub fn sum(list: &[u32]) -> u32 { list.iter().sum() }
}
fn main() { let p = deep::P { a: -4, b: 9 }; p.show(6); println!("{}", deep::sum(&[1, 2, 3])); }
"""

# name, how the program "app" is made of "t.c" (or another source), and how its twin is.
BUILDS = [
	("gcc -O0 -gdwarf-4",), ("gcc -O1 -gdwarf-5",), ("gcc -O2 -gdwarf-4",), ("gcc -O2 -gdwarf-5",), ("gcc -O3 -gdwarf-4",), ("gcc -Os -gdwarf-5",),
	("gcc -O2 -g -flto",), ("gcc -O2 -g -no-pie",), ("gcc -O2 -g -static",), ("clang -O0 -gdwarf-4",), ("clang -O1 -gdwarf-4",),
	("clang -O2 -gdwarf-4",),
	("gcc -O2 -gdwarf-5 -gz",), ("clang -O2 -gdwarf-4 -gz",),
	("gcc -O2 -gdwarf-4, debug link", "gcc -O2 -gdwarf-4 -o app t.c && objcopy --only-keep-debug app app.debug && "
		"objcopy --strip-debug --add-gnu-debuglink=app.debug app"),
	# perf crashes, or does not know these.
	("gcc -O2 -gdwarf-5, zstd", "gcc -O2 -gdwarf-5 -o app t.c && objcopy --compress-debug-sections=zstd app", "gcc -O2 -gdwarf-5 -o app t.c"),
	("gcc -O2 -gdwarf-5 -gsplit-dwarf -gz", "gcc -O2 -gdwarf-5 -gsplit-dwarf -gz -c t.c && gcc -o app t.o", "gcc -O2 -gdwarf-5 -o app t.c"),
	("clang -O0 -gdwarf-5", "clang -O0 -gdwarf-5 -o app t.c", "clang -O0 -gdwarf-4 -o app t.c"),
	("clang -O2 -gdwarf-5", "clang -O2 -gdwarf-5 -o app t.c", "clang -O2 -gdwarf-4 -o app t.c"),
	("gcc -O2 -gdwarf-5 -gsplit-dwarf", "gcc -O2 -gdwarf-5 -gsplit-dwarf -c t.c && gcc -o app t.o", "gcc -O2 -gdwarf-5 -o app t.c"),
	("gcc -O0 -gdwarf-4 -gsplit-dwarf", "gcc -O0 -gdwarf-4 -gsplit-dwarf -c t.c && gcc -o app t.o", "gcc -O0 -gdwarf-4 -o app t.c"),
	("clang -O2 -gdwarf-5 -gsplit-dwarf", "clang -O2 -gdwarf-5 -gsplit-dwarf -c t.c && clang -o app t.o", "clang -O2 -gdwarf-4 -o app t.c"),
	("gcc -O2 -gdwarf-4, dwp", "gcc -O2 -gdwarf-4 -gsplit-dwarf -c t.c && gcc -o app t.o && dwp -e app -o app.dwp && rm *.dwo",
		"gcc -O2 -gdwarf-4 -o app t.c"),
	("gcc -O2 -gdwarf-5, dwz", "gcc -O2 -gdwarf-5 -o app t.c && dwz app", "gcc -O2 -gdwarf-5 -o app t.c"),
	("gcc -O2 -gdwarf-4, dwz into a file of both", "gcc -O2 -gdwarf-4 -o app t.c && cp app other && dwz -m both app other", "gcc -O2 -gdwarf-4 -o app t.c"),
	("g++ -O0 -gdwarf-4", "g++ -O0 -gdwarf-4 -o app t.cc"), ("g++ -O2 -gdwarf-5", "g++ -O2 -gdwarf-5 -o app t.cc"),
	("clang++ -O1 -gdwarf-4", "clang++ -O1 -gdwarf-4 -o app t.cc"),
	("rustc", "rustc -g -C opt-level=0 -o app t.rs"), ("rustc -O", "rustc -g -O -o app t.rs"),
]


def has(*texts):
	"""perf says one of these, and prints nothing."""
	return lambda q, o, p: not p.out and any(t in p.err for t in texts)


def more_lines(q, o, p):
	"""Ours has all lines that perf lists as places, and others that -D takes."""
	plain = lambda run: [l[9:] for l in run.lines]
	if not o.out or plain(o) != plain(p):
		return False
	extra = [a for a, b in zip(o.lines, p.lines) if a != b]
	function = re.sub(":.*", "", q.text)
	return all(re.match(r" +\d+  ", a) and Run([pantrace, "probe"] + q.target + ["-D", "%s:%s" % (function, a.split()[0])], q.directory).out for a in extra)


def silent(p):
	"""Nothing but that it failed."""
	said = [l for l in p.err.splitlines() if l.strip() and not l.startswith(("Target program is compiled", "Probe on address"))]
	return not p.out and [l.strip() for l in said] == ["Error: Failed to add events."]


def words(text):
	return text.split() if text else []


# What perf 6.1 prints or says where it is wrong or gives up, and we are not or do not. The number is that of the reference's list.
FAULTS = [
	("1: bit-fields", lambda q, o, p: has("Failed to get the offset")(q, o, p) or re.search(r":b\d+@\d+/\d+", p.out)),
	("2: only the first operation of a location is read", lambda q, o, p: re.search("its value is (computed|a sum)", o.err)),
	("3: a float takes the others down", has("register number 17", "register number 18")),
	("5: a missing value", lambda q, o, p: "deade12d" in p.out),
	("6: names of C++ and Rust: the first of several", lambda q, o, p: re.match("_[ZR]", q.text) and p.out
		and set(p.out.split("\n")) < set(o.out.split("\n"))),
	("6: code that the linker has left out is probed", lambda q, o, p: re.search(r":0xfffffffffffff\w{3}\b", p.out)),
	("7: clang's optimised code counts as unoptimised", lambda q, o, p: "clang" in q.build and "-O0" not in q.build
		and "Skipping prologue" in p.err),
	("10: a line behind the function's end is one of another", lambda q, o, p: "has no code from there on" in o.err and p.out),
	("10: a line number that there is not", lambda q, o, p: re.search(r":-\d+ instead", p.err)),
	("a struct or an array is cut to 8 bytes", lambda q, o, p: "max-bitwidth" in p.err
		and re.search(r"which has no single value|is kept in pieces|:\w\d+\[\d+\]|:string", o.err + o.out)),
	("a line that shares its address is refused", has("sharing the address")),
	("a line whose code is in several parts is several probes", lambda q, o, p: o.out and re.search("[:;]", q.text)
		and set(words(o.out)) < set(words(p.out))),
	("clang's pointers have no size", lambda q, o, p: "clang" in q.build
		and re.sub(r":x64\b", "", o.out) == re.sub(r":x64\b", "", p.out)),
	("a parameter of unoptimised code is read before it is stored", lambda q, o, p: "-O0" in q.build and "Skipping prologue" in p.err
		and p.out and "(%sp)" in p.out and "(%bp)" in o.out),
	("an argument's name twice, which the kernel refuses", lambda q, o, p: re.search(r" (\w+)=\S+(?: \S+)* \1=", p.out)
		and not re.search(r" (\w+)=\S+(?: \S+)* \1=", o.out)),
	("a prologue is skipped for nothing", lambda q, o, p: "Skipping prologue" in p.err and o.out and "%bp" not in o.out),
	("a line that only calls what is inlined is not listed", lambda q, o, p: q.option == "-L" and more_lines(q, o, p)),
	("6: names of the linker are not found in C++ and Rust", lambda q, o, p: re.match("_[ZR]", q.text) and
		(silent(p) or has("not found")(q, o, p))),
	("a body that the compiler shares between functions has no scope", lambda q, o, p: "describes no function at" in o.err
		and (silent(p) or has("Failed to find scope")(q, o, p))),
	("a body that the compiler shares between functions is named from the kernel's beginning", lambda q, o, p:
		"Failed to find scope" in p.err and re.fullmatch(r"p:probe/(\w+) \1\+0", o.out) and re.fullmatch(r"p:probe/\w+ _text\+\d+", p.out)),
	("the rest of a function that gcc has split counts as the function", lambda q, o, p: o.out and all(".part." in line
		for line in set(p.lines) - set(o.lines)) and set(o.lines) < set(p.lines)),
	("an event's places with different arguments, which the kernel refuses", lambda q, o, p: re.search("_1 ", o.out)
		and {" ".join(l.split()[1:]) for l in o.lines} == {" ".join(l.split()[1:]) for l in p.lines}),
	("a function without parameters has no $params", has("of the '$params' variable")),
	("6: names of Rust are taken for events'", has("is an invalid event name")),
	("LTO: an inlined copy of another unit is not found", lambda q, o, p: "-flto" in q.build and (silent(p) or has("not found")(q, o, p))),
	("a return of a function whose symbol has another name", lambda q, o, p: "%return" in q.text and has("Failed to find symbol")(q, o, p)),
]


class Run:
	def __init__(self, argv, directory, env=None):
		r = subprocess.run(argv, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=120, cwd=directory)
		# Globals of programs: perf names the symbol, which the kernel refuses (fault 4).
		out = re.sub(r"@\+0x[0-9a-f]+|@\w+[-+]\d+", "@GLOBAL", r.stdout.replace(directory + "/", ""))
		self.lines = out.splitlines()
		self.out = "\n".join(sorted(self.lines))
		self.err, self.code = r.stderr, r.returncode


class Query:
	def __init__(self, build, option, text, target, directory):
		self.build, self.option, self.text, self.target, self.directory = build, option, text, target, directory


def of_c():
	lines = open(source).read().splitlines()
	begin = {n: next(i + 1 for i, l in enumerate(lines) if re.search(r"\b%s\(" % n, l)) for n in ("handle", "mix", "many", "main")}
	found = ["handle", "mix", "many", "main", "ma*", "handle@t.c", "handle%return $retval", "many%return",
		 "handle $params", "handle $vars", "mix $params", "mix $vars", "mix x y", "many $params", "main $params", "main argv[0]:string",
		 "handle n->id msg=text:string len:x8 text[1]", "handle n->next->next->inner.tag[2] n->inner.half:u", "handle n->inner.tag:string",
		 "handle n->flags", "handle n->kind n->wide", "handle counter hidden", "handle n->weight n->colour", "handle text:ustring text:string@user",
		 "handle nosuch", "handle n->nosuch", "handle n.id", "handle len->x", "handle len:string", "nosuch", "handle:3000",
		 "handle;sum*", "t.c;counter*", "ev=handle a=%di b=$stack0 c=\\5", "handle n->numbers[3] n->call"]
	found += ["%s:%d" % (n, k) for n in begin for k in seed.sample(range(1, 15), 4)]
	found += ["t.c:%d" % k for k in seed.sample(range(begin["handle"], begin["main"] + 30), 5)]
	return [("-D", t) for t in found] + [("-L", t) for t in ("handle", "mix", "many:0-3", "t.c:%d-%d" % (begin["handle"], begin["main"]))]


def of_symbols(app, count):
	"""Functions by the names that the linker has, for C++ and Rust."""
	names = [l.split()[2] for l in subprocess.run(["nm", app], capture_output=True, text=True).stdout.splitlines() if l.split()[-2] in "tTW"]
	names = sorted({n for n in names if n.startswith("_Z") or n.startswith("_R")})
	found = []
	for n in seed.sample(names, min(count, len(names))):
		found += [("-D", n), ("-D", n + " $params")]
	return found


def of_kernel(vmlinux, count):
	names = [l.split()[2] for l in subprocess.run(["nm", vmlinux], capture_output=True, text=True).stdout.splitlines() if l.split()[1] in "tT"]
	once = {n for n in names if re.fullmatch(r"[a-z]\w+", n)}
	found = [("-D", "vfs_read $params"), ("-D", "vfs_read file->f_path.dentry->d_name.name:string"), ("-D", "schedule:8"), ("-D", "nosuchfunction")]
	for n in seed.sample(sorted(once), count):
		found += [("-D", n), ("-D", n + " $params"), ("-D", "%s:%d" % (n, seed.randint(1, 12)))]
	return found


class Comparison:
	def __init__(self):
		self.tests = self.compared = self.same = 0
		self.known, self.work = {}, tempfile.mkdtemp(prefix="pantrace-test.")
		self.env = dict(os.environ, PERF_CONFIG="/dev/null", HOME=self.work, LC_ALL="C")
		for name, directory in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")):
			os.environ.setdefault(name, os.path.expanduser("~/" + directory))
		os.environ["HOME"] = self.work

	def build(self, directory, command):
		os.makedirs(directory)
		shutil.copy(source, directory + "/t.c")
		open(directory + "/t.cc", "w").write(CPP)
		open(directory + "/t.rs", "w").write(RUST)
		return subprocess.run(command, shell=True, cwd=directory, capture_output=True).returncode == 0

	def compare(self, name, queries, ours, theirs, directory, twin):
		failed = []
		self.tests += 1
		for option, text in queries:
			q = Query(name, option, text, ours, directory)
			o = Run([pantrace, "probe"] + ours + [option, text], directory)
			p = Run(["perf", "--buildid-dir", self.work + "/cache", "probe"] + theirs + [option, text], twin, self.env)
			self.compared += 1
			if o.out == p.out:
				self.same += 1
				continue
			why = next((fault for fault, is_it in FAULTS if is_it(q, o, p)), None)
			self.known.setdefault(why, []).append("%s, %s %s" % (name, option, text))
			if not why:
				failed.append((q, o, p))
		print("%s %d - %s (%d compared)" % ("not ok" if failed else "ok", self.tests, name, len(queries)), flush=True)
		for q, o, p in failed:
			print("# %s %s" % (q.option, q.text))
			for who, r in (("ours", o), ("perf", p)):
				for line in (r.out + "\n" + r.err).splitlines()[:12]:
					print("#   %s: %s" % (who, line))

	def skip(self, name, why):
		self.tests += 1
		print("ok %d - %s # SKIP %s" % (self.tests, name, why))

	def program(self, name, command=None, twin_command=None):
		command = command or name + " -o app t.c"
		at = "%s/%d" % (self.work, self.tests)
		directory, twin = at + "/ours", at + "/twin" if twin_command else at + "/ours"
		if not self.build(directory, command) or (twin_command and not self.build(twin, twin_command)):
			self.skip(name, "it cannot be built here")
			return
		queries = of_c() if "t.c " in command + " " else of_symbols(directory + "/app", 20)
		if "PROBE_ALL" not in os.environ:
			queries = queries[self.tests % 3::3]
		self.compare(name, queries, ["-x", "app"], ["-x", "./app"], directory, twin)
		shutil.rmtree(at)

	def kernel(self):
		files = [os.environ.get("PROBE_VMLINUX")] if "PROBE_VMLINUX" in os.environ else glob.glob("/usr/lib/debug/boot/vmlinux-*")
		if not files:
			self.skip("vmlinux", "no kernel with debug information is installed")
			return
		queries = of_kernel(files[0], int(os.environ.get("PROBE_COUNT", "12")))
		self.compare("vmlinux", queries, ["-k", files[0]], ["-k", files[0]], self.work, self.work)


def main():
	if not shutil.which("perf"):
		print("1..0 # SKIP needs perf (linux-perf)")
		return
	all = Comparison()
	for build in BUILDS:
		all.program(*build)
	all.kernel()
	for why in sorted(all.known, key=str):
		print("# perf differs, %s: %d" % (why, len(all.known[why])))
		if "PROBE_EACH" in os.environ:
			print("".join("#     %s\n" % each for each in all.known[why]), end="")
	print("# %d compared, %d the same" % (all.compared, all.same))
	print("1..%d" % all.tests)
	shutil.rmtree(all.work)


main()
