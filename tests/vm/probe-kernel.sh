# SPDX-License-Identifier: GPL-2.0-or-later
# probe: kernel functions by name and by offset, returns, several places of one event, and nothing that cannot be probed.
# guest: older; check-all: newer
t=/sys/kernel/tracing

# traced EVENTS COMMAND...: what ftrace prints of them while a command runs
traced()
{
	events=$1
	shift
	pantrace tpoint "$events" -- "$@" 2>/tmp/err
}

pantrace probe -q 'my:ppid=__x64_sys_getppid regs=%di' '__x64_sys_getppid%return parent=$retval:s32'
is "$?" 0 "an entry and a return are added"
like "$(cat $t/kprobe_events)" 'p:my/ppid _text\+[0-9]+ regs=%di' "as an offset from the kernel's beginning"
like "$(pantrace probe -l)" 'my:ppid +\(on __(x64|do)_sys_getppid with regs\)' "and listed by its name"
out=$(traced 'my:ppid,probe:*' sh -c 'echo $PPID')
like "$out" 'ppid: \([^)]*sys_getppid\+0x0/0x[0-9a-f]+\) regs=0xf' "it is hit"
like "$out" '__x64_sys_getppid__return: \(.* <- [^)]*sys_getppid\) parent=[0-9]+' "and what it returns"
begin pantrace -e 'tracepoint:my:ppid { @regs[args.regs > 0, func] = count(); }
	t:probe:__x64_sys_getppid__return { @parent[comm, args.parent, retval] = count(); }'
sh -c 'for i in 1 2 3; do echo $PPID; done; exec /programs/syscalls 4' >/dev/null
end
like "$(cat /tmp/out)" '@parent\[syscalls, [0-9]+, [0-9]+\]: ' "in a script: what it returns"
like "$(cat /tmp/out)" '@regs\[.*sys_getppid\]: ' "and the place"
pantrace probe -q -d 'my:*' -d __x64_sys_getppid__return
is "$(cat $t/kprobe_events)" "" "both are gone"

pantrace probe -q 'vfs_rea*' 2>/tmp/err
is "$?" 0 "a pattern"
is "$(pantrace probe -l 'probe:vfs_read' | wc -l)" 1 "has vfs_read"
pantrace probe -q -d 'probe:vfs_rea*'

pantrace probe '__x64_sys_getppid x=%nothing' one=vfs_read >/tmp/out 2>&1
is "$?" 1 "a bad register"
is "$(cat $t/kprobe_events)" "" "leaves nothing"
pantrace probe nmi_enter_not_there >/tmp/out 2>&1
like "$(cat /tmp/out)" "Probe point 'nmi_enter_not_there' not found" "no such function"
banned=$(sed -n 's/^0x[0-9a-f]*-0x[0-9a-f]*\t//p' /sys/kernel/debug/kprobes/blacklist | head -1)
if [ -n "$banned" ]; then
	pantrace probe "$banned" >/tmp/out 2>&1
	like "$(cat /tmp/out)" "is blacklisted function, skip it|not found" "a function of the blacklist"
	is "$(cat $t/kprobe_events)" "" "is not probed"
fi

echo 'scripted_made int x' >>$t/synthetic_events
pantrace -e 'tracepoint:synthetic:scripted_made { print(args.x); }' >/tmp/out 2>/tmp/err
is "$?" 1 "no program can be attached to a synthetic event"
like "$(cat /tmp/err)" "is made by ftrace of other events: no program can be attached to it" "which is said"
echo '!scripted_made int x' >>$t/synthetic_events
