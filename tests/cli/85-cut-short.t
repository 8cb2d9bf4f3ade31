#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files that are cut short or written over while they are read: what was read stays true, the rest is refused by name.
. "$(dirname "$0")/lib.sh"
need_root
. "$(dirname "$0")/user-lib.sh"
cd "$work" || exit 1

# One line, and not a byte more of the pipe.
first() { IFS= read -r line && printf '%s\n' "$line"; }

# slowly FILE COMMAND...: FILE is emptied once the first line is out, and while a pipe that nobody empties holds the command up
slowly()
{
	file=$1
	shift
	{ "$@" 2>"$work/err"; echo $? >"$work/code"; } | { first; truncate -s 0 "$file"; sleep 0.2; cat; } >"$work/out"
	rc=$(cat "$work/code")
	err=$(cat "$work/err")
	lines=$(wc -l <"$work/out")
}

# --- ELF: a list of symbols longer than a pipe ---
perl -e 'printf "void a_function_with_a_rather_long_name_so_that_a_pipe_is_soon_full_%d(void) {}\n", $_ for 1 .. 9000' >many.c
gcc -shared -fPIC -o many.so many.c
slowly many.so "$pantrace" -l "uprobe:$work/many.so:a_f*"
is "$rc $lines" "0 9000" "a library is cut short while its symbols are listed: they were read, and all are there"

# --- a debug file, between two events ---
cat >two.c <<'C'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline, noclone)) void alpha(int n) { __asm__ volatile("" : : "r"(n)); }
__attribute__((noinline, noclone)) void beta(int n) { __asm__ volatile("" : : "r"(n)); }
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	alpha(1);
	usleep(300000);
	if (truncate(argv[1], argc > 2 ? 5000 : 0))
		return 1;
	beta(2);
	alpha(3);
	return 0;
}
C
for kind in "-O1" "-O1 -g" "-O1 -g -gz"; do
	gcc $kind -o two two.c && objcopy --only-keep-debug two two.debug && cp two.debug kept && strip two && objcopy --add-gnu-debuglink=two.debug two
	alpha=$(nm kept | awk '$3 == "alpha" {print $1}') beta=$(nm kept | awk '$3 == "beta" {print $1}')
	for end in "" all; do
		cp kept two.debug
		run -q -c "$work/two $work/two.debug $end" -e "uprobe:$work/two:0x$alpha, uprobe:$work/two:0x$beta { printf(\"%s\", ustack(1)); }"
		is "$rc $(printf '%s\n' "$out" | tr -d '\n\t ')" "0 alpha+0beta+0alpha+0" "a debug file ($kind) is cut ${end:+in the middle }between two events: both have names"
	done
done
cp kept two.debug
run --unsafe -q -c "$work/two $work/two.debug" -e "BEGIN { system(\"truncate -s 3000 $work/two.debug\"); } uprobe:$work/two:0x$alpha { printf(\"%s\", ustack(1)); }"
[ "$rc" -lt 128 ]
ok "a debug file that is cut before the first event"

# --- a file with another in its place, byte by byte ---
cp many.so over.so
gcc -shared -fPIC -o many.so many.c
"$pantrace" -l "uprobe:$work/many.so:a_f*" 2>err | { first; head -c "$(stat -c %s many.so)" /dev/zero | tr '\0' 'A' | dd of=many.so conv=notrunc bs=64k 2>/dev/null; sleep 0.2; cat; } >out
is "$(wc -l <out)" 9000 "a library is written over while it is listed"

# --- recordings ---
# On one CPU: its ring is the whole; of several the others would go on where one is cut.
run record -q -u 'traced:*' -o plain -- taskset 1 "$traced" 60000
whole=$("$pantrace" report plain 2>/dev/null | wc -l)
ring=$(ls -S plain/*/ring_* plain/ring_* 2>/dev/null | head -n 1)
cp "$ring" kept
slowly "$ring" "$pantrace" report plain
like "$err" "ring_[0-9]+: byte [0-9]+: the file was cut short while it was read" "a stream of packets is cut short while it is printed: which, and where"
is "$rc" 1 "and that is a failure"
[ "$lines" -lt "$whole" ]
ok "of $whole events $lines were printed"
cp kept "$ring"
"$pantrace" report plain 2>/dev/null | head -n "$lines" | cmp - "$work/out"
ok "what was printed before is true"

# A recording by trace-cmd of what an instance's buffers hold. On one CPU, as above.
instance=/sys/kernel/tracing/instances/cut_short.$$
record_dat()
{
	command -v trace-cmd >/dev/null && mkdir "$instance" 2>/dev/null || return
	trap 'rmdir "$instance" 2>/dev/null; rm -rf "$work"' EXIT
	sh -c "echo \$\$ >$instance/set_event_pid; echo 1 >$instance/events/raw_syscalls/enable; exec taskset 1 dd if=/dev/zero of=/dev/null bs=1 count=9000" 2>/dev/null
	echo 0 >"$instance/tracing_on"
	trace-cmd extract -B "$(basename "$instance")" -o t.dat >/dev/null 2>&1
	trace-cmd convert -i t.dat -o 6.dat --file-version 6 >/dev/null 2>&1
	trace-cmd convert -i t.dat -o plain.dat --compression none >/dev/null 2>&1
}
if record_dat; then
	for dat in t 6 plain; do
		"$pantrace" report $dat.dat >whole 2>/dev/null
		slowly $dat.dat "$pantrace" report $dat.dat
		like "$err" "$dat.dat: the file was cut short while it was read" "$dat.dat is cut short while it is printed"
		is "$rc" 1 "and that is a failure"
		head -n "$lines" whole | cmp - "$work/out"
		ok "what was printed before is true"
	done
else
	skip "trace.dat is cut short" "no trace-cmd, or it cannot record here"
fi

# --- rings, while they are recorded ---
cat >shrink.c <<'C'
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 200000; i++)
		PANTRACE(shrink, step, i);
	usleep(400000);
	if (system(argv[1]))
		return 1;
	usleep(400000);
	(void)argc;
	_exit(0);
}
C
if gcc -O1 -I"$top/include" shrink.c -o shrink "$lib/libpantrace.a" -lpthread 2>gcc.err; then
	for size in 0 4096 70000; do
		run record -u 'shrink:*' -o shrunk.$size -- ./shrink "find $PANTRACE_RUNTIME /dev/shm -name '*.pantrace' -newer $work/shrink.c -exec truncate -s $size {} +"
		like "$err" "WARNING: the rings of 1 of them are damaged" "rings are cut to $size bytes while they are recorded: told"
		is "$rc" 3 "and the code says so"
		"$pantrace" report shrunk.$size >there 2>/dev/null
		[ "$(grep -c 'shrink:step' there)" -gt 1000 ] && [ -z "$(sed 's/.*i = //' there | sort | uniq -d)" ]
		ok "what was written before is there, once"
	done
else
	sed 's/^/# /' gcc.err >&2
	false
	ok "the program that cuts its rings is built"
fi
done_testing
