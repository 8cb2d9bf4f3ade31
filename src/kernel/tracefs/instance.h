/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring buffer of ftrace that is ours: an instance made for this run
 * (tracefs/instances/pantrace-PID-START) with its own events, filters, tracer, clock and size.
 * Nothing that others trace is seen or disturbed, two runs do not meet, and rmdir takes everything
 * back. It is locked (flock on its directory) as long as we live, so that other runs know.
 *
 * Where a tracer cannot run in an instance (function_graph, whose list of functions is only there)
 * the top buffer is taken instead: under a lock, refused while anybody traces there, and with every
 * value that is changed written down first (/run/pantrace), so that it is put back at the end, or
 * by the next run if this one is killed.
 *
 * Everything is read before it is written, and written only if it differs. Functions return 0 or
 * -errno with a diagnostic, unless they say otherwise. instance_open() removes what dead runs left
 * (kernel/tracefs/sweep.h).
 *
 *	struct instance *in;
 *	if (instance_open(k, d, INSTANCE_OWN, &in)) ...
 *	instance_follow_pids(in, &pid, 1, true);
 *	instance_set_filter(in, "sched", "sched_switch", &command);
 *	instance_enable_event(in, "sched", "sched_switch", true);
 *	... read per_cpu/cpuN/trace_pipe_raw under instance_directory(in) ...
 *	instance_close(in);
 */
#ifndef PANTRACE_KERNEL_TRACEFS_INSTANCE_H
#define PANTRACE_KERNEL_TRACEFS_INSTANCE_H

#include <sys/types.h>

#include "kernel/tracefs/command.h"

struct instance;

enum instance_kind {
	INSTANCE_OWN, /* made for this run */
	INSTANCE_TOP, /* the kernel's top buffer */
	/*
	 * Made for this run, with the kernel's default clock: changing it takes two RCU grace
	 * periods, 10 to 50 ms.
	 */
	INSTANCE_ANY_CLOCK,
};

/*
 * d must outlive the instance. The clock is mono (INSTANCE_ANY_CLOCK: the kernel's default),
 * tracing is on, nothing is enabled.
 */
int instance_open(struct kernel *k, struct diag *d, enum instance_kind kind, struct instance **ret);
/*
 * One that may outlive this run (kernel/tracefs/lasting_buffer.h): an instance, or the top buffer.
 * command: what the user said. Until instance_stand() it is undone by instance_close(), or when we
 * are killed. -EEXIST with a diagnostic: there is one of this name.
 */
struct instance_lasting {
	const char *name, *command;
};
int instance_open_lasting(struct kernel *k, struct diag *d, const struct instance_lasting *l,
			  bool is_top, struct instance **ret);
/* It stays: instance_close() then only forgets it. 0 or -errno with a diagnostic. */
int instance_stand(struct instance *in);
/*
 * One that others made: its name, or "" for the top buffer. What is written stays written;
 * instance_close() only forgets it. -ENOENT with a diagnostic if there is none.
 */
int instance_open_standing(struct kernel *k, struct diag *d, const char *name,
			   struct instance **ret);
/*
 * Ends all tracing in it and undoes every change. NULL is fine. Descriptors of files in it must be
 * closed before (rmdir refuses otherwise). The diag gets a warning if something could not be
 * undone.
 */
void instance_close(struct instance *in);
/*
 * Stops recording and leaves the removal of the instance and our dynamic events to the guard, after
 * our end (guard_take_over()): instance_close() then does not remove them. False: it does.
 */
bool instance_leave(struct instance *in);

/*
 * The process that has the top buffer at this moment; 0 = none, -1 = one that cannot be seen from
 * here.
 */
pid_t instance_top_owner(struct kernel *k);

/* absolute, without a slash at the end */
const char *instance_directory(const struct instance *in);
const char *instance_name(const struct instance *in); /* "pantrace-PID-START"; "" = top */
bool instance_is_top(const struct instance *in);
struct diag *instance_diag(struct instance *in);
struct kernel *instance_kernel(struct instance *in);

/* ---- any file; names are relative to the instance ("events/sched/enable") ---- */

bool instance_has(const struct instance *in, const char *file);
/* fd or -errno, without a diagnostic. O_CLOEXEC. */
int instance_open_file(const struct instance *in, const char *file, int flags);
/* The text, malloc'ed, without a diagnostic. */
int instance_read(const struct instance *in, const char *file, char **ret);
/* Makes the file hold this value ("0", "mono", "nop"); no write if it does. */
int instance_write(struct instance *in, const char *file, const char *value);
/* The same, without a diagnostic: for what may be missing. */
int instance_try(struct instance *in, const char *file, const char *value);
/*
 * For callers that write to the file themselves: saves its value, so that it is restored. Only in
 * the top buffer.
 */
int instance_remember(struct instance *in, const char *file);
/* Adds words of a list (set_ftrace_filter, set_graph_function, set_event_pid). */
int instance_add(struct instance *in, const char *file, const char *value);

/* ---- settings ---- */

/* KiB per CPU. */
int instance_set_buffer(struct instance *in, u64 kb);
/* "mono" ... ; without a diagnostic -EINVAL if the kernel does not have the clock. */
int instance_set_clock(struct instance *in, const char *clock);
/*
 * An option of trace_options or of a tracer: "event-fork", "funcgraph-tail". -ENOENT (with a
 * diagnostic) if there is no such.
 */
int instance_set_option(struct instance *in, const char *option, bool on);
bool instance_has_option(const struct instance *in, const char *option);
enum instance_follow {
	FOLLOW_EVENTS = 1, /* events of these threads only */
	FOLLOW_FUNCTIONS = 2, /* function tracers likewise */
	FOLLOW_CHILDREN = 4, /* and what they start (threads, processes) */
};

/* Only these threads; further calls add. follow: a set of enum instance_follow. */
int instance_follow_threads(struct instance *in, const pid_t *threads, size_t count,
			    unsigned int follow);
/* All threads of a process. -ESRCH with a diagnostic if there is no such process. */
int instance_follow_process(struct instance *in, pid_t pid, unsigned int follow);
/* "function", "function_graph", "nop". */
int instance_set_tracer(struct instance *in, const char *tracer);
/*
 * Can this function tracer run in some buffer? 0, or -errno with the cause as a diagnostic: not
 * built in, locked down.
 */
int instance_tracer_offered(struct kernel *k, struct diag *d, const char *tracer);
/* Can it run in this one? */
bool instance_can_run(const struct instance *in, const char *tracer);
/*
 * As instance_open(), where this tracer can run: an own instance if possible, else the top buffer.
 * Refuses with the cause: not built in, locked down, in use. The tracer is not set yet: filters
 * come first.
 */
int instance_open_for_tracer(struct kernel *k, struct diag *d, const char *tracer, bool any_clock,
			     struct instance **ret);

/* ---- events ---- */

/* -ENOENT with the nearest names if there is no such event. */
int instance_enable_event(struct instance *in, const char *system, const char *event, bool on);
int instance_set_filter(struct instance *in, const char *system, const char *event,
			const struct tracefs_command *filter);
int instance_add_trigger(struct instance *in, const char *system, const char *event,
			 const struct tracefs_command *trigger);

#endif
