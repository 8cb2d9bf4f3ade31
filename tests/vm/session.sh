# SPDX-License-Identifier: GPL-2.0-or-later
# A kprobe and a kretprobe on the same functions: one program and one link where the kernel has sessions (6.10), two of them where
# not, and the same answers.
# guest: newer; check-all: older
dd if=/dev/zero of=/tmp/data bs=1000 count=1 2>/dev/null
has() { pantrace --info 2>/dev/null | grep -q "$1: yes"; }
under() { pantrace -q -c 'dd if=/tmp/data of=/dev/null bs=10 count=50' "$@" 2>&1; }

# held SCRIPT [OPTION...]: what a tracer that is attached holds, from the kernel's own account of its descriptors
held()
{
	script=$1
	shift
	rm -f /tmp/out # the last one's would do for `Attached`
	pantrace "$@" -e "$script" >/tmp/out 2>&1 &
	tool=$!
	for _ in $(seq 120); do
		grep -qs '^Attached' /tmp/out && break
		sleep 0.5
	done
	attached=$(sed -n 's/^Attached \([0-9]*\) probes*$/\1/p' /tmp/out)
	programs=$(cat /proc/$tool/fdinfo/* 2>/dev/null | grep -c '^prog_type')
	links=$(cat /proc/$tool/fdinfo/* 2>/dev/null | grep -c '^link_type:.kprobe_multi')
	kill -INT $tool
	wait $tool
}

pair='kprobe:vfs_read /comm == "dd" && arg2 == 10/ { @in[tid] = arg2; @entries = count(); }
kretprobe:vfs_read /@in[tid]/ { @returns[retval, @in[tid]] = count(); delete(@in, tid); }'
named='kprobe:vfs_re* /comm == "dd" && arg2 == 10/ { @in[probe, func] = count(); }
kretprobe:vfs_re* /comm == "dd" && retval == 10/ { @out[probe, func] = count(); }'
function='kprobe:vfs_read { @a = 1 } kretprobe:vfs_read { @b = 1 }'
wildcard='kprobe:vfs_re* { @a = 1 } kretprobe:vfs_re* { @b = 1 }'
functions=$(sed 's/[[:space:]].*//' /sys/kernel/tracing/available_filter_functions | grep -c '^vfs_re')
if has kprobe_session; then
	held "$function"
	is "$attached $programs $links" "1 1 1" "a function: one probe, program and link"
	held "$wildcard"
	is "$attached $programs $links" "$functions 1 1" "a wildcard ($functions functions): one program and link"
	held "kprobe:vfs_read { @a = 1 } kretprobe:vfs_read { @b = kstack }"
	is "$attached $programs $links" "2 2 0" "a stack of a function: a probe of its own"
	held "kprobe:vfs_read { @a = 1 } kprobe:vfs_read { @c = 1 } kretprobe:vfs_read { @b = 1 }"
	is "$attached $programs $links" "3 3 0" "which of two entries, nobody said: three programs"
fi
held "$function" --no-feature kprobe_session
is "$attached $programs $links" "2 2 0" "a function without sessions: two programs"
held "$wildcard" --no-feature kprobe_session
is "$attached $programs" "$((2 * functions)) 2" "a wildcard ($functions functions) without sessions: two programs"

want=$(under --no-feature kprobe_session -e "$pair")
like "$want" '^@entries: 50$' "entries by a program of their own"
like "$want" '^@returns\[10, 10\]: 50$' "and returns"
is "$(under -e "$pair")" "$want" "the same by what this kernel has"

want=$(under --no-feature kprobe_session,kprobe_multi -e "$named")
like "$want" '^@in\[kprobe:vfs_read, vfs_read\]: 50$' "which entry, by programs of their own"
like "$want" '^@out\[kretprobe:vfs_read, vfs_read\]: 50$' "and which return"
is "$(under -e "$named")" "$want" "the same by what this kernel has"

like "$(under -e 'kprobe:vfs_read /0/ { @never = 1; } kretprobe:vfs_read /comm == "dd" && retval == 10/ { @ = count(); }')" '^@: 50$' \
	"returns of entries that a filter refused"
like "$(under -e 'kprobe:vfs_read { if (comm != "dd") { return; } @in = count(); return; } kretprobe:vfs_read { if (comm == "dd" && retval == 10) { @ = count(); } }')" \
	'^@: 50$' "and of those that returned early"
out=$(under -e 'kprobe:vfs_read /comm == "dd" && arg2 == 10/ { $n = arg2 * 10; for ($i : 0..$n) { @turns += 1; } }
kretprobe:vfs_read /comm == "dd" && retval == 10/ { $s = "returned"; @[$s, str($s, 4)] = count(); }')
like "$out" '^@turns: 5000$' "a loop at the entry"
like "$out" '^@\[returned, ret\]: 50$' "strings at the return"
out=$(under -e 'kprobe:vfs_read { exit(); @late = count(); } kretprobe:vfs_read { @r = 1; exit(); }')
unlike "$out" '^@late: [1-9]' "exit() at the entry ends that"
done_testing
