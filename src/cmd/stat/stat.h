/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace stat`: counts of events. places.c says where, record/perf_events.h what, counters.c
 * counts, print.c prints.
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
	char *const *command; /* behind `--`; NULL = none */
};

/* A row for each event: all places together, or a CPU, a thread, a cgroup. */
struct stat_row {
	const char *cgroup; /* NULL = not told apart; as are those below */
	int cpu; /* -1 */
	pid_t thread; /* 0 */
	const char *thread_name;
};

struct stat_place {
	struct count_place at;
	u32 row;
};

/* Of one event in one row. */
struct stat_sum {
	struct count_value total; /* since the beginning of the run */
	struct count_value last; /* at the last report */
	/* -r: of the runs' counts */
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
	VECTOR(int) processes; /* of -p and -t, readable when they have ended */
	int *counters; /* [event][place]; -1 = there is none */
	struct stat_sum *sums; /* [event][row] */
	struct child child;
	bool has_child, was_asked;
	int signals; /* signalfd */
	u32 unread; /* counters that could not be read: their events are missing */
	struct rlimit file_limit; /* as it was before counters were opened */
	u64 begin_ns, elapsed_ns; /* elapsed: of all runs */
	u64 reported_ns; /* since the begin: the end of the last interval */
	u64 runs; /* that are over */
	u64 user_us, system_us; /* of the command, all runs */
	struct output out;
};

/* places.c: fills in rows and places, for the command if there is one. 0 or -errno with a
 * diagnostic. */
int stat_find_places(struct stat_run *run);
/* Threads and CPUs that are there now: has a thread or a CPU come since the places were found? */
bool stat_places_changed(const struct stat_run *run);
void stat_forget_places(struct stat_run *run);
/* counters.c: opens all counters, which stand still. 0 or -errno with a diagnostic. */
int stat_open_counters(struct stat_run *run);
void stat_close_counters(struct stat_run *run);
/* Looks for BPF programs on the tracepoints. */
void stat_look_for_programs(struct stat_run *run);
/* Reads them into sums[].total. */
void stat_read_counters(struct stat_run *run);
/*
 * What was counted; of a counter of the processor that took turns with others, what it would have
 * been.
 */
double stat_whole(const struct count_value *v);
/* print.c: a report; of an interval, of what came since the last one (end_ns: its end). */
void stat_report(struct stat_run *run, bool of_interval, u64 end_ns);
/* The last line: how long it took. */
void stat_report_end(struct stat_run *run);

int cmd_stat(int argc, char **argv);

#endif
