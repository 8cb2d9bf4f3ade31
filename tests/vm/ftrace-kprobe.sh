# SPDX-License-Identifier: GPL-2.0-or-later
# kprobe on a kernel that has kprobes, and what cannot be probed.
# guest: older; check-all: newer
t=/sys/kernel/tracing
export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1

# begin COMMAND...: runs in the background until attached
begin()
{
	pantrace "$@" >/tmp/out 2>/tmp/err &
	tracer=$!
	for i in $(seq 1200); do
		grep -q NOTIFY /tmp/out && return 0
		kill -0 $tracer 2>/dev/null || return 1
		usleep 50000
	done
	return 1
}

end()
{
	usleep 300000
	kill -INT $tracer
	wait $tracer
	rc=$?
	out=$(grep -v NOTIFY /tmp/out)
	err=$(cat /tmp/err)
}

begin kprobe p:__x64_sys_getppid
/programs/syscalls 100 >/dev/null
end
is "$(echo "$out" | grep -c ' __x64_sys_getppid: (__[a-z0-9]*_sys_getppid+0x[04]/0x')" 300 "kprobe: every call"
is "$rc" 0 "kprobe: no loss"

while :; do /programs/syscalls 5 >/dev/null; done &
other=$!
for form in "" -j; do
	pantrace kprobe $form p:__x64_sys_getppid -- sh -c '/programs/syscalls 20 >/dev/null; exit 7' >/tmp/out 2>/tmp/err </dev/null
	is $? 7 "kprobe $form -- COMMAND: its exit code"
	is "$(grep 'syscalls[-"]' /tmp/out | grep -c '_sys_getppid[":]')" 60 "kprobe $form -- COMMAND: its calls" || { cat /tmp/err; head -5 /tmp/out; }
	is "$(grep -c '_sys_getppid[":]' /tmp/out)" 61 "and nobody else's: the shell has one, too"
done
kill $other

begin kprobe 'p:myopen do_sys_openat2 dfd=$arg1:s32 file=+0($arg2):ustring' 'file ~ "*/tracetest*"'
echo x >/tmp/tracetest1
cat /tmp/tracetest1 /tmp/tracetest2 2>/dev/null
cat /etc/passwd >/dev/null 2>&1
end
is "$(echo "$out" | sed -n 's/.* myopen: (do_sys_openat2[^)]*) //p' | tr '\n' ';')" \
	'dfd=-100 file="/tmp/tracetest1";dfd=-100 file="/tmp/tracetest1";dfd=-100 file="/tmp/tracetest2";' "kprobe: arguments, a string of user memory, a filter on it"

# No debug information is here: parameters and their members by BTF.
dd if=/dev/zero of=/tmp/by_btf bs=700 count=3 2>/dev/null
pantrace kprobe -q 'p:vfs_read count size=file->f_inode->i_size name=file->f_path.dentry->d_name.name:string' 'name == "by_btf"' -- \
	dd if=/tmp/by_btf of=/dev/null bs=777 >/tmp/out 2>/tmp/err
is "$?/$(sed -n 's/.*: vfs_read: ([^)]*) //p' /tmp/out | sort | uniq -c | tr -s ' ')" '0/ 4 count=0x309 size=2100 name="by_btf"' "kprobe: by BTF" || cat /tmp/out /tmp/err
like "$(pantrace probe -D 'do_sys_openat2 $params' 2>&1)" '^p:probe/do_sys_openat2 _text\+[0-9]+ dfd=%di:s32 filename=%si:x64 how=%dx:x64$' "probe: \$params by BTF"
pantrace probe -D 'vfs_read ret' >/tmp/out 2>/tmp/err
is $? 1 "a local variable"
like "$(cat /tmp/err)" "of the .ret. variable at this address: without debug information only what a function is passed is known" "needs debug information"

# An int: newer kernels leave the upper half of the register 0.
begin kprobe 'r:do_sys_openat2 ret=$retval:s32' 'ret < 0'
cat /tmp/nosuch1 2>/dev/null
end
like "$out" 'do_sys_openat2: \(.* <- do_sys_openat2\) ret=-2$' "kprobe: what a function returns"

begin kprobe 'p:two=2 vfs_read' 2>/dev/null && end
like "$(cat /tmp/err)" "letters, digits" "kprobe: a name that is none"

begin kprobe -s p:vfs_read 'common_pid > 1'
head -c 1 /etc/passwd >/dev/null
end
like "$out" '^ => (__x64_sys_read|ksys_read)' "kprobe -s: the kernel's stack"

begin kprobe 'p:tcp_v4_*'
end
begin kprobe 'p:*_int3'
end
like "$err" 'left out|cannot be probed|No matches' "kprobe: what is blacklisted is left out of a wildcard"

refused() # DEFINITION, message
{
	pantrace kprobe -d 1 "$1" >/tmp/out 2>/tmp/err </dev/null
	like "$(cat /tmp/err)" "$2" "kprobe refuses $1"
}
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
black=$(sed -n 's/^0x[0-9a-f]*-0x[0-9a-f]*\t\([a-z_0-9]*\)$/\1/p' /sys/kernel/debug/kprobes/blacklist | grep -x 'do_int3\|exc_int3\|notify_die' | head -1)
refused "p:$black" "^definition:1:3-.*ERROR: $black cannot be probed: it is on the kernel's kprobe blacklist"
refused p:start_kernel 'start_kernel cannot be probed: it ran at boot'
refused p:vfs_reed "did you mean 'vfs_read'"
notrace=$(grep ' [tT] ' /proc/kallsyms | sed 's/.* //' | grep -x 'native_sched_clock\|sched_clock\|ktime_get_mono_fast_ns\|native_read_msr' | head -1)
refused "p:${notrace:-sched_clock}" 'not in the list of functions that can be traced|blacklist|No matches'
refused 'p:vfs_read a=%nosuch' "^definition:1:14-21: ERROR: the probe 'vfs_read': Invalid register name"
refused 'p:vfs_read a=+0(%di:string' "ERROR: the probe 'vfs_read'"
refused 'p:vfs_read a=$retval' "ERROR: the probe 'vfs_read': .*retval"
refused 'p:vfs_read+3' "ERROR: the probe|Invalid|instruction"

begin kprobe -j 'p:vfs_read count=$arg3:u64'
head -c 1 /etc/passwd >/dev/null
end
like "$out" '"comm":"head","event":"vfs_read","fields":\{"__probe_ip":"vfs_read[^"]*","count":[0-9]+\}\}' "kprobe --json"

done_testing
