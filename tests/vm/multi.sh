# SPDX-License-Identifier: GPL-2.0-or-later
# Wildcards: one link for all functions where the kernel has multi-links, one event for each where not.
dd if=/dev/zero of=/tmp/data bs=1000 count=1 2>/dev/null
has() { pantrace --info 2>/dev/null | grep -q "$1: yes"; }
under() { c=$1; shift; pantrace -q -c "$c" "$@" 2>&1; }

out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' -e 'kretprobe:vfs_re* /comm == "dd" && retval == 10/ { @[func] = count(); }')
like "$out" '^@\[vfs_read\]: 50$' "a wildcard of return probes"
out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' -e 'kprobe:vfs_re* /comm == "dd" && arg2 == 10/ { @[probe] = count(); }')
like "$out" '^@\[kprobe:vfs_read\]: 50$' "a wildcard: probe is the attach point"

if has kprobe_multi; then
	out=$(PANTRACE_MAX_PROBES=100000 pantrace -c 'dd if=/tmp/data of=/dev/null bs=10 count=50' \
		-e 'kprobe:[v-z]* /comm == "dd" && arg2 == 10/ { @[func] = count(); }' 2>&1)
	n=$(echo "$out" | sed -n 's/^Attached \([0-9]*\) probes$/\1/p')
	[ "${n:-0}" -gt 1000 ]
	ok "more than 1,000 functions ($n) by one link"
	like "$out" '^@\[vfs_read\]: 50$' "and each is seen"
else
	skip "more than 1,000 functions by one link" "the kernel has no kprobe_multi"
	skip "and each is seen" "the kernel has no kprobe_multi"
fi
if has uprobe_multi; then
	out=$(PANTRACE_MAX_PROBES=100000 under '/programs/calls' -e 'uprobe:/programs/calls:* { @[func] = count(); }')
	like "$out" '^@\[.*main\]: 1$' "all functions of a program by one link"
else
	skip "all functions of a program by one link" "the kernel has no uprobe_multi"
fi
done_testing
