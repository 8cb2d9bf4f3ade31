#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What record writes, KernelShark's library opens: the same events, times and CPUs as trace-cmd finds.
# among tracers: it compares two readers of one file
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1

cat >read.c <<'C'
#include <kernelshark/libkshark.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	struct kshark_context *context = NULL;
	struct kshark_entry **rows = NULL;
	int stream = kshark_instance(&context) ? kshark_open(context, argv[1]) : -1;
	ssize_t n = stream < 0 ? -1 : kshark_load_entries(context, stream, &rows);

	for (ssize_t i = 0; i < n; i++)
		printf("%lld %d %s\n", (long long)rows[i]->ts, rows[i]->cpu, kshark_get_event_name(rows[i]));
	return n < 0;
}
C
gcc -o read read.c -lkshark 2>/dev/null || { echo "1..0 # SKIP no libkshark"; exit 0; }
command -v trace-cmd >/dev/null || { echo "1..0 # SKIP no trace-cmd"; exit 0; }

export LC_ALL=C # other threads may have names of any bytes
for version in 7 6; do
	[ $version = 6 ] && set -- --v6 || set --
	"$pantrace" record -q "$@" -o $version.dat -e sched:sched_switch -e raw_syscalls -- sh -c 'for i in 1 2 3 4 5; do ls >/dev/null; done'
	./read $version.dat 2>/dev/null | sed 's,[a-z_]*/,,' | sort >got
	trace-cmd report -t $version.dat 2>/dev/null |
		sed -n 's/.*\[\([0-9]*\)\][^0-9]* \([0-9]*\)\.\([0-9]*\): \([a-z_]*\): .*/\2\3 \1 \4/p' | awk '{ print $1, $2 + 0, $3 }' | sort >want
	[ "$(wc -l <want)" -gt 300 ] && cmp -s got want
	ok "version $version: $(wc -l <got) events" || diff got want | head -5
done
done_testing
