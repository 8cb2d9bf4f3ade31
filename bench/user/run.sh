#!/bin/sh
# SPDX-License-Identifier: MIT
# Cost of an event, pantrace and LTTng-UST in one process.   usage: bench/user/run.sh [LIB_DIR]
set -eu
lib=${1:-build}
here=$(dirname "$0")
dir=$(mktemp -d)
session=pantrace-bench-$$
trap 'lttng destroy $session >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
. "$here/lib.sh"
lttng_both bench $session 'bench_lttng:one,bench_lttng:string'
if [ -n "$lttng" ]; then
	lttng enable-event -u -s $session bench_lttng:reject --filter 'i < 0' >/dev/null
	lttng start $session >/dev/null
fi
"$dir/bench"
# the same with a constant in place of the clock: what is left is ours
# shellcheck disable=SC2086
gcc $flags -DPT_NO_CLOCK "$here/bench.c" lib/*.c -o "$dir/counter" -lpthread
"$dir/counter" | sed -n 's/^pantrace, int  /pantrace, int, without a clock  /p'
build_ours "$here/disabled.c" "$dir/disabled"
taskset -c 0 "$dir/disabled"
