#!/bin/bash
# SPDX-License-Identifier: MIT
# What further sessions and contexts add to an event of one int; LTTng-UST in the same run, where it is installed. Each
# figure is the median of five measurements, which are medians of 501 rounds; rings of 4 x 512 KiB a CPU, overwritten. What a
# context adds is the median of five differences, each to the event without it right before.
#
#   bench/user/cost.sh [LIB_DIR]
set -eu
lib=${1:-build}
here=$(dirname "$0")
pantrace=$(realpath "$lib/pantrace")
dir=$(mktemp -d /dev/shm/pantrace-bench.XXXXXX)
ours='' theirs=''
trap 'kill $ours $theirs 2>/dev/null || true; for i in 1 2 3; do lttng destroy bench-$i >/dev/null 2>&1 || true; done; rm -rf "$dir"' EXIT
export PANTRACE_RUNTIME="$dir/runtime"
mkdir -m 700 "$dir/runtime"
. "$here/lib.sh"
mkfifo "$dir/in" "$dir/out" "$dir/lin" "$dir/lout"
build_ours "$here/cost.c" "$dir/cost"
"$dir/cost" <"$dir/in" >"$dir/out" &
ours=$!
exec 3>"$dir/in" 4<"$dir/out"
if [ -n "$lttng" ]; then
	build_theirs "$here/cost.c" "$dir/cost-lttng"
	lttng_daemon
	"$dir/cost-lttng" <"$dir/lin" >"$dir/lout" &
	theirs=$!
	exec 5>"$dir/lin" 6<"$dir/lout"
fi
sleep 0.5

# start NUMBER CONTEXTS, separated by commas in our words and in LTTng's
start()
{
	"$pantrace" user start "s$1" -u 'bench:*' --mode overwrite --sub-size 512K --subs 4 ${2:+-c "$2"}
	[ -n "$theirs" ] || return 0
	lttng create "bench-$1" --snapshot >/dev/null
	lttng enable-channel -u -s "bench-$1" --overwrite --subbuf-size 512K --num-subbuf 4 c >/dev/null
	lttng enable-event -u -s "bench-$1" -c c bench_lttng:one >/dev/null
	for context in $(echo "${3:-}" | tr , ' '); do
		lttng add-context -u -s "bench-$1" -c c -t "$context" >/dev/null
	done
	lttng start "bench-$1" >/dev/null
}
stop()
{
	for i in "$@"; do
		"$pantrace" user destroy "s$i"
		[ -z "$theirs" ] || lttng destroy "bench-$i" >/dev/null
	done
	sleep 0.2
}
# measure NAME: appends what an event costs now to $dir/NAME.ours and .theirs
measure()
{
	sleep 0.2
	echo >&3
	read -r -u 4 median least
	echo "$median $least" >>"$dir/$1.ours"
	[ -n "$theirs" ] || return 0
	echo >&5
	read -r -u 6 median least
	echo "$median $least" >>"$dir/$1.theirs"
}
middle()
{
	sort -n "$@" 2>/dev/null | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : 0 }'
}
# added NAME BASE: the median of the differences
added()
{
	[ ! -e "$dir/$1" ] || paste "$dir/$1" "$dir/$2" | awk '{ print $1 - $3 }' | middle
}
contexts="vpid:vpid vtid:vtid procname:procname cpu_id: ip:ip context_switches: page_faults: user_stack: vpid,vtid,procname,ip:vpid,vtid,procname,ip vpid,vtid,procname,cpu_id,ip,context_switches:"
for _ in 1 2 3 4 5; do
	start 1
	measure one
	start 2
	measure two
	start 3
	measure three
	stop 3 2 1
	for c in $contexts; do
		start 1
		measure "without ${c%%:*}"
		stop 1
		start 1 "${c%%:*}" "${c##*:}"
		measure "${c%%:*}"
		stop 1
	done
	start 1 vtid vtid
	start 2 vtid vtid
	measure both
	stop 2 1
done
exec 3>&-
[ -z "$theirs" ] || exec 5>&-
row()
{
	awk -v name="$1" -v a="$(middle "$dir/$2.ours")" -v more="$(added "$2.ours" "$3.ours")" \
		-v b="$(middle "$dir/$2.theirs")" -v lmore="$(added "$2.theirs" "$3.theirs")" -v have="$4" '
		BEGIN { printf "%-46s %8.2f %+8.2f", name, a, more; if (have) printf " %10.2f %+8.2f", b, lmore; print "" }'
}
printf '%-46s %8s %8s %10s %8s\n' "ns an event of one int" pantrace added lttng-ust added
row "one session" one one "$theirs"
row "a second session" two one "$theirs"
row "a third" three two "$theirs"
for c in $contexts; do
	row "with ${c%%:*}" "${c%%:*}" "without ${c%%:*}" "${c##*:}"
done
row "a second session, vtid in both" both vtid "$theirs"
