/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets up a buffer: size, CPUs, tracer, functions, options, events, tasks. */
#include <dirent.h>
#include <sys/utsname.h>

#include "base/process.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/function_filter.h"
#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/walk.h"
#include "record/ftrace/ftrace.h"
#include "record/perf_places.h"
#include "trace/ftrace/blk_text.h"

#define TRACER_BLK "blk"

/* Before anything is made. */
static int check_processes(const struct record_run *run)
{
	const struct pid_list *const pids = &run->request->pids;

	for (u32 i = 0; i < pids->count; i++)
		if (!process_exists(pids->items[i])) {
			diag_error(run->diag, NO_SPAN, "there is no process %d (-p)",
				   (int)pids->items[i]);
			return -ESRCH;
		}
	return 0;
}

/* ---- CPUs ---- */

/* 32 CPUs a word; tracing_cpumask wants the highest first. */
struct cpu_mask {
	VECTOR(u32) words;
};

static int add_cpu(void *arg, int cpu)
{
	struct cpu_mask *const m = arg;

	while (m->words.len <= (size_t)cpu / 32)
		vector_push(&m->words, 0);
	m->words.items[cpu / 32] |= 1u << (cpu % 32);
	return 0;
}

/* -C */
static int set_cpus(struct kernel_setup *s)
{
	const struct record_run *const run = s->run;
	struct cpu_mask mask = {0};
	struct strbuf text = STRBUF_INIT;
	int err = run->request->samples.cpus
			  ? perf_each_cpu(run->request->samples.cpus, run->diag, add_cpu, &mask)
			  : 0;

	for (size_t i = mask.words.len; i-- > 0;)
		strbuf_addf(&text, "%08x%s", mask.words.items[i], i ? "," : "");
	if (!err && text.len)
		err = instance_write(s->instance, "tracing_cpumask", text.data);
	strbuf_release(&text);
	vector_free(&mask.words);
	return err;
}

/* ---- the buffer ---- */

static bool is_function_tracer(const char *tracer)
{
	return str_eq(tracer, "function") || str_eq(tracer, "function_graph");
}

/*
 * A latency tracer's trace is empty in an instance whose clock is not that of the top buffer: the
 * kernel takes the time of its beginning from there (ftrace_now()).
 */
static int open_buffer(struct kernel_setup *s, bool is_top)
{
	const struct record_run *const run = s->run;
	const struct instance_lasting *const lasting = run->request->lasting;

	if (lasting)
		return instance_open_lasting(run->kernel, run->diag, lasting, is_top, &s->instance);
	return instance_open(run->kernel, run->diag,
			     is_top			       ? INSTANCE_TOP
			     : kernel_longest_is(run->request) ? INSTANCE_ANY_CLOCK
							       : INSTANCE_OWN,
			     &s->instance);
}

int kernel_tracer_check(struct kernel *k, struct diag *d, const char *tracer)
{
	char *text;

	if (tracefs_lists(kernel_tracefs(k), "available_tracers", tracer))
		return 0;
	diag_error(d, NO_SPAN, "the kernel has no tracer '%s'", tracer);
	if (!tracefs_value_read(kernel_tracefs(k), "available_tracers", &text)) {
		diag_hint(d, "it has: %s", text);
		free(text);
	}
	diag_code(d, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

/* Its records are those of the kernel that runs here. */
static int check_blk(const struct record_run *run)
{
	struct utsname u = {0};

	if (!run->request->tracer || !str_eq(run->request->tracer, TRACER_BLK) || uname(&u) ||
	    blk_is_known(u.release))
		return 0;
	diag_error(run->diag, NO_SPAN,
		   "Linux %s lays the records of the tracer blk out in a way that cannot be read "
		   "yet",
		   u.release);
	diag_hint(run->diag, "the tracepoints -e block are the same events");
	diag_code(run->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

/*
 * The tracer blk records those disks that say so in sysfs: all are told to, but those that others
 * trace already, and those without a medium.
 */
static int set_disks(struct kernel_setup *s)
{
	DIR *const dir = opendir("/sys/block");
	const struct dirent *e;
	u32 count = 0;
	int err = 0;

	while (dir && !err && (e = readdir(dir))) {
		char *const file = xasprintf(TRACEFS_BLOCK "%s/trace/enable", e->d_name);
		char *const size = xasprintf(TRACEFS_BLOCK "%s/size", e->d_name), *text = NULL;

		if (*e->d_name != '.' && !tracefs_value_read("", size, &text) &&
		    !str_eq(text, "0")) {
			err = instance_try(s->instance, file, "1");
			count += !err;
			err = err == -ENOENT ? 0 : err; /* hidden behind another one, as nvme */
		}
		if (err)
			diag_error(s->run->diag, NO_SPAN, "cannot trace the disk %s: %s", e->d_name,
				   strerror(-err));
		free(text);
		free(size);
		free(file);
	}
	if (dir)
		closedir(dir);
	if (!err && !count) {
		diag_error(s->run->diag, NO_SPAN, "there is no disk that blk could trace");
		err = -ENODEV;
	}
	return err;
}

/* Uses an instance of our own if the tracer can run there, else the top buffer. */
static int choose_buffer(struct kernel_setup *s)
{
	const struct record_run *const run = s->run;
	const char *const tracer = run->request->tracer;
	int err = tracer && is_function_tracer(tracer)
			  ? instance_tracer_offered(run->kernel, run->diag, tracer)
			  : 0;

	if (!err)
		err = open_buffer(s, run->request->top);
	if (err || !tracer || instance_is_top(s->instance) || instance_can_run(s->instance, tracer))
		return err;
	err = kernel_tracer_check(run->kernel, run->diag, tracer);
	if (err)
		return err;
	instance_close(s->instance);
	s->instance = NULL;
	return open_buffer(s, true);
}

static int open_instance(struct kernel_setup *s)
{
	const struct record_run *const run = s->run;
	int err = choose_buffer(s);

	if (err)
		return err;
	record_buffer_kb(run->request, KERNEL_BUFFER_MOST_KB, &s->buffer_kb);
	err = s->buffer_kb ? buffer_check(run->kernel, run->diag, s->buffer_kb) : 0;
	if (!err && !s->buffer_kb)
		s->buffer_kb = buffer_default_kb(run->kernel);
	if (!err)
		err = instance_set_buffer(s->instance, s->buffer_kb);
	/* off until everything is set up */
	return err ? err : instance_write(s->instance, "tracing_on", "0");
}

/* ---- contents ---- */

/* "-O nosleep-time" turns the option off. */
static int set_options(struct kernel_setup *s)
{
	const struct string_list *const options = &s->run->request->trace_options;
	int err = s->run->request->stack ? instance_set_option(s->instance, "stacktrace", true) : 0;

	/* Linux 4.13: scripts over the recording ask for the process of a thread */
	if (!err && instance_has_option(s->instance, "record-tgid"))
		err = instance_set_option(s->instance, "record-tgid", true);
	for (u32 i = 0; i < options->count && !err; i++) {
		const char *const word = options->items[i];
		const bool off = str_starts(word, "no") && !instance_has_option(s->instance, word);

		err = instance_set_option(s->instance, off ? word + 2 : word, !off);
	}
	return err;
}

static int set_functions(struct kernel_setup *s)
{
	const struct record_request *const r = s->run->request;
	const struct {
		const struct string_list *list;
		const char *file;
	} rows[] = {
		{&r->functions, "set_ftrace_filter"},
		{&r->not_functions, "set_ftrace_notrace"},
		{&r->graph_functions, "set_graph_function"},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		struct strbuf words = STRBUF_INIT;

		for (u32 j = 0; j < rows[i].list->count; j++)
			strbuf_addf(&words, "%s,", rows[i].list->items[j]);
		if (words.len)
			err = function_filter_set(s->instance, rows[i].file, words.data);
		strbuf_release(&words);
	}
	return err;
}

int kernel_setup_open(struct kernel_setup *s, struct record_run *run)
{
	int err;

	*s = (struct kernel_setup){.run = run};
	err = check_processes(run);
	if (!err)
		err = check_blk(run);
	if (!err)
		err = kernel_cgroups_open(&s->cgroups, run);
	if (!err)
		err = kernel_events_find(&s->events, run);
	if (!err)
		err = open_instance(s);
	if (!err)
		err = set_cpus(s);
	if (!err)
		err = set_options(s);
	if (!err)
		err = set_functions(s);
	if (!err)
		err = kernel_events_filter(&s->events, s->instance);
	if (!err && run->request->tracer && str_eq(run->request->tracer, TRACER_BLK))
		err = set_disks(s);
	if (!err && run->request->tracer && !kernel_longest_is(run->request))
		err = instance_set_tracer(s->instance, run->request->tracer);
	return err;
}

/* A bit set of enum instance_follow. */
static unsigned int what_follows(const struct kernel_setup *s)
{
	const char *const tracer = s->run->request->tracer;

	return FOLLOW_CHILDREN | (s->events.all.len ? FOLLOW_EVENTS : 0) |
	       (tracer && is_function_tracer(tracer) ? FOLLOW_FUNCTIONS : 0);
}

int kernel_setup_round(struct kernel_setup *s)
{
	return kernel_cgroups_follow(&s->cgroups, s->instance, what_follows(s));
}

static int follow(struct kernel_setup *s)
{
	const struct record_request *const r = s->run->request;
	const unsigned int what = what_follows(s);
	int err = 0;

	if (r->all)
		return 0;
	for (u32 i = 0; i < r->pids.count && !err; i++)
		err = instance_follow_process(s->instance, r->pids.items[i], what);
	if (!err && r->samples.threads.count)
		err = instance_follow_threads(s->instance, r->samples.threads.items,
					      r->samples.threads.count, what);
	if (!err && s->run->command)
		err = instance_follow_threads(s->instance, &s->run->command, 1, what);
	return err ?: kernel_setup_round(s);
}

int kernel_setup_enable(struct kernel_setup *s)
{
	const int err = follow(s);

	return err ? err : kernel_events_enable(&s->events, s->instance);
}

void kernel_setup_close(struct kernel_setup *s)
{
	instance_close(s->instance);
	kernel_events_release(&s->events);
	kernel_cgroups_release(&s->cgroups);
}
