#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that hints name are run as they stand there: whoever copies one gets on. Every `pantrace ...` in a message of the sources is
# met here, or has its reason for not being met.
# among tracers: asks whether they are taken
. "$(dirname "$0")/lib.sh"
need_root
c=$programs/calls.dyn
mkdir "$work/bin"
ln -s "$pantrace" "$work/bin/pantrace"
PATH=$work/bin:$PATH
cd "$work" || exit 1
mkdir -m 755 traces
: >"$work/met"

# accepted COMMAND: is run until its end or for a moment; those that change the machine only say what they would do
accepted()
{
	command=$(printf '%s\n' "$1" | sed "s|-o DIRECTORY|-o $work/out-$$|; s|DIRECTORY|$work/traces|; s/NAME/hintsname/; s/EVENTS/'hints:*'/
s/^pantrace hist [a-z_]*:.*/& -d 0.1/; s/^pantrace -e/pantrace --dry-run -e/; s/^pantrace reset-ftrace/& --dry-run/")
	printf '%s\n' "$1" >>"$work/met"
	rm -rf "$work/out-$$"
	run_a_moment 3 "exec $command"
	code=$rc
	case $code in
	0 | 3 | 124) ok "is accepted: $command" ;;
	*) fails "is accepted: $command: code $code: $(head -3 "$work/err")" ;;
	esac
	case $1 in "pantrace start "*) "$pantrace" reset -q ;; esac
}
fails() { false; ok "$1"; }
# hinted WORDS...: fails, and what its message names is accepted
hinted()
{
	timeout -s INT -k 20 60 "$pantrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	grep -o '`pantrace [^`]*`' "$work/err" | tr -d '`' >"$work/named"
	[ -s "$work/named" ]
	ok "pantrace $*: the message names a command" || sed 's/^/# /' "$work/err" >&2
	while read -r command <&4; do
		accepted "$command"
	done 4<"$work/named"
}

hinted tpoint nosuch:event
hinted tpoint sched:sched_switch 'zzzzzzzz == 1'
hinted tpoint sched:sched_switch 'next_pid === 1'
hinted uprobe "p:$c:work" 'zzzzzzzz == 1'
hinted perf-stat-hist sched:sched_switch zzzzzzzz
hinted perf-stat-hist sched:sched_switch next_comm
hinted hist sched:sched_switch keys=zzzzzzzz
hinted hist sched:sched_switch
hinted hist sched_switch
hinted hist ' ' keys=next_pid
hinted hist --from sched:sched_waking --to sched:sched_switch --match zzzzzzzz
hinted -e "tracepoint:sched:sched_switch { print(arg0); }"
hinted -e "uprobe:$c:zzzzzzzzzzzz { }"
hinted -c true -e "uprobe:libc:memcpy { }" # a warning: it traces
hinted -e "usdt:$programs/sdt.dyn:zzzzzzzzzzzz { }"
hinted -e 'iter:zzzzzzzz { }'
hinted hist ''
hinted stat -e cs-nosuch -- true
hinted stat -e interval:s:1 -- true
hinted stat -e 'cs /x == 1/' -- true
"$pantrace" record -q -e sched_switch -o traces/trace.dat -- true >/dev/null 2>&1
hinted --from traces -e 'kprobe:vfs_read { }'
printf 'sh;main 1\n' >one.folded
hinted heatmap one.folded
hinted user status hints-nobody
hinted stop
"$pantrace" start -q -B hints-session -e irq
hinted start -B hints-session -e irq
hinted stop -B hints-nobody
hinted record -u 'hints:*' --to "unix:$work/socket"
"$pantrace" user start hints-test -u 'hints:*' >/dev/null 2>&1
hinted user untrack hints-test --pid 1
hinted user rotate hints-test
hinted user start hints-test -u 'hints:*'
"$pantrace" user destroy hints-test >/dev/null 2>&1
"$pantrace" user start hints-rings -u 'hints:*' >/dev/null 2>&1
"$pantrace" user trigger --name hints-trigger 'usage(hints-rings) >= 80%' 'stop hints-rings' >/dev/null 2>&1 &
trigger=$!
until_true sh -c "'$pantrace' user list-triggers | grep -q hints-trigger"
hinted user start hints-trigger -u 'hints:*'
wait $trigger
"$pantrace" user destroy hints-rings >/dev/null 2>&1
hinted probe -n -x "$c" zzzzzzzz
hinted probe -n -x "$c" 'work zzzzzzzz'
"$pantrace" probe -q -x "$c" hints_probe:event=work >/dev/null 2>&1
hinted probe -x "$c" hints_probe:event=work
"$pantrace" user destroy hintsname >/dev/null 2>&1
start hist --name hints-test sched:sched_switch keys=next_pid
hinted hist --name hints-test sched:sched_switch keys=next_pid
wait $tracer

# What is left is said on other kernels only: with a likely name.
python3 "$top/tests/hints.py" "$top/src" >"$work/all"
is "$(grep '^BARE' "$work/all")" "" "hints have their commands between \`\`"
while read -r pattern <&5; do
	expression=$(printf '%s\n' "$pattern" | sed 's/[][\.*^$+?(){}|]/\\&/g; s/%\\*\.*\\*\**s/.*/g')
	grep -Eqx -- "$expression" "$work/met" && continue
	case $pattern in
	"pantrace probe -V '%s'") : && ok "not met here: $pattern, of kernels with kprobes and debug symbols" ;;
	"pantrace boot remove") : && ok "not met here: $pattern, of half a removal, which 97-boot.t ends with it" ;;
	*--locals*)
		"$pantrace" record -q --call-graph dwarf -F 999 -o traces/samples.data -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' >/dev/null 2>&1
		accepted "$pattern"
		;;
	*%s:bpf:*) : && ok "not met here: $pattern, of kernels that trace BPF programs, while one runs" ;;
	*'-e '*) accepted "pantrace -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)) }'" ;;
	*%s*) fails "nothing here gives the hint '$pattern'" ;;
	*) accepted "$pattern" ;;
	esac
done 5<"$work/all"
done_testing
