#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which functions kprobes may be put on, told by the user; probes that match nothing; compiling for another kernel.
# parallel: traces nothing
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
printf 'vfs_write\nvfs_writev\nnf_conntrack_in [nf_conntrack]\nnosuch_function\n' >"$names"
run --traceable-functions "$names" -l 'kprobe:*'
is "$out" "kprobe:nf_conntrack_in
kprobe:nosuch_function
kprobe:vfs_write
kprobe:vfs_writev" "-l: the functions of the list"
run --traceable-functions "$names" -l 'kretprobe:vfs_writ*'
is "$out" "kretprobe:vfs_write
kretprobe:vfs_writev" "with a pattern, returns"
run --traceable-functions "$names" -l 'kprobe:nf_conntrack:*'
is "$out" "kprobe:nf_conntrack:nf_conntrack_in" "those of a module"
run --traceable-functions "$names" -l 'fentry:vfs_*'
is "$out" "$("$pantrace" -l fentry:vfs_write,fentry:vfs_writev 2>/dev/null)" "of typed functions those that BTF has, too"
run --traceable-functions /dev/null -l 'kprobe:vfs_*'
is "$out" "" "an empty list: none"
run --traceable-functions "$names" -l -e 'kprobe:vfs_w* { }'
is "$out" "kprobe:vfs_write
kprobe:vfs_writev" "-l of a script"
run list --traceable-functions "$names" 'kprobe:vfs_w*'
is "$out" "kprobe:vfs_write
kprobe:vfs_writev" "list has the option, too"
run --traceable-functions "$work/none" -l 'kprobe:vfs_*'
is "$rc" 1 "-l: a list that is not there"
like "$err" 'Could not read functions from .*/none: No such file' "is named"
run -e 'rawtracepoint:nothing { }'
like "$err" 'ERROR: Probe has no valid attach points\.' "a raw tracepoint that does not exist"

ln -s "$pantrace" "$work/bpftrace"
"$work/bpftrace" -e 'config = { missing_probes = ignore } tracepoint:syscalls:nothing { }' >"$work/o" 2>"$work/e"
is "$?" 1 "nothing left to attach: exit code"
is "$(cat "$work/o")" "No probes to attach" "as bpftrace says it"
done_testing
