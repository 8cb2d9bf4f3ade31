#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What every tool does alike: it ends by Ctrl-C, after a duration, and at once when its reader goes away; --json is JSON.
# among tracers: asks how tools end and whether they print, not what
. "$(dirname "$0")/lib.sh"
need_root

dd if=/dev/zero of="$work/image" bs=1M count=8 2>/dev/null
loop=$(losetup -f --show "$work/image" 2>/dev/null) || loop=
# Every kind of event, all the time.
(
	trap 'exit 0' TERM
	while :; do
		"$programs/opens"
		"$programs/kills"
		"$programs/calls.dyn" 20
		[ -z "$loop" ] || dd if="$loop" of=/dev/null bs=4k count=200 iflag=direct
		dd if="$work/image" of=/dev/null bs=4k count=200
		sleep 0.04
	done
) >/dev/null 2>&1 &
noise=$!
trap 'kill $noise 2>/dev/null; wait $noise 2>/dev/null; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$work" /tmp/pantrace-opens' EXIT

# Words of a tool; how it prints: rows as events come, at intervals, or once at the end; the option for a duration.
cat >"$work/table" <<T
execsnoop|rows|-d
opensnoop|rows|-d
killsnoop|rows|-d
iosnoop|rows|--duration
tpoint raw_syscalls:sys_enter|rows|-d
funcslower -u $programs/calls.dyn work 0|rows|-d
tcpretrans|rare|-d
iolatency 0.1|interval|--duration
cachestat 0.1|interval|-d
funccount -i 0.1 -u $programs/calls.dyn work|interval|-d
bitesize|end|-d
syscount|end|-d
syscount -c|end|-d
perf-stat-hist syscalls:sys_enter_read count|end|-d
T

# Far more than any of them needs, on a machine that is busy with other things: a tool that does not end is ended.
LIMIT=300

# 0, or 3: events were lost on a busy machine.
ended_well() { [ "$rc" = 0 ] || [ "$rc" = 3 ]; }

while IFS='|' read -r words kind duration <&3; do
	[ -n "$loop" ] || case $words in io* | bite*) continue ;; esac
	if [ $kind = rare ]; then least=1; else least=2; fi
	for seconds in 0.3 20; do # in the first there may be no event on a machine that is busy with other things
		# shellcheck disable=SC2086
		timeout -k 1 $LIMIT "$pantrace" $words $duration $seconds >"$work/out" 2>"$work/err" </dev/null
		rc=$?
		ended_well && [ "$(wc -l <"$work/out")" -lt $least ] || break
	done
	ended_well
	ok "$words $duration $seconds ends by itself (code $rc)" || sed 's/^/# /' "$work/err" >&2
	[ "$(wc -l <"$work/out")" -ge $least ]
	ok "$words: with output"

	for seconds in 0.3 20; do
		# shellcheck disable=SC2086
		timeout -k 1 $LIMIT "$pantrace" $words $duration $seconds --json >"$work/out" 2>"$work/err" </dev/null
		[ $kind != rare ] && ! [ -s "$work/out" ] || break
	done
	python3 -c '
import json, sys
n = sum(1 for line in open(sys.argv[1]) if isinstance(json.loads(line), dict))
sys.exit(0 if n or sys.argv[2] == "rare" else 1)' "$work/out" $kind
	ok "$words --json: an object a line" || head -3 "$work/out" | sed 's/^/# /'

	# shellcheck disable=SC2086
	if start $words; then
		sleep 0.3
		stop
		ended_well
		ok "$words: Ctrl-C ends it (code $rc)" || echo "# $err"
		unlike "$err" 'ERROR|rror:' "$words: without a complaint"
	else
		false
		ok "$words attaches"
	fi

	case $kind in
	rows) lines=20 ;;
	interval) lines=4 ;;
	*) continue ;;
	esac
	# shellcheck disable=SC2086
	{
		timeout -k 1 $LIMIT "$pantrace" $words 2>"$work/err" </dev/null
		echo $? >"$work/code"
	} | head -$lines >"$work/out"
	while ! [ -s "$work/code" ]; do sleep 0.05; done
	rc=$(cat "$work/code")
	rm "$work/code"
	ended_well && [ "$(wc -l <"$work/out")" = $lines ]
	ok "$words | head -$lines ends (code $rc)"
	unlike "$(cat "$work/err")" 'ERROR|rror:|roken pipe' "$words: and says nothing of it"
done 3<"$work/table"
done_testing
