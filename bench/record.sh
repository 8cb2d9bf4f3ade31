#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/record.sh BINARY [COUNT]: dd copies COUNT (2000000) bytes one by one, four events each, while nobody, pantrace, trace-cmd and perf record
# them, in turns. What counts is dd's own time (on a busy machine its CPU time); beside it the recorder's CPU time until its end, what was kept, and what
# was lost.
set -eu
binary=$(realpath "$1")
count=${2:-2000000}
here=$(realpath "$(dirname "$0")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# recorded NAME RECORDER...: "SECONDS" of dd; the recorder's own CPU time is what is not dd's
recorded()
{
	name=$1
	shift
	/usr/bin/time -f '%e %U %S' -o "$name.time" "$@" /usr/bin/time -f '%U %S' -o "$name.dd" \
		dd if=/dev/zero of=/dev/null bs=1 "count=$count" >"$name.out" 2>"$name.err" || [ $? -eq 3 ]
	awk '/copied/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^s,?$/) print $i }' "$name.err" >>"$name.seconds"
	awk '{ print $1 + $2 }' "$name.dd" >>"$name.own"
	cat "$name.time" "$name.dd" | awk 'NR == 1 { all = $2 + $3 } NR == 2 { print all - $1 - $2 }' >>"$name.cpu"
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
line() # NAME KEPT LOST
{
	awk -v name="$1" -v own="$(median "$1.own")" -v base_own="$(median base.own)" -v base="$(median base.seconds)" -v s="$(median "$1.seconds")" -v cpu="$(median "$1.cpu")" -v kept="$2" -v lost="$3" \
		'BEGIN { printf "%-10s dd %6.2f s = %5.1fx, CPU %5.2f s = %5.1fx   recorder %5.2f s of CPU   %9s kept %8s lost\n",
			name, s, s / base, own, own / base_own, cpu, kept, lost }'
}

for _ in ${RUNS:-1 2 3}; do
	recorded base env
	recorded pantrace "$binary" record -v -e raw_syscalls -o ours.dat --
	! command -v trace-cmd >/dev/null || recorded trace-cmd sh "$here/trace-cmd.sh" record -F -c -e raw_syscalls -o theirs.dat
done
printf 'base       dd %6.2f s         CPU %5.2f s\n' "$(median base.seconds)" "$(median base.own)"
line pantrace "$(sed -n 's/^\([0-9]*\) events of the kernel.*/\1/p' pantrace.err)" "$(sed -n 's/.*; \([0-9]*\) lost$/\1/p' pantrace.err)"
[ ! -s trace-cmd.seconds ] || line trace-cmd "$(trace-cmd report -i theirs.dat 2>/dev/null | grep -c 'sys_')" -
