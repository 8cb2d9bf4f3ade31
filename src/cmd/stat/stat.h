/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace stat` counts events. record/perf_events.h parses which events, places.c finds where to
 * count them, counters.c opens and reads the counters, print.c prints the reports.
 */
#ifndef PANTRACE_CMD_STAT_STAT_H
#define PANTRACE_CMD_STAT_STAT_H

#include <sys/resource.h>

#include "base/options.h"
#include "base/vector.h"
#include "engine/child.h"
#include "probe/count.h"
#include "record/perf_events.h"
#include "view/output.h"

#define STAT_ONLINE_CPUS "/sys/devices/system/cpu/online"

struct stat_options {
	struct string_list events, cgroups;
	struct pid_list pids, threads;
	const char *cpus, *output, *separator;
	u64 duration_ns, interval_ns, interval_ms, intervals, repeat;
	bool system_wide, per_cpu, per_thread, zeros, json;
	char *const *command; /* the words after `--`; NULL = no command */
};

/* Counts are summed per row: one for all places, or one for each CPU, thread or cgroup. */
struct stat_row {
	const char *cgroup; /* NULL = all cgroups; likewise cpu and thread below */
	int cpu; /* -1 */
	pid_t thread; /* 0 */
	const char *thread_name;
};

struct stat_place {
	struct count_place at;
	u32 row;
};

/* The counts of one event in one row. */
struct stat_sum {
	struct count_value total; /* since the beginning of the run */
	struct count_value last; /* at the last report */
	/* -r: statistics over the runs' counts */
	double sum, squares;
};

struct stat_run {
	const struct command_spec *spec;
	struct stat_options o;
	struct arena arena;
	struct diag diag;
	struct kernel *kernel;
	struct probe_env env;
	struct type_store types;
	struct btf_source *btf;
	struct perf_events events;
	VECTOR(struct stat_place) places;
	VECTOR(struct stat_row) rows;
	VECTOR(int) cgroup_fds;
	VECTOR(int) processes; /* pidfds of -p and -t, readable when the process has ended */
	int *counters; /* perf descriptors [event][place]; -1 = not opened */
	struct stat_sum *sums; /* [event][row] */
	struct child child;
	bool has_child, was_asked;
	int signals; /* signalfd */
	u32 unread; /* counters that could not be read: their events are missing */
	struct rlimit file_limit; /* as it was before counters were opened */
	u64 begin_ns, elapsed_ns; /* elapsed: of all runs */
	u64 reported_ns; /* end of the last interval reported, since counting began */
	u64 runs; /* finished runs */
	u64 user_us, system_us; /* CPU time of the command, all runs */
	struct output out;
};

/* places.c: fills in rows and places, for the command if there is one. 0 or -errno with a
 * diagnostic. */
int stat_find_places(struct stat_run *run);
/* Looks at the threads and CPUs again: has one appeared since the places were found? */
bool stat_places_changed(const struct stat_run *run);
void stat_forget_places(struct stat_run *run);
/* counters.c: opens all counters, disabled. 0 or -errno with a diagnostic. */
int stat_open_counters(struct stat_run *run);
void stat_close_counters(struct stat_run *run);
/* Looks for BPF programs on the tracepoints that may drop events. */
void stat_look_for_programs(struct stat_run *run);
/* Reads all counters into sums[].total. */
void stat_read_counters(struct stat_run *run);
/* The count; of a hardware counter multiplexed with others, scaled up to the whole time. */
double stat_whole(const struct count_value *v);
/* print.c: prints a report; of_interval: of the counts since the last one, until end_ns. */
void stat_report(struct stat_run *run, bool of_interval, u64 end_ns);
/* The last line: elapsed and CPU time. */
void stat_report_end(struct stat_run *run);

int cmd_stat(int argc, char **argv);

#endif
