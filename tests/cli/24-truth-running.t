#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# usdt:*:... and uprobe:*:... without a process: programs and libraries that are running, wherever they are.
. "$(dirname "$0")/lib.sh"
need_root
command -v gcc >/dev/null || { echo "1..0 # SKIP needs gcc"; exit 0; }
cd "$work" || exit 1

cat >lib.c <<'EOF'
#include <sys/sdt.h>
__attribute__((noinline)) int pt_search_function(int n) { __asm__ volatile("nop" ::: "memory"); DTRACE_PROBE1(pt_search, hit, n); return n + 1; }
EOF
cat >main.c <<'EOF'
#include <signal.h>
#include <stdio.h>
int pt_search_function(int);
int main(void)
{
	sigset_t s;
	int sig;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigprocmask(SIG_BLOCK, &s, 0);
	puts("ready");
	fflush(stdout);
	sigwait(&s, &sig);
	for (int i = 0; i < 321; i++)
		pt_search_function(i);
	return 0;
}
EOF
gcc -O1 -fPIC -shared -o libsearch.so lib.c && gcc -O1 -o shared main.c -L. -lsearch -Wl,-rpath,"$work" && gcc -O1 -o whole main.c lib.c || exit 1
cp whole gone.orig

# hits N: starts the programs, one of each twice; they go on when the tracer is attached
begin()
{
	pids=
	cp gone.orig gone
	for p in shared shared whole gone; do
		./$p >"$p.out" &
		pids="$pids $!"
		until_true grep -q ready "$p.out"
		: >"$p.out"
	done
	rm -f gone
}
go()
{
	for pid in $pids; do kill -USR1 "$pid"; done
	for pid in $pids; do wait "$pid"; done
}
begin
start -q -e 'usdt:*:pt_search:hit { @n[comm] = count(); @s = sum(arg0); } uprobe:*:pt_search_function { @f[comm] = count(); } uretprobe:*:pt_search_function { @r = count(); } uprobe:*:pt_search_f*n { @w = count(); }'
go
stop
is "$(printf '%s\n' "$out" | grep '^@' | sort | tr '\n' ' ')" \
	"@f[shared]: 642 @f[whole]: 321 @n[shared]: 642 @n[whole]: 321 @r: 963 @s: $((3 * 321 * 320 / 2)) @w: 963 " \
	"all calls in programs and libraries that run, each once"
like "$err" "WARNING: [0-9]+ programs or libraries were replaced or removed while they run" "a program whose file is gone is said"
begin
run list 'usdt:*:pt_search:hit'
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "usdt:$work/libsearch.so:pt_search:hit usdt:$work/whole:pt_search:hit " "list finds the events"
run list 'uprobe:*:pt_search_function'
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "uprobe:$work/libsearch.so:pt_search_function uprobe:$work/whole:pt_search_function " "and the functions"
go
run -e 'usdt:*:pt_search:hit { }'
is "$rc" 1 "nothing that runs has it: an error"
like "$err" "No matches for usdt [*]:pt_search:hit" "which says so"
like "$err" "HINT: no program or library that is running has it; a path names one that is not" "and what would help"
run -e 'uprobe:*:pt_search_function { }'
like "$err" "HINT: no program or library that is running has it" "for functions, too"
done_testing
