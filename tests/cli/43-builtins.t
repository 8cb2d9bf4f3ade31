#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each row of the table of builtins: a script, and what it prints. A row without an example here fails.
# among tracers: looks at itself and its own children
. "$(dirname "$0")/lib.sh"
need_root

calls=$programs/calls.dyn
covered=
name=$(basename "$pantrace" | cut -c 1-15)

# gives "NAMES" 'SCRIPT' 'OUTPUT' [OPTIONS...]: exactly this, without blank lines
gives()
{
	names=$1 script=$2 want=$3
	shift 3
	covered="$covered $names"
	run -q "$@" -e "$script"
	is "$(printf '%s\n' "$out" | sed '/^$/d')" "$want" "$names: $script"
}

# matches "NAMES" 'SCRIPT' 'REGEX' [OPTIONS...]: for what differs from run to run
matches()
{
	names=$1 script=$2 want=$3
	shift 3
	covered="$covered $names"
	run -q "$@" -e "$script"
	like "$out$err" "$want" "$names: $script"
}

# the probe and its arguments
gives arg0 "uprobe:$calls:work { @ = sum(arg0); }" '@: 45' -c "$calls 10"
gives args "uprobe:$calls:work { @ = max(args.number); @t[str(args.text)] = count(); }" '@: 1
@t[item-0]: 1
@t[item-1]: 1' -c "$calls 2"
gives vars "uprobe:$calls:work { @ = sum(vars.number); }" '@: 45' -c "$calls 10"
gives retval "uretprobe:$calls:negative { @ = min(retval); }" '@: -9' -c "$calls 10"
matches sarg0 "uprobe:$calls:work { @ = count(); @s = sarg0; }" '^@s: -?[0-9]+' -c "$calls 1"
gives ctx "uprobe:$calls:work { print(ctx != 0); exit(); }" true -c "$calls 1"
gives "probe probetype" "begin { print((probe, probetype)); } uprobe:$calls:work { print(probetype); exit(); }" '(begin, special)
uprobe' -c "$calls 1"
gives func "uprobe:$calls:work { @[func] = count(); }" '@[work]: 3' -c "$calls 3"
gives reg "uprobe:$calls:work { print((reg(\"di\") & 0xffffffff) == arg0); exit(); }" true -c "$calls 1"
matches usermode 'profile:hz:99 { @[usermode] = count(); } interval:ms:300 { exit(); }' '^@\[(0|1)\]: [0-9]+' -c 'sh -c "while :; do :; done"'
matches override 'begin { override(1); }' 'override' --unsafe

# processes
gives "pid tid cpid" 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[pid == cpid, tid == pid] = count(); }' '@[true, true]: 20' -c "$programs/syscalls.dyn 20"
gives has_cpid 'begin { print(has_cpid); }' false
gives "uid gid username" 'begin { print((uid, gid)); print(username); }' "($(id -u), $(id -g))
$(id -un)"
gives comm 'begin { print(comm); }' "$name"
gives "comm kfunc_allowed" 'iter:task /ctx.task.pid == 2/ { if comptime (kfunc_allowed("bpf_task_from_pid")) { print(comm(2)); } else { print("kthreadd"); } }' kthreadd
gives kfunc_exist 'begin { print((kfunc_exist("vfs_read"), kfunc_exist("no_such_function"))); }' '(true, false)'
gives curtask 'begin { print((curtask.comm, curtask.tgid == pid)); }' "($name, true)"
gives "ppid pcomm" 'begin { print((ppid == curtask.real_parent.tgid, pcomm)); }' "(true, $(cat /proc/$$/comm))" 
gives "leader_tid leader_comm" 'begin { print((leader_tid == curtask.group_leader.pid, leader_comm)); }' "(true, $name)"
gives tracer_pid 'begin { print(tracer_pid == pid); }' true
gives "cpu ncpus numaid" 'begin { print((cpu < ncpus, numaid >= 0)); }' '(true, true)'
gives rand 'begin { $a = rand; $b = rand; $c = rand; print($a != $b || $b != $c); }' true
gives jiffies 'begin { print(jiffies > 0); }' true
matches "cgroup cgroupid cgroup_path" 'begin { print(cgroup_path(cgroupid("/sys/fs/cgroup"))); print(cgroup > 0); }' '^(true|.*ERROR: .*cgroup)' 

# time
gives "nsecs elapsed monotonic tai sw_tai" 'begin { print((nsecs(monotonic) <= nsecs(monotonic), nsecs(boot) >= nsecs(monotonic) - 1000000000, nsecs(tai) > 0, nsecs(sw_tai) > 0)); print(elapsed < 60000000000); print(nsecs > 0); }' '(true, true, true, true)
true
true'
matches "time strftime" 'begin { time("at %Y\n"); print(strftime("%Y", nsecs)); }' '^at 20[0-9][0-9]'

# text and memory
gives "str strlen strcap" 'begin { print((str("abcdef", 3), strlen("four"), strcap("abc"))); }' '(ab, 4, 3)'
gives "strncmp strcontains strstr str_concat" 'begin { print((strncmp("abc", "abd", 2), strcontains("pantrace", "trace"), strstr("pantrace", "trace"), strstr("x", "y"))); print(str_concat("pan", "trace")); }' '(0, true, 3, -1)
pantrace'
gives memcmp 'begin { $a = (uint8)1; $b = (uint8)3; print((memcmp($a, $a, 1), memcmp($a, $b, 1) < 0)); }' '(0, true)'
gives buf 'begin { printf("%r %rx %rh\n", buf("a\x01", 2), buf("a\x01", 2), buf("a\x01", 2)); }' 'a\x01 \x61\x01 61 01'
gives "kptr uptr" "uprobe:$calls:work { print((str(uptr(arg1)), kptr(curtask) == curtask)); exit(); }" '(item-0, true)' -c "$calls 1"
gives "join" 'tracepoint:syscalls:sys_enter_execve /pid == cpid/ { join(args.argv, "+"); exit(); }' '/bin/true+one+two' -c '/bin/true one two'
gives "argv row" 'tracepoint:syscalls:sys_enter_execve /pid == cpid/ { row("N=%2d ARGS=%a", 7, argv(args.argv)); exit(); }' ' N ARGS
 7 /bin/true one' -c '/bin/true one'
gives "cwd fdpath abspath path" "tracepoint:syscalls:sys_enter_openat /pid == cpid && str(args.filename) == \"lib.sh\"/ { print((cwd(), abspath(args.dfd, args.filename))); }" "($top/tests/cli, $top/tests/cli/lib.sh)" -c "sh -c 'cd $top/tests/cli && exec cat lib.sh >/dev/null'"

# symbols and stacks
matches "ksym kaddr" 'begin { print(ksym(kaddr("schedule"))); }' '(^schedule|cannot|Failed to resolve)'
gives "usym ustack uaddr" "uprobe:$calls:work { print(usym(reg(\"ip\"))); print(ustack(1)); print(uaddr(\"global_total\") != 0); exit(); }" 'work
        work+0
true' -c "$calls 1"
matches kstack 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { print(kstack(3)); exit(); }' '\+[0-9]+|0x' -c "$programs/syscalls.dyn 5"
matches dw_ustack "uprobe:$calls:work { print(dw_ustack(2)); exit(); }" 'work\+0' -c "$calls 1"
gives len 'begin { @[1] = 1; @[2] = 1; print(len(@)); clear(@); } tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { print(len(kstack) > 0); exit(); }' '2
true' -c "$programs/syscalls.dyn 5"
matches percpu_kaddr 'begin { print(percpu_kaddr("runqueues", 0) != 0); }' '^true|Failed to resolve'

# network
gives "ntop pton" 'begin { print((ntop(pton("10.0.0.1")), ntop(pton("::1")), ntop(2, 0x0100007f))); }' '(10.0.0.1, ::1, 127.0.0.1)'
gives "macaddr bswap" 'begin { print(macaddr((uint8[8])0x665544332211)); printf("%x %x\n", bswap((uint16)0x1234), bswap((uint32)1)); }' '11:22:33:44:55:66
3412 1000000'
matches socket_cookie 'begin { print(socket_cookie(curtask)); }' "only supports 'struct sock \*'"
(
	while :; do
		perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:9"); $s->send("packet") if $s' 2>/dev/null
		sleep 0.1
	done
) &
sender=$!
cd "$work" || exit 1
gives skboutput 'rawtracepoint:consume_skb { if (skboutput("packets.pcap", (struct sk_buff *)arg0, 20, 0) == 0) { print("written"); exit(); } } interval:s:120 { exit(); }' written
kill $sender 2>/dev/null
wait $sender 2>/dev/null
is "$(od -An -tx4 -N4 packets.pcap | tr -d ' ')" a1b23c4d "skboutput: a capture file"

# output
gives "print printf" 'begin { print((1, "two")); print(5); printf("%-4d|%5s|%x|%c|%d%%\n", 1, "ab", 255, 65, 5); }' '(1, two)
5
1   |   ab|ff|A|5%'
matches "errorf warnf" 'begin { errorf("bad %d", 1); warnf("odd %s", "x"); }' 'ERROR: bad 1'
matches debugf 'begin { debugf("from %d", 1); print("done"); }' 'done'
echo "three
lines
here" >"$work/text"
gives cat "begin { cat(\"$work/text\"); }" 'three
lines
here'
gives system 'begin { system("echo run %d", 5); }' 'run 5' --unsafe
# A name that somebody chose, as a file may be called: here a thread's.
strange="'\$(echo 1);\`id"
cat >"$work/named.py" <<'P'
import ctypes
import os
ctypes.CDLL(None).prctl(15, b"'$(echo 1);`id")  # PR_SET_NAME
os.getppid()
P
run -q --unsafe -c "python3 $work/named.py" -e 'tracepoint:syscalls:sys_enter_getppid /strncmp(comm, "'"'"'", 1) == 0/ { system("printf \"[%%s]\" %q %q x", comm, 7); }'
is "$out" "[$strange][7][x]" "system: %q is one argument, whatever it holds"
is "$err" "" "and nothing is said"
run -q --unsafe --dry-run -e 'begin { $s = comm; system("echo %s %d %s %s", $s, pid, "own", str($1)); }'
is "$(printf '%s\n' "$err" | grep -c WARNING)" 1 "a text of others behind %s is warned of"
like "$err" '%q instead of %s' "with what to write"
run -q --unsafe --dry-run -e "begin { system(\"echo '%q' \\\"%q\\\" %q\", comm, comm, comm); }"
is "$(printf '%s\n' "$err" | grep -c 'WARNING: the quotes around %q')" 2 "%q within quotes is warned of, either kind"
run -q --unsafe --dry-run -e "begin { system(\"echo 'it' \\\"is\\\" \\\\' %q '%d'\", comm, pid); }"
is "$err" "" "between them it is not"
run -q -e "begin { printf(\"%q|%q|%.2q\\n\", \"it's\", 5, \"abc\"); }"
is "$out" "'it'\\''s'|'5'|'ab'" "%q in printf"
# Nothing of ours is open in a command: only what was before us, and the folder that ls reads.
cat >"$work/fds.py" <<'P'
import subprocess
import sys
print(subprocess.run(sys.argv[1:], close_fds=True, capture_output=True, text=True).stdout)
P
out=$(python3 "$work/fds.py" "$pantrace" -q --unsafe -c "sleep 0.3" -e 'begin { system("ls /proc/self/fd | xargs"); }
uprobe:libc:malloc { @[ustack] = count(); } profile:hz:9 { @p[kstack] = count(); } interval:ms:100 { system("ls /proc/self/fd | xargs"); }')
is "$(printf '%s\n' "$out" | grep '^[0-9]' | sort -u)" "0 1 2 3" "system: no other file is open in it"
run -q --unsafe -e "begin { system(\"sleep 100 & echo \$! >$work/slept; echo started\"); exit(); }"
is "$out" "started" "system: what it leaves in the background is not waited for"
kill "$(cat "$work/slept")"; ok "and runs on"
rm "$work/slept"
start -q --unsafe -e "interval:ms:10 { system(\"echo \$\$ >$work/slept; exec sleep 100\"); }"
until_true test -s "$work/slept"
from=$(date +%s)
kill -TERM $tracer
wait $tracer
[ $(($(date +%s) - from)) -lt 60 ]; ok "system: SIGTERM ends the run while a command runs"
kill "$(cat "$work/slept")"
gives exit 'begin { exit(3); print("never"); }' ''
is $rc 3 "exit: the code"
matches fail 'begin { fail("not %s", "here"); }' 'ERROR: not here'
matches assert 'begin { assert(1 == 2, "wrong"); }' 'assert failed: wrong'
matches static_assert 'begin { static_assert(sizeof(uint32) == 8, "sizes"); }' 'ERROR: sizes'
gives table 'begin { @["a"] = count(); @["b"] = count(); @["b"] = count(); table("NAME=%-6s N=%3d", @); clear(@); }' 'NAME     N
a        1
b        2'
matches ranges 'begin { @[1] = count(); @[9] = count(); ranges("KB/1 I/O: 1 8 64", @); clear(@); }' '8'
matches meminfo 'begin { printf("%s\n", meminfo("MemTotal")); }' '^[0-9]+'
matches "disk_name errno_name" 'begin { print(disk_name(0x800001)); print(errno_name(2)); }' 'ENOENT'

# aggregations
gives "count sum avg min max" 'begin { for $i : 1..5 { @c = count(); @s = sum($i); @a = avg($i * 10); @lo = min($i); @hi = max($i); } }' '@a: 25
@c: 4
@hi: 4
@lo: 1
@s: 10'
gives "stats stddev" 'begin { for $i : 1..4 { @ = stats($i); } @d = stddev(1); @d = stddev(3); }' '@: { .count = 3, .average = 2, .total = 6 }
@d: 1'
gives hist 'begin { @ = hist(5); @ = hist(6); }' '@:
[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|'
gives lhist 'begin { @ = lhist(15, 0, 100, 10); }' '@:
[10, 20)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|'
gives llhist 'begin { @ = llhist(15, 10, 0, 2, 10); }' '@:
[10, 20)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|'
matches tseries 'begin { @ = tseries(5, 1s, 2, "sum"); }' '5'

# maps
gives "clear zero" 'begin { @a[1] = 1; @b[1] = 5; clear(@a); zero(@b); }' '@b[1]: 0'
gives "delete has_key find" 'begin { @[1] = 7; print((delete(@, 2), has_key(@, 1), find(@, 1, $v))); print($v); delete(@, 1); print(has_key(@, 1)); }' '(false, true, true)
7
false'
gives "trunc sort normalize denormalize" 'begin { for $i : 1..4 { @[$i] = sum($i * 10); } normalize(@, 10); print(@); denormalize(@); sort(@, key, desc); print(@); trunc(@, 1); }' '@[1]: 1
@[2]: 2
@[3]: 3
@[3]: 30
@[2]: 20
@[1]: 10
@[3]: 30'
gives printa 'begin { @n["a"] = count(); @b["a"] = sum(5); printa("%s %@d %@d\n", @n, @b); clear(@n); clear(@b); }' 'a 1 5'
gives is_scalar 'begin { @s = 1; @k[1] = 1; print((is_scalar(@s), is_scalar(@k))); clear(@s); clear(@k); }' '(true, false)'
gives "speculation speculate commit discard" 'begin { $i = speculation(); $k = speculation(); speculate($i); print("kept"); speculate($k); print("dropped"); commit($i); discard($k); }' kept
covered="$covered __forget" # the compiler's own: what self.x leaves behind (51-superset.t)

# types
gives "sizeof offsetof typeof typeinfo" 'struct s { int a; char b[4]; } begin { print((sizeof(struct s), offsetof(struct s, b), (typeof((uint8)1))300)); print(typeinfo((uint8)1).full_type); }' '(8, 4, 44)
uint8'
gives container_of 'begin { $m = (struct mm_struct **)((uint64)curtask + offsetof(struct task_struct, mm)); print(container_of($m, typeof(*curtask), mm) == curtask); }' true
gives "is_ptr is_str is_array is_integer is_unsigned_integer is_literal is_err" 'begin { $x = 5; $e = (int64)-2; print((is_ptr(curtask), is_str("a"), is_array(curtask), is_integer($x), is_unsigned_integer((uint8)1), is_literal(1), is_err((int8 *)$e))); }' '(true, true, false, true, true, true, true)'
gives "config getopt" 'begin { print((config.max_strlen, getopt("n", 5), getopt("flag"))); }' '(1024, 5, false)'

# others
gives "strerror signal_name syscall_name" 'begin { print(strerror(2)); print(signal_name(9)); print(syscall_name(0)); }' 'No such file or directory
SIGKILL
read'
gives signal "uprobe:$calls:work { signal(\"TERM\"); print(\"sent\"); exit(); }" sent --unsafe -c "$calls 5"
gives signal_thread "uprobe:$calls:work { signal_thread(9); print(\"sent\"); exit(); }" sent --unsafe -c "$calls 5"
matches write_user "uprobe:$calls:work /arg0 == 0/ { \$c = (uint8)90; print(write_user((void *)arg1, \$c, 1)); print(str(arg1)); exit(); }" '^Ztem-0|cannot use helper' --unsafe -c "$calls 5"
matches unwatch 'begin { unwatch((void *)1); print("done"); }' done

rows=$({
	cat "$top"/src/lang/builtin/*.c | sed -n '/^[[:space:]]*{"[a-z_0-9]*",$/N; s/^[[:space:]]*{"\([a-z_0-9]*\)",[[:space:]]*"[^"].*/\1/p'
	sed -n 's/^[[:space:]]*QUESTION("\([a-z_]*\)".*/\1/p' "$top"/src/lang/builtin/type.c
} | grep -v '^$' | sort -u)
missing=
for row in $rows; do
	case " $covered " in
	*" $row "*) ;;
	*) missing="$missing $row" ;;
	esac
done
is "$missing" "" "every row of the table has its example"
[ "$(printf '%s\n' $rows | wc -l)" -gt 120 ]
ok "the table was found"
done_testing
