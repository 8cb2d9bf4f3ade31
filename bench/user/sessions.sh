#!/bin/sh
# SPDX-License-Identifier: MIT
# What sessions cost: start, stop, destroy with ten idle programs, the start of an instrumented program that nobody
# traces, and a consumer that writes to tmpfs while two threads emit in a tight loop (beside the floor for it). LTTng in the same run, where it
# is installed. Times are of whole commands; `version` is what a command costs that does nothing.
#
#   bench/user/sessions.sh [LIB_DIR] [SECONDS]
set -eu
lib=${1:-build} seconds=${2:-30}
here=$(dirname "$0")
pantrace=$(realpath "$lib/pantrace")
dir=$(mktemp -d /dev/shm/pantrace-bench.XXXXXX)
children=
trap 'kill $children 2>/dev/null || true; lttng destroy bench >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
export PANTRACE_RUNTIME="$dir/runtime"
mkdir -m 700 "$dir/runtime"
. "$here/lib.sh"

cat >"$dir/idle.c" <<'EOF'
#if defined(LTTNG)
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
#elif !defined(PLAIN)
#include <pantrace/pantrace.h>
#endif
#include <unistd.h>
int main(int argc, char **argv)
{
	do {
#if defined(LTTNG)
		lttng_ust_tracepoint(bench_lttng, one, argc);
#elif !defined(PLAIN)
		PANTRACE(bench, one, argc);
#endif
		if (argc > 1)
			pause();
	} while (argc > 1);
	return argv == NULL;
}
EOF
cat >"$dir/loop.c" <<'EOF'
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile int stop;
static void *emit(void *arg)
{
	unsigned long n = 0;
	(void)arg;
	for (; !stop; n++)
		PANTRACE(bench, loop, n);
	return (void *)n;
}
int main(int argc, char **argv)
{
	const struct timespec t = { atoi(argv[argc - 1]), 0 };
	pthread_t threads[2];
	unsigned long total = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, emit, NULL);
	nanosleep(&t, NULL);
	stop = 1;
	for (int i = 0; i < 2; i++) {
		void *n;
		pthread_join(threads[i], &n);
		total += (unsigned long)n;
	}
	printf("%lu\n", total);
	return 0;
}
EOF
# shellcheck disable=SC2086
gcc $flags -DPLAIN "$dir/idle.c" -o "$dir/plain"
build_ours "$dir/idle.c" "$dir/idle"
build_ours "$dir/loop.c" "$dir/loop"
# shellcheck disable=SC2086
gcc $flags "$here/exec.c" -o "$dir/exec"
[ -z "$lttng" ] || build_theirs "$dir/idle.c" "$dir/idle-lttng"

# ---- start of a program
set -- "plain=$dir/plain" "instrumented=$dir/idle" "without control=PANTRACE_CONTROL=0:$dir/idle"
[ -z "$lttng" ] || set -- "$@" "lttng-ust, no daemon=$dir/idle-lttng"
"$dir/exec" 500 "$@"

# ---- commands: time NAME COMMAND..., in us, appended to $dir/NAME.us
time_it()
{
	name=$1
	shift
	from=$(date +%s%N)
	"$@" >"$dir/said" 2>&1 || ended $? "$dir/said"
	echo "$((($(date +%s%N) - from) / 1000))" >>"$dir/$name.us"
}
row()
{
	sort -n "$dir/$1.us" | awk -v name="$2" '{ v[NR] = $1 / 1000 } END { printf "%-38s %8.2f %8.2f %8.2f\n", name, v[int((NR + 1) / 2)], v[1], v[NR] }'
}
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$dir/idle" wait &
	children="$children $!"
	[ -z "$lttng" ] || { "$dir/idle-lttng" wait & children="$children $!"; }
done
[ -z "$lttng" ] || lttng_daemon
sleep 1
for _ in $(seq 15); do
	time_it version "$pantrace" version
	time_it start "$pantrace" user start s -u 'bench:*'
	sleep 0.2
	time_it stop "$pantrace" user stop s
	time_it destroy "$pantrace" user destroy s
	sleep 0.2
done
printf '\n%-38s %8s %8s %8s\n' "ms a command, ten programs" median least most
row version "pantrace version"
row start "pantrace user start"
row stop "pantrace user stop"
row destroy "pantrace user destroy"
if [ -n "$lttng" ]; then
	for _ in $(seq 7); do
		lttng create bench --output="$dir/lttng" >/dev/null
		lttng enable-event -u 'bench_lttng:*' >/dev/null
		time_it lstart lttng start
		time_it lstop lttng stop
		time_it ldestroy lttng destroy
		rm -rf "$dir/lttng"
	done
	row lstart "lttng start"
	row lstop "lttng stop"
	row ldestroy "lttng destroy"
fi
kill $children 2>/dev/null || true
children=

# ---- the floor of a consumer: what writing the memory of a ring to tmpfs costs
# shellcheck disable=SC2086
gcc $flags "$here/copy.c" -o "$dir/copy"
printf '\n'
"$dir/copy" "$dir/copied"

# ---- a consumer beside two threads that emit as fast as they can; 16 MiB a CPU
# 1 GiB a chunk, four of them kept: 30 s of it would not fit into memory
printf '\n%s s, two threads in a tight loop, 16 MiB a CPU, to tmpfs; five times\n' "$seconds"
for _ in 1 2 3 4 5; do
	rc=0
	"$pantrace" record -u 'bench:*' --sub-size 2M --subs 8 --rotate-size 1G --keep 4 -o "$dir/trace" -- "$dir/loop" "$seconds" >"$dir/total" 2>"$dir/said" || rc=$?
	ended $rc "$dir/said"
	awk -v total="$(cat "$dir/total")" -v s="$seconds" '/ events of / { read = $1; lost = $(NF - 1)
		printf "produced %d (%.0f M/s), read %d, lost %d (%.2f %%), sum %s\n", total, total / s / 1e6, read, lost, 100 * lost / total, read + lost == total ? "exact" : "WRONG"; said++ }
		END { exit !said }' "$dir/said" || { echo "bench/user: the recorder told no sum:" >&2; cat "$dir/said" >&2; exit 1; }
	rm -rf "$dir/trace"
done
