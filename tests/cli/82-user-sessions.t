#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions of instrumented programs: two recorders, a recorder that is killed, programs that start later or are killed,
# flight recorders, triggers, what is left behind. The programs count what they publish; babeltrace2 counts what is read.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
export PANTRACE_RUNTIME="$work/runtime"
cd "$work" || exit 1

cat >counts.c <<'EOF'
/* counts FILE EVENTS [USLEEP]: writes into FILE how many events it has published, after each */
#include <fcntl.h>
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	long n = atol(argv[2]), pause = argc > 3 ? atol(argv[3]) : 0;
	volatile unsigned long *published;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	published = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (long i = 0; n < 0 || i < n; i++) {
		PANTRACE(counts, event, i, "text");
		*published = *published + 1;
		if (i % 50 == 0) {
			PANTRACE(counts, fifty, i);
			if (pause)
				usleep((useconds_t)pause);
		}
	}
	return 0;
}
EOF
libs=$(dirname "$pantrace")
[ -e "$libs/libpantrace.a" ] || libs=$top/build
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" counts.c "$libs/libpantrace.a" -o counts
ok "a program is instrumented" || { done_testing; exit; }

# published FILE
published() { od -An -t u8 -N 8 "$1" | tr -d ' '; }
# has_published FILE N: so many, or more
has_published() { [ "$(published "$1")" -ge "$2" ]; }
# events DIR: events of counts:event; complaints of babeltrace2 go to $work/warnings
events() { babeltrace2 "$@" 2>"$work/warnings" | grep -c 'counts:event'; }
# started PID...: waits until all have sockets
started()
{
	for pid; do
		until_true [ -S "$PANTRACE_RUNTIME/$pid" ]
	done
}

# ---- list
mkdir -m 700 "$PANTRACE_RUNTIME"
./counts a -1 10000 &
one=$!
started $one
run user list
like "$out" "$one +counts +0 +1 counts:event \\(s64 i, str text\\)" "user list"
run user list 'counts:f*' --json
is "$(printf '%s' "$out" | python3 -c 'import json,sys; e=json.load(sys.stdin); print(e["pid"], e["event"], e["fields"][0]["name"])')" \
	"$one counts:fifty i" "as JSON"
run user list -n nobody
is "$out" "" "of nobody"

# ---- two recorders at once; the second wants less
start record -u 'counts:*' -o both1
first=$tracer
cp trace.err first.err
start record -u 'counts:event' -o both2
./counts late 5000 &
wait $!
run user status
like "$out" "record-$first: discard, recorder $first" "user status shows both recorders"
like "$out" "record-$tracer: discard, recorder $tracer" "each with a session of its own"
like "$(find both1 -maxdepth 1)" counts "traces are there"
stop
is "$rc" 0 "the second ends"
kill -INT $first
wait $first
is $? 0 "the first ends"
[ "$(events both2/counts-[0-9]*)" -ge 5000 ]
ok "babeltrace2 reads it"
is "$(cat warnings)" "" "without a warning"
late=$(basename "$(ls -d both1/counts-* | grep -v -e "-$one$")")
is "$(events "both1/$late")" 5000 "a program that starts later is recorded from its first event"
is "$(events "both2/$late")" 5000 "by both"
is "$(babeltrace2 "both2/$late" | grep -c fifty)" 0 "each with the events that it asked for"
run user status
is "$out" "" "no session is left"
kill $one
wait $one 2>/dev/null

# ---- discard: read and lost is what was published
run record -u 'counts:event' --sub-size 4K --subs 2 -o tiny -- ./counts tiny.n 1000000
case $rc in 0 | 3) ok "tiny rings (code $rc)" ;; *) false || ok "tiny rings: code $rc: $err" ;; esac
read=$(printf '%s' "$err" | sed -n 's/^\([0-9]*\) events of.*/\1/p')
lost=$(printf '%s' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p')
is "$((read + lost))" 1000000 "conservation: $read read, $lost lost"
is "$(events tiny)" "$read" "babeltrace2 counts the same"
run record -u 'counts:event' --mode block=60s --sub-size 4K --subs 2 -o block -- ./counts block.n 100000
is "$rc" 0 "blocking: nothing is lost"
is "$(events block)" 100000 "all is there"

# The recorder reads full rings to their end while the program waits (here: because it slept). It has to notice afterwards that
# the sub-buffers it has read are left behind; else the program goes on at the pace of its looks at what is unfinished, one a second.
"$pantrace" record -u 'counts:event' --mode block=60s --sub-size 4K --subs 2 -o slept -- ./counts slept.n 500000 2>err &
recorder=$!
sleep 0.3
kill -STOP $recorder
sleep 1.5
kill -CONT $recorder
for _ in $(seq 3000); do kill -0 $recorder 2>/dev/null || break; sleep 0.1; done
kill -INT $recorder 2>/dev/null
wait $recorder
is "$? $(events slept)" "0 500000" "blocking: a recorder that slept catches up"

# ---- 200 programs are killed at random moments, one is not
mkdir killed
start record -u 'counts:event' --sub-size 1M -o kills
./counts healthy -1 10000 &
healthy=$!
python3 - <<'EOF'
import os, random, signal, subprocess, time
random.seed(1)
for i in range(200):
    p = subprocess.Popen(["./counts", "killed/%d" % i, "-1", "500"])
    if i % 4: # on a machine that is busy it may take long to begin
        while not os.path.exists("killed/%d" % i) or os.path.getsize("killed/%d" % i) < 4096: time.sleep(0.001)
    time.sleep(random.uniform(0.0, 0.03))
    p.send_signal(signal.SIGKILL)
    p.wait()
    if os.path.exists("killed/%d" % i):
        os.rename("killed/%d" % i, "killed/pid-%d" % p.pid)
EOF
kill -TERM $healthy
wait $healthy 2>/dev/null
stop
is "$rc" 0 "200 kills while recording: $(tail -1 trace.err)"
python3 - >verdict <<'EOF'
import glob, os, re, struct, subprocess
def published(path):
    data = open(path, "rb").read(8)
    return struct.unpack("<Q", data)[0] if len(data) == 8 else 0
want = {int(f.split("-")[-1]): published(f) for f in glob.glob("killed/pid-*")}
got = {}
missing = extra = total = 0
out = subprocess.run(["babeltrace2", "kills"], capture_output=True, text=True)
for line in out.stdout.splitlines():
    m = re.search(r":\((\d+)\) counts:event", line)
    if m:
        got[int(m[1])] = got.get(int(m[1]), 0) + 1
for pid, n in want.items():
    total += n
    missing += got.get(pid, 0) < n
    extra += got.get(pid, 0) > n + 1
healthy = [n for pid, n in got.items() if pid not in want]
print(len(want) > 100 and total > 10000, missing, extra, healthy[-1] - published("healthy") in (0, 1) if healthy else healthy, out.stderr)
print("#", total, "events of", len(want), "programs")
EOF
is "$(head -1 verdict)" "True 0 0 True " "every event that was published is read back, and the program that lived lost nothing"
tail -1 verdict

# ---- the recorder is killed: the session goes on, the next recorder takes it up
./counts go 60000 5000 &
program=$!
started $program
start record -s keep -u 'counts:event' -o keep1
until_true has_published go $(($(published go) + 5000))
kill -9 $tracer
wait $tracer 2>/dev/null
run user status keep
like "$out" "recorder $tracer \\(gone\\)" "a killed recorder is seen to be gone"
like "$out" "$program +counts +running" "its session goes on"
start record -s keep -o keep2
./counts joined 1000 &
wait $!
wait $program
stop
is "$rc" 0 "another recorder goes on with it"
want=$(published go)
babeltrace2 keep1 keep2 2>/dev/null | grep "($program) counts:event" | sed 's/.*{ i = \([0-9]*\).*/\1/' | sort -n | uniq >numbers
rings=$(wc -l <numbers)
before=$((want - rings))
[ "$before" -ge 0 ] && [ "$rings" -gt 1000 ]
ok "both together have the events since it began: $rings of $want"
awk 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print gaps + 0, last }' numbers >gaps
is "$(cat gaps)" "0 59999" "without a gap between them"
babeltrace2 keep2 >keep2.txt 2>/dev/null
is "$? $(grep -c "counts:event.*i = 59999," keep2.txt)" "0 1" "babeltrace2 reads the second part, to its end"
run user destroy keep
is "$rc" 0 "user destroy"

# ---- without a name, what a killed recorder left is swept by the next
start record -u 'counts:event' -o swept
kill -9 $tracer
wait $tracer 2>/dev/null
is "$(ls "$PANTRACE_RUNTIME/sessions")" "record-$tracer" "a killed recorder leaves its session"
run record -u 'counts:event' -d 0.1 -o swept2
is "$(ls "$PANTRACE_RUNTIME/sessions")" "" "the next one removes it"
[ ! -e "/dev/shm/pantrace-$(id -u)/record-$tracer" ]
ok "and its rings"

# ---- flight recorder, snapshot, clear, stop, triggers
./counts box -1 500 &
program=$!
started $program
run user start box -u 'counts:*' --mode overwrite --sub-size 16K --subs 4
is "$rc" 0 "user start"
run user start box -u 'counts:*'
is "$rc" 1 "a name is taken once"
like "$err" "there is a session 'box'" "and that is said"
until_true has_published box $(($(published box) + 20000))
run user snapshot box -o snap1
is "$rc" 0 "user snapshot"
[ "$(events snap1)" -gt 1000 ]
ok "it holds the newest events"
run user stop box
n=$(events snap1)
run user snapshot box -o snap2
is "$(babeltrace2 snap2 2>&1 >/dev/null)" "" "stopped; babeltrace2 warns of nothing"
run user snapshot box -o snap3
is "$(events snap2)" "$(events snap3)" "stopped is stopped"
run user clear box
run user snapshot box -o snap4
is "$(events snap4)" 0 "user clear"
run user resume box
until_true has_published box $(($(published box) + 5000))
run user snapshot box -o snap5
[ "$(events snap5)" -gt 100 ]
ok "user resume"
run user rotate box
is "$rc" 1 "there is no recorder that could rotate"
run user destroy box
run user status
is "$out" "" "user destroy"
run record -u 'counts:*' --mode overwrite -T 'counts:fifty /args.i > 0/' -p $program -d 3 -o trigger
like "$err" "counts:fifty /args.i > 0/: [0-9]+ events" "a trigger with a predicate"
[ "$(events trigger/snapshot-1)" -gt 0 ]
ok "its snapshot"
run record -u 'counts:*' --mode overwrite -T 'rate(counts:event) > 1000000/s' -T 'latency(counts:fifty, counts:none) > 100ms' -p $program -d 3 -o trigger2
unlike "$err" "rate" "a rate that is not reached"
like "$err" "latency.*: [0-9]+ events" "a latency whose end never comes"
run record -u 'counts:*' -T 'counts:x' -o no
is "$rc" 2 "triggers need a flight recorder"
kill $program
wait $program 2>/dev/null

# ---- after the crash
PANTRACE_RECORD=$work PANTRACE_EVENTS='counts:event' ./counts dead -1 &
program=$!
until_true has_published dead 300000
kill -SEGV $program
wait $program 2>/dev/null
run crash "$work/$program"-*.pantrace -o crashed
like "$out" "$program +0 +counts +[0-9]+ +[0-9]+ +0 whole" "crash reads the file of a program that died"
# CLOCK_MONOTONIC stands still while the machine sleeps.
apart() { unshare -T --monotonic="$1" --boottime=0 "$pantrace" crash "$work/$program"-*.pantrace -o "apart$1" 2>&1; }
if unshare -T --monotonic=-90 --boottime=0 true 2>/dev/null; then
	unlike "$(apart -90)" "a boot before" "a machine that has slept is in the same boot"
	like "$(apart 90)" "rings of a boot before this one: 1" "clocks that lie otherwise are of another"
else
	skip "sleep, by a time namespace" "this kernel has none"
fi
read=$(printf '%s\n' "$out" | awk 'NR == 2 { print $4 }')
lost=$(printf '%s\n' "$out" | awk 'NR == 2 { print $5 }')
extra=$((read + lost - $(published dead)))
[ "$extra" = 0 ] || [ "$extra" = 1 ]
ok "every event that was published: $read read, $lost lost"
is "$(events crashed)" "$read" "babeltrace2 counts the same"
cp "$work/$program"-*.pantrace cut.pantrace
truncate -s 4700000 cut.pantrace
run crash cut.pantrace -o cut
[ "$rc" -le 1 ]
ok "a truncated file (code $rc)"
for page in 1068 1580; do # in the rings of both CPUs
	dd if=/dev/urandom of="$(ls "$work/$program"-*.pantrace)" bs=4096 seek=$page count=20 conv=notrunc 2>/dev/null
done
run crash "$work/$program"-*.pantrace -o torn
like "$out" "$program +0 +counts +[0-9]+ +[0-9]+ +[1-9][0-9]* damaged" "a torn ring is read up to the damage, and what lies behind it is counted"
run crash "$work/$program"-*.pantrace -o torn
like "$rc $err" "^1 ERROR: 'torn' is not empty" "nothing is written on top of what is there: the same events would count twice"
mkdir 1 && cp cut.pantrace "1/1-0.pantrace" # anybody can make names in /tmp
run crash 1 -o nobody
is "$rc $err" "1 ERROR: no session has rings of process 1
HINT: \`pantrace user status\` lists the sessions; a directory or file of rings can be given instead" "a process without rings: a number is never a file"
[ ! -e nobody ]
ok "and no directory is left"

# ---- programs of other users and in containers, found and joined by root
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	unset PANTRACE_RUNTIME
	program=/tmp/counts-$$ # 15 characters at most: the name of a process
	install -m 755 counts $program
	mkdir -m 777 other
	chmod 755 "$work"
	start record -n "$(basename $program)*" -u 'counts:event' -o user
	setpriv --reuid=65534 --regid=65534 --clear-groups $program other/n 2000 100
	stop
	is "$(events user)" 2000 "another user's program that starts later joins root's session"
	unshare -mpf --mount-proc sh -c "mount -t tmpfs none /run; mount -t tmpfs none /dev/shm; exec $program other/c -1 1000" &
	inside=$!
	listed() { "$pantrace" user list counts:event | grep -q counts; }
	until_true listed
	run record -n "$(basename $program)*" -u 'counts:event' -d 3 -o container
	[ "$(events container)" -gt 1000 ]
	ok "a program in a container, whose rings are handed over" || echo "# $err"
	kill -KILL $(pgrep -P $inside) 2>/dev/null
	wait $inside 2>/dev/null
	rm -f $program
fi

is "$(ls "/dev/shm/pantrace-$(id -u)" 2>/dev/null | grep -e record- -e keep -e box -e watch-)" "" "no rings are left"
done_testing
