#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# "did you mean": one slip of each kind of word that a script has.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

# means WORD KIND SCRIPT
means()
{
	run --dry-run -e "$3"
	[ "$rc" != 0 ] || echo "# it was accepted"
	like "$err" "HINT: did you mean '$1'" "$2"
}
means sched:sched_switch "an event" 'tracepoint:sched:sched_swich { }'
means sched_switch "a raw event" 'rawtracepoint:sched_swich { }'
means tracepoint "a provider" 'tracpoint:sched:sched_switch { }'
means prev_pid "a field of an event" 'tracepoint:sched:sched_switch { print(args.prev_pd); }'
means pid "a member of a struct" 'begin { print(curtask.pidd); }'
means first "a member of a record" 'begin { $r = (first = 1, second = 2); print($r.frist); }'
means printf "a function" 'begin { prnitf("x"); }'
means twice "a function of the script" 'fn twice($x : int64) : int64 { return $x * 2; } begin { print(twize(1)); }'
means double "a macro of the script" 'macro double(x) { x * 2 } begin { print(duoble(1)); }'
means nsecs "a builtin" 'begin { print(nsec); }'
means '[$]count' "a variable" 'begin { $count = 1; print($coutn); }'
means '@count' "a map" 'begin { @count = 1; print(@coutn); }'
means while "a keyword: while" 'begin { whlie (1) { } }'
means for "a keyword: for" 'begin { fro ($i : 0..5) { } }'
means unroll "a keyword: unroll" 'begin { unrol (3) { } }'
means else "a keyword: else" 'begin { if (pid) { } els { } }'
means break "a keyword: break" 'begin { while (1) { brake; } }'
means return "a keyword: return" 'begin { retrun; }'
means macro "a word outside of probes" 'mcaro x($a) { 1 } begin { }'
means string "a type" 'begin { let $x : strng; }'
means max_strlen "a setting" 'config = { max_strln = 5 } begin { }'
means page-faults "a software event" 'software:page-fualts { }'
means task "an iterator" 'iter:tsk { }'
means malloc "a function of a library" 'uprobe:libc:maloc { }'
means SIGUSR1 "a signal" 'self:signal:SIGUSR3 { }'
# What commands are asked for.
hints() # WORD KIND COMMAND...
{
	word=$1 kind=$2
	shift 2
	run "$@"
	[ "$rc" != 0 ] || echo "# it was accepted"
	like "$err" "did you mean '?$word" "$kind"
}
hints sched "list: a category" list shced:sched_switch
hints sched:sched_switch "list: an event" list sched:sched_swich
hints kprobe:vfs_read "list: a function" list kprobe:vfs_raed
hints kprobe:vfs_read "list: a word" list vfs_raed
hints "uprobe:$programs/calls.dyn:work" "list: a function of a program" list "uprobe:$programs/calls.dyn:wrok"
hints opensnoop "help: a tool" help opensnop
hints help "a command" hepl
hints --json "an option" list --jsno
done_testing
