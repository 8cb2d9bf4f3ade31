# SPDX-License-Identifier: GPL-2.0-or-later
# What functions were given, return, and where they were called (funcgraph -A -R -r, functrace -A), against calls whose arguments and
# results are known. That the text is the kernel's own, byte for byte, is tested by trace-text.sh.
# guest: newer; check-all: older
t=/sys/kernel/tracing
# Somebody's list of two, which must be both again.
echo vfs_read do_sys_openat2 >$t/set_graph_function
before=$(cat $t/current_tracer $t/set_graph_function $t/options/funcgraph-* $t/options/func-args 2>/dev/null)

has() # OPTION...: the kernel has it; a tracer's options are there while it is the current one
{
	for option; do
		[ -e $t/options/$option ] || return
	done
}

# known ARGS...: what a tool prints while five times 16 bytes are read from /dev/zero and written to /dev/null, and a file that is not
# there is opened.
known()
{
	rm -f /tmp/out /tmp/err
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 pantrace "$@" >/tmp/out 2>/tmp/err &
	tool=$!
	for _ in $(seq 600); do
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED /tmp/out && break
		kill -0 $tool 2>/dev/null || break
		usleep 100000
	done
	dd if=/dev/zero of=/dev/null bs=16 count=5 2>/dev/null
	cat /nowhere 2>/dev/null
	sleep 0.3
	kill -INT $tool 2>/dev/null
	wait $tool
	rc=$?
}

# told: what the tool printed, if the test before has failed
failed=0
told()
{
	[ $tests_failed -gt $failed ] && sed 's/^/# /' /tmp/out /tmp/err | head -30 >&2
	failed=$tests_failed
}

# With a filter here, and -l where it is refused, as without them all functions of the kernel are hooked, which takes long in a guest.
echo write_null >$t/set_ftrace_filter
echo function_graph >$t/current_tracer
retval=$(has funcgraph-retval && echo yes)
retaddr=$(has funcgraph-retaddr && echo yes)
args=$(has funcgraph-args && echo yes)
both=$(grep -qs 'args\[\]' $t/events/ftrace/fgraph_retaddr_entry/format && echo yes)
echo nop >$t/current_tracer
echo >$t/set_ftrace_filter

if [ "$retval" ]; then
	known funcgraph -R -m 1 write_null
	is $rc 0 "funcgraph -R: exit code"
	is "$(grep -c 'write_null(); /\* \(ret=\|= \)0x10 \*/$' /tmp/out)" 5 "what a write of 16 bytes returns"
told
	known funcgraph -R -m 2 do_sys_openat2
	like "$(cat /tmp/out)" '\} /\* do_sys_openat2 (ret=|= )-2 \*/$' "ENOENT of an open, as a number"
told
	known funcgraph -x -m 2 do_sys_openat2
	like "$(cat /tmp/out)" '\} /\* do_sys_openat2 (ret=|= )0x(ffffffff)?fffffffe \*/$' "funcgraph -x: in hex"
told
	known funcgraph -R -j -m 1 do_sys_openat2
	like "$(cat /tmp/out)" '"comm":"cat","function":"do_sys_openat2",.*"retval":(-2|4294967294),"error":-2\}$' "funcgraph -R --json"
told
else
	pantrace funcgraph -d 1 -R -l write_null write_null >/tmp/out 2>/tmp/err
	is $? 5 "funcgraph -R where the kernel has no return values: exit code"
	like "$(cat /tmp/err)" "no option 'funcgraph-retval'" "and message"
	like "$(cat /tmp/err)" "since 6.5, with CONFIG_FUNCTION_GRAPH_RETVAL" "and which kernels have them"
	skip "return values" "the kernel is not built with CONFIG_FUNCTION_GRAPH_RETVAL"
fi

if [ "$retaddr" ]; then
	known funcgraph -r -m 1 write_null
	# dd's messages are written there, too.
	[ "$(grep -c 'write_null(); /\* <-vfs_write+0x[0-9a-f]*/0x[0-9a-f]* \*/$' /tmp/out)" -ge 5 ]
	ok "funcgraph -r: who called"
told
else
	pantrace funcgraph -d 1 -r -l write_null write_null >/tmp/out 2>/tmp/err
	is $? 5 "funcgraph -r where the kernel has no return addresses: exit code"
	like "$(cat /tmp/err)" "since 6.13, with CONFIG_FUNCTION_GRAPH_RETADDR" "and message"
	skip "return addresses" "the kernel is not built with CONFIG_FUNCTION_GRAPH_RETADDR"
fi

if [ "$args" ]; then
	known funcgraph -A -m 1 write_null
	is "$(grep -c 'write_null(file=0xff[0-9a-f]*, buf=0x[0-9a-f]*, count=0x10, ppos=0x[0-9a-f]*);$' /tmp/out)" 5 "funcgraph -A: the arguments of a write of 16 bytes"
told
	known funcgraph -A -j -m 1 write_null
	is "$(grep -c '"function":"write_null",.*"args":{"file":"0xff[0-9a-f]*","buf":"0x[0-9a-f]*","count":16,"ppos":"0x[0-9a-f]*"}[,}]' /tmp/out)" 5 "funcgraph -A --json"
told
else
	pantrace funcgraph -d 1 -A -l write_null write_null >/tmp/out 2>/tmp/err
	is $? 5 "funcgraph -A where the kernel has no arguments: exit code"
	like "$(cat /tmp/err)" "since 6.15, with CONFIG_DEBUG_INFO_BTF" "and message"
	skip "arguments" "the kernel's function graph tracer records none"
fi

if [ "$both" ] && [ "$args" ] && [ "$retval" ]; then
	known funcgraph -A -R -r -m 1 write_null
	is "$(grep -c 'write_null(file=0xff[0-9a-f]*, buf=0x[0-9a-f]*, count=0x10, ppos=0x[0-9a-f]*); /\* <-vfs_write+0x[0-9a-f]*/0x[0-9a-f]* ret=0x10 \*/$' /tmp/out)" 5 "funcgraph -A -R -r: all of it"
told
	known funcgraph -A -R -r -j -m 1 write_null
	is "$(grep -c '"count":16,.*"caller":"vfs_write+0x[0-9a-f]*/0x[0-9a-f]*","retval":16}$' /tmp/out)" 5 "and as JSON"
told
elif [ "$args" ] && [ "$retaddr" ]; then
	pantrace funcgraph -d 1 -A -r -l write_null write_null >/tmp/out 2>/tmp/err
	is $? 5 "funcgraph -A -r where the kernel records one or the other: exit code"
	like "$(cat /tmp/err)" "not both" "and message"
else
	skip "arguments with return addresses" "the kernel has not both"
fi

known functrace -A write_null
if [ $rc = 0 ]; then
	is "$(grep -c 'dd-[0-9]* .*: write_null(file=0xff[0-9a-f]*, buf=0x[0-9a-f]*, count=0x10, ppos=0x[0-9a-f]*) <-vfs_write$' /tmp/out)" 5 "functrace -A: the arguments"
told
else
	is $rc 5 "functrace -A where the kernel has no arguments: exit code"
	like "$(cat /tmp/err)" "no option 'func-args'" "and message"
fi
after=$(cat $t/current_tracer $t/set_graph_function $t/options/funcgraph-* $t/options/func-args 2>/dev/null)
is "$after" "$before" "tracefs is as it was"
echo >$t/set_graph_function
done_testing
