#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What older kernels get instead (--no-feature) gives the same answers.
. "$(dirname "$0")/lib.sh"
need_root
target=$programs/calls.dyn
script="uprobe:$target:work {
	@plain++; @count = count(); @sum = sum(arg0); @by[arg0 % 2] = hist(arg0);
	if (arg0 % 500 == 0) { printf(\"%d %s %s\n\", arg0, str(arg1), probe); }
}"
# events of two threads come in any order
sorted() { "$pantrace" -q "$@" -c "$target 2000 2" -e "$script" 2>&1 </dev/null | sort; }

want=$(sorted)
like "$want" '^@count: 4000$' "with all that this kernel has"
for without in attach_cookie atomic_fetch cpu_v4 task_storage bpf_loop for_each_map percpu_lookup no_prealloc_safe uprobe_multi \
	attach_cookie,bpf_loop,task_storage,cpu_v4; do
	is "$(sorted --no-feature $without)" "$want" "without $without"
done

run --no-feature bpf_lop -e 'begin { 1 }'
like "$err" "did you mean 'bpf_loop'" "an unknown feature: nearest"
run --no-feature bpf_loop -e 'begin { $n = pid; for ($i : 0..$n) { print($i) } }'
[ $rc -ne 0 ]; ok "what has no fallback is refused"
like "$err" "(5\.17|bpf_loop)" "with the reason"
done_testing
