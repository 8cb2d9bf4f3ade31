# SPDX-License-Identifier: GPL-2.0-or-later
# kprobes, return probes, fentry and fexit: arguments, return values, wildcards, refusals.
# guest: newer; check-all: older

# exactly 100 reads of 10 bytes from a file
reads() { dd if=/tmp/data of=/dev/null bs=10 count=100 2>/dev/null; }
dd if=/dev/zero of=/tmp/data bs=1000 count=1 2>/dev/null

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kprobe:vfs_read /comm == "dd" && arg2 == 10/ { @ = count(); }' 2>&1)
like "$out" '^@: 100$' "kprobe: 100 of 100 calls, argument 3"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kretprobe:vfs_read /comm == "dd" && retval == 10/ { @ = count(); }' 2>&1)
like "$out" '^@: 100$' "kretprobe: 100 returns of 10"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e '
kprobe:vfs_read /comm == "dd"/ { @start[tid] = nsecs; }
kretprobe:vfs_read /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start, tid); @n = count(); }' 2>&1)
like "$out" '^@n: 1[0-9][0-9]$' "latency between entry and return"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e '
kprobe:vfs_read /comm == "dd"/ { $f = (struct file *)arg0; @[str($f->f_path.dentry->d_name.name)] = count(); }' 2>&1)
like "$out" '^@\[data\]: 100$' "struct members through pointers: file name"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kprobe:vfs_* /comm == "dd"/ { @[func] = count(); }' 2>&1)
like "$out" '^@\[vfs_read\]: 1[0-9][0-9]$' "wildcard: func is the function"
like "$out" '^@\[vfs_write\]: 1[0-9][0-9]$' "wildcard: more functions"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kprobe:vfs_read, kprobe:vfs_write /comm == "dd"/ { @[probe] = count(); }' 2>&1)
like "$out" '^@\[kprobe:vfs_read\]: 1[0-9][0-9]$' "probe is the name of the attach point"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'fentry:vfs_read /comm == "dd" && args.count == 10/ { @ = count(); @n[str(args.file->f_path.dentry->d_name.name)] = count(); }' 2>&1)
like "$out" '^@: 100$' "fentry: typed arguments"
like "$out" '^@n\[data\]: 100$' "fentry: members of arguments"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'fexit:vfs_read /comm == "dd" && retval == 10/ { @ = count(); @s = sum(args.count); }' 2>&1)
like "$out" '^@: 100$' "fexit: retval"
like "$out" '^@s: 1000$' "fexit: arguments"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kfunc:vfs_read /comm == "dd" && args->count == 10/ { @ = count(); }' 2>&1)
like "$out" '^@: 100$' "kfunc, the older name, and args->"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=100' -e 'kprobe:vfs_read /comm == "dd"/ { @[kstack] = count(); }' 2>&1)
like "$out" 'vfs_read' "kstack names the function"
like "$out" '(ksys_read|__x64_sys_read)' "kstack names the callers"

out=$(pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=3' -e 'kprobe:vfs_read+0 /comm == "dd" && arg2 == 10/ { @ = count(); }' 2>&1)
like "$out" '^@: 3$' "function+offset"

pantrace -e 'kprobe:vfs_raed { 1 }' >/tmp/out 2>&1
is "$?" 1 "an unknown function: exit code"
like "$(cat /tmp/out)" "vfs_read" "an unknown function: the nearest"

pantrace -e 'kprobe:vfs_read+1 { 1 }' >/tmp/out 2>&1
is "$?" 1 "an offset within an instruction: exit code"
like "$(cat /tmp/out)" "ERROR: Possible attachment attempt in the middle of an instruction, try a different offset" "and what is wrong"

first=$(sed -n 's/^0x[0-9a-f]*-0x[0-9a-f]*[[:space:]]*//p' /sys/kernel/debug/kprobes/blacklist | grep -v '\.' | head -1)
pantrace -e "kprobe:$first { 1 }" >/tmp/out 2>&1
is "$?" 1 "a blacklisted function ($first) is refused"
like "$(cat /tmp/out)" "blacklist" "and the reason is said"

out=$(pantrace -l 'kprobe:vfs_rea*' 2>&1)
like "$out" '^kprobe:vfs_read$' "list of kprobes"

# ftrace's own list is the truth for what a wildcard may match
sed 's/[[:space:]].*//' /sys/kernel/tracing/available_filter_functions | grep -v __ftrace_invalid | sort -u >/tmp/ftrace
pantrace -l 'kprobe:*' 2>/dev/null | sed 's/^kprobe://' | sort -u >/tmp/ours
is "$(diff /tmp/ftrace /tmp/ours | grep -c '^-[^-]')" 0 "every function of ftrace is listed"
more=$(diff /tmp/ftrace /tmp/ours | grep -c '^+[^+]')
[ "$more" -lt 20 ]
ok "and hardly another ($more)"

probed() { grep -q ' vfs_read+' /sys/kernel/debug/kprobes/list; }
unprobed() { ! probed; }
until_true unprobed # that of the last one, which goes in the background
begin pantrace -e 'kprobe:vfs_read { @ = count(); }'
probed
ok "a kprobe is in the kernel's list"
kill -9 $tool
wait $tool 2>/dev/null
until_true unprobed
ok "kill -9 leaves no kprobe behind"
done_testing
