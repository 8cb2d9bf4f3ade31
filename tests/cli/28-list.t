#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pantrace list and doctor.
. "$(dirname "$0")/lib.sh"
need_root

for _ in 1 2 3 4 5; do # others make and remove events meanwhile
	run list 'tracepoint:*'
	want=$(find /sys/kernel/tracing/events -mindepth 2 -maxdepth 2 -type d | sed 's/.*events\///; s/\//:/' | grep -v '^ftrace:' | sort)
	got=$(echo "$out" | sed -n 's/^tracepoint://p' | grep -v '^ftrace:' | sort)
	[ "$got" != "$want" ] || break
done
is "$(echo "$got" | md5sum)" "$(echo "$want" | md5sum)" "all tracepoints ($(echo "$got" | wc -l))"
run -l 'tracepoint:syscalls:sys_enter_open*'
is "$out" "$(ls /sys/kernel/tracing/events/syscalls | grep '^sys_enter_open' | sed 's/^/tracepoint:syscalls:/' | sort)" "-l with a pattern"
run list -v 'tracepoint:syscalls:sys_enter_openat'
like "$out" 'filename' "-v shows arguments"
like "$out" 'const char ?\* ?filename|char \* ?filename' "-v shows types"
run list "uprobe:$programs/calls.dyn:*"
like "$out" "^uprobe:$programs/calls.dyn:work\$" "functions of a program"
run list "usdt:$programs/sdt.dyn:*"
like "$out" "^usdt:$programs/sdt.dyn:pantrace_test:plain\$" "USDT probes of a program"
(cd "$programs" && "$pantrace" list 'usdt:sdt.d*:*:plain' && "$pantrace" list 'uprobe:calls.d*:wor?') >"$work/here" 2>&1
is "$(cat "$work/here")" "usdt:sdt.dyn:pantrace_test:plain
uprobe:calls.dyn:work" "a wildcard without a slash: files of the working directory"
run list 'kprobe:t*'
if head -c 1 /sys/kernel/tracing/available_filter_functions >/dev/null 2>&1; then
	sed 's/ .*//' /sys/kernel/tracing/available_filter_functions
else
	# One name for each address, but not for parts that are rarely run and for what ran at boot.
	awk '$3 == "_sinittext" { from = $1 } $3 == "_einittext" { to = $1 }
		$2 ~ /[tTwW]/ && $3 ~ /^t/ && $3 !~ /\.cold/ && $4 !~ /bpf|__builtin/ && !seen[$1]++ { name[$1] = $3 }
		END { for (a in name) if (!(a >= from && a < to)) print name[a] }' /proc/kallsyms
fi | grep '^t' | LC_ALL=C sort -u >"$work/want"
echo "$out" | sed -n 's/^kprobe://p' | LC_ALL=C sort -u >"$work/got"
[ -s "$work/want" ] && cmp -s "$work/want" "$work/got"; ok "kernel functions: ftrace's, or all that kallsyms has ($(wc -l <"$work/want"))"
run list 'software:*'
like "$out" '^software:page-faults:' "software events"
run list --json 'tracepoint:sched:sched_switch'
echo "$out" | python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]'; ok "--json"
run list 'nosuch:*'
[ $rc -ne 0 ]; ok "nothing found is not a success"

run doctor
is "$rc" 0 "doctor"
like "$out" 'bpf' "doctor: BPF"
like "$out" 'kprobe' "doctor: kprobes"
run doctor --json
echo "$out" | python3 -c 'import json, sys; json.load(sys.stdin)'; ok "doctor --json"
done_testing
