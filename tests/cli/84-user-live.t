#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Rotation by size and time into compressed archives loses no event between two; triggers by rate and latency; a live reader
# beside a recording that comes through sshd. The programs count what they publish.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
cd "$work" || exit 1

# numbers DIR...: how many traced:step, and how many numbers are not there twice: each of two threads counts
numbers()
{
	"$pantrace" report -e traced:step "$@" 2>report.err | sed -n 's/.*traced:step:.*[{ ]i = \([0-9]*\).*/\1/p' |
		awk '{ n[$1]++ } END { for (i in n) bad += n[i] != 2; print NR, bad + 0 }'
	sed 's/^/# /' report.err >&2
}

for how in zstd gzip none; do
	run record -u 'traced:step' --rotate-size 40000 --compress $how --sub-size 4096 --subs 512 -o "size-$how" -- "$traced" 8000 20
	is "$rc" 0 "rotation by size, $how: nothing is lost" || printf '# %s\n' "$err"
	[ "$(ls -d "size-$how"/chunk-* | wc -l)" -gt 3 ]
	ok "$how: $(ls -d "size-$how"/chunk-* | wc -l) chunks"
	is "$(numbers "size-$how"/chunk-*)" "8000 0" "$how: all events, none missing or twice between two chunks"
	case $how in
	none) is "$(find "size-$how" -name '*.zst' -o -name '*.gz')" "" "not compressed" ;;
	*) is "$(find "size-$how" -name 'ring_*' ! -name '*.zst' ! -name '*.gz')" "" "$how: every finished ring is compressed" ;;
	esac
done
run record -u 'traced:step' --rotate-time 1 --compress zstd -o "time" -- "$traced" 3000 1000
is "$rc" 0 "rotation by time"
[ "$(ls -d time/chunk-* | wc -l)" -ge 2 ]
ok "time: $(ls -d time/chunk-* | wc -l) chunks of a second"
is "$(numbers time/chunk-*)" "3000 0" "time: all events"
run record -u 'traced:step' --rotate-time 1 -o quiet -- sh -c "sleep 2.5; '$traced' 300 10; sleep 2.5"
is "$rc $(numbers quiet/chunk-*)" "0 300 0" "seconds in which no program had begun, or all had ended, leave no chunk that cannot be read"
run record -u 'traced:step' --rotate-size 40000 --keep 2 -o keep -- "$traced" 8000 20
is "$rc" 0 "the newest two chunks are kept"
is "$(ls -d keep/chunk-* | wc -l)" 2 "and no others"
is "$("$pantrace" report -e traced:step keep/chunk-* 2>/dev/null | sed -n 's/.*traced:step:.*[{ ]i = \([0-9]*\).*/\1/p' | sort -n | tail -2 | tr '\n' ' ')" \
	"3999 3999 " "up to the last event of both threads"

# ---- triggers
cat >slow.c <<'EOF'
#include <pantrace/pantrace.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 200; i++) {
		PANTRACE(slow, begin, i);
		if (i == 150)
			usleep(120000);
		PANTRACE(slow, end, i);
		usleep(i >= 100 && i < 140 ? 100 : 5000);
	}
	usleep(1500000);
	return 0;
}
EOF
gcc -O1 -I"$top/include" slow.c -o slow "$lib/libpantrace.a" -lpthread
ok "a program that is slow once, and busy once"
run record -u 'slow:*' --mode overwrite -T 'latency(slow:begin, slow:end) > 100ms' -o latency -- ./slow
like "$err" 'latency\(slow:begin, slow:end\) > 100ms: [0-9]+ events' "a latency that is passed"
[ -d latency/snapshot-2 ]
ok "has a snapshot of its own, besides the one at the end"
run record -u 'slow:*' --mode overwrite -T 'latency(slow:begin, slow:end) > 10s' -o calm -- ./slow
unlike "$err" latency "one that is not"
run record -u 'slow:*' --mode overwrite -T 'rate(slow:begin) > 150/m' -o rate -- ./slow
like "$err" 'rate\(slow:begin\) > 150/m: [0-9]+ events' "a rate that is passed"
run record -u 'slow:*' --mode overwrite -T 'rate(slow:begin) > 201/m' -o rate2 -- ./slow
unlike "$err" 'rate\(' "one that is not: 200 in all"

# ---- live, through sshd
if [ -x /usr/sbin/sshd ]; then
	ssh_serve 2298 "$work/ssh"
	mkdir far
	"$pantrace" report --live --hold 5000 far >live.out 2>live.err &
	reader=$!
	PANTRACE_SSH=$work/ssh PANTRACE_REMOTE=$pantrace
	export PANTRACE_SSH PANTRACE_REMOTE
	run record -u 'traced:*' --to "ssh://root@127.0.0.1:2298/$work/far" -o here -- "$traced" 3000 500
	is "$rc" 0 "a recording through sshd" || sed 's/^/# /' sshd.log | tail -3 >&2
	all_read() { [ "$(grep -c traced:step: live.out)" -ge 3000 ]; }
	until_true all_read
	is "$(grep -c traced:step: live.out)" 3000 "a live reader at the far end saw every event" || sed 's/^/# /' live.err >&2
	kill -INT $reader
	wait $reader
	grep traced: live.out | sort -s -c -k1,1
	ok "in the order of time"
	ssh_end
else
	skip "live through sshd" "openssh-server is not installed"
fi
done_testing
