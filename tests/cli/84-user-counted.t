#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Scripts that only count run in the programs: against what the programs count themselves.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
# wait: until something is read; N events of each of four threads, as many of each of three children; "rounds" once they are all done
cat >"$work/app.c" <<'END'
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int n;
static __attribute__((noinline)) void tick(int thread, long i)
{
	static const char *const urls[] = { "/index", "/a", "/bb" };

#ifdef OTHER
	PANTRACE(counted, tick, PT_NAMED(thread, thread), PT_NAMED(url, urls[i % 3]));
#else
	PANTRACE(counted, tick, PT_NAMED(thread, thread), PT_NAMED(url, urls[i % 3]), PT_NAMED(i, i), PT_NAMED(minus, (short)-(i % 100)));
#endif
}
static void *run(void *arg)
{
	for (long i = 0; i < n; i++)
		tick((int)(long)arg, i);
	return arg;
}
static void threads(long first)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run, (void *)(first + i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}
static void killed(void)
{
	volatile long *truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long begun = 0, done = 0;

	for (int trial = 0; trial < 20; trial++) {
		pid_t pid;

		truth[0] = truth[1] = 0;
		pid = fork();
		if (!pid)
			for (long i = 0;; i++) {
				truth[0]++;
				tick(77, i);
				truth[1]++;
			}
		while (!truth[1])
			;
		usleep(1000 + trial * 311);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		begun += truth[0];
		done += truth[1];
	}
	printf("killed %ld %ld\n", done, begun);
}
int main(int argc, char **argv)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "kill\n")) {
			killed();
			continue;
		}
		n = atoi(line);
		for (int child = 0; child < 3; child++)
			if (!fork()) {
				threads(10 * child + 10);
				_exit(0);
			}
		threads(0);
		while (wait(NULL) > 0)
			;
		printf("rounds\n");
	}
	(void)argc, (void)argv;
	return 0;
}
END
gcc -O1 -I"$top/include" "$work/app.c" -o "$work/app" "$lib/libpantrace.a" -lpthread || exit 1
gcc -O1 -DOTHER -I"$top/include" "$work/app.c" -o "$work/other" "$lib/libpantrace.a" -lpthread || exit 1
# begin NAME [FD]: the program with its input on fd 8 (9); ready when its socket is there
begin()
{
	rm -f "$work/in.$1"
	mkfifo "$work/in.$1"
	: >"$work/said.$1"
	"$work/$1" <"$work/in.$1" >"$work/said.$1" &
	pid=$!
	eval "exec ${2:-8}>'$work/in.$1'"
	ready $pid
}
value() { printf '%s\n' "$out" | sed -n "s/^@$1: //p" | tail -1; }
# total NAME: of the values of all its keys and lines
total() { printf '%s\n' "$out" | sed -n "s/^@$1\(\[[^:]*\]\)\{0,1\}: //p" | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
begin app
app=$pid
trap 'kill $app $other 2>/dev/null; exec 8>&- 9>&-; rm -rf "$work"' EXIT
other=

run -d bpf -e 'user:counted:tick { @ = count() }'
like "$out" 'call #28788' "a body that only counts is compiled for the program"
run -d bpf -e 'user:counted:tick { @ = count(); printf("%d\n", args.i) }'
unlike "$out" 'call #28788' "one that prints is not"
run -d bpf -e 'user:counted:tick { @ = count() } interval:s:1 { if (@ > 5) { exit() } }'
unlike "$out" 'call #28788' "nor one whose map the kernel looks at"
large=$(seq 900 | sed 's/.*/@large = count();/')
run -d bpf -e "user:counted:tick { $large }"
unlike "$out" 'call #28788' "nor one that is too large for there"

start -e 'user:counted:tick /args.thread < 100/ { @ = count(); @n++; @s[args.thread] = sum(args.i); @u[str(args.url)] = count();
	@h = hist(args.i); @l[args.thread & 1] = lhist(args.i, 0, 20000, 5000); @min = min(args.minus); @max = max(args.i); @avg = avg(args.i);
	@st[comm] = stats(args.thread); if (args.i == 7) { @seven[pid, tid] = count(); } }'
ls -d /dev/shm/pantrace-*/script-$tracer-* >/dev/null 2>&1
ok "its tables are where the tool finds them"
echo 20000 >&8
said app rounds 1
stop
is "$(value '')" 320000 "every event of 16 threads of 4 processes is counted"
is "$(value n)" 320000 "@n++"
is "$(total s)" $((16 * 19999 * 10000)) "sums by key"
is "$(printf '%s\n' "$out" | grep -c '^@s\[')" 16 "each key once"
is "$(value 'u\[\/index\]')" 106672 "strings as keys"
is "$(printf '%s\n' "$out" | sed -n '/^@h:/,/^$/s/|.*//p' | awk '{ n += $NF } END { print n }')" 320000 "a histogram"
is "$(printf '%s\n' "$out" | sed -n '/^@l\[0\]:/,/^$/p' | awk '/\[5000, 10000\)/ { print $3 }')" 40000 "a linear one"
is "$(value min) $(value max) $(value avg)" "-99 19999 9999" "extremes and averages"
like "$out" '@st\[app\]: { .count = 320000, .average = 16, .total = 5280000 }' "stats, comm as a key"
is "$(printf '%s\n' "$out" | grep -c '^@seven')" 16 "pid and tid as keys"
is "$err" "Attached 1 probe" "nothing was lost"
is "$(ls "$PANTRACE_RUNTIME/sessions")" "" "no session is left"
no_table() { ! ls -d /dev/shm/pantrace-*/script-$tracer-* >/dev/null 2>&1; }
until_true no_table
! ls -d /dev/shm/pantrace-*/script-$tracer-* >/dev/null 2>&1
ok "and no table"

start -e 'user:counted:tick { @k[args.thread] = count(); @m = max(args.i) } interval:ms:20 { print(@k); clear(@k); print(@m); clear(@m) }'
echo 60000 >&8
said app rounds 2
sleep 0.1
stop
is "$(total k)" 960000 "printed and cleared again and again: nothing is lost or shown twice"
like "$out" '@m: 59999' "extremes of intervals"
start -e 'user:counted:tick { @k[args.thread] = count() } interval:ms:100 { zero(@k); printf("zeroed\n"); }'
echo 100 >&8
said app rounds 3
zeroed() { [ "$(grep -c zeroed "$work/trace")" -ge "$1" ]; }
until_true zeroed $(($(grep -c zeroed "$work/trace") + 3)) # the last ones began behind the last event
stop
is "$(total k) $(printf '%s\n' "$out" | grep -c '^@k')" "0 16" "zero() keeps the keys"

start -e 'user:counted:tick /args.i == 5 && str(args.url) == "/bb"/ { printf("%d\n", args.thread) }'
grep -q '^filter counted:tick ' "$PANTRACE_RUNTIME"/sessions/script-$tracer-*
ok "what must run in the kernel has its predicate tried by the program"
echo 1000 >&8
said app rounds 4
sleep 0.2
stop
is "$(printf '%s\n' "$out" | sort -n | tr '\n' ' ')" "0 1 2 3 10 11 12 13 20 21 22 23 30 31 32 33 " "and sees what it lets through"
start -e 'user:counted:tick /args.i == 5/ { printf("%d\n", args.thread) } user:counted:tick /args.i == 6/ { printf("six\n") }'
! grep -q '^filter counted:tick ' "$PANTRACE_RUNTIME"/sessions/script-$tracer-*
ok "not so where two probes have predicates of their own"
echo 100 >&8
said app rounds 5
sleep 0.2
stop
is "$(printf '%s\n' "$out" | grep -c six) $(printf '%s\n' "$out" | grep -c .)" "16 32" "both see their events"

start -e "user:counted:tick { $large } user:counted:tick { @small = count() }"
ls -d /dev/shm/pantrace-*/script-$tracer-* >/dev/null 2>&1
ok "a probe that is too large for the program leaves the others there"
echo 100 >&8
said app rounds 6
sleep 0.2
stop
is "$(value large) $(value small)" "1440000 1600" "and both count every event"

start -f json -e 'user:counted:tick { @k[args.thread] = count() } END { print(@k, 2) }'
echo 1000 >&8
said app rounds 7
stop
is "$(printf '%s\n' "$out" | grep -c '1000')" 2 "json, the largest, at the end"
printf '%s\n' "$out" | grep '^{' | python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]' 2>/dev/null
ok "it is json"

start -e 'user:counted:tick { @who[comm] = count() } tracepoint:syscalls:sys_enter_getpgid /comm == "python3"/ { @who[comm] = count() }'
echo 1000 >&8
python3 -c 'import os; [os.getpgid(0) for i in range(17)]'
said app rounds 8
stop
is "$(value 'who\[app\]') $(value 'who\[python3\]')" "16000 17" "programs and the kernel count into one map"

start -e 'user:counted:tick { @ = count() }'
begin app 9
later=$pid
echo 500 >&9
said app rounds 1
kill $later
wait $later 2>/dev/null
exec 9>&-
stop
is "$(value '')" 8000 "a program that starts later, and has ended"
kill $app 2>/dev/null
exec 8>&-
begin app
app=$pid

cp "$work/app" "$work/elsewhere"
start -e 'user:counted:tick { if (args.i == 0) { printf("seen\n"); } if (args.i >= 5) { @ = count(); } }'
begin elsewhere 9
later=$pid
rounds=0
while ! grep -q seen "$work/trace" && [ $rounds -lt 1000 ]; do
	echo 1 >&9
	rounds=$((rounds + 1))
	said elsewhere rounds $rounds
	sleep 0.05
done
echo 15 >&9
said elsewhere rounds $((rounds + 1))
sleep 0.2
stop
is "$(value '')" 160 "in the kernel: a program that starts later, from another file"
kill $later
exec 9>&-

start -e 'user:counted:tick { @ = count() }'
begin other 9
other=$pid
echo 10 >&9
said other rounds 1
stop
like "$err" '160 events were not counted: their fields are others' "an event of the same name with other fields is told"
is "$(value '')" "" "and not counted"
kill $other
exec 9>&-

start -e 'user:counted:tick { @ = count(); @s = stats(args.i) }'
echo kill >&8
said app killed 1
stop
set -- $(sed -n 's/^killed //p' "$work/said.app") $(value '')
[ "$3" -ge "$1" ] && [ "$3" -le "$2" ]
ok "20 killed processes: $3 counted, $1 to $2 done"
both=$(printf '%s\n' "$out" | sed -n 's/.*count = \([0-9]*\),.*/\1/p')
[ "$both" -ge "$1" ] && [ "$both" -le "$2" ]
ok "in both maps"

start -e 'config = { max_map_keys = 4 } user:counted:tick { @[args.i] = count() }'
echo 1000 >&8
said app rounds 1
stop
like "$err" 'Map full; .* updates? (was|were) lost' "a full map is told"
is "$rc" 3 "by the exit code, too"

start -e 'user:counted:tick { @ = count() }'
kill -9 $tracer
wait $tracer 2>/dev/null
nothing_left() { no_table && ! ls "$PANTRACE_RUNTIME/sessions" | grep -q .; }
until_true nothing_left
"$pantrace" user list >"$work/list"
like "$(cat "$work/list")" 'app +0 +1 counted:tick' "a killed tracer leaves nothing on"
! ls -d /dev/shm/pantrace-*/script-$tracer-* >/dev/null 2>&1
ok "and nothing behind"

# the command of -c, whose events are read from its file before it begins
cat >"$work/quick.c" <<'END'
#include <pantrace/pantrace.h>
enum kind { get, put };
PANTRACE_ENUM(kind, get, put);
int main(void)
{
	int codes[2] = { 1, 2 };

	for (int i = 0; i < 1000; i++)
		PANTRACE(app, quick, PT_NAMED(i, i), PT_NAMED(url, i & 1 ? "/x" : "/y"), PT_NAMED(kind, PT_ENUM(kind, i & 1)),
			 PT_ARRAY(codes), PT_STRUCT(inner, PT_NAMED(minus, (short)-i)));
	return 0;
}
END
for flags in "" -static -no-pie -static-pie -shared-library; do
	library="$lib/libpantrace.a -lpthread $flags"
	[ "$flags" != -shared-library ] || library="-L$lib -lpantrace -Wl,-rpath,$lib"
	# shellcheck disable=SC2086
	gcc -O1 -I"$top/include" "$work/quick.c" -o "$work/quick" $library 2>/dev/null || continue
	run -q -e 'user:app:quick { @u[str(args.url), args.kind] = sum(args.i + args.codes[1]); @m = min(args.inner_minus) }' -c "$work/quick"
	like "$out" '@u\[/x, put\]: 251000' "-c: counted from its first event on ($flags)"
	like "$out" '@m: -999' "with all kinds of fields ($flags)"
	run -q -e 'user:app:quick /args.i % 500 == 7/ { printf("%d %s\n", args.i, str(args.url)); }' -c "$work/quick"
	is "$out" "7 /x
507 /x" "-c: in the kernel, too ($flags)"
done
run -e 'user:app:quick { @ = count() }' -c "sh -c $work/quick"
like "$err" 'it must be the program itself' "a shell has no events"
run -e 'user:app:quic { @ = count() }' -c "$work/quick"
like "$err" "did you mean 'quick'" "a misspelt event of a program that has not begun"
done_testing
