#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at random moments: the kernel's lists of programs, maps, links, instances and dynamic events stay as they were.
. "$(dirname "$0")/lib.sh"
need_root

# One object a line. Numbers are given in turn, so that one that is new stays told from all others; what others load at the moment
# comes and goes with them.
lists()
{
	{
		python3 - <<'P'
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
# bpf(2): PROG_GET_NEXT_ID 11, MAP_GET_NEXT_ID 12, BTF_GET_NEXT_ID 23, LINK_GET_NEXT_ID 31
for name, cmd in (("prog", 11), ("map", 12), ("btf", 23), ("link", 31)):
    ident = 0
    while True:
        attr = ctypes.create_string_buffer(struct.pack("III", ident, 0, 0).ljust(128, b"\0"), 128)
        if libc.syscall(321, cmd, attr, 128) != 0:
            break
        ident = struct.unpack_from("I", attr.raw, 4)[0]
        print(name, ident)
P
		ls /sys/kernel/tracing/instances 2>/dev/null
		cat /sys/kernel/tracing/dynamic_events 2>/dev/null
	} 2>&1 | sort
}

# Kernel objects of a dead process are freed in the background: wait until none is left of those that are new in the file $1.
gone()
{
	lists >"$work/now"
	comm -12 "$1" "$work/now" >"$work/left"
	[ ! -s "$work/left" ]
}

lists >"$work/before"
start -e 'uprobe:libc:malloc { @[ustack] = count(); }'
lists | comm -13 "$work/before" - >"$work/new"
# shellcheck disable=SC2046
sed -n 's/^\(prog\|map\)_id:[[:space:]]*/\1 /p' $(ls -d /proc/$tracer/fdinfo/*) | sort -u >"$work/own"
is "$(grep -c '^prog' "$work/own") $(comm -13 "$work/new" "$work/own")" "1 " "the objects of a run are in the lists" || cat "$work/new" >&2
kill -9 $tracer
wait $tracer 2>/dev/null
until_true gone "$work/new"
ok "and no longer, when it was killed" || sed 's/^/# /' "$work/left" >&2
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
lists | comm -13 "$work/before" - >"$work/new"
until_true gone "$work/new"
ok "after 50 kills all that was new in the lists ($(grep -c . "$work/new") then) is gone" || sed 's/^/# /' "$work/left" >&2

# And the command of -c or --: held until the probes are attached, it must not stay so when there is nobody to let it go.
ln -s /bin/sleep "$work/sleeper"
is "$(python3 "$(dirname "$0")/killed-commands.py" "$pantrace" "$work/sleeper")" "" "killed tracers: none of their commands stays, held for ever"
done_testing
