/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of the kernel's events: its buffer, and what happens when. */
#include "record/ftrace/ftrace.h"

#include <stdio.h>

#include "base/process.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/function_filter.h"

#define NEEDS (SANDBOX_TRACEFS | SANDBOX_WRITES)

struct kernel_run {
	struct record_run *run;
	struct instance *instance;
	const char *directory; /* of the instance */
	struct kernel_events events;
	struct kernel_state state;
	struct kernel_pages *pages;
	struct dat_writer *writer; /* NULL: a flight recorder, which writes snapshots */
	char *path; /* of what it writes */
	struct page_layout layout;
	u32 *cpus, cpu_count;
	struct ring_counts *before; /* of each CPU */
	u32 snapshots;
	bool is_on; /* it was started */
};

static bool wanted(const struct record_request *r)
{
	return r->tracer;
}

/* ---- the request ---- */

/* -b: KB, as trace-cmd has it, or with a unit. 0 = not given. */
static int buffer_kb(const struct record_request *r, u64 *ret)
{
	u64 bytes;

	*ret = 0;
	if (!r->buffer)
		return 0;
	if (!parse_u64(r->buffer, ret))
		return *ret ? 0 : -EINVAL;
	if (parse_value(OPTION_SIZE, r->buffer, &bytes))
		return -EINVAL;
	*ret = (bytes + 1023) / 1024;
	return 0;
}

static int check(const struct command_spec *spec, const struct record_request *r)
{
	u64 kb;

	if (buffer_kb(r, &kb) || kb > 1u << 24)
		return options_usage_error(
			spec, "-b takes the KB of each CPU's buffer, or a size, as 64M, not '%s'",
			r->buffer);
	if (r->samples.cgroups.count || r->samples.cpus)
		return options_usage_error(spec,
					   "-%c is for samples (-F): tracepoints are recorded on "
					   "all CPUs, of threads (-t), processes (-p) or all",
					   r->samples.cpus ? 'C' : 'G');
	if (r->to)
		return options_usage_error(spec, "--to takes events of programs (-u) only");
	if (r->compress && !str_eq(r->compress, "zstd") && !str_eq(r->compress, "none"))
		return options_usage_error(
			spec, "a trace.dat is compressed by zstd or none, not '%s'", r->compress);
	if (r->graph_functions.count && !(r->tracer && str_eq(r->tracer, "function_graph")))
		return options_usage_error(spec, "-g is for -p function_graph");
	if ((r->functions.count || r->not_functions.count) && !r->tracer)
		return options_usage_error(spec, "-l and --notrace are for -p function and "
						 "-p function_graph");
	return OPTIONS_GO_ON;
}

/* ---- begin ---- */

static bool is_function_tracer(const char *tracer)
{
	return str_eq(tracer, "function") || str_eq(tracer, "function_graph");
}

/* Others than those of functions: only where they run in a buffer of our own. */
static int open_for_other(struct kernel_run *s, const char *tracer)
{
	struct record_run *const run = s->run;
	int err = instance_open(run->kernel, run->diag, INSTANCE_OWN, &s->instance);
	char *text;

	if (err)
		return err;
	if (!instance_read(s->instance, "available_tracers", &text)) {
		char *rest = NULL, *word = strtok_r(text, " \n", &rest);

		while (word && !str_eq(word, tracer))
			word = strtok_r(NULL, " \n", &rest);
		err = word ? 0 : -EOPNOTSUPP;
		free(text);
	}
	if (err) {
		diag_error(run->diag, NO_SPAN,
			   "the kernel has no tracer '%s' that runs in a buffer of its own",
			   tracer);
		if (!instance_read(s->instance, "available_tracers", &text)) {
			diag_hint(run->diag, "it has: %.*s", (int)strcspn(text, "\n"), text);
			free(text);
		}
		diag_code(run->diag, EXIT_UNSUPPORTED);
	}
	return err;
}

static int open_instance(struct kernel_run *s)
{
	const char *const tracer = s->run->request->tracer;
	struct record_run *const run = s->run;
	u64 kb;
	int err;

	if (!tracer)
		err = instance_open(run->kernel, run->diag, INSTANCE_OWN, &s->instance);
	else if (is_function_tracer(tracer))
		err = instance_open_for_tracer(run->kernel, run->diag, tracer, false, &s->instance);
	else
		err = open_for_other(s, tracer);
	if (err)
		return err;
	s->directory = instance_directory(s->instance);
	buffer_kb(run->request, &kb);
	err = kb ? buffer_check(run->kernel, run->diag, kb) : 0;
	if (!err)
		err = instance_set_buffer(s->instance, kb ?: buffer_default_kb(run->kernel));
	/* until everything is set */
	return err ? err : instance_write(s->instance, "tracing_on", "0");
}

/* "-O nosleep-time": off. */
static int set_options(struct kernel_run *s)
{
	const struct string_list *const options = &s->run->request->trace_options;
	int err = s->run->request->stack ? instance_set_option(s->instance, "stacktrace", true) : 0;

	for (u32 i = 0; i < options->count && !err; i++) {
		const char *const word = options->items[i];
		const bool off = str_starts(word, "no") && !instance_has_option(s->instance, word);

		err = instance_set_option(s->instance, off ? word + 2 : word, !off);
	}
	return err;
}

static int set_functions(struct kernel_run *s)
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

static int open_pages(struct kernel_run *s)
{
	struct record_run *const run = s->run;
	struct kernel_pages_options o = {
		.directory = s->directory,
		.layout = &s->layout,
		.sandbox = NEEDS,
		.keep_privileges = run->request->keep_privileges,
	};
	int err = ring_layout(s->directory, &s->layout);

	if (!err)
		err = ring_cpus(s->directory, &s->cpus, &s->cpu_count);
	if (err) {
		diag_error(run->diag, NO_SPAN, "cannot read %s: %s", s->directory, strerror(-err));
		return err;
	}
	s->before = xzalloc(s->cpu_count * sizeof(*s->before));
	for (u32 i = 0; i < s->cpu_count; i++)
		ring_counts(s->directory, s->cpus[i], &s->before[i]);
	o.cpus = s->cpus;
	o.cpu_count = s->cpu_count;
	o.online_count = kernel_online_cpus(run->kernel, &o.online);
	return kernel_pages_open(&o, run->diag, &s->pages);
}

static int open_writer(struct kernel_run *s, const char *path, struct dat_writer **ret)
{
	const struct record_request *const r = s->run->request;
	const struct dat_writer_options o = {
		.version = r->version_6 ? 6 : 7,
		.compress = !r->compress || str_eq(r->compress, "zstd"),
		.page_size = s->layout.size,
		.cpus = s->cpus,
		.cpu_count = s->cpu_count,
		.most_bytes = r->max_bytes,
	};
	int err = dat_writer_open(path, &o, s->run->diag, ret);

	if (!err)
		err = dat_writer_begin(*ret, &s->state.contents);
	if (err && *ret) {
		dat_writer_abandon(*ret);
		*ret = NULL;
	}
	return err;
}

static void release(struct kernel_run *s)
{
	kernel_pages_close(s->pages);
	dat_writer_abandon(s->writer);
	instance_close(s->instance);
	kernel_events_release(&s->events);
	kernel_state_release(&s->state);
	free(s->path);
	free(s->cpus);
	free(s->before);
	free(s);
}

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

static int prepare(struct kernel_run *s)
{
	struct record_run *const run = s->run;
	int err = check_processes(run);

	if (!err)
		err = kernel_events_find(&s->events, run);
	if (!err)
		err = open_instance(s);
	if (!err)
		err = set_options(s);
	if (!err)
		err = set_functions(s);
	if (!err)
		err = kernel_events_filter(&s->events, s->instance);
	/* the kernel changes no tracer of a buffer whose trace_pipe_raw is open */
	if (!err && run->request->tracer)
		err = instance_set_tracer(s->instance, run->request->tracer);
	if (!err)
		err = open_pages(s);
	if (!err)
		err = kernel_state_read(&s->state, s->instance, &s->events, run->diag);
	if (!err && run->directory)
		err = record_directory(run);
	if (!err && !run->request->overwrite)
		err = open_writer(s, s->path, &s->writer);
	return err;
}

static int begin(struct record_run *run, void **ret)
{
	struct kernel_run *s = xzalloc(sizeof(*s));
	int err;

	s->run = run;
	s->path = record_path(run, &record_kernel);
	err = prepare(s);
	if (err)
		release(s);
	else
		*ret = s;
	return err;
}

/* ---- start ---- */

static int follow(struct kernel_run *s)
{
	const struct record_request *const r = s->run->request;
	const unsigned int what =
		FOLLOW_CHILDREN | (s->events.all.len ? FOLLOW_EVENTS : 0) |
		(r->tracer && is_function_tracer(r->tracer) ? FOLLOW_FUNCTIONS : 0);
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
	return err;
}

static int start(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;
	int err = follow(s);

	if (!err)
		err = kernel_events_enable(&s->events, s->instance);
	if (!err && s->writer)
		err = kernel_pages_start(s->pages, s->writer);
	if (!err)
		err = instance_write(s->instance, "tracing_on", "1");
	s->is_on = !err;
	return err;
}

/* ---- counts ---- */

struct counts {
	u64 kept, lost; /* lost: for all of the following reasons */
	u64 overwritten, dropped, unwritten;
};

/* ended: what is still in the ring will not be written any more. */
static struct counts counts_of(const struct kernel_run *s, u32 i, bool ended)
{
	const struct ring_counts *const before = &s->before[i];
	struct ring_counts now = *before;
	struct counts c = {.unwritten = kernel_pages_unwritten(s->pages, i)};

	ring_counts(s->directory, s->cpus[i], &now);
	c.kept = now.read - before->read - MIN(c.unwritten, now.read - before->read);
	c.overwritten = now.overrun - before->overrun;
	c.dropped = now.dropped - before->dropped + now.commit_overrun - before->commit_overrun;
	if (ended)
		c.unwritten += now.entries;
	c.lost = c.overwritten + c.dropped + c.unwritten;
	return c;
}

static struct counts sum(const struct kernel_run *s, bool ended)
{
	struct counts all = {0};

	for (u32 i = 0; i < s->cpu_count; i++) {
		const struct counts c = counts_of(s, i, ended);

		all.kept += c.kept;
		all.lost += c.lost;
		all.overwritten += c.overwritten;
		all.dropped += c.dropped;
		all.unwritten += c.unwritten;
	}
	return all;
}

static void progress(void *state, struct record_progress *ret)
{
	const struct kernel_run *const s = state;
	const struct counts c = sum(s, false);

	ret->events = c.kept;
	ret->lost = s->writer ? c.lost : 0;
	ret->bytes = s->writer ? dat_writer_bytes(s->writer) : 0;
}

static void say_cpu(const struct kernel_run *s, u32 i)
{
	const struct counts c = counts_of(s, i, true);

	if (!c.kept && !c.lost)
		return;
	fprintf(stderr, "  CPU %u: %" PRIu64 " kept, %" PRIu64 " lost", s->cpus[i], c.kept, c.lost);
	if (c.lost)
		fprintf(stderr,
			" (%" PRIu64 " overwritten, %" PRIu64 " without room, %" PRIu64
			" not written)",
			c.overwritten, c.dropped, c.unwritten);
	fputc('\n', stderr);
}

/* The last line. */
static void say(const struct kernel_run *s, const struct counts *c, u64 bytes)
{
	const struct record_request *const r = s->run->request;

	if (!r->quiet) {
		fprintf(stderr, "%" PRIu64 " events of the kernel, %" PRIu64 " bytes, in %s; ",
			c->kept, bytes, s->path);
		fprintf(stderr, "%" PRIu64 " lost\n", c->lost);
	}
	for (u32 i = 0; i < s->cpu_count; i++)
		if (r->verbose || (c->lost && !r->quiet))
			say_cpu(s, i);
}

/* ---- a flight recorder ---- */

/* What the buffer holds goes into a file of its own. */
static int snapshot(struct kernel_run *s, const char *path, u64 *ret_bytes)
{
	struct dat_writer *w = NULL;
	int err = open_writer(s, path, &w);

	if (err)
		return err;
	kernel_pages_take(s->pages, w);
	kernel_state_tasks(&s->state, s->run->kernel);
	dat_writer_finish(w, &s->state.contents, ret_bytes);
	return 0;
}

/* trace-1.dat beside trace.dat */
static char *snapshot_path(struct kernel_run *s)
{
	const size_t tail = strlen(record_kernel.suffix), len = strlen(s->path);

	return xasprintf("%.*s-%u%s", (int)(len - tail), s->path, ++s->snapshots,
			 record_kernel.suffix);
}

static void take_snapshot(struct record_run *run, struct kernel_run *s)
{
	const u64 before = sum(s, false).kept;
	char *path = snapshot_path(s);
	u64 bytes;

	if (snapshot(s, path, &bytes))
		run->failed = true;
	else if (!run->request->quiet)
		fprintf(stderr, "%" PRIu64 " events of the kernel, %" PRIu64 " bytes, in %s\n",
			sum(s, false).kept - before, bytes, path);
	diag_tell(run->diag);
	free(path);
}

/* ---- the run ---- */

static int round_kernel(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;

	if (s->writer)
		return kernel_pages_round(s->pages);
	if (run->snapshot)
		take_snapshot(run, s);
	run->snapshot = false;
	return 0;
}

static int poll_fd(void *state)
{
	return -1;
}

static void tell_error(struct kernel_run *s, const struct counts *c)
{
	const int err = kernel_pages_error(s->pages);

	if (!err)
		return;
	diag_warning(s->run->diag, NO_SPAN,
		     "not everything could be written: %s; %" PRIu64
		     " events are lost with that, the rest of the recording is whole",
		     strerror(-err), c->unwritten);
}

/* Everything is off, and in the file. */
static void finish(struct kernel_run *s)
{
	struct record_run *const run = s->run;
	struct counts c;
	u64 bytes = 0;

	if (!s->writer) { /* the box is opened */
		run->failed |= snapshot(s, s->path, &bytes) != 0;
		/* what was overwritten is what such a recorder is to forget */
		c = sum(s, true);
		c.lost -= c.overwritten;
		c.overwritten = 0;
	} else {
		kernel_pages_stop(s->pages);
		c = sum(s, true);
		kernel_state_stats(&s->state, s->directory, s->cpus, s->cpu_count);
		kernel_state_tasks(&s->state, run->kernel);
		dat_writer_finish(s->writer, &s->state.contents, &bytes);
		s->writer = NULL;
	}
	run->lost += c.lost;
	tell_error(s, &c);
	diag_tell(run->diag);
	say(s, &c, bytes);
}

static int end(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;

	instance_try(s->instance, "tracing_on", "0");
	if (s->is_on)
		finish(s);
	release(s);
	diag_tell(run->diag);
	return 0;
}

static bool claims(struct kernel *k, const struct record_request *r, const char *event)
{
	return kernel_events_claims(k, event);
}

const struct record_source record_kernel = {
	.name = "kernel",
	.file = "trace.dat",
	.suffix = ".dat",
	.needs = NEEDS,
	.idle_ms = 200,
	.claims = claims,
	.wanted = wanted,
	.check = check,
	.begin = begin,
	.start = start,
	.round = round_kernel,
	.poll_fd = poll_fd,
	.progress = progress,
	.end = end,
};
