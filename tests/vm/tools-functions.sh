# SPDX-License-Identifier: GPL-2.0-or-later
# funccount, funcslower, tpoint and tcpretrans -l, which need kprobes.
# guest: older; check-all: newer
begin pantrace funccount 'ksys_write,__x64_sys_getppid'
/programs/syscalls 100 >/dev/null
end
like "$(cat /tmp/out)" '^__x64_sys_getppid +300$' "funccount: getppid of three processes"
like "$(head -1 /tmp/out)" '^FUNC +COUNT$' "funccount: columns"

begin pantrace funccount 'tcp_*'
nc -w 60 127.0.0.1 7999
end
like "$(cat /tmp/out)" '^tcp_v4_connect +1$' "funccount: a pattern of many functions"

for mode in '' -F; do
	begin pantrace funccount $mode '__x64_sys_getpp*'
	/programs/syscalls 100 >/dev/null
	end
	like "$(cat /tmp/out)" '^__x64_sys_getppid +300$' "funccount $mode: a pattern of a name that is not ftrace's"
done

# By the function tracer: attached at once, each call counted or said to be lost.
begin pantrace funccount -F 'write_nul*'
/programs/syscalls 100 >/dev/null
end
like "$(cat /tmp/out)" '^write_null +300$' "funccount -F: writes of three processes"
begin pantrace funccount -F -i 1 -t 3 --json 'vfs_*'
until_true grep -q '"func"' /tmp/out # which calls vfs_read()
end
like "$(cat /tmp/out)" '^\{"func":"vfs_[a-z_]*","count":[0-9]+\}$' "funccount -F --json"
pantrace funccount -F -d 1 'no_such_function_*' >/tmp/out 2>&1
is "$?" 1 "funccount -F: a pattern that matches nothing"

begin pantrace funcslower -a __x64_sys_clock_nanosleep,__x64_sys_nanosleep 2500000
sleep 3
sleep 0.2
end
# a guest that stands still for seconds makes others' sleeps long enough, too
is "$(awk '/nanosleep$/ { found = 1; if ($(NF - 1) < 2500000) bad = 1 } END { print found + 0, bad + 0 }' /tmp/out)" "1 0" "funcslower: the long sleep, none that is shorter"
like "$(cat /tmp/out)" ' [1-9][0-9]{6,}\.[0-9]{3} __x64_sys_(clock_)?nanosleep$' "funcslower: its duration"
begin pantrace funcslower -C __x64_sys_clock_nanosleep,__x64_sys_nanosleep 1500000
sleep 2
end
is "$(grep -c 'nanosleep$' /tmp/out)" 0 "funcslower -C: sleep does not count"

begin pantrace tcpretrans -l
end
like "$(cat /tmp/out)" 'LADDR:LPORT +-- +RADDR:RPORT +STATE' "tcpretrans -l attaches"
done_testing
