#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --locals: the variables of frames are those that the program printed, of every optimisation; what was not recorded is said.
# among tracers: what it records is of its own children
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1
chmod 755 .
source=$top/tests/programs/locals.c

# same.py PRINTED REPORTED LEAST: every frame has the variables that were printed; at least LEAST values are there
cat >same.py <<'PY'
import json, sys
printed = [json.loads(line) for line in open(sys.argv[1])]
printed = printed[max(i for i, p in enumerate(printed) if p['function'] == 'main'):]  # perf may have begun anew
event = [json.loads(line) for line in open(sys.argv[2])][-1]
names = {p['function'] for p in printed}
frames = [(f.split('+')[0], v) for f, v in zip(event['frames'], event['locals']) if f.split('+')[0] in names][::-1]
if [f for f, _ in frames] != [p['function'] for p in printed]:
    sys.exit('frames: %s' % [f for f, _ in frames])
told = 0
for p, (name, variables) in zip(printed, frames):
    seen = {v['name']: v for v in variables}
    for key in p.keys() - {'function'}:
        v = seen[key]
        if 'value' in v and v['value'] != p[key] and v['value'] != str(p[key]):
            print('%s: %s is %s, not %s' % (name, key, p[key], v['value']))
        elif 'value' not in v and v['reason'] not in ('optimised out', 'not recorded') and 'caller passed' not in v['reason']:
            print('%s: %s: %s' % (name, key, v['reason']))
        told += 'value' in v
    if name == 'inlined' and seen['text'].get('text', seen['name'].get('value')) != p['name']:
        print('text is', seen['text'])
if told < int(sys.argv[3]):
    print('only %d values' % told)
PY

# of LEAST COMMAND...: compiles, records the last call and compares. All values are 21.
of()
{
	local least=$1
	shift
	"$@" -g -o locals "$source" || return
	run record --call-graph dwarf -e syscalls:sys_enter_getpriority -o locals.data -- ./locals
	grep -a '^{' "$work/out" >printed
	"$pantrace" report --json --locals locals.data >reported 2>report.err
	is "$(python3 same.py printed reported "$least" 2>&1; cat report.err)" "" "$*: as the program printed them"
}

# in_text FILE FUNCTION: the variables of a function in the text of a report, on one line
in_text() { tr -s ' \t' ' ' <"$1" | awk -v f="$2" '$2 ~ "^" f "\\+" { on = 1; next } $2 ~ /\+0x/ || !NF { on = 0 } on { printf "%s;", $0 }'; }

of 20 gcc -O2
of 20 gcc -O1 -gdwarf-4 -fno-omit-frame-pointer
if command -v clang >/dev/null; then
	of 21 clang -O0
	of 18 clang -O2 -gdwarf-5
else
	skip "clang" "no clang"
fi
of 21 gcc -O0

"$pantrace" report --locals locals.data >text
is "$(in_text text middle)" " n = 8; c = GREEN; weight = 2.5; small = 200; here = { .x = 8, .y = -8, .flag = 5, .tag = tag }; product = 8000000056;" "text: parameters, then the others"
like "$(in_text text inlined)" ' text = 0x[0-9a-f]+ "name-9";$' "text: what a pointer points to on the stack"
is "$(in_text text stop)" " calls = <not recorded>;" "text: a static is not recorded"
like "$("$pantrace" report --locals --seconds locals.data)" '^	 +product = 8000000056$' "on a time line, too"
unlike "$("$pantrace" report --json locals.data)" '"locals":' "JSON without --locals has none"

# a signal's frame: the registers are those of the moment
gcc -O2 -g -o locals "$source"
run record --call-graph dwarf -e syscalls:sys_enter_getpriority -o signal.data -- ./locals x
grep -a '^{' "$work/out" >printed
"$pantrace" report --json --locals signal.data >reported
is "$(python3 same.py printed reported 4 2>&1)" "" "below a signal's handler"

# What the caller passed, by its description of the call: not where others in between have jumped, with other values.
cat >jumps.c <<'C'
#include <sys/resource.h>
#define APART __attribute__((noinline, noipa))
volatile int sink;
APART void stop(void) { sink += getpriority(PRIO_PROCESS, 0); }
int there(int x, int n);
APART int back(int x, int n) { sink = x; if (n) return there(x + 1, n - 1); stop(); return sink + 1; }
APART int there(int x, int n) { return back(x + 1, n); }
APART int target(int x) { sink = x; stop(); return sink + 1; }
APART int jumps(int x) { return target(x + 1); }
APART int plain(int x) { sink = x; stop(); return sink + 1; }
int main(int argc, char **argv) { sink = plain(41); sink += jumps(7); sink += back(1, 1); return sink == 0; }
C
gcc -O2 -g -o jumps jumps.c
run record --call-graph dwarf -e syscalls:sys_enter_getpriority -o jumps.data -- ./jumps
"$pantrace" report --locals jumps.data >text
is "$(in_text text plain)" " x = 41;" "what a call passes, where nothing has it any more"
is "$(in_text text target)$(in_text text back)" " x = <it is what the caller passed>; x = <it is what the caller passed>; n = <it is what the caller passed>;" "not of a call that ended in a jump elsewhere"

# What it passed from memory: that may have changed since. gcc's description, 300, is made *(long *)rsp.
cat >memory.c <<'C'
#include <sys/resource.h>
#define APART __attribute__((noinline, noipa))
volatile int sink;
APART void stop(void) { sink += getpriority(PRIO_PROCESS, 0); }
APART long taken(long x) { sink = (int)x; stop(); return sink + 1; }
APART void fill(long *p) { p[0] = (long)(p + 1); p[1] = 1234; }
APART long outer(void) { long values[2]; fill(values); return taken(300) + values[0]; }
int main(int argc, char **argv) { return outer() == 0; }
C
gcc -O2 -g -S -o memory.s memory.c
sed '/^\t\.byte\t0xa$/{N;s/.*\n\t\.value\t0x12c/\t.byte\t0x77,0,6/}' memory.s >changed.s
gcc -o memory changed.s
run record --call-graph dwarf -e syscalls:sys_enter_getpriority -o memory.data -- ./memory
"$pantrace" report --locals memory.data >text
cmp -s memory.s changed.s
is "$?$(in_text text taken)" "1 x = <it is what the caller passed>;" "what a call passes from memory is not known any more"

# perf's own recordings, and where a function begins
if command -v perf >/dev/null; then
	perf record -q -k mono -e syscalls:sys_enter_getpriority --call-graph dwarf -o perf.data ./locals >printed 2>/dev/null
	"$pantrace" report --json --locals perf.data >reported
	is "$(grep -a '^{' printed >p; python3 same.py p reported 12 2>&1)" "" "perf record --call-graph dwarf"
else
	skip "perf record --call-graph dwarf" "no perf"
fi
run record --call-graph dwarf -e "uprobe:./locals:middle" -o entry.data -- ./locals
"$pantrace" report --locals entry.data >text
like "$(in_text text middle)" '^ n = 8; c = GREEN; weight = <[a-z].*>; small = 200; here = <' "where a function begins: what it is passed, and no more"

# what cannot be
run record -g -e syscalls:sys_enter_getpriority -o chains.data -- ./locals
run report --locals chains.data
is "$rc/$err" "1/ERROR: --locals: no sample has the registers and the stack of its program
HINT: \`pantrace record --call-graph dwarf\` records them" "a recording without stacks"
run report --locals --top locals.data
is "$rc/$(echo "$err" | head -n 1)" "2/pantrace report: --locals prints events with their stacks: it does not go with a table of events" "a table"
run --dry-run -e 'uprobe:./locals:stop { print(ustack(locals)); }'
like "$rc/$err" '^1/.*Invalid value for stack_mode' "a script's stack has none"
like "$err" '^HINT: .*pantrace report --locals' "and says what has"
done_testing
