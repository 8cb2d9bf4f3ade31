#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --TABLE -- COMMAND, -p, -d: tables of what is recorded now. strace, the command's own counts and getrusage() are the truth.
# among tracers: counts its own commands
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1
cat >w.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long spun;
__attribute__((noinline)) void spin(void) { for (int i = 0; i < 60000000; i++) spun += i; }

int main(int argc, char **argv)
{
	struct rusage from, u;

	getrusage(RUSAGE_SELF, &from);
	for (int i = 0; i < 300; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 20; i++)
		open("/nonexistent", O_RDONLY);
	for (char *p = malloc(1 << 20), *at = p; at < p + (1 << 20); at += 4096)
		*at = 1;
	spin();
	getrusage(RUSAGE_SELF, &u);
	printf("%ld\n", u.ru_minflt + u.ru_majflt - from.ru_minflt - from.ru_majflt);
	return 7;
}
C
gcc -g -O1 -static -o w w.c || exit 1

run report --syscalls --json -- ./w
is "$rc" 7 "the command's code"
if command -v strace >/dev/null; then
	strace -c -o counts ./w >made
	is "$(printf '%s\n' "$out" | jq -r 'select(.syscall)? | "\(.syscall) \(.calls) \(.errors)"' 2>/dev/null | sort)" \
		"$(awk '$1 ~ /^[0-9]/ && $NF != "total" { print $NF, $4, (NF > 5 ? $5 : 0) }' counts | sort)" "--syscalls: what strace -c counts"
else
	skip "--syscalls" "no strace"
fi
run report --faults --json -- ./w
made=$(printf '%s\n' "$out" | head -1)
counted=$(printf '%s\n' "$out" | sed -n 's/.*"faults":\([0-9]*\).*/\1/p')
# those of main(), and some of the start and the end
[ "$made" -ge 256 ] && [ "$counted" -ge "$made" ] && [ $((counted - made)) -lt 80 ]
ok "--faults: $counted, in main() alone by getrusage() $made"
run report --top symbol --json -- ./w
like "$(printf '%s\n' "$out" | sed -n 's/.*"percent":\([0-9]*\).*"symbol":"spin".*/\1/p')" '^[6-9][0-9]|100$' "--top: where it spent its time" || printf '%s\n' "$out" | head -5 | sed 's/^/# /'
run report --top event -e syscalls:sys_enter_getppid --json -- ./w
like "$out" '"count":300,.*sys_enter_getppid' "--top -e: an event's count"
run report --annotate spin --json -- ./w
like "$out" '"count":[1-9].*w.c:9: .*void spin' "--annotate: samples by line"

python3 -c 'import os, time
while True: os.getppid(); time.sleep(0.01)' &
loop=$!
until_true grep -q nanosleep /proc/$loop/wchan
run report --syscalls --json -p $loop -d 0.5
kill $loop
is "$rc $(printf '%s\n' "$out" | sed -n 's/.*"syscall":"\(.*\)".*/\1/p' | sort | tr '\n' ' ')" "0 clock_nanosleep getppid " "-p: the calls of one process"
run report --sched --json -d 0.3
like "$rc $(printf '%s\n' "$out" | head -1)" '^[03] .*"on_ns":' "--sched -d: of the machine, for a time"

# ---- refused ----
for words in '-d 1' '--latency a,b -d 1' '--domains -d 1' '--functions -d 1'; do
	run report $words
	like "$rc $err" '^2 .*only a table is made of what is recorded now' "$words"
done
run report --syscalls -d 1 recording
like "$rc $err" '^2 .*choose one' "a recording and a time"
run report --sched -p $$
like "$rc $err" '^2 .*whole machine does: without -p' "--sched -p"
run report --syscalls -- ./no-such-command
like "$rc $err" '^1[0-9]* .*no-such-command' "a command that is not there"
is "$(ls | grep -vxE "w|w.c|counts|made|out|err")" "" "nothing is left"
done_testing
