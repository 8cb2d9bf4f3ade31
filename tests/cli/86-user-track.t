#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which processes of a session record: by pid, user and group; those that run, those that start later, forked children, and
# a process that changes its user. Truth is what the rings hold: each program writes who it is.
alone_in="/run /tmp /dev/shm"
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
chmod 755 "$work"
# the directories are the usual ones, of root and of others
unset PANTRACE_RUNTIME XDG_RUNTIME_DIR
runtime=/run/pantrace

cat >who.c <<'EOC'
#include <pantrace/pantrace.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t next;

static void on_signal(int signal)
{
	next = signal;
}

/* USR1: forks a child that goes on likewise. USR2: becomes nobody. */
int main(void)
{
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	for (;;) {
		PANTRACE(who, here, PT_NAMED(me, (int)getpid()), PT_NAMED(user, (int)getuid()));
		if (next == SIGUSR1)
			fork();
		if (next == SIGUSR2 && setgid(65534) + setuid(65534))
			abort();
		next = 0;
		usleep(1000);
	}
}
EOC
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" who.c "$lib/libpantrace.a" -lpthread -o who
ok "a program is instrumented" || { done_testing; exit; }
started=
# start [SETPRIV-OPTIONS]: a program; $pid
start()
{
	if [ $# -gt 0 ]; then
		setpriv "$@" ./who &
	else
		./who &
	fi
	pid=$!
	started="$started $pid"
}
trap 'kill -9 $started $child 2>/dev/null; "$pantrace" user destroy box >/dev/null 2>&1; rm -rf "$work"' EXIT

# who records: the pids whose events are in the rings from now on
recorded() { run user clear box; sleep 0.4; rm -rf now; run user snapshot box -o now; babeltrace2 now 2>/dev/null | sed -n 's/.*{ me = \([0-9]*\),.*/\1/p' | sort -un | tr '\n' ' '; }
# sorted PID...
sorted() { printf '%s\n' "$@" | sort -un | tr '\n' ' '; }

start; one=$pid
start; two=$pid
until_true [ -S "$runtime/$one" ] && until_true [ -S "$runtime/$two" ]
run user start box -u 'who:*' --mode overwrite
is "$rc" 0 "a session"
is "$(recorded)" "$(sorted $one $two)" "at first all record"
run user track box --pid "$one"
is "$rc" 0 "user track --pid"
is "$(recorded)" "$one " "the first track leaves only those that are named"
run user status box
like "$out" "tracked: pid $one" "status names them"
like "$out" "$two +who +untracked" "and says who does not record"
run user list -p "$two"
like "$out" 'who +0 +1 who:here' "its event is off"
run user status box --json
printf '%s\n' "$out" | python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    assert row["tracked"] == {"pid": [int(sys.argv[1])]}, row
    assert (row["state"] == "untracked") == (row["pid"] != int(sys.argv[1])), row' "$one"
ok "and as JSON"
run user track box -p "$two"
is "$(recorded)" "$(sorted $one $two)" "the next track adds"
run user untrack box --pid "$one"
is "$(recorded)" "$two " "untrack takes away"
run user untrack box --pid "$one"
like "$err" "pid $one was not tracked" "twice: it is said"
is "$rc" 0 "and is no failure"
run user untrack box --all
is "$(recorded)" "" "untrack --all leaves none"
run user status box
like "$out" "tracked: no process" "status says so"
run user stop box
run user resume box
is "$(recorded)" "" "nor after stop and resume"
run user track box --all
is "$(recorded)" "$(sorted $one $two)" "track --all: everybody again"
run user status box
unlike "$out" "tracked:" "and nothing to say of it"

# ---- children, and programs that start later
run user track box --pid "$one"
kill -USR1 "$one"
until_true pgrep -P "$one"
child=$(pgrep -P "$one")
is "$(recorded)" "$one " "a forked child has another pid: it does not record"
until_true [ -S "$runtime/$child" ]
run user list -p "$child"
like "$out" 'who +0 +1 who:here' "its event is off"
run user track box --pid "$child"
is "$(recorded)" "$(sorted $one $child)" "until it is named"
start; three=$pid
until_true [ -S "$runtime/$three" ]
is "$(recorded)" "$(sorted $one $child)" "a program that starts later does not record"
run user track box --pid all
is "$(recorded)" "$(sorted $one $two $three $child)" "--pid all"
kill -9 "$child" "$three"

# ---- a child that is forked while the session is stopped begins with it
run user stop box
kill -USR1 "$two"
until_true pgrep -P "$two"
child=$(pgrep -P "$two")
until_true [ -S "$runtime/$child" ]
run user resume box
is "$(recorded)" "$(sorted $one $two $child)" "a child that was forked while the session was stopped records when it goes on"
kill -9 "$child"

# ---- users and groups
start --reuid=nobody --clear-groups; alien=$pid
start --regid=nogroup --clear-groups; grouped=$pid
until_true [ -S "/tmp/pantrace-65534/$alien" ] && until_true [ -S "$runtime/$grouped" ]
run user track box --uid nobody
is "$(recorded)" "$alien " "--uid by name: a program of that user, which started later"
run user status box
like "$out" 'tracked: uid nobody' "status has the name"
run user track box --uid 0
is "$(recorded)" "$(sorted $one $two $alien $grouped)" "and by number"
run user track box --gid nogroup
is "$(recorded)" "$grouped " "--gid: a process must be in both sets"
run user track box --all
run user track box --uid 0
kill -USR2 "$two"
changed() { sleep 1; [ "$(recorded)" = "$(sorted $one $grouped)" ]; }
changed || changed || changed || changed
ok "a process that becomes another user's stops"
run user track box --all
run user track box --uid nobody
is "$(recorded)" "$(sorted $two $alien)" "and is the other's"
kill -USR2 "$one"
changed() { sleep 1; [ "$(recorded)" = "$(sorted $one $two $alien)" ]; }
changed || changed || changed || changed
ok "as one is that comes to that user"
run user track box --all

# ---- of a session to come
run user destroy box
run user start box -u 'who:*' --mode overwrite --uid nobody
is "$(recorded)" "$(sorted $one $two $alien)" "user start --uid"
run user destroy box
run record -u 'who:*' --uid daemon,nobody -d 0.3 -o byuser
is "$(babeltrace2 byuser | sed -n 's/.*{ me = \([0-9]*\),.*/\1/p' | sort -un | tr '\n' ' ')" "$(sorted $one $two $alien)" "record --uid"

# ---- pid namespaces
if unshare --pid --fork true 2>/dev/null; then
	run user start box -u 'who:*' --mode overwrite
	unshare --pid --fork --mount-proc sh -c './who & wait' &
	outer=$!
	until_true pgrep -f -P "$(pgrep -P $outer)" who
	inner=$(pgrep -P "$(pgrep -P $outer)")
	started="$started $inner $outer"
	until_true ls "$runtime"/2*
	own=$(awk '/^NSpid/ { print $NF }' "/proc/$inner/status")
	run user track box --pid "$inner"
	is "$(recorded)" "$own " "--pid is the tool's number of a process in a container"
	run user track box --all
	run user track box --vpid "$own"
	is "$(recorded)" "$own " "--vpid is the process's own"
	run user destroy box
else
	skip "pid namespaces" "unshare is refused here"
fi

is "$("$pantrace" complete pantrace user track box --uid nobo | cut -f1)" nobody "users are completed"

# ---- what is refused
run user start box -u 'who:*'
run user untrack box --pid "$two"
like "$err" "does not track by pid" "untrack of one of all: what to do"
is "$rc" 1 "fails"
run user track box --pid 999999999
like "$err" "there is no process 999999999" "a process that is not there"
run user track box --pid shop
like "$err" "'shop' is no process id" "no number"
run user track box --uid nobdy
like "$err" "there is no user 'nobdy'.*|did you mean 'nobody'" "a user that is not there: the nearest"
run user track box
like "$err" "which processes\\?" "nothing named"
is "$rc" 2 "a usage error"
run user track box --all --pid 1
is "$rc" 2 "--all and a kind"
run user track bxo --all
like "$err" "there is no session 'bxo'" "no such session"
run user track box --vpid "$(seq -s, 1 129)"
like "$err" "more than 128 ids" "more than there is room for"
run user status box
unlike "$out" "tracked:" "and nothing was changed by these"
done_testing
