#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In a session without a recorder children that end without an event leave no rings; those that spoke do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
mkdir -m 700 "$PANTRACE_RUNTIME" rings
cat >forks.c <<'C'
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* So many children one after the other, then so many at once; each fortieth says something. */
int main(int count, char **argv)
{
	const int one = count > 2 ? atoi(argv[1]) : 0, at_once = atoi(argv[2]);
	for (int i = 0; i < one + at_once; i++) {
		if (!fork()) {
			if (i % 40 == 7)
				PANTRACE(app, child, i);
			if (i >= one)
				usleep(300000);
			_exit(0);
		}
		if (i < one)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	PANTRACE(app, parent, 1);
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
C
gcc -O2 -I"$top/include" forks.c "$lib/libpantrace.a" -o forks -lpthread || exit 1
files() { find rings -name '*.pantrace' | wc -l; }

run user start box -u 'app:*' --rings "$work/rings"
is "$rc" 0 "a session without a recorder"
mkfifo in
./forks 400 0 <in >said &
forks=$!
exec 3>in
until_true grep -q done said
left=$(files)
[ "$left" -le 14 ] # 10 that spoke, the parent's, and the last ones
ok "of four hundred children one after the other $left files are left, $(du -sm rings | cut -f1) MB"
exec 3>&-
wait $forks
is "$(files)" 11 "of a program that has ended those with events"
run user snapshot box -o snapshot
is "$("$pantrace" report snapshot | grep -c app:child)" 10 "in which each event is"
run user destroy box

run user start box -u 'app:*' --rings "$work/rings"
./forks 0 80 </dev/null >said
is "$(files)" 3 "of eighty at once as many"
run user destroy box
run record -u 'app:*' -o recorded -- ./forks 60 0
is "$rc" 0 "a recorder takes them itself"
is "$("$pantrace" report recorded | grep -c app:)" 3 "each event"
done_testing
