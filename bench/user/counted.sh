#!/bin/sh
# SPDX-License-Identifier: MIT
# An event that a script counts: in the program, through a uprobe; LTTng's recorded event beside.   usage: bench/user/counted.sh [LIB_DIR]
set -eu
lib=${1:-build}
pantrace=${PANTRACE:-$lib/pantrace}
here=$(dirname "$0")
dir=$(mktemp -d)
session=pantrace-bench-$$
app=
trap 'exit 1' INT TERM PIPE
trap '[ -z "$app" ] || kill $app 2>/dev/null; lttng destroy $session >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
export PANTRACE_RUNTIME="$dir/runtime"
. "$here/lib.sh"
lttng_both counted $session 'bench_lttng:string'
[ -z "$lttng" ] || lttng start $session >/dev/null
"$dir/counted" >"$dir/said" &
app=$!
sleep 0.5
lines=0
# script NAME PROGRAM
script()
{
	"$pantrace" -q -e "$2" >/dev/null 2>"$dir/err" &
	tracer=$!
	for _ in $(seq 300); do
		[ "$(grep -c '^[0-9]' "$dir/said")" -gt "$lines" ] && break
		sleep 0.1
	done
	lines=$((lines + 1))
	kill -INT $tracer
	rc=0
	wait $tracer || rc=$?
	ended $rc "$dir/err"
	# shellcheck disable=SC2046
	printf '%-52s %8s %8s %8s %8s\n' "$1" $(grep '^[0-9]' "$dir/said" | tail -1)
	for _ in $(seq 100); do
		[ "$(grep -c off "$dir/said")" -ge "$lines" ] && break
		sleep 0.05
	done
}
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
printf '%-52s %8s %8s %8s %8s\n' "ns an event (median and least of 201 rounds)" ours least LTTng least
script "@ = count()" 'user:bench:counted { @ = count() }'
script "@ = count(), rejected" 'user:bench:counted /args.status < 0/ { @ = count() }'
script "@ = hist(args.latency)" 'user:bench:counted { @ = hist(args.latency) }'
script "@[args.latency & 255] = sum(args.status)" 'user:bench:counted { @[args.latency & 255] = sum(args.status) }'
script "@[str(args.url)] = count()" 'user:bench:counted { @[str(args.url)] = count() }'
script "@[str(args.url)] = hist(args.latency)" 'user:bench:counted { @[str(args.url)] = hist(args.latency) }'
script "@ = max(args.latency)" 'user:bench:counted { @ = max(args.latency) }'
script "@[pid, comm] = count()" 'user:bench:counted { @[pid, comm] = count() }'
script "in the kernel: @ = count()" 'user:bench:counted { @ = count(); if (args.status == -7) { print(1) } }'
script "in the kernel: @[str(args.url)] = hist(args.latency)" 'user:bench:counted { @[str(args.url)] = hist(args.latency); if (args.status == -7) { print(1) } }'
script "in the kernel, rejected in the program" 'user:bench:counted /args.status < 0/ { printf("x\n") }'
