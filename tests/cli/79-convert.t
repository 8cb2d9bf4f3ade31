#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# convert: recordings as files of other programs. How many events there are, perf script and trace-cmd say; what the files say,
# independent readers of each format.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
PATH=/usr/bin:$PATH # Debian's python3, which has the judges
cd "$work" || exit 1

perf record -q -k mono -g -o kernel.data -e cpu-clock,sched:sched_switch,sched:sched_process_exec,raw_syscalls:sys_enter,raw_syscalls:sys_exit \
	-- sh -c 'ls / >/dev/null; sleep 0.01; cat /proc/self/stat >/dev/null' >/dev/null 2>&1
perf script -i kernel.data -F event 2>/dev/null | sed 's/^ *//; s/:\{0,1\} *$//' | grep . >events.txt
n=$(grep -c . events.txt)
run record -q -u 'traced:*' -o user -- "$traced" 500

judge() # NAME FILE, then the judge as Python
{
	python3 - "$2" "$n" >"$work/why" 2>&1
	ok "$1" || tail -3 "$work/why" | sed 's/^/# /' >&2
}

# ---- the file ----

run convert kernel.data out.ndjson
is "$rc" 0 "a recording, its format by the suffix"
is "$(wc -l <out.ndjson)" "$n" "as many events as perf script has: $n"
run convert kernel.data out.ndjson
like "$rc $err" "^1 .*out.ndjson: it is there; --force replaces it" "what is there stays"
echo old >other && ln -s other link.ndjson
run convert --force kernel.data link.ndjson
is "$rc $(cat other) $(wc -l <link.ndjson)" "0 old $n" "--force: a link goes, not what it leads to"
run convert --to ndjson kernel.data -
is "$(grep -c . out)" "$n" "- is standard output"
run convert kernel.data out.ndjson.gz
is "$(zcat out.ndjson.gz | cksum)" "$(cksum <out.ndjson)" ".gz: the same, compressed"
run convert kernel.data out.unknown
like "$rc $err" "^2 .*'out.unknown' does not say the format; --to does: ndjson, csv" "no format"
run convert --to cvs kernel.data x
like "$rc $err" "^2 .*unknown format 'cvs'" "an unknown one"
run convert kernel.data
like "$rc $err" "^2 .*OUT is missing" "no OUT"
run convert nothing out2.ndjson
[ "$rc" = 1 ] && [ ! -e out2.ndjson ]
ok "no recording: nothing is made"
mkfifo fifo
timeout 20 cat fifo >from-fifo &
run convert --to ndjson kernel.data fifo
wait $!
is "$(wc -l <from-fifo)" "$n" "a FIFO is written to"
run convert --to ndjson kernel.data /dev/full
like "$rc $err" '^1 .*No space left' "a full device is an error"
mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
	run convert kernel.data full/out.ndjson
	is "$rc $(ls -A full)" "1 " "a full disk: an error, and nothing is left"
	umount full
else
	skip "a full disk" "nothing can be mounted"
fi
# killed while it writes: the file has no name yet
for signal in INT KILL; do
	mkdir killed
	env --default-signal=INT "$pantrace" convert --to csv $(for i in $(seq 40); do echo kernel.data; done) killed/out 2>/dev/null &
	until_true sh -c "ls -l /proc/$!/fd | grep -q '(deleted)'"
	kill -$signal $! 2>/dev/null
	wait $! 2>/dev/null
	is "$? $(ls -A killed)" "$([ $signal = INT ] && echo 130 || echo 137) " "SIG$signal: nothing half written is left"
	rm -rf killed
done

# ---- which events ----

run convert --to ndjson -e raw_syscalls:sys_enter kernel.data -
is "$(grep -c . out)" "$(grep -c 'sys_enter$' events.txt)" "-e"
run convert --to ndjson -w 'id == 59' -e sys_enter kernel.data -
is "$(grep -c . out)" "$("$pantrace" report -e sys_enter -w 'id == 59' kernel.data | grep -c 'sys_enter:')" "-w, as report's"
run convert --to ndjson -n 3 kernel.data -
is "$(grep -c . out)" 3 "-n"
run convert --to ndjson -e raw_syscalls:sys_entr kernel.data -
like "$err" "did you mean 'raw_syscalls:sys_enter'" "a misspelt event: the nearest"
run convert --to ndjson -w 'id ==' kernel.data out3.ndjson
[ "$rc" = 2 ] && [ ! -e out3.ndjson ]
ok "a condition that is none"
head -c $(($(stat -c %s kernel.data) / 2)) kernel.data >cut.data
run convert cut.data cut.ndjson
[ "$rc" = 1 ] && [ -s cut.ndjson ] && [ -n "$err" ]
ok "a damaged recording: what could be read, told, code 1"

# ---- ndjson ----

run convert user user.ndjson
is "$(wc -l <user.ndjson)" "$("$pantrace" report user | grep -c .)" "ndjson: a CTF trace"
"$pantrace" report --json user | cmp -s - user.ndjson
ok "the lines of report --json"
"$pantrace" convert --json-schema >schema.json
cat out.ndjson user.ndjson >all.ndjson
judge "--json-schema: an independent validator takes all of them" all.ndjson <<'P'
import json, sys, jsonschema
schema = json.load(open("schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in open(sys.argv[1]):
    validator.validate(json.loads(line))
for bad in ({"event": "x"}, {"time_ns": 2**60, "event": "x"}, {"time_ns": 1, "event": "x", "other": 1}):
    assert not validator.is_valid(bad), bad
P

# ---- csv ----

run convert kernel.data out.csv
judge "csv: a reader of CSV has the same events and fields" out.csv <<'P'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(l) for l in open("out.ndjson")]
assert len(rows) == len(lines) == int(sys.argv[2])
for row, line in zip(rows, lines):
    assert row["time_ns"] == str(line["time_ns"]) and row["event"] == line["event"]
    assert row["cpu"] == str(line.get("cpu", "")) and row["tid"] == str(line["context"]["tid"])
    assert row["comm"] == line["context"]["procname"]
    assert json.loads(row["fields"]) == line["fields"], (row, line)
P
run convert -e sched_switch --field prev_comm --field next_pid --field nothing kernel.data switches.csv
judge "csv: fields as columns" switches.csv <<'P'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
want = [json.loads(l)["fields"] for l in open("out.ndjson") if '"event":"sched:sched_switch"' in l]
assert rows and [(r["prev_comm"], r["next_pid"]) for r in rows] == [(f["prev_comm"], str(f["next_pid"])) for f in want]
assert all(r["nothing"] == "" for r in rows)
P
like "$err" "no event in what was read has a field 'nothing'|^$" "a column that no event has"
run convert --field x kernel.data x.ndjson
like "$rc $err" '^2 .*--field is for csv' "--field of another format"
done_testing
