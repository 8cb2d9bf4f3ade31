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
