# SPDX-License-Identifier: GPL-2.0-or-later
# Refusals on a distribution's kernel, and privileges.
# guest: older; check-all: newer
refuse() # NAME CODE REGEX ARGS...
{
	name=$1 code=$2 regex=$3
	shift 3
	pantrace "$@" >/tmp/out 2>/tmp/err </dev/null
	is "$?" "$code" "$name: exit code"
	like "$(cat /tmp/err)" "$regex" "$name: message"
}

refuse "hardware events" 5 "ERROR: .*hardware" -e 'hardware:cycles:1000000 { 1 }'
refuse "a function that was inlined" 1 "kprobe|function" -e 'kprobe:get_page { 1 }'
renamed=$(awk '{ have[$3] = 1 } $3 ~ /\.part\.0$/ && $3 !~ /^__pfx_/ && NF == 3 { f = $3; sub(/\.part\.0$/, "", f); parts[n++] = f }
	END { for (i = 0; i < n; i++) if (!(parts[i] in have)) { print parts[i]; exit } }' /proc/kallsyms)
refuse "a function that the compiler renamed" 1 "exists as '$renamed\\.part\\.0'" -e "kprobe:$renamed { 1 }"
refuse "a function of no module" 1 "nosuchmodule" -e 'kprobe:nosuchmodule:ext4_sync_fs { 1 }'
refuse "an offset outside" 1 "ERROR" -e 'kprobe:vfs_read+1000000 { 1 }'
refuse "an argument that fentry does not have" 1 "nosucharg" -e 'fentry:vfs_read { print(args.nosucharg) }'
like "$(cat /tmp/err)" "ERROR" "with its place"

# without privileges
su -s /bin/sh nobody -c "pantrace -e 'kprobe:vfs_read { @ = count() }'" >/tmp/out 2>/tmp/err </dev/null
is "$?" 4 "as nobody: exit code 4"
like "$(cat /tmp/err)" "(root|CAP_)" "as nobody: which privilege is missing"

# a module's own functions
dd if=/dev/zero of=/tmp/disk bs=1M count=1 2>/dev/null
pantrace -q -c '/bin/losetup /dev/loop3 /tmp/disk' -e 'kprobe:loop:lo_ioctl { @ = count(); }' >/tmp/out 2>&1
like "$(cat /tmp/out)" '^@: [1-9]' "module:function"
losetup -d /dev/loop3
done_testing
