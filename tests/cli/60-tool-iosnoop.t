#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The block tools see exactly what dd was told to do to a loop device, and what /proc/diskstats counted.
. "$(dirname "$0")/lib.sh"
need_root

dd if=/dev/urandom of="$work/image" bs=1M count=64 2>/dev/null
loop=$(losetup -f --show "$work/image" 2>/dev/null) || { echo "1..0 # SKIP no loop device"; exit 0; }
trap 'losetup -d "$loop"; rm -rf "$work"' EXIT
name=${loop#/dev/}
stat() { awk -v d="$name" '$3 == d { print $4, $6, $8, $10 }' /proc/diskstats; }

# The device is ours alone. Requests that a full queue held back are issued by a thread of the kernel, whose name they bear then:
# rows are told by the device, fields counted from the end.
{
	for i in $(seq 0 199); do echo "RS $((i * 128)) 65536"; done
	for i in $(seq 0 299); do echo "WS $((i * 8)) 4096"; done
} >"$work/want"
every_request()
{
	start iosnoop -d "$name"
	before=$(stat)
	dd if="$loop" of=/dev/null bs=64k count=200 iflag=direct 2>/dev/null
	dd if=/dev/zero of="$loop" bs=4k count=300 oflag=direct 2>/dev/null
	after=$(stat)
	sleep 0.3
	stop
	awk -v d="$name" '$(NF - 3) == d { print $(NF - 4), $(NF - 2), $(NF - 1) }' "$work/trace" >"$work/got"
	sed 's/^WFS/WS/' "$work/got" >"$work/got2"
	cmp -s "$work/got2" "$work/want"
}
settled every_request; ok "500 of 500 requests: type, sector and size, in order" || { grep -v '^dd ' "$work/trace"; diff "$work/got2" "$work/want"; echo "$err"; } | head -20 | sed 's/^/# /' >&2
[ "$(grep -c '^dd ' "$work/trace")" -ge 400 ]
ok "by the process that made them"
like "$out" '^COMM +PID +TYPE +DEV +BLOCK +BYTES +LATms$' "columns"
unlike "$(awk '$1 == "dd" { print $4 }' "$work/trace" | sort -u)" "[^a-z0-9]" "names of disks"
is "$(awk '$1 == "dd" { if (!($7 > 0 && $7 < 60000)) n++ } END { print n + 0 }' "$work/trace")" 0 "every latency is above 0 and below a minute"
reads=$(($(echo "$after" | cut -d' ' -f1) - $(echo "$before" | cut -d' ' -f1)))
is "$(grep -c '^R' "$work/got")" "$reads" "as many reads as /proc/diskstats counted"

# Many requests in flight at once: none is paired with another's start.
for i in $(seq 0 1199); do echo $((i * 32)); done >"$work/want"
four_readers()
{
	start iosnoop -st -d "$loop" -i '*R*'
	pids=
	for j in 0 1 2 3; do
		dd if="$loop" of=/dev/null bs=16k count=300 skip=$((j * 300)) iflag=direct 2>/dev/null &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	wait $pids
	sleep 0.3
	stop
	awk -v d="$name" '$(NF - 3) == d { print $(NF - 2) }' "$work/trace" | sort -n >"$work/got"
	cmp -s "$work/got" "$work/want"
}
settled four_readers; ok "1200 reads of four processes at once, each sector once"
is "$(awk '$3 == "dd" { d = ($2 - $1) * 1000 - $9; if (d > 0.002 || d < -0.002) n++ } END { print n + 0 }' "$work/trace")" 0 "LATms is ENDs - STARTs"

start iosnoop -d "$name" -n '^dd$'
dd if="$loop" of=/dev/null bs=8k count=50 iflag=direct 2>/dev/null
head -c 40960 "$loop" >/dev/null
sleep 0.3
stop
is "$(awk -v d="$name" '$(NF - 3) == d { print $1 }' "$work/trace" | sort -u)" dd "-n: only of processes of this name"

five_objects()
{
	start iosnoop --json -d "$name"
	dd if="$loop" of=/dev/null bs=8k count=5 iflag=direct 2>/dev/null
	sleep 0.3
	stop
	grep '"block":' "$work/trace" | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert [r["block"] for r in rows] == [0, 16, 32, 48, 64], rows
assert all(isinstance(r["latms"], float) and r["bytes"] == 8192 for r in rows), rows'
}
settled five_objects
ok "--json: one object per request, numbers as numbers"

start iolatency -d "$name" -T 30 1
dd if="$loop" of=/dev/null bs=4k count=400 iflag=direct 2>/dev/null
sleep 0.3
stop
run iolatency -d "$name" 1 2
is "$(echo "$out" | grep -c 'Distribution')" 2 "iolatency 1 2: two histograms"
buckets() { awk '/->/ { n += $5 } END { print n }' "$work/trace"; }
one_interval()
{
	start iolatency -d "$name" 3600
	dd if="$loop" of=/dev/null bs=4k count=400 iflag=direct 2>/dev/null
	stop
	[ "$(buckets)" = 400 ]
}
settled one_interval
is "$(buckets)" 400 "iolatency: 400 requests in all buckets together"
like "$out" ' 0\.[0-9]{3} -> 0\.[0-9]{3} ' "iolatency: ranges below a millisecond"

mkdir "$work/8dQ" # no tokens of a script, however it is named
# A known number of requests in each of two intervals: the heat map has them all, each in the column of its interval.
cells() { sed -n 's/.*>\([0-9]*\) in \([0-9]*\) intervals.*/\1 \2/p' "$work/8dQ/heat.svg"; }
shown() { grep -c Distribution "$work/trace"; }
more_shown() { [ "$(shown)" -gt "$1" ]; }
heat()
{
	start iolatency -d "$name" --heatmap "$work/8dQ/heat.svg" 1
	for n in 100 200; do
		dd if="$loop" of=/dev/null bs=4k count=$n iflag=direct 2>/dev/null
		until_true more_shown "$(shown)"
	done
	stop
	[ "$(cells)" = "300 $(shown)" ]
}
settled heat
is "$(cells)" "300 $(shown)" "iolatency --heatmap: every request, every interval"
python3 -c '
import re, sys, xml.dom.minidom
root = xml.dom.minidom.parse(sys.argv[1]).documentElement
columns, intervals = {}, []
for line in open(sys.argv[2]): # what was printed
    if "Distribution" in line:
        intervals.append(0)
    elif "->" in line:
        intervals[-1] += int(line.split(":")[1].split()[0])
for r in root.getElementsByTagName("rect"):
    if r.getAttribute("class") == "c":
        n = int(re.search(r": (\d+) \(", r.getElementsByTagName("title")[0].firstChild.data).group(1))
        x = float(r.getAttribute("x"))
        columns[x] = columns.get(x, 0) + n
assert [columns[x] for x in sorted(columns)] == [n for n in intervals if n], (columns, intervals)' "$work/8dQ/heat.svg" "$work/trace"
ok "iolatency --heatmap: well-formed, in the right columns"
run iolatency --heatmap "$work/heat.png" 1 1
is "$rc" 2 "iolatency --heatmap: another kind of file is a usage error"
like "$err" "a file whose name ends in .svg or .html" "and it is said"
ln -s /etc/passwd "$work/link.svg"
run iolatency --heatmap "$work/link.svg" 1 1
is "$rc" 1 "iolatency --heatmap: never through a link"

start bitesize -D "$name"
for spec in 4k:70 32k:50 64k:30 256k:10; do
	dd if="$loop" of=/dev/null bs="${spec%:*}" count="${spec#*:}" iflag=direct 2>/dev/null
done
stop
like "$out" '^ +1 -> 8 +: 70 ' "bitesize: 70 of 4 KB"
like "$out" '^ +8 -> 64 +: 50 ' "bitesize: 50 of 32 KB"
like "$out" '^ +64 -> 128 +: 30 ' "bitesize: 30 of 64 KB"
like "$out" '^ +128 -> +: 10 ' "bitesize: 10 of 256 KB"
start bitesize -b '4 32' -D "$name" --json
dd if="$loop" of=/dev/null bs=4k count=7 iflag=direct 2>/dev/null
stop
python3 -c '
import json, sys
b = json.loads(open(sys.argv[1]).read())["buckets"]
assert [(x["min"], x["count"]) for x in b] == [(0, 0), (4, 7), (32, 0)], b' "$work/trace"
ok "bitesize -b --json"

run iosnoop -d nosuchdisk 1
is "$rc" 2 "an unknown disk is a usage error"
like "$err" "takes the name of a disk, not 'nosuchdisk'" "and it is said"
done_testing
