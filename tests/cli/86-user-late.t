#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that do not find the session as they begin: in containers, below another root, with no socket where it is looked for. What they
# do is recorded, lost and counted, or they are named; the exit code says it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
# Each test has events of its own: programs of others run, too.
events=late$$
cat >stays.c <<'C'
/* Events until it is ended; then how many there were, in the file that is named. */
#include <pantrace/pantrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile sig_atomic_t end, more;
static void on_end(int signal) { (void)signal; end = 1; }
static void on_more(int signal) { (void)signal; more = 1; }
int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	struct pantrace_event *made = NULL;
	int i = 0;
	FILE *count;

	signal(SIGTERM, on_end);
	signal(SIGUSR1, on_more);
	for (; !end; i++) {
		PANTRACE(EVENTS, said, i, PT_NAMED(odd, i % 2));
		const struct pantrace_value value = {.value.i = i % 2};
		if (more && !made)
			made = pantrace_dynamic("EVENTS", "made", "odd:i32", 6);
		if (made)
			pantrace_dynamic_emit(made, &value);
		nanosleep(&nap, NULL);
	}
	count = argc > 1 ? fopen(argv[1], "w") : NULL;
	return !count || fprintf(count, "%d\n", i) < 0 || fclose(count);
}
C
sed -i "s,EVENTS,$events," stays.c
gcc -O2 -I"$top/include" stays.c "$lib/libpantrace.a" -o stays -lpthread || exit 1
events() { "$pantrace" report "$1" 2>/dev/null | grep -c "$events:said"; }
unset PANTRACE_RUNTIME # containers have another one, and all are looked at

# container SETUP COMMAND: in namespaces of its own, after SETUP; its pid in $inside
container()
{
	unshare -mpf --kill-child --mount-proc sh -c "$1; exec $2" &
	inside=$!
}
own="mount -t tmpfs none /run; mount -t tmpfs none /dev/shm"

if ! unshare -mpf --mount-proc true 2>/dev/null; then
	skip "containers" "no namespaces"
	done_testing
	exit
fi

# ---- with all directories of its own, and a filter, that it cannot ask for
start record -n 'stays' -u "$events:*" --filter 'args.odd == 1' -o filtered
container "$own" ./stays
until_true grep -q 'is in a container' "$work/trace.err"
sleep 0.5
stop
kill -KILL $inside
wait $inside 2>/dev/null
like "$err" 'WARNING: process [0-9]+ \(stays\) is in a container and was found after it had begun: its events before that are not recorded' \
	"a program in a container that starts later is found and named"
is "$rc" 3 "what it did before is missing, and the exit code says it"
like "$err" '[1-9][0-9]* events of 1 process' "from then on it is recorded"
is "$("$pantrace" report filtered | grep -c 'odd=0\|odd = 0')" 0 "and the filter holds"

# ---- an event that is made later in a program that cannot ask for its filter
container "$own" ./stays
until_true sh -c '"$0" user list | grep -q "$1:said"' "$pantrace" "$events"
start record -n 'stays' -u "$events:*" --filter 'args.odd == 1' -o unheard
kill -USR1 "$(pgrep -P $inside)"
until_true grep -q 'could not ask' "$work/trace.err"
sleep 0.3
stop
kill -KILL $inside
wait $inside 2>/dev/null
like "$err" 'process [0-9]+ \(stays\) could not ask for the filter of its events, and was found later: its events before that are not recorded' \
	"a program that cannot ask for a filter is named"
is "$rc" 3 "with code 3"
"$pantrace" report unheard >unheard.txt
grep -q "$events:made" unheard.txt
ok "and gets it"
is "$(grep -c 'odd = 0' unheard.txt)" 0 "which holds"

# ---- one with more events than one request has filters is no reason why another should get none
cat >crowd.c <<'C'
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char name[16];

	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "e%d", i);
		pantrace_dynamic("EVENTS", name, "odd:i32", 6);
	}
	return pause();
}
C
sed -i "s,EVENTS,$events," crowd.c
gcc -O2 -I"$top/include" crowd.c "$lib/libpantrace.a" -o crowd -lpthread || exit 1
container "$own" ./crowd
crowd=$inside
container "$own" ./stays
until_true sh -c '"$0" user list | grep -q "$1:said" && "$0" user list | grep -q "$1:e1099"' "$pantrace" "$events"
for _ in 1 2 3 4 5; do
	rm -rf crowded
	start record -n 'stays' -n crowd -u "$events:*" --filter 'args.odd == 1' -o crowded
	sleep 0.5
	stop
	case $err in *'too busy'*) ;; *) break ;; esac # to answer in time
done
kill -KILL $inside $crowd
wait $inside $crowd 2>/dev/null
like "$err" '[1-9][0-9]* events of [12] process' "a program gets its filters, whatever others have" || printf '# %s\n' "$err"
like "$err" 'process [0-9]+ \(crowd\) does not take part: .*more filters for its events than a program takes' "who does not take them is named"

# ---- below another root, in our own mount namespace
mkdir -p root/dev/shm root/run root/proc
gcc -O2 -static -I"$top/include" stays.c "$lib/libpantrace.a" -o root/stays -lpthread || exit 1
mount -t proc none root/proc 2>/dev/null
start record -n 'stays' -u "$events:*" -o below
chroot root ./stays &
inside=$!
until_true grep -q 'is in a container' "$work/trace.err"
stop
kill -KILL $inside
wait $inside 2>/dev/null
is "$rc" 3 "a program below another root is found, too" || printf '# %s\n' "$err"
like "$err" '[1-9][0-9]* events of 1 process' "and recorded"
chroot root ./stays &
inside=$!
until_true [ -S root/run/pantrace/$inside ]
run record -n 'stays' -u "$events:*" -o below2 -d 0.5
is "$rc" 0 "nothing is missing of one that runs before" || printf '# %s\n' "$err"
like "$err" '[1-9][0-9]* events of 1 process' "it is recorded"
kill -KILL $inside
wait $inside 2>/dev/null
umount root/proc

# ---- a directory that has the name of that of the rings, and is another one
start record -n 'stays' -u "$events:*" -o other
rings=$(sed -n 's/^directory //p' /run/pantrace/sessions/record-$tracer)
unshare -m sh -c "mount -t tmpfs none /dev/shm; mkdir -p '$rings'; for i in 1 2 3; do timeout 1 ./stays '$work/count.'\$i; done; ls '$rings'" >other.files
stop
is "$rc" 0 "programs with an own directory of the session's name" || printf '# %s\n' "$err"
is "$(events other)" "$(cat count.* | awk '{n += $1} END {print n}')" "hand their rings over: each event is there"
is "$(cat other.files)" "" "nothing is left there"

# ---- what such a program has to say when it cannot make rings
run record -n 'stays' -u "$events:*" -o refuses -- unshare -m sh -c "mount -t tmpfs none /dev/shm; ulimit -f 8; timeout 1 ./stays; true"
is "$rc" 3 "a short program that cannot make rings, nor leave a note in the directory" || printf '# %s\n' "$err"
like "$err" 'process [0-9]+ \(.*\) does not take part: files of the program may not be as large' "is named"

# ---- programs that have no socket where sockets are looked for, and began before: they cannot be told
cp stays mute
mute() # SETUP...: a program that has none; its pid in $mute
{
	"$@" ./mute &
	mute=$!
	until_true grep -qx mute /proc/$mute/comm
	sleep 0.3
}
named() # NAME REASON WHAT
{
	run record -n mute -u "$events:*" -o "$1" -d 0.3
	is "$rc" 3 "$3" || printf '# %s\n' "$err"
	like "$err" "process $mute \(mute\) does not take part: $2" "is named"
	kill $mute
	wait $mute 2>/dev/null
}
mute unshare -m sh -c 'mount -o bind,ro /run /run && exec "$1"' sh
named read-only 'it has events that are asked for, but no socket where programs are looked for' "a program that may not make its socket"
mute env PANTRACE_RUNTIME="$work/elsewhere"
named no-socket 'it has events that are asked for, but no socket' "one with a socket elsewhere"
mute env PANTRACE_CONTROL=0
named forbidden 'it was started with PANTRACE_CONTROL=0' "one that is not to be asked"
mute env PANTRACE_CONTROL=0
rm mute
named deleted 'it was started with PANTRACE_CONTROL=0' "one whose file is deleted"
cp stays mute
mute env PANTRACE_CONTROL=0
run record -n mute -u 'other:*' -o no-such -d 0.3
is "$rc" 0 "one that has no such event misses nothing" || printf '# %s\n' "$err"
run user start "late$$" -n mute -u "$events:*"
like "$err" "process $mute \(mute\) does not take part: it was started with" "a session without a recorder names it as it begins"
run user destroy "late$$"
run record -n other -u "$events:*" -o not-meant -d 0.3
is "$rc" 0 "nor does one that is not meant" || printf '# %s\n' "$err"
run record -u "$events:*" --uid 65534 -o not-tracked -d 0.3
is "$rc" 0 "by its name or its user" || printf '# %s\n' "$err"
kill $mute
wait $mute 2>/dev/null
start record -n mute -u "$events:*" -o joins
(unset PANTRACE_RUNTIME; exec unshare -m sh -c 'mount -o bind,ro /run /run && exec ./mute count.mute') &
mute=$!
until_true sh -c '[ -n "$(ls "$1")" ]' sh "$(sed -n 's/^directory //p' /run/pantrace/sessions/record-$tracer)"
sleep 0.5
kill $mute
wait $mute
stop
is "$rc" 0 "one that begins later joins by itself" || printf '# %s\n' "$err"
is "$(events joins)" "$(cat count.mute)" "and each event is there"

# ---- a program that has one descriptor to spare, or none
start record -n stays -u "$events:*" -o few
rm -f count.few
(ulimit -n 4 && exec timeout 1 ./stays count.few)
stop
if [ "$rc" = 0 ]; then
	is "$(events few)" "$(cat count.few)" "a program with one descriptor to spare is recorded"
else
	like "$rc: $(printf '%s' "$err" | tr '\n' ' ')" '^3: .*process [0-9]+ .* does not take part: the program has no descriptor left' \
		"a program with one descriptor to spare is named"
fi
done_testing
