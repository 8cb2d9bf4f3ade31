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
left=$(files)
[ "$left" -ge 11 ] && [ "$left" -le 14 ]
ok "of a program that has ended those with events: $left"
run user snapshot box -o snapshot
is "$("$pantrace" report snapshot | grep -c app:child)" 10 "in which each event is"
run user destroy box

# A program that ends does not wait for its helper, which on a busy machine may come too late: then the empty files stay for
# "user destroy".
eighty()
{
	run user start box -u 'app:*' --rings "$work/rings"
	./forks 0 80 </dev/null >said
	left=$(files)
	run user destroy box
	[ "$left" = 3 ]
}
for _ in $(seq 30); do eighty && break; done
is "$left" 3 "of eighty at once as many"

# ---- what a child with fewer rights writes over what it shares with its parent
cat >rogue.c <<'C'
#include <pantrace/pantrace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
struct slot { /* lib/children.c */
	int32_t pid;
	uint32_t number;
	uint64_t pid_namespace;
	char file[48];
};
static struct slot *shared(void)
{
	char line[512], *end;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) {
		const uintptr_t from = strtoull(line, &end, 16), to = strtoull(end + 1, &end, 16);
		if (!strncmp(end, " rw-s", 5) && strstr(line, "/dev/zero") && to - from == 1024 * sizeof(struct slot))
			return (struct slot *)from;
	}
	return NULL;
}
static pid_t child(void (*fn)(void *), void *arg)
{
	const pid_t pid = fork();
	if (!pid) {
		fn(arg);
		exit(0);
	}
	return pid;
}
static void nothing(void *arg)
{
	(void)arg;
	_exit(0);
}
static void sibling(void *arg)
{
	int *const pipes = arg;
	char c;
	if (write(pipes[3], "x", 1) == 1 && read(pipes[0], &c, 1) == 1)
		PANTRACE(app, sibling, 1);
}
static pid_t spared, dead;
static void rogue(void *arg)
{
	struct slot *const slots = shared();
	struct slot *theirs = NULL;
	char path[200];
	(void)arg;
	for (int i = 0; slots && i < 1024; i++)
		if (slots[i].pid == spared)
			theirs = &slots[i];
	if (!theirs)
		_exit(11);
	snprintf(path, sizeof(path), "rings/box/%s", theirs->file);
	if (link(path, "victim"))
		_exit(2);
	for (int i = 900; i < 1024; i++) {
		slots[i] = *theirs;
		strcpy(slots[i].file, "../../victim");
		slots[i].pid = dead;
	}
	memset(slots[1023].file, 'A', sizeof(slots[1023].file));
	theirs->pid = dead;
	_exit(0);
}
int main(void)
{
	int pipes[4], status;
	char c;
	if (pipe(pipes) || pipe(pipes + 2))
		return 1;
	waitpid(child(nothing, NULL), NULL, 0);
	spared = child(sibling, pipes);
	if (read(pipes[2], &c, 1) != 1)
		return 1;
	waitpid(dead = child(nothing, NULL), NULL, 0);
	waitpid(child(rogue, NULL), &status, 0);
	for (int i = 0; i < 100; i++) /* at each fork the parent looks at some */
		waitpid(child(nothing, NULL), NULL, 0);
	if (write(pipes[1], "x", 1) != 1 || status)
		return 2;
	waitpid(spared, NULL, 0);
	PANTRACE(app, parent, 1);
	return 0;
}
C
gcc -O2 -I"$top/include" rogue.c "$lib/libpantrace.a" -o rogue -lpthread || exit 1
run user start box -u 'app:*' --rings "$work/rings"
./rogue
is $? 0 "a child that writes over what it shares with its parent does it no harm"
[ -e victim ]
ok "nothing outside of the directory of rings is removed"
run user snapshot box -o spared
is "$("$pantrace" report spared | grep -c app:sibling)" 1 "nor the rings of one that lives"
run user destroy box
run record -u 'app:*' -o recorded -- ./forks 60 0
is "$rc" 0 "a recorder takes them itself"
is "$("$pantrace" report recorded | grep -c app:)" 3 "each event"
done_testing
