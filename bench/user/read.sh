#!/bin/sh
# SPDX-License-Identifier: MIT
# Reading 3 million events as text, ours and babeltrace2.   usage: bench/user/read.sh [BUILD_DIR]
set -eu
build=${1:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gcc -O2 -std=gnu17 -D_GNU_SOURCE -Iinclude bench/user/read.c -o "$dir/read" "$build/libpantrace.a" -lpthread
"$dir/read" "$dir/trace" 1500000
# median of five: name, command
one()
{
	name=$1
	shift
	for _ in 1 2 3 4 5; do
		/usr/bin/env bash -c 'TIMEFORMAT=%R; time "$@" >/dev/null' - "$@" 2>&1
	done | sort -n | awk -v name="$name" '{ t[NR] = $1 } END { printf "%-44s %6.2f s %6.1f M events/s\n", name, t[3], 3 / t[3] }'
}
one "pantrace report" "$build/pantrace" report "$dir/trace"
one "pantrace report --format babeltrace" "$build/pantrace" report --format babeltrace "$dir/trace"
one "pantrace report --json" "$build/pantrace" report --json "$dir/trace"
one "pantrace report -w i=1499999" "$build/pantrace" report -w i=1499999 "$dir/trace"
if command -v babeltrace2 >/dev/null; then
	one "babeltrace2" babeltrace2 "$dir/trace"
	one "babeltrace2 -o dummy (no text)" babeltrace2 -o dummy "$dir/trace"
fi
