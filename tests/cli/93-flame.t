#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# flame: stacks of recordings as SVG and text. What perf script says is the truth; the page is 93-flame-page.t's.
# parallel: it traces its own children only
. "$(dirname "$0")/lib.sh"
command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1
cat >w.c <<'C'
volatile unsigned long s;
void burn(int n) { for (int i = 0; i < n; i++) s += i * n; }
void big(void) { burn(300000); }
void small(void) { burn(100000); }
int main(int argc, char **argv) { for (int i = 0; i < 200; i++) { big(); if (argc > 1) big(); small(); } }
C
gcc -g w.c -o w
for recording in a 'b more'; do
	set -- $recording
	perf record -q -F 2000 -e cpu-clock:u -g -o "$1.data" -- ./w $2 >/dev/null 2>&1
done
# The samples in which FUNCTION stands: FILE FUNCTION
samples()
{
	perf script -i "$1" -F ip,sym 2>/dev/null | awk -v f="$2" 'NF < 2 { n += has; has = 0 } $2 == f { has = 1 } END { print n + has }'
}
all=$(perf script -i a.data -F event 2>/dev/null | grep -c .)

run flame a.data
is "$rc $out$err" "0 " "a page"
like "$(head -1 flame.html)" "^<!DOCTYPE html>" "in flame.html"
run flame --text --count a.data
like "$out" "100.00% +$all +all" "text: all samples, $all"
for f in big small main; do
	like "$out" " $(samples a.data $f) +$f( |$)" "$f: $(samples a.data $f)"
done
run flame --count -o a.svg a.data
python3 - "$all" "$(samples a.data big)" <<'P'
import re, sys, xml.dom.minidom
xml.dom.minidom.parse('a.svg')
all, big = map(int, sys.argv[1:])
found = re.search(r'<title>big \(([\d,]+) samples.*?width="([\d.]+)"', open('a.svg').read())
assert int(found[1].replace(',', '')) == big and abs(float(found[2]) - 1180 * big / all) <= 0.1, found
P
ok "SVG: well-formed, a frame is as wide as its part"
run flame --icicle -o icicle.svg a.data
python3 - <<'P'
import re
y = {n: [float(m[1]) for m in re.finditer(r'<title>main \(.*?y="([\d.]+)"', open(n).read())][0] for n in ('a.svg', 'icicle.svg')}
t = {n: [float(m[1]) for m in re.finditer(r'<title>burn \(.*?y="([\d.]+)"', open(n).read())][0] for n in y}
assert y['a.svg'] > t['a.svg'] and y['icicle.svg'] < t['icicle.svg'], (y, t)
P
ok "--icicle: callers on top"
run flame --count --compare a.data b.data --text
like "$out" "$(samples b.data big) +big" "--compare: counts are the new one's"
run flame --count --compare a.data b.data -o c.svg
python3 - "$(samples b.data big)" "$(perf script -i b.data -F event 2>/dev/null | grep -c .)" "$(samples a.data big)" "$all" <<'P'
import re, sys
big, all, old, before = map(int, sys.argv[1:])
found = re.search(r'<title>big \(.*?; ([-+][\d.]+)%\).*?fill="#(..)(..)(..)"', open('c.svg').read())
assert abs(float(found[1]) - (100 * big / all - 100 * old / before)) < 0.006 and int(found[2], 16) > int(found[4], 16), found
P
ok "the difference of the shares, red where it is more"
run flame --by pid --text a.data
like "$out" "w [0-9]+$" "--by pid"
run flame --by none --text a.data
unlike "$out" "^ *[0-9.]+% +[0-9]+ +w$" "--by none"
period=$(perf script -i a.data -F period 2>/dev/null | awk '{ n += $1 } END { printf "%.0f", n }')
run flame --text a.data
like "$(echo $out)" "SHARE ns FRAME 100.00% $period all" "samples count as much as their periods say"
run flame --weight period --text a.data
like "$(echo $out)" "SHARE period FRAME 100.00% $period all" "--weight: the sum of a field"
run flame --weight nothing --text a.data
like "$rc $err" "^1 .*no event" "a field that no event has"

# ---- folded stacks: places and widths are what flamegraph.pl (2023) draws of these lines ----

printf '%s\n' 'app;main;read 5' 'app;main;read;vfs_read_[k] 2' 'app;main;read_all 1' 'app;main;write 3' 'idle 4' >x.folded
run flame -o x.svg x.folded
python3 - >places <<'P'
import re
for m in re.finditer(r'<title>(.*?) \((.*?), .*?<rect x="(.*?)" y=".*?" width="(.*?)"', open('x.svg').read()):
    print(*m.groups())
P
is "$(cat places)" "all 15 samples 10.0 1180.0
app 11 samples 10.0 865.3
main 11 samples 10.0 865.3
read 7 samples 10.0 550.7
vfs_read 2 samples 403.3 157.4
read_all 1 samples 560.7 78.6
write 3 samples 639.3 236.0
idle 4 samples 875.3 314.7" "folded stacks"
# a line's frames are taken from the line before as far as both begin alike
python3 - >expected <<'P'
import collections, itertools, random
random.seed(7)
stacks = [';'.join(('t',) + s) for n in (1, 2, 3) for s in itertools.product(('a', 'ab', 'b c', ''), repeat=n) if s[-1]]
weights = {s: random.randint(1, 50) for s in stacks}
nodes = collections.Counter()
for stack, weight in weights.items():
    frames = stack.split(';')
    for i in range(1, len(frames) + 1):
        nodes[tuple(frames[:i])] += weight
for name, order in ('sorted', sorted(stacks)), ('shuffled', random.sample(stacks, len(stacks))):
    with open(name + '.folded', 'w') as f:
        f.writelines(f'{s} {weights[s]}\n' for s in order)
print('\n'.join(sorted(f'{path[-1]} {weight}' for path, weight in nodes.items())))
P
for order in sorted shuffled; do
	run flame --title x -o $order.svg $order.folded
	sed -n 's/.*<title>\(.*\) (\([0-9,]*\) samples.*/\1 \2/p' $order.svg | tr -d , | grep -v '^all ' | LC_ALL=C sort >$order.nodes
	is "$(cat $order.nodes)" "$(cat expected)" "lines that are $order: each frame has the sum of its stacks"
done
cmp sorted.svg shuffled.svg
ok "and the same bytes"
perf script -i a.data >a.txt 2>/dev/null
run flame -o from-text.svg --title x a.txt
run flame -o from-data.svg --title x a.data
# perf's text does not name what was inlined into the loader's and libc's functions
own() { grep -oE '<title>(all|w|_start|main|big|small|burn) [^<]*' $1 | sort; }
is "$(own from-text.svg)" "$(own from-data.svg)" "the text of perf script: the frames of its recording"
printf 'w 1 [000] 1.%d00000: 1 cycles:u: \n\t401000 main (/bin/w)\n\t%16s [unknown] ([unknown])\n\n' 1 8 2 c483487175000000 >garbage.txt
run flame --text --count garbage.txt
like "$(printf '%s' "$out" | tr -s ' \n' ' ')" " 2 \[unknown\] 100.00% 2 main$" "words of the stack that were taken for addresses are not the kernel's, whatever their bits"
printf 'a;b 9007199254740993\nc 18437736874454810622\n' >large.folded
run flame --text large.folded
like "$(echo $out)" " 18446744073709551615 all .* 9007199254740993 in 2 frames" "counts beyond 2^53"
printf 'a;b 9007199254740993\nc 18437736874454810623\n' >large.folded
run flame --text large.folded
like "$rc $err" "^1 .*too large for 64 bits" "and no further than 64 bits"
python3 -c 'print("a;" + ";".join(f"f{i}" for i in range(4000)), 9007199254740993)' >deep.folded
run flame --text deep.folded
like "$rc $(echo $out)" "^0 .* 9007199254740993 f3999" "a stack of 4,000 frames, whose line is longer than what files are recognised by"
run flame -b 1 -E 2 a.data
is "$rc $err" "1 pantrace flame: no event was recorded" "a range without events"
mkdir several
cp a.data several
run flame --text --count several
like "$out" "100.00% +$all +all" "a directory with a recording"
: >empty
run flame empty
like "$rc $err" "^1 ERROR: 'empty' is not a recording" "a file of 0 bytes"

# ---- recorded and drawn in one go ----

cat >nap.c <<'C'
#include <stdlib.h>
#include <unistd.h>
volatile unsigned long s;
void burn(int n) { for (int i = 0; i < n; i++) s += i * n; }
void nap(void) { usleep(5000); }
int main(int argc, char **argv) { for (int i = 0; i < 100; i++) { burn(300000); nap(); } return argc > 1 ? atoi(argv[1]) : 0; }
C
gcc -g -fno-omit-frame-pointer nap.c -o nap
mkdir own
export TMPDIR=$work/own
run flame --text -- ./nap 7
like "$rc $(echo $out)" "^7 Flame graph of ./nap 7.* ns FRAME.* nap.* main.* burn" "a command: recorded, drawn, and its exit code"
run flame --text --offcpu -- ./nap
away=$(printf '%s\n' "$out" | awk '$3 == "all" { print $2 }')
[ "$rc" = 0 ] && [ "${away:-0}" -ge 500000000 ]
ok "--offcpu: a hundred naps of 5 ms are 500 ms at least ($away)"
perf record -q -a -m 8M -e sched:sched_switch -g -o switch.data -- ./nap >/dev/null 2>&1
run flame --text --offcpu -w 'comm == "nap"' switch.data
like "$rc $(echo $out)" "^0 Off-CPU time of switch.data.* ns FRAME.* main" "--offcpu of a recording of perf"
ours=$(printf '%s\n' "$out" | awk '$3 == "all" { print $2 }')
theirs=$(perf script -i switch.data -F comm,tid,time,event,trace --ns 2>/dev/null | awk '
	/sched_switch:/ {
		match($0, /[0-9]+\.[0-9]+:/); t = substr($0, RSTART, RLENGTH - 1); split(t, p, "."); now = p[1] * 1000000000 + p[2]
		match($0, /prev_pid=[0-9]+/); prev = substr($0, RSTART + 9, RLENGTH - 9)
		match($0, /next_pid=[0-9]+/); next_ = substr($0, RSTART + 9, RLENGTH - 9)
		if (next_ in left) { sum += now - left[next_]; delete left[next_] }
		if ($1 == "nap") left[prev] = now
	}
	END { printf "%.0f", sum }')
is "$ours" "$theirs" "the sum is what perf script's lines make: $ours ns"
run flame --text -e page-faults -- ./nap
like "$rc $(echo $out)" "^0 .* events FRAME 100.00%.* nap" "-e: any event"
./nap & pid=$!
run flame --text -p $pid -d 0.5
like "$rc $(echo $out)" "^0 Flame graph of process $pid.* burn" "-p and -d"
kill $pid 2>/dev/null; wait $pid 2>/dev/null
run flame -d 0.2 --text
like "$rc $out" "^[03] .*Flame graph of this machine" "the whole machine"
unlike "$out" " swapper$" "without idle tasks"
is "$(ls own)" "" "nothing is left of the recordings"
run flame a.data -- ./nap
like "$rc $err" "^2 .*choose one" "a recording and a command"
run flame -e nothing:here -- ./nap
like "$rc $err" "^1 .*nothing:here" "an event that is not there"
run flame -- ./not-there
like "$rc $err" "^1 .*not-there" "a command that is not there"

# ---- what is not there ----

run flame
like "$rc $err" "^1 .*perf.data" "no recording"
run flame -e nothing:here a.data
like "$rc $err" "^1 .*no event" "no such event"
run flame --by cpu a.data
like "$rc $err" "^2 .*--by cpu: it is comm, pid, tid or none" "--by of a wrong word"
run flame --unit '<b>' a.data
like "$rc $err" "^2 .*--unit" "--unit of HTML"
run flame --svg --text a.data
like "$rc $err" "^2 .*choose one" "two pictures"
head -c 3000 a.data >cut.data
run flame -o cut.html cut.data
is "$rc" 1 "a damaged recording"
echo keep >other
ln -s other link.svg
run flame -o link.svg a.data
is "$rc $(cat other)" "0 keep" "a link is replaced, not followed"
run flame -o /nowhere/x.svg a.data
like "$rc $err" "^1 .*/nowhere/x.svg: No such file or directory" "a directory that is not there"
run flame --title '<script>"x"' -o t.html a.data
unlike "$(cat t.html)" '<title><script>' "a title is text"
if [ -e /dev/full ]; then
	"$pantrace" flame --text a.data >/dev/full 2>err
	like "$? $(cat err)" "^1 .*No space left" "a full disk"
fi
"$pantrace" flame --text a.data | true
ok "a reader that leaves"
printf 'a;b 18446744073709551615\na;c 1\n' >large.folded
run flame --text large.folded
like "$rc $err" "the sum of all samples is too large for 64 bits" "a sum that is too large is told"
cp a.data "$(printf 'a\033[2J.data')"
run flame --text "$(printf 'a\033[2J.data')"
is "$(printf '%s' "$out" | head -1)" 'Flame graph of a\x1b[2J.data' "a file's name controls no terminal"
# a chain deeper than any stack, of functions that differ: nothing takes the square of its length
{ echo 'x 1/1 [000] 1.000000: 1 cycles:u: '; seq 60000 | sed 's/.*/\t & f&+0x1 (\/bin\/x)/'; echo; } >deep.txt
for form in html svg txt; do
	timeout 60 "$pantrace" flame -o deep.$form deep.txt 2>err
	is "$?" 0 "60,000 frames: $form"
done
like "$(grep -c '<tr data-name' deep.html)" '^500$' "  with their table"
printf 'x\342\200\256y\302\233z;b 1\n' >turned.folded
for form in svg html; do
	run flame -o turned.$form turned.folded
	is "$rc $(LC_ALL=C grep -c "$(printf '\342\200\256\|\302\233')" turned.$form)" "0 0" "$form: nothing turns the direction of text"
done
done_testing
