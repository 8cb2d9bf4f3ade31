# SPDX-License-Identifier: GPL-2.0-or-later
# -p of the ftrace-based tools: the process, and what it starts later; nobody else. /programs/syscalls N: three processes with N writes each.
# guest: older; check-all: newer

# begun: the tracer, started with this variable, says that it traces
export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1
begun()
{
	for _ in $(seq 600); do
		grep -qs __BPFTRACE_NOTIFY_PROBES_ATTACHED /tmp/out && return
		usleep 100000
	done
}

# follow NAME COMMAND...: the command traces the shell $pid, which runs the workload as a child; so does this shell
follow()
{
	rm -f /tmp/out /tmp/err /tmp/go
	sh -c 'while [ ! -e /tmp/go ]; do usleep 50000; done; /programs/syscalls 20 >/dev/null' &
	pid=$!
	what=$1
	shift
	"$@" -p $pid >/tmp/out 2>/tmp/err &
	tool=$!
	begun
	: >/tmp/go
	/programs/syscalls 50 >/dev/null
	wait $pid
	sleep 1
	kill -INT $tool
	wait $tool
	is "$(grep -c "$what" /tmp/out)" 60 "$*: children are followed, others not" || { head -5 /tmp/err; grep -v "$what" /tmp/out | head -20; } | sed 's/^/# /'
}

follow ' write_null <-' pantrace functrace write_null
# A kernel that preempts itself may switch within the call: then it is " {" and "}" and not one line.
follow ' write_null()' pantrace funcgraph -m 1 -l write_null write_null
is "$(cat /sys/kernel/tracing/set_ftrace_pid)" "no pid" "funcgraph -p: afterwards everybody can be traced again"
echo 1 >/sys/kernel/tracing/set_ftrace_pid
like "$(pantrace reset-ftrace --dry-run)" 'set_ftrace_pid' "reset-ftrace: a list of threads"
pantrace reset-ftrace -q
is "$(cat /sys/kernel/tracing/set_ftrace_pid)" "no pid" "and it is gone"
follow ' write_null: ' pantrace kprobe p:write_null
follow ' sys_getppid' pantrace tpoint syscalls:sys_enter_getppid
begin pantrace functrace -L $$ do_nanosleep
sleep 0.1
usleep 1000
end
unlike "$(cat /tmp/out)" '^ *u?sleep-' "-L: only the thread, not what it starts"

# Histogram triggers count everybody: with -p BPF does it.
rm -f /tmp/go
sh -c 'while [ ! -e /tmp/go ]; do usleep 50000; done; exec /programs/syscalls 20 >/dev/null' &
pid=$!
begin pantrace hist -p $pid syscalls:sys_enter_getppid keys=common_pid.execname
: >/tmp/go
/programs/syscalls 50 >/dev/null
wait $pid
end
like "$(cat /tmp/out)" "^syscalls \\[$pid\\] +20 " "hist -p: the process"
is "$(grep -c '^syscalls ' /tmp/out)" 1 "and nobody else" || sed 's/^/# /' /tmp/out
pantrace hist --engine kernel -d 1 -p $$ syscalls:sys_enter_getppid keys=common_pid >/tmp/out 2>&1
is $? 5 "hist --engine kernel -p is refused"
like "$(cat /tmp/out)" 'the events of every process' "and why"

# Event probes: what a field of an event points to, filters, no such event, the kernel's complaint at its place. Kernels that take a
# pointer to text for text read one byte of it (6.12): found out without us.
pointer_is_read()
{
	(cd /sys/kernel/tracing && echo 'e:own/chdir syscalls.sys_enter_chdir f=$filename:x64' >>dynamic_events && echo 1 >events/own/chdir/enable &&
		cd /tmp && cd /sys/kernel/tracing && echo 0 >events/own/chdir/enable && grep -q 'chdir: .* f=0x[0-9a-f]\{6,\}' trace
	rc=$?
	echo -:own/chdir >>dynamic_events
	echo >trace
	exit $rc)
}
if pointer_is_read; then
	rm -f /tmp/out /tmp/err
	pantrace tpoint 'e:opens syscalls:sys_enter_openat file=+0($filename):ustring' 'file == "/etc/passwd"' >/tmp/out 2>/tmp/err &
	tool=$!
	begun
	cat /etc/passwd /root/nothing >/dev/null 2>&1
	sleep 1
	kill -INT $tool
	wait $tool
	like "$(cat /tmp/out)" '^ *cat-[0-9]+ .*: opens: .*file="/etc/passwd"$' "an event probe reads the string of a system call" || { cat /sys/kernel/tracing/dynamic_events; head -5 /tmp/err; } | sed "s/^/# /"
	unlike "$(cat /tmp/out)" 'nothing' "a filter on it" || sed 's/^/# /' /tmp/err
	pantrace tpoint -v 'e:opens syscalls.sys_enter_openat file=+0($filename):ustring' >/tmp/out 2>&1
	like "$(cat /tmp/out)" 'field:__data_loc char\[\] file;' "its fields"
else
	pantrace tpoint 'e:opens syscalls:sys_enter_openat n=$flags:x32 file=+0($filename):ustring' >/tmp/out 2>&1
	is $? 5 "an event probe that would misread a pointer is refused"
	like "$(cat /tmp/out)" "read one byte of '.filename'" "with the reason"
	like "$(cat /tmp/out)" "args.filename" "and what does it"
fi
rm -f /tmp/out /tmp/err
pantrace tpoint 'e:opens syscalls:sys_enter_openat dir=$dfd:s32' >/tmp/out 2>/tmp/err &
tool=$!
begun
cat /root/nothing >/dev/null 2>&1
sleep 1
kill -INT $tool
wait $tool
like "$(cat /tmp/out)" '^ *cat-[0-9]+ .*: opens: .*dir=-100$' "an event probe reads a number"
pantrace tpoint 'e:opens syscalls/sys_enter_openat file=+0($filenam):ustring' >/tmp/out 2>&1
is $? 1 "a field that is not there is refused"
like "$(cat /tmp/out)" '^ +~+' "at its place" || sed 's/^/# /' /tmp/out
pantrace tpoint 'e:x syscalls:sys_enter_opena' >/tmp/out 2>&1
like "$(cat /tmp/out)" "did you mean 'syscalls:sys_enter_open'" "no such event"
is "$(grep -c pantrace /sys/kernel/tracing/dynamic_events)" 0 "nothing is left"
done_testing
