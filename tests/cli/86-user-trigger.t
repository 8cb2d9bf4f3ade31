#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is done when an event comes: sessions start, stop, rotate, are written; a line is told; a script does anything else. The program
# says each event as it publishes it.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
cat >step.c <<'EOC'
#include <pantrace/pantrace.h>
#include <stdio.h>

/* Each line of input is one event, steps(N). */
int main(void)
{
	int n;

	while (scanf("%d", &n) == 1) {
		PANTRACE(step, at, n);
		PANTRACE(step, other, n);
		printf("%d\n", n);
		fflush(stdout);
	}
}
EOC
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" step.c "$lib/libpantrace.a" -lpthread -o step
ok "a program is instrumented" || { done_testing; exit; }
mkdir -m 700 "$PANTRACE_RUNTIME"
mkfifo in
./step <in >said.step &
step=$!
exec 7>in
ready $step
trap 'kill $step $recorder $waits 2>/dev/null; for s in web box full; do "$pantrace" user destroy $s >/dev/null 2>&1; done; rm -rf "$work"' EXIT
# steps N...: the events are published
steps()
{
	for n in "$@"; do
		echo "$n" >&7
		said step "^$n\$" 1
	done
}
# waits ARGUMENTS...: a trigger, which has begun; its output is in trigger.out, trigger.err
waits()
{
	"$pantrace" user trigger "$@" >trigger.out 2>trigger.err &
	waits=$!
	until_true grep -q trigger "$PANTRACE_RUNTIME/sessions/watch-$waits"
	# the program has it on
	until_true on
}
on() { "$pantrace" user status "watch-$waits" | grep -q running; }
ends() { kill -TERM $waits; wait $waits; code=$?; }
# state SESSION: of the program
state() { "$pantrace" user status "$1" | awk '$2 == "step" { print $3 }'; }
is_state() { [ "$(state "$1")" = "$2" ]; }
held() { rm -rf now; "$pantrace" user snapshot "$1" -o now 2>/dev/null; babeltrace2 now 2>/dev/null | sed -n 's/.*step:other.*{ n = \([0-9]*\) }/\1/p' | tr '\n' ' '; }

run user start web -u step:other --mode overwrite
steps 1
waits step:at 'stop web' notify
run user list-triggers
like "$out" "watch-$waits +$waits +step:at -> stop web, notify" "list-triggers"
run user list-triggers --json
printf '%s' "$out" | python3 -c 'import json, sys; t = json.load(sys.stdin); assert t["does"] == "step:at -> stop web, notify" and t["pid"] == int(sys.argv[1]), t' "$waits"
ok "as JSON"
steps 2
until_true is_state web stopped
ok "stop"
until_true grep -q step:at trigger.out
like "$(cat trigger.out)" '^[0-9:.]+ step:at$' "notify"
ends
is "$code" 0 "SIGTERM ends it in order"
run user list-triggers
is "$out" "" "and it is gone"
steps 3
is "$(held web)" "1 2 " "a stopped session records no more"

waits 'step:at /args.n > 4/' 'start web' notify --json
steps 4 5
until_true is_state web running
ok "start, by a predicate"
ends
is "$(python3 -c 'import json, sys; t = [json.loads(line) for line in sys.stdin]; print(len(t), t[0]["condition"], t[0]["count"])' <trigger.out)" "1 step:at /args.n > 4/ 1" "one of two held"
steps 6
is "$(held web)" "1 2 6 " "it goes on recording"

# ---- rate policy
waits step:at notify --every 3
steps 10 11 12 13 14 15 16
told() { [ "$(sed -n 's/.*(\([0-9]*\) times).*/\1/p' trigger.out | awk '{ n += $1 } END { print n + 0 }')" -ge 6 ]; }
until_true told
ends
[ "$(grep -c . trigger.out)" -le 2 ]
ok "--every 3: seven events are two times three at most"
waits step:at notify --once-after 2
steps 20
sleep 0.2
is "$(cat trigger.out)" "" "--once-after 2: not at the first"
steps 21
wait $waits
is "$?" 0 "at the second it acts, and ends"
is "$(grep -c . trigger.out)" 1 "once"

# ---- snapshot and rotate
waits 'rate(step:at) > 1/m' 'snapshot web' -o shots
steps 30 31
until_true [ -d shots/snapshot-1 ]
ends
like "$(babeltrace2 shots/snapshot-1 2>/dev/null)" 'step:other.*n = 3[01]' "snapshot: what the rings hold, for a rate"
"$pantrace" record -q --session box -u step:other --rotate-size 1G -o box 2>record.err &
recorder=$!
until_true grep -q recorder "$PANTRACE_RUNTIME/sessions/box"
boxed() { is_state box running; }
until_true boxed
waits step:at 'rotate box'
steps 40
two_chunks() { [ "$(ls -d box/chunk-* 2>/dev/null | wc -l)" -ge 2 ]; }
until_true two_chunks
ok "rotate: the recorder begins a new chunk"
run user remove-trigger "watch-$waits"
is "$rc" 0 "remove-trigger"
wait $waits
is "$?" 0 "ends it"
kill -INT $recorder
wait $recorder

# ---- rings that have no name where the trigger looks
if unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	waits step:at notify
	unshare -m sh -c 'mount -t tmpfs none /dev/shm; echo 77 | ./step' >hidden.out
	until_true grep -q step:at trigger.out
	ok "a program with a /dev/shm of its own, however short it lives" || sed 's/^/# /' trigger.err >&2
	ends
	is "$code" 0 "nothing is missing" || sed 's/^/# /' trigger.err >&2
else
	skip "programs that see another /dev/shm" "no mount namespaces"
fi

# ---- killed
waits 'step:at /args.n > 4/' notify
is "$("$pantrace" complete pantrace user remove-trigger '' | cut -f1)" "watch-$waits" "the shells complete its name"
is "$("$pantrace" complete pantrace user trigger step:o | cut -f1)" "step:other" "and events in a condition"
kill -9 $waits
wait $waits 2>/dev/null
run user list-triggers
is "$out" "" "one that was killed is not listed"
run user remove-trigger "watch-$waits"
[ ! -e "$PANTRACE_RUNTIME/sessions/watch-$waits" ] && [ ! -e "$PANTRACE_RUNTIME/ask-$waits" ]
ok "and what it left is removed"

# ---- a session that begins stopped
run user create full --sub-size 4K --subs 2
is "$rc" 0 "user create"
steps 100
run user enable full step:other
steps 101
echo 102 | ./step >later.out
like "$("$pantrace" user status full)" "full: discard, stopped" "user status says that it is stopped"
is "$(state full)" stopped "programs take part with their events off"
is "$(held full)" "" "none records, not one that starts now either"
run user start full
is "$rc" 0 "user start of a session that is there"
steps 103
echo 104 | ./step >later.out
is "$(held full)" "103 104 " "from here on they do"
run user stop full
echo 105 | ./step >later.out
steps 106
is "$(held full)" "103 104 " "user stop holds for programs that start later, too"
run user start full --mode overwrite
is "$rc" 2 "options of a new session are not those of one that is there"

# ---- names, and what becomes of a session
# waits_for NAME ARGUMENTS...: a trigger of that name, which has begun
waits_for()
{
	"$pantrace" user trigger --name "$@" >trigger.out 2>trigger.err &
	waits=$!
	until_true grep -q "^# recorder $waits " "$PANTRACE_RUNTIME/sessions/$1"
}
# burst FROM TO: that many events, without a wait for each
burst()
{
	seq "$1" "$2" >&7
	said step "^$2\$" 1
}
told_of() { grep -q "$1" trigger.out; }
waits_for nearly-full 'usage(full) >= 50%' 'stop full' notify
run user list-triggers
like "$out" "nearly-full +$waits +usage\(full\) >= 50% -> stop full, notify" "a trigger has the name that it is given"
run user trigger --name nearly-full step:at notify
like "$rc $err" "^1 .*there is a trigger 'nearly-full'" "once"
run user trigger --name full step:at notify
like "$err" "there is a session 'full'" "and not that of a session"
is "$("$pantrace" complete pantrace user remove-trigger near | cut -f1)" "nearly-full" "the shells complete it"
like "$("$pantrace" complete pantrace user trigger 'usage(fu' | cut -f1)" "usage\(full" "and the session of a condition"
run user start full
steps 107
is "$(state full)" running "a ring that is not half full"
burst 1001 2000
until_true is_state full stopped
ok "usage: one that is"
until_true told_of 'usage(full) >= 50%'
ok "is told"
run user remove-trigger nearly-full
is "$rc" 0 "it is removed by its name"
wait $waits
is "$? $(grep -c . trigger.out)" "0 1" "and had acted once"
run user remove-trigger nearly-full
like "$rc $err" "^1 .*there is no trigger 'nearly-full'" "it is gone"
[ ! -e "$PANTRACE_RUNTIME/sessions/nearly-full" ]
ok "and its name is free"
waits_for empty 'usage(full) <= 1K' notify
sleep 0.3
is "$(cat trigger.out)" "" "usage <=: not while the ring is full"
run user clear full
until_true told_of 'usage(full) <= 1K'
ok "but when it is read"
ends
is "$code" 0 "SIGTERM ends it"
waits_for much 'written(full) >= 4K' notify
like "$(cat trigger.err)" "session 'full' has no recorder" "written: there is no recorder yet"
"$pantrace" record -q --session full -o written 2>record.err &
recorder=$!
until_true grep -q recorder "$PANTRACE_RUNTIME/sessions/full"
run user start full
burst 3001 3100
sleep 0.3
is "$(cat trigger.out)" "" "not yet so much"
burst 4001 4400
until_true told_of 'written(full) >= 4K'
ok "what its recorder has written"
kill -INT $recorder
wait $recorder
run user destroy full
wait $waits
is "$? $(cat trigger.err | tail -1)" "0 session 'full' has ended" "the end of the session ends the trigger"
kill -9 $step 2>/dev/null
waits_for left step:at notify
kill -9 $waits
wait $waits 2>/dev/null
waits_for left step:at notify
is "$("$pantrace" user list-triggers | awk '$1 == "left" { print $2 }')" $waits "the name of one that was killed is free for the next"
ends

# ---- anything else is a script's
./step <in >said.step &
step=$!
exec 7>in
ready $step
"$pantrace" -p $step -e 'fn told($n : int32) : void { printf("script has %d\n", $n); } user:step:at /args.n >= 50/ { told(args.n); exit(); }' >script.out 2>script.err &
script=$!
attached() { "$pantrace" user list -p $step step:at --json | grep -q '"sessions":1'; }
until_true attached
steps 49 50
wait $script
is "$(grep -c 'script has 50' script.out)" 1 "a script's function is called for an event"

# ---- what its rings cannot hold is told, and makes the exit code 3
cat >burst.c <<'EOC'
#include <pantrace/pantrace.h>
#include <stdio.h>

/* A line of input: many events at once, and as many latencies that begin. */
int main(void)
{
	while (getchar() > 0) {
		for (int i = 0; i < 300000; i++)
			PANTRACE(burst, at, i, "sixteen bytes .");
		puts("done");
		fflush(stdout);
	}
}
EOC
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" burst.c "$lib/libpantrace.a" -lpthread -o burst
mkfifo in.burst
./burst <in.burst >said.burst &
burst=$!
exec 6>in.burst
ready $burst
"$pantrace" record -u 'burst:*' -p $burst --mode overwrite -T 'rate(burst:at) > 1000000000/s' -o flight 2>flight.err &
flight=$!
watches() { "$pantrace" user list -p $burst burst:at --json | grep -q '"sessions":2'; }
until_true watches
echo >&6
until_true grep -q done said.burst
kill -INT $flight
wait $flight
is "$?" 3 "a flight recorder whose trigger did not see all"
like "$(cat flight.err)" '[1-9][0-9]* events were lost before they were looked at' "says so"
exec 6>&-
wait $burst

# ---- what is refused
run user trigger step:at 'stop nowhere'
like "$err" "there is no session 'nowhere'" "a session that is not there"
run user trigger step:at stpo
like "$err" "there is no action 'stpo'.*|did you mean 'stop'" "an action that is not there"
run user trigger step:at stop
like "$err" "'stop' needs the name of a session" "no session"
run user trigger step 'notify'
like "$err" "'step' is not a condition" "no condition"
run user trigger step:at
is "$rc" 2 "no action: a usage error"
run user start web
for wrong in 'usage(web) >= 101%' 'usage(web) >= 5T' 'usage(web)' 'usage(web) = 5%' 'usage web >= 5%' 'written(web) >= 5%' 'written(web) < 5K'; do
	run user trigger "$wrong" notify
	like "$rc $err" "^1 .*'.*' is not a condition" "$wrong"
done
run user trigger 'usage(nowhere) >= 5%' notify
like "$err" "there is no session 'nowhere'" "usage of a session that is not there"
run user trigger 'written(web) >= 5K' notify
like "$err" "session 'web' overwrites" "what a flight recorder writes"
run user trigger 'usage(web) >= 5%' notify -p $$
like "$err" "-p and -n are for conditions about events" "-p of a session"
run record -u 'step:*' --mode overwrite -T 'usage(web) >= 5%' -o never
like "$rc $err" "^1 .*'usage\(web\) >= 5%' is a condition of .user trigger" "and in record -T"
run user remove-trigger web
like "$err" "session 'web' is not a trigger" "remove-trigger of another session"
done_testing
