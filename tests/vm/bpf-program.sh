# SPDX-License-Identifier: GPL-2.0-or-later
# fentry:bpf and fexit:bpf: a running BPF program as the thing that is traced.
# guest: older
begin pantrace -q -e 'interval:100ms { @a = count(); } interval:100ms { @b = count(); } fn inner($n: int64): int64 { return $n * 2; } kprobe:vfs_read { @c = inner((int64)1); }'
out=$(pantrace -l 'fentry:bpf:*' 2>&1)
like "$out" '^fentry:bpf:[0-9]+:interval_us_100000_1$' "list: the first clock, with the program's number"
like "$out" '^fentry:bpf:[0-9]+:interval_us_100000_2$' "list: the second"
like "$out" '^fentry:bpf:[0-9]+:kprobe_vfs_read_3$' "list: a kprobe's program"
is "$(pantrace -l 'fexit:bpf:interval*' 2>&1 | grep -c '^fexit:bpf:[0-9]*:interval_us_100000_[12]$')" 2 "list: by name alone"

out=$(timeout -s INT 300 pantrace -e 'fentry:bpf:interval_us_* { @[probe] = count(); } interval:1s { if (len(@) == 2) { exit(); } }' 2>&1)
like "$out" '^Attached 3 probes$' "two programs match a wildcard"
like "$out" '^@\[fentry:bpf:[0-9]+:interval_us_100000_1\]: [0-9]+$' "the first fires"
like "$out" '^@\[fentry:bpf:[0-9]+:interval_us_100000_2\]: [0-9]+$' "the second fires"
id=$(echo "$out" | sed -n 's/^@\[fentry:bpf:\([0-9]*\):interval_us_100000_2.*/\1/p')
out=$(timeout -s INT 300 pantrace -q -e "fexit:bpf:$id:* { printf(\"%s\n\", probe); exit(); }" 2>&1)
like "$out" "^fexit:bpf:$id:interval_us_100000_2\$" "the end of one program, by its number"
out=$(pantrace -e 'fentry:bpf:no_such_program { }' 2>&1)
is "$?" 1 "no such program: exit code"
like "$out" 'No matches for fentry bpf:no_such_program' "no such program"
like "$out" "list 'fentry:bpf:\*'" "and how to find those that run"
end
done_testing
