# SPDX-License-Identifier: GPL-2.0-or-later
# What a tracer keeps while it reads, in all its threads: nothing but what reading takes, on this kernel.
# guest: older; check-all: newer

# of PID: "capabilities no_new_privs seccomp", a line where all threads are alike
of()
{
	for thread in /proc/"$1"/task/*/status; do
		awk '/^CapEff:/ { c = $2; sub(/^0+/, "", c) } /^NoNewPrivs:/ { n = $2 } /^Seccomp:/ { s = $2 } END { print c, n, s }' $thread
	done | sort -u
}

# keeps WANT WORDS...: 38 PERFMON and 39 BPF are c000000000; 34 SYSLOG, 1 DAC_OVERRIDE, 5 KILL
keeps()
{
	want=$1
	shift
	begin pantrace "$@"
	got=$(of $tool)
	/programs/syscalls 5 >/dev/null
	end
	is "$got" "$want" "$*: what it keeps"
	is "$rc $(grep -v Tracing /tmp/err)" "0 " "$*: and works with that"
}

keeps "c000000000 1 2" -q -e 'kprobe:vfs_read { @[comm] = count(); }'
keeps "c000000000 1 2" -q -e 'tracepoint:raw_syscalls:sys_enter { @[kstack] = count(); }'
keeps "c000000000 1 2" opensnoop
keeps "c400000002 1 0" tpoint -q sched:sched_switch
keeps "c400000002 1 0" functrace write_null
keeps "c400000002 1 0" funcgraph -m 1 -l write_null write_null
keeps "c400000002 1 0" kprobe p:vfs_write
keeps "$(of $$)" functrace --keep-privileges write_null
done_testing
