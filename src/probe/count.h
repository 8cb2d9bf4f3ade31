/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that are only counted: by the kernel's perf counters, without a program. */
#ifndef PANTRACE_PROBE_COUNT_H
#define PANTRACE_PROBE_COUNT_H

#include <linux/perf_event.h>

#include "probe/probe.h"

/* Where a counter counts. */
struct count_place {
	pid_t thread; /* and what it starts; 0 = every task */
	int cpu; /* -1 = every CPU, of a thread only */
	int cgroup; /* descriptor of its directory, for a CPU without a thread; -1 = none */
};

struct count_options {
	const char *filter; /* in the kernel's dialect, of a tracepoint; NULL = none */
	int leader; /* descriptor of the counter that it is scheduled together with; -1 = none */
	bool on_exec; /* begins by itself when the thread executes a program */
};

struct count_value {
	/* Nanoseconds: for how long it was to count, and did. Less: it shared a counter of the
	 * processor, and the value is of that time only. */
	u64 count, enabled_ns, running_ns;
};

/*
 * Opens a counter that stands still (see count_switch). attr: of probe_provider.count, with
 * exclude_user and exclude_kernel as wished. Its descriptor, or -errno.
 */
int count_open(const struct perf_event_attr *attr, const struct count_place *place,
	       const struct count_options *options);
/* Starts or stops all counters that this process has opened, at once. */
void count_switch(bool on);
/* With what the thread's children have counted. 0 or -errno. */
int count_read(int fd, struct count_value *ret);
/*
 * Does a BPF program on the tracepoint decide what is counted? The kernel runs all of them first,
 * and counts only what each returns 1 for (trace_call_bpf() in kernel/trace/bpf_trace.c). Ours
 * always do; those of others are looked at.
 */
bool count_is_decided(int fd);
/* Says why a counter of t could not be opened. */
void count_refused(struct probe_env *env, const struct probe_target *t, int error);

#endif
