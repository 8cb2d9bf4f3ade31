#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Events go on and off in a session that is there: in programs that run, in those that start later, and with its recorder.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
export PANTRACE_RUNTIME="$work/runtime"
cd "$work" || exit 1

cat >some.c <<'EOC'
#include <pantrace/pantrace.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0;; i++) {
		PANTRACE(some, one, i);
		PANTRACE_AT(PANTRACE_ERR, some, two, i);
		usleep(1000);
	}
}
EOC
libs=$(dirname "$pantrace")
[ -e "$libs/libpantrace.a" ] || libs=$top/build
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" some.c "$libs/libpantrace.a" -o some
ok "a program is instrumented" || { done_testing; exit; }
mkdir -m 700 "$PANTRACE_RUNTIME"
./some &
one=$!
until_true [ -S "$PANTRACE_RUNTIME/$one" ]

# held EVENT DIR: how many a snapshot of the last moments has
snapshot() { rm -rf "$1"; run user clear box; sleep 0.3; run user snapshot box -o "$1"; }
held() { babeltrace2 "$2" 2>/dev/null | grep -c "some:$1"; }

run record -u 'smoe:*' -u soem:one -u another:program -d 0.1 -o misspelt
like "$err" "no program that runs has an event 'smoe:.'" "record: a misspelt provider is told"
like "$err" "did you mean 'some:[*]'" "with the nearest"
like "$err" "did you mean 'some:one'" "a name, too"
unlike "$err" 'another' "nothing is said of what may be a program's that is yet to start"
run user start box -u some:one --mode overwrite
snapshot before
is "$(held two before)" 0 "an event that nobody enabled is not recorded"
run user enable box some:two
is "$rc" 0 "user enable"
snapshot after
[ "$(held two after)" -gt 0 ] && [ "$(held one after)" -gt 0 ]
ok "from then on it is, beside the others"
run user disable box some:one
snapshot off
[ "$(held one off)" = 0 ] && [ "$(held two off)" -gt 0 ]
ok "user disable: the event is off, the others are not"

# ---- programs that start later
./some &
late=$!
until_true [ -S "$PANTRACE_RUNTIME/$late" ]
run user list -p "$late"
like "$out" 'some +0 +1 some:one' "a program that starts later has the same off"
like "$out" 'some +1 +1 some:two' "and on"

# ---- levels
run user disable box some:two
run user enable box 'some:*' --level err
run user list -p "$one"
like "$out" 'some +0 +1 some:one' "--level: what is less severe stays off"
like "$out" 'some +1 +1 some:two' "what is as severe goes on"

# ---- the recorder stays known
"$pantrace" record --session more -u some:one -o more >record.out 2>record.err &
recorder=$!
until_true grep -q 'recorder' "$PANTRACE_RUNTIME/sessions/more"
run user enable more some:two
run user status more
like "$out" "recorder $recorder," "a session keeps its recorder"
sleep 0.3
kill -INT $recorder
wait $recorder
[ "$(held two more)" -gt 0 ]
ok "which writes what was enabled under way"

# ---- errors
run user enable bix some:one
like "$rc $err" "^1 .*there is no session 'bix'" "no such session"
run user enable box some:onne
like "$err" "no program that runs has an event 'some:onne'" "no such event is said"
like "$err" "some:one" "with the one that was meant"
run user enable box some
like "$rc $err" "^1 .*names a provider" "a provider is no event"
run user enable box
is "$rc" 2 "no event at all is a wrong use"
i=0
while [ $i -lt 64 ]; do
	set -- "$@" "many:event$i"
	i=$((i + 1))
done
run user enable box "$@"
like "$rc $err" "^1 .*too many patterns" "too many patterns"
run user list -p "$one"
like "$out" 'some +2 +1 some:two' "of which none is taken"
run user destroy box
run user destroy more

# ---- many changes at once
# A process of our own that does not come to an end holds the lock of another runtime directory meanwhile.
mkdir -m 700 other
PANTRACE_RUNTIME=$work/other "$pantrace" user start box -u some:one
perl -MFcntl -e 'sysopen(my $f, $ARGV[0], O_RDWR | O_CREAT, 0600) or die; my $lock = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0); fcntl($f, F_SETLK, $lock) or die;
	open(my $ready, ">", $ARGV[1]); close($ready); sleep 600' other/sessions/.lock held &
holder=$!
until_true [ -e held ]
PANTRACE_RUNTIME=$work/other "$pantrace" user enable box some:two 2>held.err &
held=$!
run user start many -u many:none
changes=''
for i in $(seq 12); do
	"$pantrace" user enable many "many:event$i" 2>/dev/null &
	changes="$changes $!"
	"$pantrace" user track many --uid $((i + 1000)) &
	changes="$changes $!"
done
wait $changes
is "$(grep -c '^enable many:event' "$PANTRACE_RUNTIME/sessions/many")" 12 "of many changes at once none is lost"
is "$(grep '^tracked uid' "$PANTRACE_RUNTIME/sessions/many" | grep -o '10[0-9][0-9]' | sort -u | wc -l)" 12 "nor of another kind"
is "$(stat -c %a "$PANTRACE_RUNTIME/sessions/.lock")" 600 "only its owner can open the lock"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work" "$PANTRACE_RUNTIME"
	setpriv --reuid=65534 --regid=65534 --clear-groups perl -MFcntl=:flock -e '
		for (@ARGV) { open(my $f, "<", $_) && flock($f, LOCK_EX | LOCK_NB) && push(@all, $f) && print "$_\n" } print "tried\n"; close(STDOUT); sleep 600' \
		"$PANTRACE_RUNTIME" "$PANTRACE_RUNTIME/sessions" "$PANTRACE_RUNTIME/sessions/many" "$PANTRACE_RUNTIME/sessions/.lock" >locked &
	stranger=$!
	until_true grep -q '^tried$' locked
	run user enable many many:last
	is "$rc $(grep -c lock locked)" "0 0" "a stranger holds what he can lock, and is not in the way"
	kill $stranger
fi
run user destroy many
[ ! -e "$PANTRACE_RUNTIME/sessions/many" ]
ok "and it ends"
wait $held
is "$?" 1 "who holds the lock and does not end is not waited for"
like "$(cat held.err)" "being changed by process $holder" "and is named"
kill $holder
PANTRACE_RUNTIME=$work/other "$pantrace" user destroy box
kill $one $late
done_testing
