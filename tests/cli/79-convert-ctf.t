#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# convert to CTF: babeltrace2 has the same events and values; under LTTng's names Trace Compass's kernel analysis finds what it asks for.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
command -v babeltrace2 >/dev/null || { echo "1..0 # SKIP no babeltrace2"; exit 0; }
PATH=/usr/bin:$PATH # Debian's python3
cd "$work" || exit 1

judge() # NAME, then the judge as Python
{
	python3 - >"$work/why" 2>&1
	ok "$1" || tail -3 "$work/why" | sed 's/^/# /' >&2
}

perf record -q -a -m 4096 -k mono -o kernel.data -e 'sched:*,irq:*,timer:hrtimer_*,raw_syscalls:sys_enter,raw_syscalls:sys_exit,cpu-clock' \
	-- sh -c 'ls / >/dev/null; sleep 0.05; cat /proc/self/stat >/dev/null' >/dev/null 2>&1
perf script -i kernel.data -F event 2>/dev/null | sed 's/^ *//; s/:\{0,1\} *$//' | grep . | sort | uniq -c >counts
"$pantrace" convert kernel.data kernel.ndjson

# ---- events and values ----

# On a busy machine perf may have lost events: then the code is 3, and babeltrace2 says how many.
run convert kernel.data kernel.ctf
like "$rc" '^[03]$' "a perf.data"
babeltrace2 kernel.ctf >kernel.txt 2>bt.err
is "$? $(grep -v 'Tracer discarded' bt.err)" "0 " "babeltrace2 reads it"
is "$(sed -n 's/.*Tracer discarded \([0-9]*\) events.*/\1/p' bt.err | awk '{ n += $1 } END { print n + 0 }')" \
	"$("$pantrace" report -c kernel.data 2>&1 | sed -n 's/.*the tracer lost \([0-9]*\) events.*/\1/p' | grep . || echo 0)" \
	"and says the same losses"
sed -E 's/^\[[^]]*\] \([^)]*\) [^ ]+ ([^ ]+): \{.*/\1/' kernel.txt | sort | uniq -c >ctf-counts
cmp -s counts ctf-counts
ok "as many of each event as perf script has: $(awk '{ n += $1 } END { print n }' counts)" || diff counts ctf-counts | sed 's/^/# /' >&2
judge "each value is the same, for babeltrace2" <<'P'
import json, re
lines = [json.loads(l) for l in open("kernel.ndjson")]
texts = open("kernel.txt", errors="replace").read().splitlines()
assert len(lines) == len(texts), (len(lines), len(texts))
def key(event, fields):
    return event + repr(sorted(fields.items()))
def of_text(line):
    m = re.match(r"\[([^]]*)\] \([^)]*\) \S+ (\S+): (\{.*)", line)
    payload = m[3].split("}, {")[-1]
    payload = re.sub(r"_\w+_length = \d+, ", "", payload)
    payload = re.sub(r",? ?callstack_\w+ = \[[^]]*(\[\d+\][^]\[]*)*\]", "", payload)
    fields = {}
    for name, text, array, other in re.findall(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|\[((?: ?\[\d+\] = [^],]*,?)*) \]|([^ ,]+))', payload):
        fields[name] = text if not other and not array else [int(v, 0) for v in re.findall(r"= (\S+?)(?:,|$)", array)] if array else int(other, 0)
    return m[2], fields
def of_json(line):
    f = {}
    for k, v in line["fields"].items():
        if isinstance(v, str) and re.fullmatch(r"-?\d{16,20}", v):
            v = int(v)
        if isinstance(v, str) and re.fullmatch(r"0x[0-9a-f]+", v):
            v = int(v, 16)
        if isinstance(v, list):
            v = [int(x, 0) if isinstance(x, str) else x for x in v]
        f[k] = v
    return line["event"], f
from collections import Counter
plain = {"sched:sched_switch", "sched:sched_wakeup", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "irq:softirq_entry", "sched:sched_process_exec"}
a = Counter(key(*of_text(t)) for t in texts if of_text(t)[0] in plain)
b = Counter(key(*of_json(l)) for l in lines if l["event"] in plain)
assert a and a == b, (list((a - b).items())[:2], list((b - a).items())[:2])
P
judge "and each time and CPU" <<'P'
import json, re, subprocess
out = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", "kernel.ctf"], capture_output=True, text=True).stdout
a = sorted((m[1].replace(".", ""), m[2]) for m in re.finditer(r"^\[([\d.]+)\] .*?\{ cpu_id = (\d+) \}", out, re.M))
b = sorted((str(l["time_ns"]), str(l.get("cpu", 2**32 - 1))) for l in map(json.loads, open("kernel.ndjson")))
assert a == b, [x for x in zip(a, b) if x[0] != x[1]][:3]
P
"$pantrace" convert kernel.ctf again.ndjson
judge "read by us again it is what it was" <<'P'
import json
def of(path):
    return sorted((l["time_ns"], l["event"], l.get("cpu", -1), l["fields"].get("prev_comm"), l["fields"].get("ret"), l["fields"].get("id"))
                  for l in map(json.loads, open(path)))
a, b = of("kernel.ndjson"), of("again.ndjson")
assert a == b, [x for x in zip(a, b) if x[0] != x[1]][:3]
P

# a program's trace: its labels of enumerations, lists, floats
run record -q -u 'traced:*' -o user -- "$traced" 100
run convert user user.ctf
is "$rc $err" "0 " "a program's CTF trace"
babeltrace2 user/* 2>/dev/null | grep -v 'pantrace:object_' | sed 's/.*: \({.*\)/\1/; s/.*}, { *//; s/_[a-z_0-9]*_length = [0-9]*, //g' | sort >user.a
babeltrace2 user.ctf 2>/dev/null | sed 's/.*: \({.*\)/\1/; s/.*}, { *//; s/_[a-z_0-9]*_length = [0-9]*, //g' | sort >user.b
[ -s user.a ] && cmp -s user.a user.b
ok "with the same values" || diff user.a user.b | head -4 | sed 's/^/# /' >&2

# text of other tools: fields are what they look like
printf '%s\n' '# tracer: nop' ' a-1 [000] .... 1.000001: ev: x=1 y=abc x=2 a.b=3 name=q"\' ' a-1 [001] .... 1.000002: ev: x=text' >script.txt
sed 1d script.txt >plain.txt
run convert plain.txt text.ctf
babeltrace2 text.ctf >text.out 2>&1
is "$rc $(grep -c ' ev: ' text.out)" "0 2" "text: fields that differ make two kinds of one name" || sed 's/^/# /' text.out >&2

# ---- the directory ----

run convert kernel.data kernel.ctf
like "$rc $err" '^1 .*kernel.ctf: it is there, and a directory is not replaced' "one that is there stays"
run convert --to ctf kernel.data -
like "$rc $err" "^2 .*ctf is a directory, which '-' cannot be" "not to standard output"
run convert kernel.data kernel.ctf.gz
like "$rc $err" "^2 .*ctf is a directory" "not compressed"
run convert --to ctf kernel.data dir/
like "$rc $(ls dir | grep -c metadata)" "^[03] 1$" "a slash at its end"
run convert --lttng-names kernel.data x.json
like "$rc $err" "^2 .*--lttng-names is for ctf" "--lttng-names with another format"
run convert nothing.data gone.ctf
[ "$rc" = 1 ] && [ ! -e gone.ctf ]
ok "no recording, no directory"
mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
	run convert kernel.data full/out.ctf
	is "$rc $(ls -A full)" "1 " "a full disk: an error, and nothing is left"
	umount full
else
	skip "a full disk" "nothing can be mounted"
fi
mkdir killed
"$pantrace" convert --to ctf $(for i in $(seq 200); do echo kernel.data; done) killed/out 2>/dev/null &
until_true sh -c "ls -l /proc/$!/fd | grep -q '(deleted)'"
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
is "$? $(ls -A killed)" "137 " "kill -9: nothing half written is left"

# ---- LTTng's names ----

run convert --lttng-names kernel.data lttng.ctf
babeltrace2 lttng.ctf >lttng.txt 2>bt.err
like "$rc $(grep -v 'Tracer discarded' bt.err)" "^[03] $" "--lttng-names"
is "$(grep -vc lttng_statedump lttng.txt)" "$(grep -c . kernel.txt)" "no event is missing"
# The events and fields that Trace Compass's kernel analysis reads: org.eclipse.tracecompass, Lttng29EventLayout and those it extends, and
# the handlers of analysis.os.linux.core (SchedSwitchHandler, StateDumpHandler ...). 'l': as an integer, 's': as text.
judge "Trace Compass's kernel analysis finds its events and fields, of the types that it casts to" <<'P'
import re
text = open("lttng.ctf/metadata", errors="replace").read()
assert re.search(r'domain = "kernel"', text) and re.search(r'tracer_name = "lttng-modules"', text)
assert re.search(r"tracer_major = 2;\s+tracer_minor = (9|1\d);", text)
needs = {
    "sched_switch": "prev_tid:l prev_state:l prev_prio:l next_comm:s next_tid:l next_prio:l prev_comm:s",
    "sched_waking": "tid:l prio:l target_cpu:l", "sched_wakeup": "tid:l prio:l target_cpu:l", "sched_wakeup_new": "tid:l prio:l target_cpu:l",
    "sched_process_fork": "parent_tid:l child_tid:l child_comm:s", "sched_process_exit": "tid:l", "sched_process_free": "tid:l",
    "sched_process_exec": "filename:s tid:l", "sched_migrate_task": "tid:l prio:l orig_cpu:l dest_cpu:l",
    "irq_softirq_entry": "vec:l", "irq_softirq_exit": "vec:l", "irq_softirq_raise": "vec:l",
    "timer_hrtimer_start": "hrtimer:l function:l expires:l softexpires:l", "timer_hrtimer_cancel": "hrtimer:l",
    "timer_hrtimer_expire_entry": "hrtimer:l now:l function:l", "timer_hrtimer_expire_exit": "hrtimer:l",
    "lttng_statedump_process_state": "tid:l pid:l ppid:l status:l name:s",
    "syscall_entry_openat": "", "syscall_exit_openat": "ret:l",
}
optional = {"sched_migrate_task", "timer_hrtimer_cancel"} # what happens by chance
have = {}
for m in re.finditer(r'event \{\s+name = "([^"]+)";.*?fields := struct \{\n(.*?)\n?\t\};\n\};', text, re.S):
    fields = {}
    for f in re.finditer(r"^\t\t(integer|string|enum|floating_point)\b.*? _(\w+)(\[.*)?;$", m[2], re.M):
        fields[f[2]] = "s" if f[1] == "string" else "l" if f[1] == "integer" and not f[3] else "?"
    have.setdefault(m[1], []).append(fields)
for event, fields in needs.items():
    if event in optional and event not in have:
        continue
    assert event in have, event
    for f in fields.split():
        name, kind = f.split(":")
        for shape in have[event]:
            assert shape.get(name) == kind, (event, f, shape)
P
judge "priorities count from LTTng's zero, states stay the kernel's" <<'P'
import json, re
from collections import Counter
lines = [json.loads(l)["fields"] for l in open("kernel.ndjson") if '"event":"sched:sched_switch"' in l]
want = Counter((f["prev_pid"], f["prev_prio"] - 100, f["prev_state"], f["next_pid"], f["next_prio"] - 100) for f in lines)
have = Counter(tuple(int(x) for x in m) for m in re.findall(
    r" sched_switch: .*prev_tid = (\d+), prev_prio = (-?\d+), prev_state = (\d+),.*next_tid = (\d+), next_prio = (-?\d+)", open("lttng.txt", errors="replace").read()))
assert have and have == want, (have - want, want - have)
P
judge "the state dump has the threads that perf saw at its begin, before all other events" <<'P'
import re, subprocess
lines = open("lttng.txt", errors="replace").read().split("\n")
n = next(i for i, l in enumerate(lines) if "lttng_statedump_end" in l)
assert "lttng_statedump_start" in lines[0] and all("lttng_statedump" in l for l in lines[:n + 1])
have = {}
for l in lines[1:n]:
    m = re.search(r'tid = (\d+), pid = (-?\d+), ppid = (-?\d+), name = "(.*?)"', l.split("}, {")[-1])
    have[int(m[1])] = (int(m[2]), m[4])
told = {}
dump = subprocess.run(["perf", "script", "-i", "kernel.data", "--show-task-events", "-F", "comm,pid,tid,time"], capture_output=True, text=True,
                      errors="replace").stdout
twice = set() # a number that was given again while perf looked
for m in re.finditer(r" 0\.000000: PERF_RECORD_COMM: ([\w/:. +-]*):(\d+)/(\d+)$", dump, re.M | re.A): # names that neither tool escapes
    if told.get(int(m[3])) not in (None, (int(m[2]), m[1])):
        twice.add(int(m[3]))
    told[int(m[3])] = (int(m[2]), m[1])
# what threads did between perf's look and the first event: that they ended, among others
before, _, _ = dump.partition(next(l for l in dump.split("\n") if l and "PERF_RECORD" not in l))
changed = {int(t) for t in re.findall(r"(?<! 0\.000000): PERF_RECORD_(?:EXIT|COMM|FORK).*?[:/](\d+)\)?(?::\(\d+:\d+\))?$", before, re.M)}
told = {t: v for t, v in told.items() if t not in twice | changed}
missing = {t: v for t, v in told.items() if have.get(t) != v}
assert len(told) > 5 and not missing, (len(told), len(have), list(missing.items())[:3])
P
perf record -q -k mono -g -o chains.data -e raw_syscalls:sys_enter -- true >/dev/null 2>&1
run convert chains.data chains.ctf
n=$(perf script -i chains.data -F event 2>/dev/null | grep -c :)
is "$err" "WARNING: ctf: left out: $n call chains' symbols: they have the addresses" "what a trace has no place for is said once, with its count"
is "$(babeltrace2 chains.ctf | grep -c 'callstack_kernel = \[ \[0\] = 0xFFFF')" "$n" "call chains"
run record -q -e sched:sched_switch -o kernel.dat -- sleep 0.05
run convert --lttng-names kernel.dat dat.ctf
like "$rc $err" 'left out: 1 state dump: the recording has no list of threads' "a trace.dat: no state dump, which is said"

# more fields than an event of a program may have
{
	printf 'prog  10 [000] 1.000000: shop:wide:'
	for i in $(seq 70); do printf ' f%s=%s' "$i" "$((i * 3))"; done
	echo
} >wide.txt
run convert wide.txt wide.ctf
is "$rc $(babeltrace2 wide.ctf | grep -oE 'f[0-9]+ = [0-9]+' | awk '{ s += $3 } END { print NR, s }')" "0 70 7455" "an event of 70 fields"

done_testing
