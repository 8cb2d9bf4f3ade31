/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the running kernel offers. Everything is asked lazily and by trial (a map or program is
 * created, a file opened), never by comparing versions; answers are cached for the run. Opening a
 * struct kernel costs nothing.
 */
#ifndef PANTRACE_KERNEL_KERNEL_H
#define PANTRACE_KERNEL_KERNEL_H

#include "base/arena.h"
#include "base/diag.h"

/* What code may be generated, beyond what Linux 5.8 has, the oldest that is supported. */
struct kernel_features {
	bool loads; /* programs can be loaded at all */
	bool bpf_loop; /* 5.17 */
	bool for_each_map; /* 5.13 */
	bool attach_cookie; /* 5.15 */
	bool get_func_ip; /* 5.15 */
	bool percpu_lookup; /* bpf_map_lookup_percpu_elem, 5.19 */
	bool atomic_fetch; /* 5.12 */
	bool cpu_v4; /* signed division, sign-extending loads, 6.6 */
	bool no_prealloc_safe; /* BPF_F_NO_PREALLOC in any context, 6.1 */
	bool task_storage; /* bpf_task_storage_get in programs of user probes, 6.2 */
	bool ktime_boot; /* always; the interpreter in a program (lib/vm.h) lacks it */
	bool ktime_tai; /* 6.1 */
	bool d_path; /* 5.10 */
	bool strncmp; /* 5.17 */
};

enum kernel_capability { /* rows of `pantrace doctor` and of --info */
			 KERNEL_BPF, /* bpf(2) may load programs at all */
			 KERNEL_BTF,
			 KERNEL_TRACEFS,
			 KERNEL_TRACEPOINTS,
			 KERNEL_KPROBES, /* perf kprobe PMU */
			 KERNEL_KPROBE_MULTI,
			 KERNEL_KPROBE_SESSION,
			 KERNEL_UPROBES,
			 KERNEL_UPROBE_MULTI,
			 KERNEL_UPROBE_SESSION,
			 KERNEL_USDT_SEMAPHORE, /* ref_ctr_offset */
			 KERNEL_FENTRY,
			 KERNEL_RAW_TRACEPOINT,
			 KERNEL_PERF_SOFTWARE,
			 KERNEL_PERF_HARDWARE,
			 KERNEL_WATCHPOINT,
			 KERNEL_ITERATORS,
			 KERNEL_FUNCTION_TRACER,
			 KERNEL_FUNCTION_GRAPH,
			 KERNEL_HIST_TRIGGERS,
			 KERNEL_SYNTHETIC_EVENTS,
			 KERNEL_KALLSYMS_ADDRESSES, /* kptr_restrict lets us see them */
			 KERNEL_LOCKDOWN_NONE,
			 KERNEL_CAPABILITY_COUNT
};

struct kernel_answer {
	bool yes;
	int error; /* errno of the trial when not */
	/*
	 * the cause, in words: "CONFIG_KPROBES is not set", "kernel lockdown is in integrity mode"
	 * ...
	 */
	const char *why;
	const char *hint; /* what to do about it, or NULL */
};

struct kernel;
struct kernel *kernel_new(void);
void kernel_release(struct kernel *k);

const struct kernel_features *kernel_features(struct kernel *k);
/*
 * Hides a feature ("bpf_loop") or a capability ("kprobe_multi") of the kernel from now on. For
 * --no-feature, to test what older kernels get. 0, or -ENOENT: no such name.
 */
int kernel_disable(struct kernel *k, const char *name);
/* All those names, for "did you mean". */
const char *const *kernel_feature_names(size_t *ret_count);
const struct kernel_answer *kernel_ask(struct kernel *k, enum kernel_capability c);
const char *kernel_capability_name(enum kernel_capability c); /* "kprobe_multi" */
/*
 * The kernel's CONFIG_x from /proc/config.gz or /boot/config-*: 'y', 'm', 'n' (not set) or '?'
 * (unknown).
 */
char kernel_config(struct kernel *k, const char *option);
/*
 * Path of tracefs ("/sys/kernel/tracing", debugfs' copy, or mounted by us if root), or NULL with
 * errno.
 */
const char *kernel_tracefs(struct kernel *k);
/* What tells this boot from others (random/boot_id of sysctl); malloc'ed, "" = unknown. */
char *kernel_boot_id(void);
/* CPU numbers; *ret is valid as long as k. Returns how many. */
u32 kernel_online_cpus(struct kernel *k, const u32 **ret);
/* one more than the highest possible CPU: size of per-CPU values */
u32 kernel_possible_cpus(struct kernel *k);

/* ---- task_storage.c ---- */
union bpf_attr;
/*
 * Makes a map with a value of attr->value_size for each task; attr also has the name. A descriptor
 * or -errno.
 */
int kernel_task_storage_create(union bpf_attr *attr);
/*
 * Can a value of that size be allocated? Tried with our own task. Kernels since 6.19 allocate
 * without waiting (kmalloc_nolock()): at most 8 KiB with the header, and nothing at all on CPUs
 * without cmpxchg16b.
 */
bool kernel_task_storage_allocates(u32 value_size);

/* ---- perf.c ---- */
/* PMU type number from /sys/bus/event_source/devices/NAME/type, or -errno. */
int kernel_pmu_type(const char *name);
struct perf_event_attr;
/* fd or -errno, O_CLOEXEC */
int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags);

/* ---- bpf.c: bpf(2), thin ---- */
union bpf_attr;
int sys_bpf(int cmd, union bpf_attr *attr, unsigned int size); /* result or -errno */
/*
 * What the kernel says of a program, map, link or BTF object: a struct bpf_..._info, whose own
 * fields may ask for something. 0 or -errno.
 */
int sys_bpf_info(int fd, void *info, u32 size);
/* A sequence file: reading it to its end runs the iterator once. Or -errno. */
int sys_bpf_iterator(int link);

#endif
