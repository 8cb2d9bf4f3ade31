#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at random moments: the kernel's lists of programs, maps, links, instances and dynamic events stay as they were.
. "$(dirname "$0")/lib.sh"
need_root

lists()
{
	{
		python3 - <<'P'
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
# bpf(2): PROG_GET_NEXT_ID 11, MAP_GET_NEXT_ID 12, BTF_GET_NEXT_ID 23, LINK_GET_NEXT_ID 31
for name, cmd in (("prog", 11), ("map", 12), ("btf", 23), ("link", 31)):
    ident, n = 0, []
    while True:
        attr = ctypes.create_string_buffer(struct.pack("III", ident, 0, 0).ljust(128, b"\0"), 128)
        if libc.syscall(321, cmd, attr, 128) != 0:
            break
        ident = struct.unpack_from("I", attr.raw, 4)[0]
        n.append(ident)
    print(name, n)
P
		ls /sys/kernel/tracing/instances 2>/dev/null
		cat /sys/kernel/tracing/dynamic_events 2>/dev/null
	} 2>&1
}

# Kernel objects of a dead process are freed in the background: wait until nothing changes any more.
settled()
{
	for _ in $(seq 100); do
		lists >"$work/now"
		cmp -s "$work/now" "$1" && return 0
		sleep 0.1
	done
	return 1
}

lists >"$work/before"
sleep 1
lists >"$work/again"
cmp -s "$work/before" "$work/again"; ok "the lists are quiet before the test"
seed=$$
for i in $(seq 50); do
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	delay=$(awk -v r=$seed 'BEGIN { printf "%.3f", (r % 150) / 1000 }')
	case $((i % 5)) in
	0) set -- execsnoop ;;
	1) set -- -e 'tracepoint:syscalls:sys_enter_open* { @[probe, comm] = count(); }' ;;
	2) set -- -e 'uprobe:libc:malloc { @[ustack] = count(); } interval:s:1 { print(@); clear(@); }' ;;
	3) set -- -e 'profile:hz:99 { @[kstack] = count(); } software:page-faults:1 { @h = hist(nsecs); }' ;;
	4) set -- opensnoop ;;
	esac
	"$pantrace" "$@" >/dev/null 2>&1 &
	victim=$!
	sleep "$delay"
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
done
settled "$work/before"
ok "after 50 kills the lists are the same as before" || diff "$work/before" "$work/now" | sed 's/^/# /'
done_testing
