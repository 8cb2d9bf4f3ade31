#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/flame.sh BINARY [STACKS]: a flame graph of as many different stacks, by pantrace and, where it is in PATH, by flamegraph.pl;
# user time and peak memory.
set -eu
binary=$(realpath "$1")
stacks=${2:-300000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 - "$stacks" >stacks.folded <<'P'
import random, sys
random.seed(1)
names = [f'function_{i:05d}' for i in range(20000)]
seen = set()
while len(seen) < int(sys.argv[1]):
    common = random.Random(random.randint(0, 3000))
    stack = ';'.join(['app'] + [common.choice(names) for _ in range(random.randint(4, 26))] + [random.choice(names) for _ in range(4)])
    seen.add(stack)
for stack in sorted(seen): # as stackcollapse-perf.pl writes them
    print(stack, random.randint(1, 100))
P
measure() # COMMAND...: "SECONDS s, MEGABYTES MB"
{
	/usr/bin/time -f '%U %M' -o time "$@" >out 2>err || { echo "bench/flame.sh: $1 failed: $(tail -1 err)" >&2; exit 1; }
	awk 'END { printf "%.2f s, %d MB", $1, $2 / 1000 }' time
}
printf '%d stacks to a flame graph:  pantrace %s' "$stacks" "$(measure "$binary" flame -o page.html stacks.folded)"
! command -v flamegraph.pl >/dev/null || printf '   flamegraph.pl %s' "$(measure flamegraph.pl stacks.folded)"
echo
