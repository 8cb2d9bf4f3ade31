# SPDX-License-Identifier: GPL-2.0-or-later
# kprobe:FUNCTION:LINE and kprobe@SOURCE:LINE: the kernel's variables at its statements are what a program did for which it runs.
# guest: older
# modules: ext4 virtio_blk
# disk: debug
if ! mount -o ro -t ext4 /dev/vda /lib/debug 2>/dev/null; then
	skip "lines of the kernel" "its debug information is not installed here (linux-image-...-dbg, or VM_DEBUG=FILE)"
	exit
fi
dd if=/dev/zero of=/tmp/lines.dat bs=700 count=3 2>/dev/null
# Lines of 6.1's vfs_read(): 0 its beginning, 14 `if (count > MAX_RW_COUNT)`, 23 `if (ret > 0)`.
begin pantrace --debuginfo /lib/debug -e '
	kprobe:vfs_read:0 /comm == "dd"/ { @same[args.count == vars.count, args.file == vars.file] = count(); @release = str(vars.init_uts_ns.name.release); }
	kprobe:vfs_read:14 /comm == "dd" && str(vars.file->f_path.dentry->d_name.name) == "lines.dat"/ { @count[args.count, vars.ret] = count(); }
	kprobe:vfs_read:23 /comm == "dd" && str(vars.file->f_path.dentry->d_name.name) == "lines.dat"/ { @ret[vars.ret, vars.file->f_inode->i_size] = count(); print(vars); }'
dd if=/tmp/lines.dat of=/dev/null bs=777 2>/dev/null
end
is "$rc$(cat /tmp/err)" "0Attached 3 probes" "lines of a function"
is "$(grep '^@' /tmp/out | sort | tr '\n' ' ')" \
	"@count[777, 0]: 4 @release: $(uname -r) @ret[0, 2100]: 1 @ret[546, 2100]: 1 @ret[777, 2100]: 2 @same[true, true]: 4 " "variables, members, parameters, globals"
is "$(sed -n 's/^{.*\.ret = \([0-9]*\) }/\1/p' /tmp/out | tr '\n' ' ')" "777 777 546 0 " "print(vars) shows them"
like "$(grep '^{' /tmp/out)" '\.count = <[a-z ]*>' "and says what cannot be read"
pantrace --debuginfo /lib/debug -d ir -e 'kprobe@fs/read_write.c:1000000 { print(vars.runqueues); }' >/tmp/out 2>/tmp/err
is "$?" 1 "no code"
like "$(cat /tmp/err)" "ERROR: Unable to map 'fs/read_write.c:1000000' to address" "is said"
# kprobe has its variables by name, too: of 777 bytes three times
mkdir -p /usr/lib
ln -s /lib/debug /usr/lib/debug
pantrace kprobe -q 'p:vfs_read:23 ret size=file->f_inode->i_size name=file->f_path.dentry->d_name.name:string' 'name == "lines.dat"' -- dd if=/tmp/lines.dat of=/dev/null bs=777 >/tmp/out 2>/tmp/err
is "$?/$(sed -n 's/.*: vfs_read_L23: (.*) ret=//p' /tmp/out | tr '\n' ';')" '0/777 size=2100 name="lines.dat";777 size=2100 name="lines.dat";546 size=2100 name="lines.dat";0 size=2100 name="lines.dat";' "kprobe: a line" || cat /tmp/out /tmp/err
pantrace kprobe -q 'p:vfs_read count' 'count == 777' -- dd if=/tmp/lines.dat of=/dev/null bs=777 >/tmp/out 2>/tmp/err
is "$?/$(grep -c ': vfs_read: (vfs_read+0x[0-9a-f/x]*) count=' /tmp/out)" 0/4 "kprobe: a parameter" || cat /tmp/out /tmp/err
pantrace probe 'vfs_set_acl_prepare_k* $params' >/tmp/out 2>&1
is $? 1 "probe: a wildcard of what the kernel would refuse"
like "$(cat /tmp/out)" 'vfs_set_acl_prepare_kuid cannot be traced \(notrace\), skip it' "leaves it out, and says why" || cat /tmp/out
rm /usr/lib/debug
pantrace kprobe -q 'p:vfs_read ret' -- true >/tmp/out 2>/tmp/err
is $? 1 "kprobe without debug information: a local variable"
like "$(tail -n 1 /tmp/err)" "^HINT: install the kernel's debug symbols" "says what it needs" || cat /tmp/err
export HOME=/tmp/home
mkdir $HOME
pantrace probe -q -k "/lib/debug/boot/vmlinux-$(uname -r)" --cache -n -a 'vfs_read:23 ret size=file->f_inode->i_size name=file->f_path.dentry->d_name.name:string' 2>/tmp/err
is "$?$(cat /tmp/err)" 0 "a definition for machines without debug information"
umount /lib/debug
begin pantrace -e 'kprobe:vfs_read:23 /comm == "dd" && str(vars.name) == "lines.dat"/ { @cached[vars.ret, vars.size] = count(); print(vars); }'
dd if=/tmp/lines.dat of=/dev/null bs=777 2>/dev/null
end
is "$rc$(cat /tmp/err)" "0Attached 1 probe" "its line, when the debug information is gone"
is "$(grep '^@' /tmp/out | sort | tr '\n' ' ')" "@cached[0, 2100]: 1 @cached[546, 2100]: 1 @cached[777, 2100]: 2 " "with its variables"
pantrace -d ir -e 'kprobe:vfs_read:14 { print(vars.count); }' >/tmp/out 2>/tmp/err
is "$?" 1 "another line"
like "$(cat /tmp/err)" "debug information of this kernel is not installed" "is not known"
