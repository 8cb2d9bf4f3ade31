#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# exit() at once; many new keys in one go; maps that are printed faster than they can be.
. "$(dirname "$0")/lib.sh"
need_root

run -q -e 'i:us:100 { @n++; if (@n == 5) { exit(3); } }'
is "$rc:$(echo "$out" | tail -1)" "3:@n: 5" "no event counts after exit()"
run -q -e 'config = { perf_rb_pages = 1 } i:ms:20 { for $i : 0..3000 { printf("%d %s\n", $i, "a line that fills the buffer"); } exit(4); }'
is "$rc" 4 "exit() ends the run even if its record found no room"
run -q -e 'i:ms:1 { for $i : 0..200 { @[$i] = hist($i); } exit(); }'
is "$(echo "$out" | grep -c '^@\[')" 200 "200 new keys of a histogram from an interrupt"
unlike "$err" "Map full" "none is lost"
run -q -e 'i:us:50 { @[rand % 4] = count(); } i:ms:1 { print(@); clear(@); zero(@); } i:ms:300 { exit(); }'
is "$rc" 0 "print and clear a thousand times a second"

run -q -e 'begin { if (str($1) == "x") { printf("ok\n"); } }' x
is "$out" ok "a parameter in a condition"
run -q -e 'config = { BPFTRACE_STR_TRUNC_TRAILER = "~"; BPFTRACE_MAX_STRLEN = 4 }
	t:syscalls:sys_enter_openat /comm == "cat"/ { print(str(args.filename)); }' -c 'cat /etc/hostname'
like "$out" "^/etc~$" "config options by the names of the variables"
PANTRACE_LICENSE=mine run -e 'BEGIN { exit() }'
is "$rc" 1 "a variable of the environment is checked as the setting is"
like "$err" "Invalid value for PANTRACE_LICENSE: 'mine'" "  and named"
BPFTRACE_MAX_STRLEN=6 run -q -e 'config = { max_strlen = 4 }
	t:syscalls:sys_enter_openat /comm == "cat"/ { print(str(args.filename)); }' -c 'cat /etc/hostname'
like "$out" "^/etc/h\.\.$" "the environment goes before"
run -q -e 'begin { print(sizeof(PIDTYPE_PID)); print(sizeof(enum pid_type)); }'
is "$out" "8
4" "an enumerator is a 64-bit number"
run -q -e 'BEGIN { signal("KILL"); }'
like "$err" 'signal\(\) is unsafe. To use you need the --unsafe flag' "functions of bpftrace's library are refused in its words"

# Signals: the first ends the run in order, with what comes with it (timeout(1) signals its child and then the group); a later one kills.
start --unsafe -e "interval:s:100 { } end { system(\"sleep 0.2\"); @x = 1; }"
kill -TERM $tracer $tracer
wait $tracer
is "$?" 0 "two signals in a row"
like "$(cat "$work/trace")" '^@x: 1$' "are one end"
rm "$work/trace" # it says that the last one is attached
start --unsafe -e "interval:s:100 { } end { system(\"touch $work/ending; while [ -e $work/ending ]; do sleep 0.05; done\"); @x = 1; }"
kill -TERM $tracer
while kill -0 $tracer 2>/dev/null && [ ! -e "$work/ending" ]; do sleep 0.05; done
while kill -TERM $tracer 2>/dev/null; do sleep 0.1; done
wait $tracer
is "$?" 143 "a later one kills"
unlike "$(cat "$work/trace")" '^@x: 1$' "however long the end takes"
rm "$work/ending"
done_testing
