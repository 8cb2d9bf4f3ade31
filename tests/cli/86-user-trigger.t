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
trap 'kill $step $recorder $waits 2>/dev/null; for s in web box; do "$pantrace" user destroy $s >/dev/null 2>&1; done; rm -rf "$work"' EXIT
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
	ok "a program with a /dev/shm of its own, however short it lives" || sed 's/^/# /' trigger.err
	ends
	is "$code" 0 "nothing is missing" || sed 's/^/# /' trigger.err
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

# ---- anything else is a script's
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
like "$err" "'step' is no condition" "no condition"
run user trigger step:at
is "$rc" 2 "no action: a usage error"
run user remove-trigger web
like "$err" "session 'web' is no trigger" "remove-trigger of another session"
done_testing
