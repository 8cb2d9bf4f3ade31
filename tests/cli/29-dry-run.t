#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --dry-run says what attaching would say, and attaches nothing.
. "$(dirname "$0")/lib.sh"
need_root

# refused TEXT NAME ARGUMENTS...: by --dry-run and by the run itself, with this text
refused()
{
	text=$1 name=$2
	shift 2
	run --dry-run "$@"
	[ "$rc" != 0 ]
	is "$?" 0 "--dry-run refuses $name"
	like "$err" "$text" "with the reason"
	timeout 60 "$pantrace" -q "$@" >/dev/null 2>"$work/err" </dev/null
	rc=$? err=$(cat "$work/err")
	[ "$rc" != 0 ] && [ "$rc" != 124 ]
	is "$?" 0 "so does the run"
	like "$err" "$text" "with the same reason"
}

sleep 600 &
sleeper=$!
sleep 0 &
gone=$!
wait $gone
refused "there is no process $gone" "a process that has ended" -p $gone -e 'profile:hz:99 { }'
refused "No matches for uprobe .*/sleep:nosuch_function" "a function that is not there" -e "uprobe:$(command -v sleep):nosuch_function { }"
refused "into middle of instruction" "a place between two instructions" -e "uprobe:libc:malloc+1 { }"
refused "nosuch is not a software probe" "an event that is not there" -e 'software:nosuch { }'
refused "tracepoint:ftrace:print is a record of ftrace's own" "what no program can be attached to" -e 'tracepoint:ftrace:print { }'
refused "cannot pin task at $work/pin: its directory is in no BPF file system" "a pin in another file system" -e "iter:task:$work/pin { }"
refused "cannot pin task at /sys/fs/bpf/none/pin: No such file" "a pin without a directory" -e "iter:task:/sys/fs/bpf/none/pin { }"
refused "No probes attached; use --test" "tests alone" -e 'test:x { }'
run --dry-run -p $sleeper -e 'watchpoint:0x1000:8:w { }'
if [ "$rc" = 0 ]; then
	refused "no debug register or slot is free" "more watchpoints than there are debug registers" -p $sleeper \
		-e "$(for i in 1 2 3 4 5 6 7 8 9 a b c d e f 11 12; do printf 'watchpoint:0x%s000:8:w { } ' $i; done)"
else
	skip "more watchpoints than there are debug registers" "no watchpoints here"
fi

# Nothing is attached: what it would have seen, it does not.
kill $sleeper
run --dry-run -e 'begin { printf("begun\n"); } profile:hz:999 { @n = count(); } software:cpu-clock:1000 { @m = count(); } tracepoint:syscalls:sys_enter_read { printf("read\n"); } end { printf("ended\n"); }'
is "$rc" 0 "what can be attached is accepted"
is "$out" "" "and nothing runs"
done_testing
