/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tracing mechanisms the kernel offers, each found by a trial; if one is missing, the cause
 * and the next step.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/kernel_internal.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/walk.h"

/* Numbers that older headers do not have. */
#define ATTACH_KPROBE_MULTI   42
#define ATTACH_UPROBE_MULTI   48
#define ATTACH_KPROBE_SESSION 56
#define ATTACH_UPROBE_SESSION 57
#define PT_CAP_PERFMON	      38
#define PT_CAP_BPF	      39

/* ---- causes that several share ---- */

static bool has_capability(u32 bit)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[bit / 32].effective >> (bit % 32) & 1;
}

static bool may_trace(void)
{
	return has_capability(CAP_SYS_ADMIN) ||
	       (has_capability(PT_CAP_BPF) && has_capability(PT_CAP_PERFMON));
}

/* "integrity", "confidentiality", or NULL: the kernel is not locked down, as far as can be seen. */
static const char *lockdown_mode(struct kernel *k)
{
	static const char *const modes[] = {"integrity", "confidentiality"};
	const char *mode = NULL;
	char *text, bracketed[32];

	/* "none [integrity] confidentiality" */
	if (!file_read("/sys/kernel/security/lockdown", 4096, &text, NULL)) {
		for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
			snprintf(bracketed, sizeof(bracketed), "[%s]", modes[i]);
			if (strstr(text, bracketed))
				mode = modes[i];
		}
		free(text);
		return mode;
	}
	/* securityfs is not mounted; a lockdown that was built in cannot be switched off. */
	if (kernel_config(k, "LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY") == 'y')
		return modes[1];
	return kernel_config(k, "LOCK_DOWN_KERNEL_FORCE_INTEGRITY") == 'y' ? modes[0] : NULL;
}

static void say(struct kernel_answer *a, int error, const char *why, const char *hint)
{
	a->yes = false;
	a->error = error;
	a->why = why;
	a->hint = hint;
}

/* EPERM and EACCES have few causes: all are checked here. */
static void say_not_permitted(struct kernel *k, struct kernel_answer *a, int error)
{
	const char *mode = lockdown_mode(k);

	if (!may_trace()) {
		say(a, error, "missing privilege: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN",
		    "run it as root (sudo)");
	} else if (mode) {
		say(a, error,
		    arena_printf(&k->arena, "kernel lockdown is in %s mode, which forbids it",
				 mode),
		    "boot without secure boot or lockdown= to trace more");
	} else {
		say(a, error, "not permitted, although the capabilities are there",
		    "a container, seccomp filter or security module may forbid it; try on the "
		    "host");
	}
}

/* CONFIG_x is not set: the surest of causes. */
static bool say_config(struct kernel *k, struct kernel_answer *a, int error, const char *option)
{
	if (!option || kernel_config(k, option) != 'n')
		return false;
	say(a, error, arena_printf(&k->arena, "CONFIG_%s is not set", option),
	    "the kernel was built without it; another kernel is needed");
	return true;
}

/*
 * ---- trials: 0 or -errno; `name` and `number` stand in the row and say which of several things a
 * trial is about ----
 */

static int try_file(struct kernel *k, const char *path, u32 number)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_in_tracefs(struct kernel *k, const char *name, u32 number)
{
	const char *root = kernel_tracefs(k);
	char path[128];

	if (!root)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, R_OK) ? -errno : 0;
}

static int try_bpf(struct kernel *k, const char *name, u32 number)
{
	int fd;

	/* If a feature was found, a program was loaded. */
	if (k->features_known && k->features.loads)
		return 0;
	fd = kernel_try_program(BPF_PROG_TYPE_KPROBE, 0, NULL, 0, NULL, 0);
	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
}

static int try_tracefs(struct kernel *k, const char *name, u32 number)
{
	return kernel_tracefs(k) ? 0 : -errno;
}

static int stop_at_first(void *arg, const char *category, const char *event)
{
	return 1;
}

static int try_tracepoints(struct kernel *k, const char *name, u32 number)
{
	int rc;

	/*
	 * This tracepoint exists wherever CONFIG_EVENT_TRACING is set; if it does not, any other
	 * will do.
	 */
	if (tracefs_event_id(k, "sched", "sched_switch") > 0)
		return 0;
	rc = tracefs_each_event(k, "*", "*", stop_at_first, NULL);
	return rc < 0 ? rc : (rc ? 0 : -ENOENT);
}

static int try_pmu(struct kernel *k, const char *name, u32 number)
{
	return MIN(kernel_pmu_type(name), 0);
}

/* Makes a link that cannot work; the error tells whether the kernel knows this kind of link. */
static int try_link(u32 attach_type, union bpf_attr *attr)
{
	const int prog = kernel_try_program(BPF_PROG_TYPE_KPROBE, attach_type, NULL, 0, NULL, 0);
	int err;

	if (prog < 0)
		return prog;
	attr->link_create.prog_fd = (u32)prog;
	attr->link_create.attach_type = attach_type;
	err = sys_bpf(BPF_LINK_CREATE, attr, sizeof(*attr));
	close(prog);
	if (err >= 0)
		close(err);
	return MIN(err, 0);
}

static int try_kprobe_link(struct kernel *k, const char *name, u32 attach_type)
{
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.kprobe_multi.addrs = UINT64_MAX - 7;
	attr.link_create.kprobe_multi.cnt = 1;
	err = try_link(attach_type, &attr);
	/*
	 * The kernel tried to read the addresses: the link type exists
	 * (bpf_kprobe_multi_link_attach()). A name that does not exist would make it search all of
	 * kallsyms.
	 */
	return err == -EFAULT ? 0 : (err ? err : -EINVAL);
}

/* link_create.uprobe_multi, which older headers lack; it begins where kprobe_multi does. */
struct uprobe_multi {
	u64 path, offsets, ref_ctr_offsets, cookies;
	u32 cnt, flags, pid;
};

static int try_uprobe_link(struct kernel *k, const char *name, u32 attach_type)
{
	struct {
		union bpf_attr attr;
		u8 room[64];
	} u;
	const size_t at = offsetof(union bpf_attr, link_create.kprobe_multi);
	const unsigned long offset = 0;
	const struct uprobe_multi m = {
		.path = (u64)(uintptr_t) "/", .offsets = (u64)(uintptr_t)&offset, .cnt = 1};
	int err;

	/* kprobe_multi follows a u32, so that it and uprobe_multi are aligned to 8 alike. */
	memset(&u, 0, sizeof(u));
	memcpy((u8 *)&u + ALIGN_UP(at, (size_t)8), &m, sizeof(m));
	err = try_link(attach_type, &u.attr);
	/*
	 * "/" is not a regular file, which only a kernel that has the link complains about
	 * (kernel/trace/bpf_trace.c).
	 */
	return err == -EBADF ? 0 : (err ? err : -EINVAL);
}

/* A program that names no function. If the error is about that, the kernel has such programs. */
static int try_fentry(struct kernel *k, const char *name, u32 number)
{
	char log[256] = "";
	const int fd = kernel_try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, NULL, 0, log,
					  sizeof(log));

	if (fd >= 0)
		close(fd);
	if (fd < 0 && !strstr(log, "btf_id"))
		return fd;
	if (kernel_config(k, "DYNAMIC_FTRACE_WITH_DIRECT_CALLS") == 'n')
		return -EOPNOTSUPP;
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

static int try_raw_tracepoint(struct kernel *k, const char *name, u32 number)
{
	const int prog = kernel_try_program(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, NULL, 0, NULL, 0);
	union bpf_attr attr;
	int err;

	if (prog < 0)
		return prog;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (u64)(uintptr_t) "pantrace_no_such_event";
	attr.raw_tracepoint.prog_fd = (u32)prog;
	err = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	if (err >= 0)
		close(err);
	close(prog);
	return err == -ENOENT ? 0 : MIN(err, 0);
}

static int try_perf_attr(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = perf_event_open_fd(attr, pid, cpu, -1, 0);
	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
}

static int try_perf(struct kernel *k, const char *name, u32 type)
{
	/* PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_HW_CPU_CYCLES are both 0. */
	struct perf_event_attr attr = {.type = type};
	const u32 *cpus;

	kernel_online_cpus(k, &cpus);
	return try_perf_attr(&attr, -1, (int)cpus[0]);
}

static int try_watchpoint(struct kernel *k, const char *name, u32 number)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .bp_type = HW_BREAKPOINT_W,
				       .bp_addr = (u64)(uintptr_t)k & ~(u64)7,
				       .bp_len = HW_BREAKPOINT_LEN_8};

	return try_perf_attr(&attr, 0, -1);
}

/*
 * If the command exists, a bad descriptor is all that is wrong; the programs are of the same kind
 * as fentry's.
 */
static int try_iterators(struct kernel *k, const char *name, u32 number)
{
	char log[256] = "";
	int err = sys_bpf_iterator(-1);

	if (err != -EBADF)
		return err < 0 ? err : -EINVAL;
	err = kernel_try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, NULL, 0, log, sizeof(log));
	if (err >= 0)
		close(err);
	if (err < 0 && !strstr(log, "btf_id"))
		return err;
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

/* A tracer that is listed may still be unusable: under lockdown its files cannot be opened. */
static int try_tracer(struct kernel *k, const char *name, u32 number)
{
	const char *root = kernel_tracefs(k);
	const int err = try_in_tracefs(k, "available_tracers", 0);
	char path[128];

	if (err)
		return err;
	if (!tracefs_lists(root, "available_tracers", name))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/set_ftrace_filter", root);
	return try_file(k, path, 0);
}

/* The first page of kallsyms is enough: all addresses are shown or none. */
static int try_kallsyms(struct kernel *k, const char *name, u32 number)
{
	const int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n;
	int err = -EPERM;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	for (char *line = text; line && *line && err; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (line[strspn(line, "0")] != ' ' && line[strspn(line, "0")])
			err = 0;
	}
	return err;
}

static int try_lockdown(struct kernel *k, const char *name, u32 number)
{
	return lockdown_mode(k) ? -EPERM : 0;
}

/* ---- causes of single rows ---- */

static void why_tracefs(struct kernel *k, struct kernel_answer *a)
{
	if (a->error == EPERM && !geteuid())
		say(a, a->error, "tracefs is not mounted, and may not be mounted from here",
		    "mount it where you may (on the host: mount -t tracefs tracefs "
		    "/sys/kernel/tracing), and hand it into the container");
	else if (a->error == EACCES || a->error == EPERM)
		say(a, a->error, "tracefs is not readable for this user",
		    "run it as root, or: mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing");
	else
		say(a, a->error, "tracefs is not mounted",
		    "mount -t tracefs tracefs /sys/kernel/tracing");
}

static void why_perf(struct kernel *k, struct kernel_answer *a)
{
	char *text;
	int level = 0;

	if (a->error == EPERM || a->error == EACCES) {
		if (!file_read("/proc/sys/kernel/perf_event_paranoid", 64, &text, NULL)) {
			level = atoi(text);
			free(text);
		}
		if (may_trace() || has_capability(PT_CAP_PERFMON) || level < 1)
			say_not_permitted(k, a, a->error);
		else
			say(a, a->error,
			    arena_printf(&k->arena, "kernel.perf_event_paranoid is %d", level),
			    "run it as root, or: sysctl kernel.perf_event_paranoid=0");
	} else {
		say(a, a->error, strerror(a->error), NULL);
	}
}

static void why_hardware(struct kernel *k, struct kernel_answer *a)
{
	if (a->error == ENOENT || a->error == EOPNOTSUPP || a->error == ENODEV)
		say(a, a->error, "this CPU shows no performance counters",
		    "virtual machines often have none; software events and profile work");
	else
		why_perf(k, a);
}

static void why_watchpoint(struct kernel *k, struct kernel_answer *a)
{
	if (a->error == ENOSPC)
		say(a, a->error, "all debug registers are in use",
		    "end the debugger that uses them");
	else if (a->error == ENOENT || a->error == EOPNOTSUPP || a->error == ENODEV)
		say(a, a->error, "this CPU or hypervisor has no debug registers to offer", NULL);
	else
		why_perf(k, a);
}

static void why_kallsyms(struct kernel *k, struct kernel_answer *a)
{
	if (a->error == EPERM)
		say(a, a->error, "kernel.kptr_restrict hides the addresses of kernel symbols",
		    "run it as root, or: sysctl kernel.kptr_restrict=0");
}

static void why_lockdown(struct kernel *k, struct kernel_answer *a)
{
	say(a, EPERM, arena_printf(&k->arena, "kernel lockdown is in %s mode", lockdown_mode(k)),
	    "some mechanisms are forbidden even to root; each row says which");
}

static void why_available(struct kernel *k, struct kernel_answer *a)
{
	const char *const root = kernel_tracefs(k);

	if (!root)
		why_tracefs(k, a);
	else if (a->error == EPERM || a->error == EACCES)
		say_not_permitted(k, a, a->error);
	else
		say(a, a->error, "the kernel does not offer this tracer",
		    "it may have switched function tracing off at boot or by lockdown");
}

/* ---- the table ---- */

static const struct row {
	const char *name;
	int (*try)(struct kernel *k, const char *name, u32 number);
	const char *tried;
	u32 number;
	const char *options[3]; /* the first that is not set is the cause */
	const char *since; /* kernel version, for the words only */
	void (*why)(struct kernel *k, struct kernel_answer *a);
} rows[KERNEL_CAPABILITY_COUNT] = {
	/* clang-format off */
	[KERNEL_BPF] = {"bpf", try_bpf, NULL, 0, {"BPF_SYSCALL", "BPF_EVENTS"}},
	[KERNEL_BTF] = {"btf", try_file, "/sys/kernel/btf/vmlinux", 0, {"DEBUG_INFO_BTF"}, "5.4"},
	[KERNEL_TRACEFS] = {"tracefs", try_tracefs, NULL, 0, {"FTRACE"}, NULL, why_tracefs},
	[KERNEL_TRACEPOINTS] = {"tracepoints", try_tracepoints, NULL, 0, {"FTRACE"}, NULL,
				why_tracefs},
	[KERNEL_KPROBES] = {"kprobes", try_pmu, "kprobe", 0, {"KPROBES", "KPROBE_EVENTS"}, "4.17"},
	[KERNEL_KPROBE_MULTI] = {"kprobe_multi", try_kprobe_link, NULL, ATTACH_KPROBE_MULTI,
				 {"KPROBES", "FPROBE"}, "5.18"},
	[KERNEL_KPROBE_SESSION] = {"kprobe_session", try_kprobe_link, NULL, ATTACH_KPROBE_SESSION,
				   {"KPROBES", "FPROBE"}, "6.10"},
	[KERNEL_UPROBES] = {"uprobes", try_pmu, "uprobe", 0, {"UPROBES", "UPROBE_EVENTS"}, "4.17"},
	[KERNEL_UPROBE_MULTI] = {"uprobe_multi", try_uprobe_link, NULL, ATTACH_UPROBE_MULTI,
				 {"UPROBES"}, "6.6"},
	[KERNEL_UPROBE_SESSION] = {"uprobe_session", try_uprobe_link, NULL, ATTACH_UPROBE_SESSION,
				   {"UPROBES"}, "6.13"},
	[KERNEL_USDT_SEMAPHORE] = {"usdt_semaphore", try_file,
				   "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", 0,
				   {"UPROBES"}, "4.20"},
	[KERNEL_FENTRY] = {"fentry", try_fentry, NULL, 0,
			   {"DEBUG_INFO_BTF", "FUNCTION_TRACER",
			    "DYNAMIC_FTRACE_WITH_DIRECT_CALLS"}, "5.5"},
	[KERNEL_RAW_TRACEPOINT] = {"raw_tracepoint", try_raw_tracepoint, NULL, 0, {"BPF_EVENTS"},
				   "4.17"},
	[KERNEL_PERF_SOFTWARE] = {"perf_software", try_perf, NULL, PERF_TYPE_SOFTWARE,
				  {"PERF_EVENTS"}, NULL, why_perf},
	[KERNEL_PERF_HARDWARE] = {"perf_hardware", try_perf, NULL, PERF_TYPE_HARDWARE,
				  {"PERF_EVENTS"}, NULL, why_hardware},
	[KERNEL_WATCHPOINT] = {"watchpoint", try_watchpoint, NULL, 0,
			       {"HAVE_HW_BREAKPOINT", "PERF_EVENTS"}, NULL, why_watchpoint},
	[KERNEL_ITERATORS] = {"iterators", try_iterators, NULL, 0, {"DEBUG_INFO_BTF"}, "5.8"},
	[KERNEL_FUNCTION_TRACER] = {"function_tracer", try_tracer, "function", 0,
				    {"FUNCTION_TRACER"}, NULL, why_available},
	[KERNEL_FUNCTION_GRAPH] = {"function_graph", try_tracer, "function_graph", 0,
				   {"FUNCTION_GRAPH_TRACER"}, NULL, why_available},
	[KERNEL_HIST_TRIGGERS] = {"hist_triggers", try_in_tracefs, "events/sched/sched_switch/hist",
				  0, {"HIST_TRIGGERS"}, "4.7"},
	[KERNEL_SYNTHETIC_EVENTS] = {"synthetic_events", try_in_tracefs, "synthetic_events", 0,
				     {"SYNTH_EVENTS"}, "4.17"},
	[KERNEL_KALLSYMS_ADDRESSES] = {"kallsyms_addresses", try_kallsyms, NULL, 0, {"KALLSYMS"},
				       NULL, why_kallsyms},
	[KERNEL_LOCKDOWN_NONE] = {"lockdown_none", try_lockdown, NULL, 0, {NULL}, NULL,
				  why_lockdown},
	/* clang-format on */
};

const char *kernel_capability_name(enum kernel_capability c)
{
	return c < KERNEL_CAPABILITY_COUNT ? rows[c].name : "?";
}

/* The most special one. */
static const char *last_option(const struct row *row)
{
	size_t i = ARRAY_SIZE(row->options);

	while (i > 0 && !row->options[i - 1])
		i--;
	return i ? row->options[i - 1] : NULL;
}

static void explain(struct kernel *k, const struct row *row, int error, struct kernel_answer *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->options); i++)
		if (say_config(k, a, error, row->options[i]))
			return;
	a->error = error;
	if (row->why)
		row->why(k, a);
	if (a->why)
		return;
	if (error == EPERM || error == EACCES)
		say_not_permitted(k, a, error);
	else if (error == EOPNOTSUPP && last_option(row))
		say(a, error,
		    arena_printf(&k->arena, "the kernel was built without CONFIG_%s",
				 last_option(row)),
		    "another kernel is needed");
	else if (row->since)
		say(a, error,
		    arena_printf(&k->arena, "the kernel does not have it (Linux %s and later do)",
				 row->since),
		    NULL);
	else
		say(a, error, strerror(error), NULL);
}

const struct kernel_answer *kernel_ask(struct kernel *k, enum kernel_capability c)
{
	struct kernel_answer *a = &k->answers[c];
	int err;

	if (k->asked[c])
		return a;
	k->asked[c] = true;
	err = rows[c].try(k, rows[c].tried, rows[c].number);
	if (err)
		explain(k, &rows[c], -err, a);
	else
		a->yes = true;
	return a;
}
