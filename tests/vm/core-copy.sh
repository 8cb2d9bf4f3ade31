# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's memory, copied by a program (tests/unit/core_copy.c), and what is found by it: the functions that ftrace lists.
if [ ! -x /programs/core_copy ]; then
	skip "core_copy" "the unit tests were not built"
	done_testing
	exit 0
fi
/programs/core_copy
code=$?
pantrace -l 'kprobe:t*' 2>/dev/null | sed 's/^kprobe://' | sort -u >/tmp/ours
sed 's/ .*//; s/\[.*//' /sys/kernel/tracing/available_filter_functions | grep '^t' | sort -u >/tmp/ftrace
is "$(wc -l </tmp/ours)" "$(wc -l </tmp/ftrace)" "as many functions as ftrace lists"
cmp -s /tmp/ours /tmp/ftrace
ok "the same functions"
# A container may have an empty file there instead.
mount --bind /dev/null /proc/kcore
pantrace -l 'kprobe:t*' 2>/dev/null | sed 's/^kprobe://' | sort -u >/tmp/ours
umount /proc/kcore
cmp -s /tmp/ours /tmp/ftrace
ok "the same without /proc/kcore"
done_testing
exit $code
