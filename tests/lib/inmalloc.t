#!/bin/sh
# SPDX-License-Identifier: MIT
# What an event needs is there before it: it is had in a signal handler, and in malloc() itself.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one "gcc -O2" plain $built/plain/inmalloc

# what the event's way calls is safe where it is: no lock of the C library, no memory, no point where a thread is cancelled
safe='^(_GLOBAL_OFFSET_TABLE_|__errno_location|__rseq_(offset|size)|__(start|stop)_pantrace_table|__stack_chk_fail|__tls_get_addr|pt_.*|pantrace_.*'
safe="$safe|mem(cpy|chr|cmp|move|set)|str(nlen|ncmp)|syscall|getpid|get[ug]id|__u?divti3|madvise|mmap|munmap|clock_gettime|prctl|sched_getcpu)\$"
for file in emit emit_slowly context vm aggregate; do
	unsafe=$(nm -u "$built/plain/lib/$file.o" | sed 's/^ *[a-zA-Z] //; s/@.*//' | grep -Ev "$safe" | tr '\n' ' ')
	is "$unsafe" '' "lib/$file.c calls only what is safe in a signal handler"
done
done_testing
