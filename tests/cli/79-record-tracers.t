#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -p blk: what dd wrote to a disk is what blk recorded; the lines are the kernel's own; nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_root
tracing=/sys/kernel/tracing
grep -qw blk $tracing/available_tracers || { echo "1..0 # SKIP no tracer blk"; exit 0; }
cd "$work" || exit 1
dd if=/dev/zero of=disk bs=1M count=4 2>/dev/null
loop=$(losetup -f --show disk 2>/dev/null) || { echo "1..0 # SKIP no loop device"; exit 0; }
trap 'losetup -d "$loop"; rm -rf --one-file-system "$work"' EXIT
enable=/sys/block/${loop#/dev/}/trace/enable
device=$(printf '%d,%d' "0x$(stat -c %t "$loop")" "0x$(stat -c %T "$loop")")
state() { cat $tracing/current_tracer $tracing/tracing_on $tracing/trace_clock /sys/block/*/trace/enable; }
write() { dd if=/dev/zero of="$loop" bs=4096 count=64 oflag=direct 2>/dev/null; }
grep -q "\[local\]" $tracing/trace_clock || { echo "1..0 # SKIP somebody else traces"; exit 0; }
before=$(state)

# ---- known numbers
run record -p blk -o blk.dat -- dd if=/dev/zero of="$loop" bs=4096 count=64 oflag=direct
is "$rc" 0 "recorded" || printf '%s\n' "$err" >&2
is "$(state)" "$before" "all is as it was"
is "$("$pantrace" report blk.dat | grep -cE " $device +D +WS [0-9]+ \+ 8 \[dd\]$")" 64 "64 requests of 8 sectors are dispatched"
is "$("$pantrace" report --block --json blk.dat | jq -s -c --arg d "$device" '[.[] | select(.device == $d and (.operation | startswith("W")))] | [(map(.requests) | add), (map(.bytes) | add), (map(.errors) | add), all(.average_ns > 0 and .average_ns <= .max_ns)]')" '[64,262144,0,true]' "report --block: what dd wrote"
is "$("$pantrace" report --json -w 'bytes == 4096 && (action & 0xff) == 7 && comm == "dd"' blk.dat | jq -r '"\(.event) \(.fields.bytes)"' | uniq -c | xargs)" "64 ftrace:blktrace 4096" "fields, in conditions and in JSON"
if command -v trace-cmd >/dev/null; then
	is "$(trace-cmd report -N -i blk.dat 2>/dev/null | grep -c blktrace:)" "$("$pantrace" report -c blk.dat | awk '{ print $1 }')" "trace-cmd opens it"
else
	skip "trace-cmd opens it" "no trace-cmd"
fi

# ---- the kernel's lines (the names of kworkers change)
run start -p blk
write
sync
run stop
"$pantrace" show | grep -v -e '^#' -e kworker | sed 's/ ([ 0-9-]*) / /' >want
run extract -o extracted.dat
run reset
"$pantrace" report extracted.dat | grep -v kworker >got
[ -s want ] && cmp -s want got
ok "the $(wc -l <want) lines that the kernel prints" || diff want got | head -6 | sed 's/^/# /' >&2
is "$(state)" "$before" "start and reset: all is as it was"

# ---- another tracer's disk is left alone; kill -9
echo 1 >"$enable"
start record -p blk -o killed.dat
is "$(cat "$enable")" 1 "a disk that is traced already"
kill -9 $tracer
wait $tracer 2>/dev/null
until_true grep -q '\[local\]' $tracing/trace_clock
is "$(cat "$enable")" 1 "stays so"
echo 0 >"$enable"
is "$(state)" "$before" "kill -9: all is as it was"
done_testing
