# SPDX-License-Identifier: GPL-2.0-or-later
# funccount, funcslower, tpoint and tcpretrans -l, which need kprobes.
pantrace funccount -d 10 'ksys_write,__x64_sys_getppid' >/tmp/out 2>&1 &
sleep 6
/programs/syscalls 100 >/dev/null
wait
like "$(cat /tmp/out)" '^__x64_sys_getppid +300$' "funccount: getppid of three processes"
like "$(head -1 /tmp/out)" '^FUNC +COUNT$' "funccount: columns"

pantrace funccount -d 20 'tcp_*' >/tmp/out 2>&1 &
sleep 18
wait
like "$(cat /tmp/out)" '^FUNC +COUNT$' "funccount: a pattern of many functions"

# By the function tracer: attached at once, each call counted or said to be lost.
pantrace funccount -F -d 8 'write_nul*' >/tmp/out 2>&1 &
sleep 5
/programs/syscalls 100 >/dev/null
wait
like "$(cat /tmp/out)" '^write_null +300$' "funccount -F: writes of three processes"
pantrace funccount -F -i 1 -t 3 -d 6 --json 'vfs_*' >/tmp/out 2>/tmp/err &
for _ in 1 2 3 4 5; do
	sleep 1
	cat /etc/passwd >/dev/null
done
wait
like "$(cat /tmp/out)" '^\{"func":"vfs_[a-z_]*","count":[0-9]+\}$' "funccount -F --json"
pantrace funccount -F -d 1 'no_such_function_*' >/tmp/out 2>&1
is "$?" 1 "funccount -F: a pattern that matches nothing"

pantrace funcslower -a -d 12 __x64_sys_clock_nanosleep,__x64_sys_nanosleep 1500000 >/tmp/out 2>&1 &
sleep 5
sleep 2
sleep 1
wait
is "$(grep -c 'nanosleep$' /tmp/out)" 1 "funcslower: one of two sleeps is long enough"
like "$(cat /tmp/out)" ' (2|3)[0-9]{6}\.[0-9]{3} __x64_sys_(clock_)?nanosleep$' "funcslower: its duration"
pantrace funcslower -C -d 12 __x64_sys_clock_nanosleep,__x64_sys_nanosleep 1500000 >/tmp/out 2>&1 &
sleep 5
sleep 2
wait
is "$(grep -c 'nanosleep$' /tmp/out)" 0 "funcslower -C: sleep does not count"

pantrace tcpretrans -l -d 6 >/tmp/out 2>&1
like "$(cat /tmp/out)" 'LADDR:LPORT +-- +RADDR:RPORT +STATE' "tcpretrans -l attaches"
done_testing
