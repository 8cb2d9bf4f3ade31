/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instance traces: its clock, size, tracer, threads, events. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/instance_internal.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/walk.h"

int instance_set_buffer(struct instance *in, u64 kb)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%" PRIu64, kb);
	err = instance_try(in, "buffer_size_kb", text);
	return err ? instance_refused(in, err, "buffer_size_kb",
				      "cannot make a trace buffer of %" PRIu64 " KiB per CPU", kb)
		   : 0;
}

int instance_set_clock(struct instance *in, const char *clock)
{
	return instance_try(in, "trace_clock", clock);
}

bool instance_has_option(const struct instance *in, const char *option)
{
	char file[128];

	return (size_t)snprintf(file, sizeof(file), "options/%s", option) < sizeof(file) &&
	       instance_has(in, file);
}

/*
 * Options of a tracer are shared by all buffers (kernel/trace/trace.c, __set_tracer_option(); up to
 * 6.17), so they do not end with an instance.
 */
static bool is_of_tracer(const char *option)
{
	static const char *const names[] = {"func_stack_trace", "func-no-repeats", "func-args",
					    "sleep-time", "graph-time"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i], option))
			return true;
	return str_starts(option, "funcgraph-");
}

/* Saves such an option's value in the top buffer, so that it is restored, also if we are killed. */
static int remember_shared(struct instance *in, const char *file, const char *value)
{
	char *now;
	bool same;
	int err;

	if (in->kind != INSTANCE_OWN || tracefs_value_read(in->directory, file, &now))
		return 0;
	same = str_eq(now, value);
	free(now);
	if (same)
		return 0;
	if (!in->shared)
		in->shared = tracefs_saved_new(kernel_tracefs(in->kernel));
	if (!in->shared)
		return -errno;
	err = tracefs_saved_remember(in->shared, file);
	return err == -ENOENT ? 0 : err;
}

int instance_set_option(struct instance *in, const char *option, bool on)
{
	char file[128];
	int err = 0;

	snprintf(file, sizeof(file), "options/%s", option);
	if (is_of_tracer(option))
		err = remember_shared(in, file, on ? "1" : "0");
	if (!err)
		err = instance_try(in, file, on ? "1" : "0");
	if (err == -ENOENT) {
		diag_error(in->diag, NO_SPAN, "this kernel's tracer has no option '%s'", option);
		diag_code(in->diag, EXIT_UNSUPPORTED);
		return err;
	}
	return err ? instance_refused(in, err, file, "cannot switch the option %s %s", option,
				      on ? "on" : "off")
		   : 0;
}

/* ---- threads ---- */

/* The list files take any number of words in one write, up to a page. */
static int add_threads(struct instance *in, const char *file, const pid_t *threads, size_t count)
{
	struct strbuf text = STRBUF_INIT;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		strbuf_addf(&text, "%d ", (int)threads[i]);
		if (text.len < 4000 && i + 1 < count)
			continue;
		err = instance_add(in, file, text.data);
		strbuf_reset(&text);
	}
	strbuf_release(&text);
	return err;
}

static const struct follow_row {
	unsigned int what;
	const char *file, *fork_option;
} follow_rows[] = {
	{FOLLOW_EVENTS, "set_event_pid", "event-fork"},
	{FOLLOW_FUNCTIONS, "set_ftrace_pid", "function-fork"},
};

int instance_follow_threads(struct instance *in, const pid_t *threads, size_t count,
			    unsigned int follow)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(follow_rows) && !err; i++) {
		const struct follow_row *row = &follow_rows[i];

		if (!(follow & row->what))
			continue;
		/* The option comes first, so that what is started from now on is followed, too. */
		if (follow & FOLLOW_CHILDREN)
			err = instance_set_option(in, row->fork_option, true);
		if (!err)
			err = add_threads(in, row->file, threads, count);
	}
	return err;
}

typedef VECTOR(pid_t) pid_vector;

/* The threads of a process that are not known yet. 0 or -errno. */
static int list_threads(pid_t pid, pid_vector *known, size_t *ret_new)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	*ret_new = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		const pid_t thread = atoi(e->d_name);
		size_t i = 0;

		while (i < known->len && known->items[i] != thread)
			i++;
		if (thread <= 0 || i < known->len)
			continue;
		vector_push(known, thread);
		(*ret_new)++;
	}
	closedir(dir);
	return 0;
}

int instance_follow_process(struct instance *in, pid_t pid, unsigned int follow)
{
	pid_vector threads = {0};
	size_t fresh;
	int err = list_threads(pid, &threads, &fresh);

	if (err || !fresh) {
		diag_error(in->diag, NO_SPAN, "there is no process %d", (int)pid);
		err = -ESRCH;
	}
	/*
	 * Threads that were started by threads before those were followed: repeated until no new
	 * one is seen.
	 */
	while (!err && fresh) {
		err = instance_follow_threads(in, threads.items + threads.len - fresh, fresh,
					      follow);
		if (!err && list_threads(pid, &threads, &fresh))
			break; /* it has ended meanwhile */
	}
	vector_free(&threads);
	return err;
}

/* ---- tracers ---- */

static int refuse_tracer(struct kernel *k, struct diag *d, const char *tracer)
{
	const struct kernel_answer *a =
		kernel_ask(k, str_eq(tracer, "function_graph") ? KERNEL_FUNCTION_GRAPH
							       : KERNEL_FUNCTION_TRACER);

	diag_error(d, NO_SPAN, "the tracer '%s' is not available: %s", tracer,
		   a->yes || !a->why ? "the kernel does not offer it" : a->why);
	if (!a->yes && a->hint)
		diag_hint(d, "%s", a->hint);
	diag_code(d, !a->yes && (a->error == EPERM || a->error == EACCES) ? EXIT_PRIVILEGE
									  : EXIT_UNSUPPORTED);
	return a->error ? -a->error : -EOPNOTSUPP;
}

/*
 * An instance lists the tracers that can run in it. function_graph can since 6.11, but
 * set_graph_function is still a setting of the top buffer (kernel/trace/ftrace.c).
 */
bool instance_can_run(const struct instance *in, const char *tracer)
{
	return tracefs_lists(in->directory, "available_tracers", tracer) &&
	       (!str_eq(tracer, "function_graph") || instance_has(in, "set_graph_function"));
}

int instance_tracer_offered(struct kernel *k, struct diag *d, const char *tracer)
{
	const enum kernel_capability c =
		str_eq(tracer, "function_graph") ? KERNEL_FUNCTION_GRAPH : KERNEL_FUNCTION_TRACER;
	const char *const root = kernel_tracefs(k);

	if (root && (!kernel_ask(k, c)->yes || !tracefs_lists(root, "available_tracers", tracer)))
		return refuse_tracer(k, d, tracer);
	return 0;
}

int instance_open_for_tracer(struct kernel *k, struct diag *d, const char *tracer, bool any_clock,
			     struct instance **ret)
{
	int err = instance_tracer_offered(k, d, tracer);

	*ret = NULL;
	if (!err)
		err = instance_open(k, d, any_clock ? INSTANCE_ANY_CLOCK : INSTANCE_OWN, ret);
	if (err || instance_can_run(*ret, tracer))
		return err;
	instance_close(*ret);
	return instance_open(k, d, INSTANCE_TOP, ret);
}

int instance_set_tracer(struct instance *in, const char *tracer)
{
	const int err = instance_try(in, "current_tracer", tracer);

	return err ? instance_refused(in, err, "current_tracer", "cannot start the tracer '%s'",
				      tracer)
		   : 0;
}

/* ---- events ---- */

static int refuse_event(struct instance *in, const char *system, const char *event)
{
	return event_name_refuse(in->kernel, in->diag, NO_SPAN, system, event);
}

/* "events/SYSTEM/EVENT/FILE", if there is such an event. */
static int event_file(struct instance *in, const char *system, const char *event, const char *file,
		      char **ret)
{
	if (strchr(system, '/') || strchr(event, '/') || system[0] == '.' || event[0] == '.' ||
	    !*system || !*event)
		return refuse_event(in, system, event);
	*ret = xasprintf("events/%s/%s/enable", system, event);
	if (!instance_has(in, *ret)) {
		free(*ret);
		return refuse_event(in, system, event);
	}
	free(*ret);
	*ret = xasprintf("events/%s/%s/%s", system, event, file);
	return 0;
}

int instance_enable_event(struct instance *in, const char *system, const char *event, bool on)
{
	char *file;
	int err = event_file(in, system, event, "enable", &file);

	if (err)
		return err;
	err = instance_try(in, file, on ? "1" : "0");
	if (err)
		instance_refused(in, err, file, "cannot switch %s:%s %s", system, event,
				 on ? "on" : "off");
	free(file);
	return err;
}

/* Writes a command to a file of the event; what: "the filter". */
static int command_event(struct instance *in, const char *system, const char *event,
			 const char *name, int flags, const struct tracefs_command *c,
			 const char *what)
{
	char *file, *words;
	int err = event_file(in, system, event, name, &file);

	if (err)
		return err;
	/* The group of this run's own probes is no word of the user's. */
	words = str_starts(system, "pantrace_") ? xasprintf("%s of %s", what, event)
						: xasprintf("%s of %s:%s", what, system, event);
	if (in->saved && !(flags & O_APPEND))
		err = tracefs_saved_remember(in->saved, file);
	if (!err)
		err = tracefs_command_write(in->kernel, in->directory, file, flags, c, in->diag,
					    words);
	free(words);
	free(file);
	return err;
}

int instance_set_filter(struct instance *in, const char *system, const char *event,
			const struct tracefs_command *filter)
{
	return command_event(in, system, event, "filter", O_TRUNC, filter, "the filter");
}

int instance_add_trigger(struct instance *in, const char *system, const char *event,
			 const struct tracefs_command *trigger)
{
	/*
	 * A trigger in the top buffer would outlive us: only an instance of our own may have one.
	 */
	if (in->kind == INSTANCE_TOP)
		return instance_refused(in, -EINVAL, "trigger", "a trigger needs an instance");
	in->has_triggers = true;
	return command_event(in, system, event, "trigger", O_APPEND, trigger, "the trigger");
}
