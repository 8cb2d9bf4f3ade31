#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# view: the picture that suits what is in a recording.
# parallel: records its own child
. "$(dirname "$0")/lib.sh"
need_root
command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1

perf record -q -e sched:sched_switch -g -o both.data sleep 0.1 >/dev/null 2>&1
perf record -q -F 997 -e cpu-clock -g -o stacks.data sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done' >/dev/null 2>&1
perf record -q -e kmem:kmalloc -o plain.data ls / >/dev/null 2>&1
run view -o sched.html both.data
is "$rc $(grep -c '<title>Time line: both.data' sched.html)" "0 1" "switches: a time line"
like "$(head -2 <<<"$err" | tr '\n' ' ')" 'drawn by `pantrace timeline`.*it also has stacks: `pantrace flame`' "what draws, then what else there is"
run view stacks.data
is "$rc $(ls flame.html)" "0 flame.html" "stacks: a flame graph, by that command's name"
run view -o plain.svg plain.data
is "$rc $(grep -c 'When in its second: plain.data' plain.svg)" "0 1" "neither: a heat map; .svg is SVG"
like "$err" 'drawn by `pantrace heatmap`' "the command is said"
run view --text -n 1 both.data
is "$rc $(grep -c '^CPU ' <<<"$out")" "0 1" "options are handed on"
: >empty
run view empty
is "$rc" 1 "an empty file"
run view -e 'nothing:*' plain.data
is "$rc" 1 "no event of that name: code"
like "$err" 'no event was recorded' "no event of that name: why"
run view --svg --text plain.data
is "$rc" 2 "two forms at once"
is "$(ls ./*.html ./*.svg | tr '\n' ' ')" "./flame.html ./plain.svg ./sched.html " "nothing else is written"
done_testing
