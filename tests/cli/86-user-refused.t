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
like "$err" 'WARNING: process [0-9]* (.*) does not take part: files of the program may not be as large as its rings .ulimit -f.' "and is named with the reason"
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

# ---- /proc/self/mem is refused, or there is no /proc: sites are switched on all the same, or it is said
cat >under.c <<'C' # runs a program that may not write code (PR_SET_MDWE)
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (prctl(65, 1, 0, 0, 0))
		return 77;
	execv(argv[1], argv + 1);
	return 78;
}
C
gcc -O2 under.c -o under || exit 1
no_proc="mount -t tmpfs none /proc"
if unshare -m sh -c "$no_proc" 2>/dev/null; then
	run record -u 'app:*' -o no-proc -- unshare -m sh -c "$no_proc; ./app"
	is "$rc" 0 "a program without /proc" || echo "# $err"
	is "$("$pantrace" report no-proc | grep -c app:said)" 10 "has its events"
	unshare -m sh -c "$no_proc; exec ./stays" &
	stays=$!
	ready $stays
	run record -u 'app:*' -o no-proc-later -d 1
	is "$rc" 0 "one that is recorded later" || echo "# $err"
	like "$err" '[1-9][0-9]* events of 1 process' "too"
	run record -u 'app:*' -c procname -o names -d 0.3
	is "$rc" 3 "names of threads are taken from /proc"
	like "$err" "process $stays \\(stays\\) does not take part: .*there is no /proc" "and nothing takes their place"
	kill $stays
	wait $stays 2>/dev/null
	./under true
	if [ $? != 77 ]; then
		run record -u 'app:*' -o mdwe -- unshare -m sh -c "$no_proc; ./under ./app"
		is "$rc" 3 "a program whose code cannot be written"
		is "$out" well "works"
		like "$err" 'WARNING: process [0-9]+ \(app\): 1 place in its code stays off: the memory may not be written: .*PR_SET_MDWE' "and is named"
		is "$(printf '%s\n' "$err" | grep -c 'stays off')" 1 "once"
		unshare -m sh -c "$no_proc; exec ./under ./stays" &
		stays=$!
		ready $stays
		run user start off -u 'app:*'
		run user list 'app:*'
		like "$err" "WARNING: process $stays .*1 place in its code stays off: the memory may not be written" "user list says it, too"
		run list -v 'user:app:*'
		like "$err" "WARNING: process $stays .*1 place in its code stays off: the memory may not be written" "and list -v"
		run user destroy off
		kill $stays
		wait $stays 2>/dev/null
	else
		skip "a program whose code cannot be written" "needs Linux 6.3"
	fi
else
	skip "programs without /proc" "no mount namespaces"
fi
# not dumpable: its /proc is root's
cat >closed.c <<'C'
#include <pantrace/pantrace.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	if (prctl(PR_SET_DUMPABLE, 0) || open("/proc/self/mem", O_RDWR) >= 0)
		return 1;
	for (int i = 0;; i++) {
		PANTRACE(app, said, i);
		usleep(1000);
	}
}
C
gcc -O2 -I"$top/include" closed.c "$lib/libpantrace.a" -o closed -lpthread || exit 1
chmod 711 "$work"
own=$work/own
mkdir -m 700 "$own"
chown 65534 "$own"
PANTRACE_RUNTIME=$own setpriv --reuid=65534 --regid=65534 --clear-groups ./closed &
closed=$!
listens() { [ -S "$own/$closed" ]; }
until_true listens
kill -0 $closed
ok "a program that may not open its own /proc/self/mem"
PANTRACE_RUNTIME=$own setpriv --reuid=65534 --regid=65534 --clear-groups "$pantrace" record -u 'app:*' -o "$own/trace" -d 1 >"$work/out" 2>"$work/err"
is $? 0 "is recorded" || sed 's/^/# /' "$work/err" >&2
like "$(cat "$work/err")" '[1-9][0-9]* events of 1 process' "with its events"
kill $closed
wait $closed 2>/dev/null

# ---- a filter that asks for the time, where reading the clock is a system call
source=/sys/devices/system/clocksource/clocksource0/current_clocksource
echo hpet >hpet
if unshare -m mount --bind hpet $source 2>/dev/null; then
	unshare -m sh -c "mount --bind hpet $source; exec '$pantrace' record -u 'app:*' --filter 'nsecs > 5' -o time -- ./app" >"$work/out" 2>"$work/err"
	is $? 1 "a filter with nsecs"
	like "$(cat "$work/err")" "a filter cannot ask for nsecs here" "is refused with the reason"
	unshare -m sh -c "mount --bind hpet $source; exec ./stays" &
	stays=$!
	ready $stays
	run record -u 'app:*' --filter 'nsecs > 5' -o time-later -d 0.3
	is "$rc" 3 "a program whose machine it is"
	like "$err" "process $stays \(stays\) does not take part: .*asks for nsecs" "does not take part, and is named"
	run record -u 'app:*' --filter 'nsecs > 5' -o time-begins -- unshare -m sh -c "mount --bind hpet $source; exec ./app"
	is "$rc" 3 "one that begins there"
	like "$err" "does not take part: .*asks for nsecs" "is named, too"
	kill $stays
	wait $stays 2>/dev/null
else
	skip "filters that ask for the time" "cannot mount over $source"
fi

# ---- without /sys the clock itself says what it is
if [ "$(cat $source)" = tsc ] && unshare -m mount -t tmpfs none /sys 2>/dev/null; then
	run record -u 'app:*' --filter 'nsecs > 5' -o no-sys -- unshare -m sh -c "mount -t tmpfs none /sys; ./app"
	is "$rc" 0 "a filter with nsecs of a program that sees no /sys" || echo "# $err"
	is "$("$pantrace" report no-sys | grep -c app:said)" 10 "has its events"
else
	skip "programs without /sys" "the clock is not the time stamp counter, or /sys cannot be mounted over"
fi

# ---- rings that have no name where the recorder looks: the program sees another /dev/shm, or none
if unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	hidden()
	{
		run record -u 'app:*' -o "hidden-$1" -- unshare -m sh -c "$2; ./app; ./app"
		is "$rc" 0 "$3" || echo "# $err"
		is "$("$pantrace" report "hidden-$1" 2>/dev/null | grep -c app:said)" 20 "is recorded, however short it lives"
	}
	hidden own "mount -t tmpfs none /dev/shm" "a program with a /dev/shm of its own"
	hidden read-only "mount -o bind,ro /dev/shm /dev/shm" "one that may not write there"
	hidden none "mount -t tmpfs none /dev" "one without /dev/shm"
	run record -u 'app:*' --filter 'args.i >= 5' -o hidden-filter -- unshare -m sh -c "mount -t tmpfs none /dev/shm; ./app"
	is "$("$pantrace" report hidden-filter 2>/dev/null | grep -c app:said)" 5 "with a filter, too"
	mkdir tiny
	mount -t tmpfs -o size=8k none tiny
	run record -u 'app:*' --rings "$work/tiny" -o tiny-trace -- ./app
	is "$rc" 3 "no room for rings" || echo "# $err"
	like "$err" 'process [0-9]* \(.*\) does not take part: there is no memory left for its rings' "is named"
	umount tiny
else
	skip "programs that see another /dev/shm" "no mount namespaces"
fi

# ---- programs that are confined by seccomp
cat >confined.c <<'C'
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pantrace/pantrace.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* thread: this thread dies of any system call but read and write; all: every thread does; before PROGRAM: which makes no files */
int main(int argc, char **argv)
{
	struct sock_filter strict[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_filter files[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog filter = {5, strict}, before = {7, files};
	char c;
	if (!strcmp(argv[1], "before"))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &before) || execv(argv[2], argv + 2);
	if (read(0, &c, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, strcmp(argv[1], "thread") ? SECCOMP_FILTER_FLAG_TSYNC : 0, &filter))
		return 1;
	if (write(1, "in\n", 3) != 3)
		return 2;
	for (int i = 0;; i++) { /* no nap: it is a system call */
		for (volatile int k = 0; k < 1000000; k++)
			;
		PANTRACE(app, said, i);
	}
}
C
gcc -O2 -I"$top/include" confined.c "$lib/libpantrace.a" -o confined -lpthread || exit 1
mkfifo go
confine() # HOW: $confined is it, once its helper sleeps and it is confined
{
	./confined "$1" <go >confined.out &
	confined=$!
	exec 3>go
	ready $confined
	sleep 1.5
	echo >&3
	until_true grep -q in confined.out
}
released()
{
	kill -0 $confined
	ok "$1"
	kill -KILL $confined
	wait $confined 2>/dev/null
	exec 3>&-
}
confine thread
run record -u 'app:*' --filter 'comm == "confined" && pid > 0 && uid == 0 && args.i > 0' -c procname,vtid -o confined-filter -d 1
is "$rc" 0 "a filter in a thread that is confined" || echo "# $err"
like "$err" '[1-9][0-9]* events of 1 process' "is asked"
run user start flight -u 'app:*' --mode overwrite
sleep 0.5
run user snapshot flight -o confined-flight
is "$rc" 0 "a snapshot of it" || echo "# $err"
like "$err" '[1-9][0-9]* events of 1 process' "has its events"
run user destroy flight
released "and the program lives"
confine all
run record -u 'app:*' -o confined-all -d 0.3
like "$err" "process $confined \\(confined\\) does not answer: it is confined by seccomp" "one whose threads are all confined is named with the reason"
released "and lives, too"
./confined before ./stays &
confined=$!
# The socket is that of the program before exec() until the other one has its own.
until_true grep -qx stays "/proc/$confined/comm"
until_true sh -c '"$0" user list 2>&1 | grep -Eq "^ *$1 +stays|process $1 \(stays\)"' "$pantrace" $confined
run record -u 'app:*' -o confined-before -d 0.3
is "$rc" 3 "a filter of system calls that refuses what rings take"
like "$err" "process $confined \\(stays\\) does not take part: .*confined by seccomp" "is named as the reason"
kill $confined
wait $confined 2>/dev/null
done_testing
