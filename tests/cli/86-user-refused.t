#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that start after the recorder and cannot make their rings are named, with the reason, and make the exit code 3.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
mkdir -m 700 "$PANTRACE_RUNTIME"
cat >app.c <<'C'
#include <pantrace/pantrace.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 10; i++)
		PANTRACE(app, said, i);
	return puts("well") < 0;
}
C
gcc -O2 -I"$top/include" app.c "$lib/libpantrace.a" -o app -lpthread || exit 1

run record -u 'app:*' -o whole -- ./app
is "$rc" 0 "a program that can"
run record -u 'app:*' -o limited -- sh -c 'ulimit -f 8; ./app; ./app'
is "$rc" 3 "files of the program may not be as large as its rings"
is "$out" "well
well" "it works all the same"
like "$err" 'WARNING: process [0-9]* (.*) does not take part: its rings cannot be made: File too large' "and is named with the reason"
is "$(printf '%s\n' "$err" | grep -c 'does not take part')" 2 "each of them, once"
gone() { [ -z "$(find /dev/shm/pantrace-"$(id -u)" -name '*-0-*.pantrace' 2>/dev/null)" ]; }
until_true gone
ok "nothing is left behind"

# ---- programs that run when the recorder starts: one refuses, another does not
cat >stays.c <<'C'
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0;; i++) {
		PANTRACE(app, said, i);
		usleep(1000);
	}
}
C
gcc -O2 -I"$top/include" stays.c "$lib/libpantrace.a" -o stays -lpthread || exit 1
./stays &
good=$!
(ulimit -f 8; exec ./stays) &
bad=$!
ready $good && ready $bad
run record -u 'app:*' -o among -d 0.5
is "$rc" 3 "a refusal as the session starts makes the exit code 3"
like "$err" "WARNING: process $bad \(stays\) does not take part: .*ulimit -f" "it is named"
unlike "$err" "process $good " "the other one is not"
like "$err" '[1-9][0-9]* events of 1 process' "but recorded"
run record -u 'app:*' -p $good -o one -d 0.3
is "$rc" 0 "who is not asked does not refuse"
run record -u 'app:*' --mode overwrite -o flight -d 0.3
is "$rc" 3 "in a flight recorder's session, too"
is "$(printf '%s\n' "$err" | grep -c 'does not take part')" 1 "it is named once"
kill $good $bad
wait $good $bad 2>/dev/null

# ---- an output that is full: what is left in the rings is counted
cat >counted.c <<'C'
#include <pantrace/pantrace.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 100000; i++)
		PANTRACE(app, said, i, "sixteen bytes .");
	return 0;
}
C
gcc -O2 -I"$top/include" counted.c "$lib/libpantrace.a" -o counted -lpthread || exit 1
mkdir small
if mount -t tmpfs -o size=1m none small; then
	run record -u 'app:*' -o small/trace -- ./counted
	is "$rc" 3 "a full output makes the exit code 3"
	like "$err" 'ERROR: not everything is written: No space left' "it is said"
	written=$("$pantrace" report small/trace | grep -c 'app:said')
	lost=$(printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p')
	is "$((written + lost))" 100000 "each event is written or counted: $written, $lost lost"
	umount small
else
	skip "a full output" "cannot mount"
fi
done_testing
