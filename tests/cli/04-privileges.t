#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a tracer keeps when everything is attached, and that it still does its work with that.
. "$(dirname "$0")/lib.sh"
need_root

# of PID: "capabilities no_new_privs seccomp", capabilities as the kernel writes them without the leading zeros; where its threads
# differ, a line of each kind
of()
{
	for of_thread in "/proc/$1"/task/*/status; do
		awk '/^CapEff:/ { c = $2; sub(/^0+/, "", c) } /^NoNewPrivs:/ { n = $2 } /^Seccomp:/ { s = $2 } END { print c, n, s }' "$of_thread"
	done | sort -u
}
all="$(of $$ | cut -d' ' -f1) 0 0"
# The capabilities' numbers: 1 DAC_OVERRIDE, 2 DAC_READ_SEARCH, 5 KILL, 19 SYS_PTRACE, 34 SYSLOG, 38 PERFMON, 39 BPF
reader=c000000000
# The sanitizers' builds have no filter.
filter=2
"$pantrace" doctor --json | grep -q '"seccomp": *true' || filter=0

# keeps "WANT" WORDS...: a run with these words
keeps()
{
	want=$1
	shift
	start "$@" || return 1
	got=$(of "$tracer")
	stop
	[ "$got" = "$want" ] && [ "$rc" = 0 ] || echo "$*: $got, not $want; $rc $err"
}

{
	keeps "$reader 1 $filter" -q -e 'interval:s:1 { print(1); }'
	keeps "$reader 1 $filter" opensnoop
	keeps "$reader 1 $filter" syscount
	keeps "$reader 1 $filter" -q -e 'profile:hz:9 { @[kstack] = count(); }'
	keeps "c000080004 1 $filter" -q -e 'uprobe:libc:malloc /pid == 1/ { @[ustack] = count(); }'
	keeps "c000080004 1 $filter" -q -e 'begin { cat("/proc/loadavg"); }  interval:s:1 { @ = 1; }'
	keeps "c000000020 1 $filter" -q -c 'sleep 1000' -e 'interval:s:1 { @ = 1; }'
	keeps "$all" -q --unsafe -e 'begin { system("true"); } interval:s:1 { @ = 1; }'
	keeps "$all" -q --keep-privileges -e 'interval:s:1 { @ = 1; }'
	keeps "$all" opensnoop --keep-privileges
	keeps "c400000002 1 0" tpoint -q sched:sched_switch
	keeps "$all" tpoint -q --keep-privileges sched:sched_switch
	keeps "c40008000a 1 0" record -q -u 'none:*' -o "$work/recorded"
} >"$work/bad"
sed -i '/record -q -u none/d' "$work/bad"
is "$(cat "$work/bad")" "" "what each run keeps follows from what it does"
start record -q -u 'none:*' -o "$work/recorded"
like "$(of "$tracer")" ' 1 0$' "a recorder gets no new privileges"
unlike "$(of "$tracer")" "^${all%% *} " "and gives most up"
stop

# What was started before has what we had.
start -q -c 'sleep 1000' -e 'interval:s:1 { @ = 1; }'
child=$(for p in /proc/[0-9]*; do awk -v t="$tracer" '/^PPid:/ && $2 == t { f = 1 } /^Pid:/ { p = $2 } END { if (f) print p }' "$p/status" 2>/dev/null; done)
is "$(of "$child")" "$all" "the command of -c gives up nothing"
stop

# Names in another user's folder that nobody else may read; the program starts when the tracer has nothing more than it keeps.
mkdir -m 700 "$work/home"
cp "$programs/calls" "$work/home/theirs" # static: every name is in this file
chmod 755 "$work"
chown -R 65534 "$work/home"
start -q -e 'tracepoint:syscalls:sys_enter_exit_group /comm == "theirs"/ { @[ustack, kstack(2)] = count(); }'
setpriv --reuid 65534 --clear-groups "$work/home/theirs" 10 >/dev/null
stop
like "$out" '_exit\+[0-9]+' "functions of another user's program, started later, in a folder of mode 700"
is "$rc $err" "0 " "nothing was refused"
run -q -c "sh -c 'sleep 0.2; exit 3'" -e 'tracepoint:syscalls:sys_exit_exit_group { @ = 1; } interval:ms:50 { print((username, cgroup_path(cgroup), strftime("%H", nsecs), usym(1), ksym(1))); }'
is "$rc $err" "3 " "names of all kinds"
done_testing
