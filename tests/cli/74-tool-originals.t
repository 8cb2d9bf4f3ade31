#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever knows perf-tools finds each of its tools, with each option and the columns that it had.
# among tracers: asks for options and columns
. "$(dirname "$0")/lib.sh"
need_root

# The options of each tool of perf-tools 1.0 (its manual pages).
while read -r tool options; do
	run $tool --help
	missing=
	for o in $options; do
		echo "$out" | grep -qE "^ +$o[ ,]" || missing="$missing $o"
	done
	is "$missing" "" "$tool: $options"
done <<'T'
execsnoop -h -r -t -a -d
opensnoop -h -t -x -d -p -L -n
killsnoop -h -s -t -d -p -n
iosnoop -h -Q -s -t -d -i -p -n
iolatency -h -Q -T -d -i
bitesize -h -b
cachestat -h -D -t
tcpretrans -h -l -s
tpoint -h -H -s -v -d -p -L -l
funccount -h -T -i -d -t
functrace -h -H -p -L -d
funcgraph -h -a -C -D -H -P -t -T -m -p -L -d
funcslower -h -a -C -H -P -t -T -p -L -d
kprobe -h -F -H -s -v -d -p -L
uprobe -h -F -H -s -v -d -p -L -l
perf-stat-hist -h -b -P -m -f
syscount -h -c -v -t -p -d
reset-ftrace -h -f -q
T

# columns WANT TOOL...: the first line
columns()
{
	want=$1
	shift
	run "$@"
	is "$(echo "$out" | head -1 | tr -s ' ' | sed 's/^ //; s/ $//')" "$want" "$*: its columns"
}
columns 'PID PPID ARGS' execsnoop -d 0.2
columns 'TIMEs PID PPID ARGS' execsnoop -t -d 0.2
columns 'COMM PID FD FILE' opensnoop -d 0.2
columns 'TIMEs COMM PID FD FILE' opensnoop -t -d 0.2
columns 'COMM PID TPID SIGNAL RETURN' killsnoop -d 0.2
columns 'TIMEs COMM PID TPID SIGNAL RETURN' killsnoop -t -d 0.2
columns 'COMM PID TYPE DEV BLOCK BYTES LATms' iosnoop 0.2
columns 'STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms' iosnoop -st 0.2
columns '>=(ms) .. <(ms) : I/O |Distribution |' iolatency 0.1 1
columns 'HITS MISSES DIRTIES RATIO BUFFERS_MB CACHE_MB AHEAD' cachestat 0.1 1
columns 'TIME HITS MISSES DIRTIES RATIO BUFFERS_MB CACHE_MB AHEAD' cachestat -t 0.1 1
columns 'TIME PID LADDR:LPORT -- RADDR:RPORT STATE' tcpretrans -d 0.2
columns 'SYSCALL COUNT' syscount -c -d 0.2
columns 'COMM COUNT' syscount -d 0.2
columns 'PID COMM COUNT' syscount -v -d 0.2
columns 'PID COMM SYSCALL COUNT' syscount -cv -d 0.2
columns 'FUNC COUNT' funccount -d 0.2 -u "$programs/calls.dyn" work
run tpoint -H -d 0.2 sched:sched_process_exec
like "$out" '^# +TASK-PID +CPU# +\|+ +TIMESTAMP +FUNCTION$' "tpoint -H: those of ftrace"
done_testing
