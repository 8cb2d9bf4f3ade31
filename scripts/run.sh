#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The main job on real input: traces this machine for a few seconds while a C program is compiled, with the product's
# own tools.   scripts/run.sh BINARY [COMMAND ARGS...]   (with a COMMAND: runs just that)
set -eu
binary=$(realpath "$1")
shift
if [ $# -gt 0 ]; then exec "$binary" "$@"; fi

work=$(mktemp -d)
trap 'kill $workload 2>/dev/null; rm -rf "$work"' EXIT
cat >"$work/hello.c" <<'C'
#include <math.h>
#include <stdio.h>
int main(void)
{
	double x = 0;
	for (int i = 0; i < 20000000; i++)
		x += sin(i);
	printf("hello %f\n", x);
	return 0;
}
C
(while :; do gcc -O2 -o "$work/hello" "$work/hello.c" -lm && "$work/hello" >/dev/null; done) 2>/dev/null & # its last compilation loses its folder
workload=$!

title() { printf '\n\033[1m=== %s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || title() { printf '\n=== %s\n' "$*"; }
# head that lets the tool finish
first() { awk -v n="$1" 'NR <= n { print } END { if (NR > n) printf "... and %d more lines\n", NR - n }'; }

title 'pantrace execsnoop -d 2          processes started, with their arguments'
"$binary" execsnoop -d 2 | cut -c1-160 | first 12

title 'pantrace opensnoop -d 2          files opened'
"$binary" opensnoop -d 2 | first 12

title 'pantrace syscount -d 2 -t 8      system calls by process'
"$binary" syscount -d 2 -t 8

title 'sizes of reads, by process       a histogram, aggregated in the kernel'
"$binary" -q -e '
tracepoint:syscalls:sys_exit_read /args.ret > 0 && pid != tracer_pid/ { @bytes[comm] = hist(args.ret); }
interval:s:2 { print(@bytes, 2); clear(@bytes); exit(); }'

title 'latency of openat, nanoseconds   time between two events'
"$binary" -q -e '
tracepoint:syscalls:sys_enter_openat { @start[tid] = nsecs; }
tracepoint:syscalls:sys_exit_openat /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start, tid); }
interval:s:2 { clear(@start); exit(); }'

title 'where CPU time went              stacks sampled 99 times a second'
"$binary" -q -e '
profile:hz:99 /pid != 0 && pid != tracer_pid/ { @samples[comm] = count(); @stacks[comm, ustack(6), kstack(3)] = count(); }
interval:s:2 { print(@samples, 6); print(@stacks, 3); clear(@stacks); clear(@samples); exit(); }'
