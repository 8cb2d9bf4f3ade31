/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One script for each builtin, for `pantrace help NAME` and the reference. A test compiles them
 * all.
 */
#include "lang/builtin/examples.h"

#include "base/base.h"

static const struct example {
	const char *name, *script;
} examples[] = {
	/* the context of a probe */
	{"args", "tracepoint:syscalls:sys_enter_openat { printf(\"%s\\n\", str(args.filename)); }"},
	{"retval", "tracepoint:syscalls:sys_exit_read { @bytes = hist(args.ret); } "
		   "uretprobe:libc:malloc { @null += retval == 0; }"},
	{"arg0", "uprobe:libc:malloc { @bytes = hist(arg0); }"},
	{"sarg0", "uprobe:libc:malloc { printf(\"%d\\n\", sarg0); }"},
	{"ctx", "uprobe:libc:malloc { printf(\"%p\\n\", ctx); }"},
	{"probe", "tracepoint:syscalls:sys_enter_*stat* { @[probe] = count(); }"},
	{"probetype", "tracepoint:syscalls:sys_enter_read { @[probetype] = count(); }"},
	{"func", "uprobe:libc:mem* { @[func] = count(); }"},
	{"reg", "uprobe:libc:malloc { printf(\"%x\\n\", reg(\"sp\")); }"},
	{"usermode", "profile:hz:99 { @[usermode ? \"user\" : \"kernel\"] = count(); }"},
	{"override", "kprobe:__x64_sys_getuid /comm == \"id\"/ { override(2); }"},
	/* processes */
	{"pid", "tracepoint:raw_syscalls:sys_enter { @[pid] = count(); }"},
	{"tid", "tracepoint:syscalls:sys_enter_nanosleep { @start[tid] = nsecs; }"},
	{"uid", "tracepoint:syscalls:sys_enter_execve { printf(\"%d\\n\", uid); }"},
	{"gid", "tracepoint:syscalls:sys_enter_execve { printf(\"%d\\n\", gid); }"},
	{"username", "tracepoint:syscalls:sys_enter_execve { @[username] = count(); }"},
	{"comm", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"},
	{"cpid", "tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @ = count(); }"},
	{"has_cpid", "begin { if (has_cpid) { printf(\"with -c\\n\"); } }"},
	{"curtask", "tracepoint:syscalls:sys_enter_execve { printf(\"%d\\n\", curtask.prio); }"},
	{"ppid", "tracepoint:syscalls:sys_enter_execve { printf(\"%d from %d\\n\", pid, ppid); }"},
	{"pcomm", "tracepoint:syscalls:sys_enter_execve { @[pcomm, comm] = count(); }"},
	{"leader_tid", "tracepoint:syscalls:sys_enter_futex { @[leader_tid, tid] = count(); }"},
	{"leader_comm", "tracepoint:syscalls:sys_enter_futex { @[leader_comm, comm] = count(); }"},
	{"cpu", "profile:hz:99 { @[cpu] = count(); }"},
	{"ncpus", "begin { printf(\"%d CPUs\\n\", ncpus); }"},
	{"numaid", "profile:hz:99 { @[numaid] = count(); }"},
	{"rand", "begin { printf(\"%d\\n\", rand % 6 + 1); }"},
	{"jiffies", "begin { printf(\"%d\\n\", jiffies); }"},
	{"cgroup", "tracepoint:raw_syscalls:sys_enter { @[cgroup_path(cgroup)] = count(); }"},
	{"cgroupid", "tracepoint:raw_syscalls:sys_enter /cgroup == cgroupid(\"/sys/fs/cgroup\")/ { "
		     "@ = count(); }"},
	{"cgroup_path", "tracepoint:raw_syscalls:sys_enter { @[cgroup_path(cgroup)] = count(); }"},
	{"tracer_pid",
	 "tracepoint:raw_syscalls:sys_enter /pid != tracer_pid/ { @[comm] = count(); }"},
	{"kfunc_exist", "begin { if (kfunc_exist(\"bpf_task_from_pid\")) { printf(\"Linux 6.2 or "
			"later\\n\"); } }"},
	{"kfunc_allowed", "iter:task { if comptime (kfunc_allowed(\"bpf_task_from_pid\")) { "
			  "printf(\"%s\\n\", comm(pid)); } }"},
	/* time */
	{"nsecs", "tracepoint:syscalls:sys_enter_read { self.t = nsecs; } "
		  "tracepoint:syscalls:sys_exit_read /self.t/ { @ns = hist(nsecs - self.t); }"},
	{"elapsed", "interval:s:1 { printf(\"%d s\\n\", elapsed / 1000000000); }"},
	{"time", "interval:s:1 { time(\"%H:%M:%S\\n\"); }"},
	{"strftime", "tracepoint:syscalls:sys_enter_execve { printf(\"%s %s\\n\", "
		     "strftime(\"%H:%M:%S.%f\", nsecs), comm); }"},
	/* text and memory */
	{"str", "tracepoint:syscalls:sys_enter_openat { printf(\"%s\\n\", str(args.filename)); }"},
	{"buf", "tracepoint:syscalls:sys_enter_write { printf(\"%r\\n\", buf(args.buf, 16)); }"},
	{"path", "fentry:filp_close { printf(\"%s\\n\", path(args.filp.f_path)); }"},
	{"join", "tracepoint:syscalls:sys_enter_execve { join(args.argv); }"},
	{"argv", "tracepoint:syscalls:sys_enter_execve { row(\"ARGS=%a\", argv(args.argv)); }"},
	{"cwd", "tracepoint:syscalls:sys_enter_execve { printf(\"%s\\n\", cwd()); }"},
	{"fdpath", "tracepoint:syscalls:sys_enter_read { @[fdpath(args.fd)] = count(); }"},
	{"abspath", "tracepoint:syscalls:sys_enter_openat { printf(\"%s\\n\", abspath(args.dfd, "
		    "args.filename)); }"},
	{"kptr", "begin { $p = kptr((uint64 *)0); printf(\"%p\\n\", $p); }"},
	{"uptr",
	 "tracepoint:syscalls:sys_enter_write { $p = (uint8 *)uptr(args.buf); @[*$p] = count(); }"},
	{"strncmp", "tracepoint:syscalls:sys_enter_openat /!strncmp(\"/etc/\", str(args.filename), "
		    "5)/ { @ = count(); }"},
	{"strcontains", "tracepoint:syscalls:sys_enter_openat /strcontains(str(args.filename), "
			"\".so\")/ { @ = count(); }"},
	{"strstr", "begin { printf(\"%d\\n\", strstr(\"pantrace\", \"trace\")); }"},
	{"strlen",
	 "tracepoint:syscalls:sys_enter_openat { @ = hist(strlen(str(args.filename))); }"},
	{"strcap", "begin { printf(\"%d\\n\", strcap(\"abc\")); }"},
	{"str_concat", "begin { printf(\"%s\\n\", str_concat(\"pan\", \"trace\")); }"},
	{"memcmp", "begin { $a = (uint8)1; printf(\"%d\\n\", memcmp($a, $a, 1)); }"},
	{"bswap", "begin { printf(\"%x\\n\", bswap((uint16)0x1234)); }"},
	/* names */
	{"kstack", "profile:hz:99 { @[kstack] = count(); }"},
	{"ustack", "profile:hz:99 { @[ustack(5), comm] = count(); }"},
	{"dw_ustack", "profile:hz:99 { @[dw_ustack(5), comm] = count(); }"},
	{"ksym", "begin { printf(\"%s\\n\", ksym(kaddr(\"vfs_read\"))); }"},
	{"usym", "uprobe:libc:malloc { printf(\"%s\\n\", usym(reg(\"ip\"))); }"},
	{"kaddr", "begin { printf(\"%x\\n\", kaddr(\"vfs_read\")); }"},
	{"uaddr", "uprobe:/bin/bash:readline { printf(\"%p\\n\", uaddr(\"ps1_prompt\")); }"},
	{"percpu_kaddr", "begin { printf(\"%p\\n\", percpu_kaddr(\"process_counts\", 0)); }"},
	{"strerror", "tracepoint:syscalls:sys_exit_openat /args.ret < 0/ { @[strerror(-args.ret)] "
		     "= count(); }"},
	{"meminfo", "interval:s:1 { printf(\"%s MB\\n\", meminfo(\"Cached\")); }"},
	{"disk_name", "tracepoint:block:block_rq_issue { @[disk_name(args.dev)] = count(); }"},
	{"ranges", "tracepoint:block:block_rq_issue { @[(uint64)args.bytes / 1024] = count(); } "
		   "end { ranges(\"KB/1 I/O: 1 8 64 128\", @); clear(@); }"},
	{"errno_name", "tracepoint:syscalls:sys_exit_openat /args.ret < 0/ { "
		       "@[errno_name(-args.ret)] = count(); }"},
	{"signal_name",
	 "tracepoint:syscalls:sys_enter_kill { @[signal_name(args.sig)] = count(); }"},
	{"syscall_name",
	 "tracepoint:raw_syscalls:sys_enter { @[syscall_name(args.id)] = count(); }"},
	{"ntop", "begin { printf(\"%s\\n\", ntop(0x0100007f)); }"},
	{"pton", "begin { $a = pton(\"127.0.0.1\"); printf(\"%d\\n\", $a[0]); }"},
	{"macaddr", "tracepoint:net:net_dev_xmit { $skb = (struct sk_buff *)args.skbaddr; "
		    "printf(\"%s\\n\", macaddr($skb.dev.dev_addr)); }"},
	{"skboutput",
	 "rawtracepoint:consume_skb { skboutput(\"/tmp/packets.pcap\", args.skb, 128, 14); }"},
	{"socket_cookie", "fentry:tcp_rcv_established { @[socket_cookie(args.sk)] = count(); }"},
	/* output */
	{"printf", "begin { printf(\"%s: %d of %5.1s|%-8x|\\n\", comm, 1, \"two\", 255); }"},
	{"print",
	 "begin { @m[1] = 2; print(@m); print((1, \"text\")); print(@m, \"key %d has %d\\n\"); }"},
	{"errorf", "begin { errorf(\"no %s\", \"way\"); }"},
	{"warnf", "begin { warnf(\"%d left\", 3); }"},
	{"debugf", "begin { debugf(\"%d\\n\", 5); }"},
	{"cat", "begin { cat(\"/proc/loadavg\"); }"},
	{"system", "interval:s:1 { system(\"uptime\"); }"},
	{"exit", "interval:s:10 { exit(); }"},
	{"fail", "begin { fail(\"not for this machine\"); }"},
	{"assert", "begin { assert(1 + 1 == 2, \"arithmetic\"); }"},
	{"static_assert", "begin { static_assert(sizeof(uint64) == 8, \"sizes\"); }"},
	{"row", "tracepoint:syscalls:sys_enter_openat { row(\"PID=%-6d FILE=%s\", pid, "
		"str(args.filename)); }"},
	{"table", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } interval:s:1 { "
		  "table(\"COMM=%-16s COUNT=%8d\", @); clear(@); }"},
	/* aggregations */
	{"count", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"},
	{"sum", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = sum(args.ret); }"},
	{"avg", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = avg(args.ret); }"},
	{"min", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = min(args.ret); }"},
	{"max", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = max(args.ret); }"},
	{"stats",
	 "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = stats(args.ret); }"},
	{"stddev",
	 "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @[comm] = stddev(args.ret); }"},
	{"hist", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @ = hist(args.ret, 2); }"},
	{"lhist",
	 "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @ = lhist(args.ret, 0, 4096, 256); }"},
	{"llhist", "tracepoint:syscalls:sys_exit_read /args.ret > 0/ { @ = llhist(args.ret, 10, 0, "
		   "6, 20); }"},
	{"tseries", "tracepoint:raw_syscalls:sys_enter { @ = tseries(1, 100ms, 10, \"sum\"); }"},
	/* maps */
	{"clear", "interval:s:1 { print(@); clear(@); } tracepoint:raw_syscalls:sys_enter { "
		  "@[comm] = count(); }"},
	{"zero", "interval:s:1 { print(@); zero(@); } tracepoint:raw_syscalls:sys_enter { @[comm] "
		 "= count(); }"},
	{"delete", "begin { @m[1] = 2; delete(@m, 1); }"},
	{"has_key", "begin { @m[1] = 0; if (has_key(@m, 1)) { printf(\"yes\\n\"); } }"},
	{"find", "begin { @m[1] = 5; if (find(@m, 1, $v)) { printf(\"%d\\n\", $v); } }"},
	{"len", "begin { @m[1] = 2; printf(\"%d\\n\", len(@m)); }"},
	{"is_scalar", "begin { @m = 1; printf(\"%d\\n\", is_scalar(@m)); }"},
	{"trunc", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } interval:s:1 { "
		  "trunc(@, 5); print(@); clear(@); }"},
	{"normalize", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } end { normalize(@, "
		      "elapsed / 1000000000 + 1); }"},
	{"denormalize", "begin { @ = 10; normalize(@, 2); print(@); denormalize(@); print(@); }"},
	{"sort",
	 "begin { sort(@, key, desc); } tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"},
	{"printa",
	 "tracepoint:syscalls:sys_exit_read { @n[comm] = count(); @bytes[comm] = sum(args.ret); } "
	 "end { printa(\"%-16s %@8d %@12d\\n\", @n, @bytes); clear(@n); clear(@bytes); }"},
	/* speculation */
	{"speculation", "tracepoint:syscalls:sys_enter_openat { self.id = speculation(); }"},
	{"speculate",
	 "tracepoint:syscalls:sys_enter_openat { self.id = speculation(); speculate(self.id); "
	 "printf(\"%s\\n\", str(args.filename)); } tracepoint:syscalls:sys_exit_openat /self.id/ { "
	 "if (args.ret < 0) { commit(self.id); } else { discard(self.id); } self.id = 0; }"},
	{"commit",
	 "begin { $id = speculation(); speculate($id); printf(\"shown\\n\"); commit($id); }"},
	{"discard",
	 "begin { $id = speculation(); speculate($id); printf(\"not shown\\n\"); discard($id); }"},
	/* types and the rest */
	{"sizeof", "begin { printf(\"%d\\n\", sizeof(struct task_struct)); }"},
	{"offsetof", "begin { printf(\"%d\\n\", offsetof(struct task_struct, comm)); }"},
	{"typeof", "begin { $x = (uint8)1; $y = (typeof($x))300; printf(\"%d\\n\", $y); }"},
	{"typeinfo", "begin { print(typeinfo((uint8)1)); }"},
	{"container_of",
	 "tracepoint:sched:sched_process_exit { $t = container_of(curtask.children.next, "
	 "typeof(*curtask), sibling); printf(\"%d\\n\", $t.pid); }"},
	{"is_literal", "begin { printf(\"%d\\n\", is_literal(1)); }"},
	{"is_integer", "begin { printf(\"%d\\n\", is_integer(1)); }"},
	{"is_unsigned_integer", "begin { printf(\"%d\\n\", is_unsigned_integer((uint8)1)); }"},
	{"is_str", "begin { printf(\"%d\\n\", is_str(\"a\")); }"},
	{"is_ptr", "begin { printf(\"%d\\n\", is_ptr(curtask)); }"},
	{"is_array", "begin { printf(\"%d\\n\", is_array(curtask)); }"},
	{"is_err", "begin { printf(\"%d\\n\", is_err((void *)0)); }"},
	{"getopt", "begin { printf(\"%d\\n\", getopt(\"n\", 10, \"how many\")); }"},
	{"config", "begin { printf(\"%d\\n\", config.max_strlen); }"},
	{"signal",
	 "tracepoint:syscalls:sys_enter_execve /comm == \"forbidden\"/ { signal(\"KILL\"); }"},
	{"signal_thread", "tracepoint:syscalls:sys_enter_execve /comm == \"forbidden\"/ { "
			  "signal_thread(\"TERM\"); }"},
	{"unwatch", "watchpoint:0x601000:8:w { unwatch((void *)0x601000); }"},
	{"write_user", "tracepoint:syscalls:sys_enter_read /comm == \"victim\"/ { $b = (uint8)0; "
		       "write_user((void *)args.buf, $b, 1); }"},
};

const char *builtin_example(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		if (str_eq(examples[i].name, name))
			return examples[i].script;
	/* arg0 .. arg9, sarg0 .. sarg9 */
	if (str_starts(name, "sarg") && strcmp(name, "sarg0"))
		return builtin_example("sarg0");
	return str_starts(name, "arg") && strlen(name) == 4 && strcmp(name, "arg0") &&
			       strcmp(name, "args")
		       ? builtin_example("arg0")
		       : NULL;
}
