#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which functions kprobes may be put on, told by the user; probes that match nothing; compiling for another kernel.
. "$(dirname "$0")/lib.sh"
need_root

names=$work/names
echo vfs_write >"$names"
run --traceable-functions /dev/null -d ast -e 'kprobe:vfs_read { }'
is "$rc" 1 "an empty list: refused"
like "$err" 'ERROR: No matches for kprobe vfs_read\.' "and said"
run --traceable-functions "$names" -d ast -e 'kprobe:vfs_w* { }'
is "$rc" 0 "a wildcard that the list matches"
run --traceable-functions "$names" -d ast -e 'kprobe:vfs_r* { }'
is "$rc" 1 "a wildcard that it does not"
like "$err" "Probe has no valid attach points. If this is expected, set the 'missing_probes'" "and what to do about it"
run --traceable-functions "$names" --unsafe -d ast -e 'kprobe:vfs_read { }'
is "$rc" 0 "--unsafe: tried all the same"
like "$err" 'WARNING: vfs_read is not traceable' "with a warning"
run --traceable-functions "$work/none" -e 'begin { }'
is "$rc" 1 "a list that is not there"
like "$err" 'Could not read functions from .*/none: No such file' "is named"
run -e 'rawtracepoint:nothing { }'
like "$err" 'ERROR: Probe has no valid attach points\.' "a raw tracepoint that does not exist"

ln -s "$pantrace" "$work/bpftrace"
"$work/bpftrace" -e 'config = { missing_probes = ignore } tracepoint:syscalls:nothing { }' >"$work/o" 2>"$work/e"
is "$?" 1 "nothing left to attach: exit code"
is "$(cat "$work/o")" "No probes to attach" "as bpftrace says it"
done_testing
