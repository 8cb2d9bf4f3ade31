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
done_testing
