#!/bin/sh
# SPDX-License-Identifier: MIT
# Cost of an event, pantrace and LTTng-UST in one process.   usage: bench/user/run.sh [LIB_DIR]
set -eu
lib=${1:-build}
here=$(dirname "$0")
dir=$(mktemp -d)
session=pantrace-bench-$$
trap 'lttng destroy $session >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
flags="-O2 -std=gnu17 -D_GNU_SOURCE -Iinclude -I$here"
if command -v lttng >/dev/null && [ -n "$(find /usr/include -path "*lttng/tracepoint.h" -print -quit)" ]; then
	printf '#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#include "lttng_provider.h"\n' >"$dir/probes.c"
	# shellcheck disable=SC2086
	gcc $flags -DLTTNG "$here/bench.c" "$dir/probes.c" -o "$dir/bench" "$lib/libpantrace.a" -llttng-ust -ldl -lpthread
	lttng-sessiond --daemonize --no-kernel >/dev/null 2>&1 || true
	lttng create $session --snapshot >/dev/null
	lttng enable-event -u -s $session 'bench_lttng:one,bench_lttng:string' >/dev/null
	lttng enable-event -u -s $session bench_lttng:reject --filter 'i < 0' >/dev/null
	lttng start $session >/dev/null
else
	echo "bench/user: lttng-tools and liblttng-ust-dev are not installed: without LTTng" >&2
	# shellcheck disable=SC2086
	gcc $flags "$here/bench.c" -o "$dir/bench" "$lib/libpantrace.a" -lpthread
fi
"$dir/bench"
# the same with a constant in place of the clock: what is left is ours
# shellcheck disable=SC2086
gcc $flags -DPT_NO_CLOCK "$here/bench.c" lib/*.c -o "$dir/counter" -lpthread
"$dir/counter" | sed -n 's/^pantrace, int  /pantrace, int, without a clock  /p'
# shellcheck disable=SC2086
gcc $flags "$here/disabled.c" -o "$dir/disabled" "$lib/libpantrace.a" -lpthread
taskset -c 0 "$dir/disabled"
