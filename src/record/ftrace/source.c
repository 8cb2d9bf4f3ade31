/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of kernel events: its buffer and the phases of its run. */
#include "record/ftrace/ftrace.h"

#include <stdio.h>
#include <unistd.h>

#include "base/recording_file.h"

#define NEEDS (SANDBOX_TRACEFS | SANDBOX_WRITES)

struct kernel_run {
	struct record_run *run;
	struct kernel_setup setup;
	const char *directory; /* of its buffer */
	struct kernel_state state;
	struct kernel_pages *pages;
	struct kernel_files *files; /* NULL: a flight recorder, which only writes snapshots */
	char *path; /* path of the file */
	int place; /* its directory, for all files of the run; 0 = not open yet */
	struct page_layout layout;
	u32 *cpus, cpu_count;
	struct ring_counts *before; /* of each CPU */
	u32 snapshots;
	bool is_longest; /* there are no pages: .pages and .files are NULL */
	bool is_on; /* it was started */
};

static bool wanted(const struct record_request *r)
{
	return r->tracer;
}

/* ---- the request ---- */

static int check(const struct command_spec *spec, const struct record_request *r)
{
	u64 kb;

	if (record_buffer_kb(r, KERNEL_BUFFER_MOST_KB, &kb))
		return options_usage_error(spec, RECORD_BUFFER_TAKES, r->buffer);
	if (r->samples.cgroups.count && (r->all || r->has_command))
		return options_usage_error(spec, "-G records who is in a cgroup: without %s",
					   r->all ? "-a" : "a command");
	if (r->compress && !str_eq(r->compress, "zstd") && !str_eq(r->compress, "none"))
		return options_usage_error(
			spec, "a trace.dat is compressed by zstd or none, not '%s'", r->compress);
	if (r->overwrite && (r->rotate_bytes || r->rotate_ns))
		return options_usage_error(spec, "a flight recorder (--overwrite) has no chunks: "
						 "without --rotate-size and --rotate-time");
	if (r->graph_functions.count && !(r->tracer && str_eq(r->tracer, "function_graph")))
		return options_usage_error(spec, "-g is for -p function_graph");
	if ((r->functions.count || r->not_functions.count) && !r->tracer)
		return options_usage_error(spec, "-l and --notrace are for -p function and "
						 "-p function_graph");
	if (kernel_longest_is(r) && (r->overwrite || r->rotate_bytes || r->rotate_ns))
		return options_usage_error(spec,
					   "the tracer %s keeps only its longest latency, for the "
					   "end: without %s",
					   r->tracer,
					   r->overwrite ? "--overwrite"
							: "--rotate-size and --rotate-time");
	return OPTIONS_GO_ON;
}

/* ---- begin ---- */

static bool compresses(const struct record_request *r)
{
	return !r->version_6 && (!r->compress || str_eq(r->compress, "zstd"));
}

static int find_cpus(struct kernel_run *s)
{
	int err = ring_layout(s->directory, &s->layout);

	if (!err)
		err = ring_cpus(s->directory, &s->cpus, &s->cpu_count);
	if (err)
		diag_error(s->run->diag, NO_SPAN, "cannot read %s: %s", s->directory,
			   strerror(-err));
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
		/* a pipe into a file that is elsewhere there is none */
		.compress = compresses(run->request) || run->request->carrier,
	};

	s->before = xzalloc(s->cpu_count * sizeof(*s->before));
	for (u32 i = 0; i < s->cpu_count; i++)
		ring_counts(s->directory, s->cpus[i], &s->before[i]);
	o.cpus = s->cpus;
	o.cpu_count = s->cpu_count;
	o.online_count = kernel_online_cpus(run->kernel, &o.online);
	return kernel_pages_open(&o, run->diag, &s->pages);
}

static u64 kept(void *arg);

static struct kernel_files_options files_options(struct kernel_run *s)
{
	const struct record_request *const r = s->run->request;

	return (struct kernel_files_options){
		.run = s->run,
		.path = s->path,
		.writer = {.version = r->version_6 ? 6 : 7,
			   .compress = compresses(r),
			   .page_size = s->layout.size,
			   .cpus = s->cpus,
			   .cpu_count = s->cpu_count,
			   .most_bytes = r->rotate_bytes ?: r->max_bytes,
			   .directory = s->place,
			   .carrier = r->carrier},
		.state = &s->state,
		.kept = kept,
		.arg = s,
	};
}

static int open_files(struct kernel_run *s)
{
	const struct kernel_files_options o = files_options(s);

	return kernel_files_open(&o, &s->files);
}

/* Later files are made in the same directory, even if it is renamed meanwhile. */
static int open_place(struct kernel_run *s)
{
	s->place = s->run->request->carrier ? 0 : recording_file_directory(s->path);
	if (s->place >= 0)
		return 0;
	diag_error(s->run->diag, NO_SPAN, "cannot write '%s': %s", s->path, strerror(-s->place));
	return s->place;
}

static void release(struct kernel_run *s)
{
	kernel_pages_close(s->pages);
	kernel_files_close(s->files);
	kernel_setup_close(&s->setup);
	kernel_state_release(&s->state);
	if (s->place > 0)
		close(s->place);
	free(s->path);
	free(s->cpus);
	free(s->before);
	free(s);
}

static int prepare(struct kernel_run *s)
{
	struct record_run *const run = s->run;
	/* before open_pages(): the tracer cannot change while trace_pipe_raw is open */
	int err = kernel_setup_open(&s->setup, run);

	if (!err) {
		s->directory = instance_directory(s->setup.instance);
		err = find_cpus(s);
	}
	if (!err && !s->is_longest)
		err = open_pages(s);
	if (!err)
		err = kernel_state_read(&s->state, s->setup.instance, &s->setup.events, run->diag);
	if (!err && run->directory)
		err = record_directory(run);
	if (!err)
		err = open_place(s);
	if (!err && !run->request->overwrite && !s->is_longest)
		err = open_files(s);
	return err;
}

static int begin(struct record_run *run, void **ret)
{
	struct kernel_run *s = xzalloc(sizeof(*s));
	int err;

	s->run = run;
	s->path = record_path(run, &record_kernel);
	s->is_longest = kernel_longest_is(run->request);
	err = prepare(s);
	if (err)
		release(s);
	else
		*ret = s;
	return err;
}

/* ---- start ---- */

static int start(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;
	int err = kernel_setup_enable(&s->setup);

	if (!err && s->files)
		err = kernel_pages_start(s->pages, kernel_files_writer(s->files));
	if (!err)
		err = instance_write(s->setup.instance, "tracing_on", "1");
	if (!err && s->is_longest)
		err = kernel_longest_start(s->setup.instance, run->request->tracer);
	s->is_on = !err;
	return err;
}

/* ---- counts ---- */

struct counts {
	u64 kept, lost; /* lost: the sum of the following */
	u64 overwritten, dropped, unwritten;
	u64 waiting; /* in the ring */
};

/* has_ended: what is in the ring now will not be written. */
static struct counts counts_of(const struct kernel_run *s, u32 i, bool has_ended)
{
	const struct ring_counts *const before = &s->before[i];
	struct ring_counts now = *before;
	struct counts c = {.unwritten = kernel_pages_unwritten(s->pages, i)};

	ring_counts(s->directory, s->cpus[i], &now);
	c.kept = now.read - before->read - MIN(c.unwritten, now.read - before->read);
	c.overwritten = now.overrun - before->overrun;
	c.dropped = now.dropped - before->dropped;
	c.waiting = now.entries;
	if (has_ended)
		c.unwritten += now.entries;
	c.lost = c.overwritten + c.dropped + c.unwritten;
	return c;
}

static struct counts sum(const struct kernel_run *s, bool has_ended)
{
	struct counts all = {0};

	for (u32 i = 0; i < s->cpu_count && s->pages; i++) {
		const struct counts c = counts_of(s, i, has_ended);

		all.kept += c.kept;
		all.lost += c.lost;
		all.overwritten += c.overwritten;
		all.dropped += c.dropped;
		all.unwritten += c.unwritten;
		all.waiting += c.waiting;
	}
	return all;
}

static u64 kept(void *arg)
{
	return sum(arg, false).kept;
}

static void progress(void *state, struct record_progress *ret)
{
	const struct kernel_run *const s = state;
	const struct counts c = sum(s, false);

	ret->events = c.kept + c.waiting;
	ret->lost = s->files ? c.lost : 0;
	ret->bytes = s->files ? kernel_files_pages(s->files) : 0;
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
		if (s->files)
			kernel_files_say(s->files, c->kept);
		else
			fprintf(stderr,
				"%" PRIu64 " event%s of the kernel, %" PRIu64 " bytes, in %s; ",
				c->kept, plural(c->kept), bytes, s->path);
		fprintf(stderr, "%" PRIu64 " lost\n", c->lost);
	}
	for (u32 i = 0; i < s->cpu_count; i++)
		if (r->verbose || (c->lost && !r->quiet))
			say_cpu(s, i);
}

/* ---- a flight recorder ---- */

/* Writes the buffer's contents to a file of its own. */
static int snapshot(struct kernel_run *s, const char *path, u64 *ret_bytes)
{
	const struct kernel_files_options o = files_options(s);
	struct dat_writer *w = NULL;
	int err = kernel_file_open(&o, path, s->run->diag, &w);

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

/* True if a trigger has stopped tracing. */
static bool is_frozen(const struct kernel_run *s)
{
	char *text;
	bool yes;

	if (!s->run->request->freezes || instance_read(s->setup.instance, "tracing_on", &text))
		return false;
	yes = *text == '0';
	free(text);
	return yes;
}

static void take_snapshot(struct record_run *run, struct kernel_run *s)
{
	const u64 before = sum(s, false).kept;
	char *path = snapshot_path(s);
	u64 bytes;
	const int rc = snapshot(s, path, &bytes);

	if (is_frozen(s))
		instance_try(s->setup.instance, "tracing_on", "1");
	if (rc)
		run->failed = true;
	else if (!run->request->quiet)
		fprintf(stderr, "%" PRIu64 " event%s of the kernel, %" PRIu64 " bytes, in %s\n",
			sum(s, false).kept - before, plural(sum(s, false).kept - before), bytes,
			path);
	diag_tell(run->diag);
	free(path);
}

/* ---- the run ---- */

static void rotate(struct record_run *run, struct kernel_run *s)
{
	if (!kernel_files_rotate(s->files, s->pages))
		return;
	diag_tell(run->diag);
	run->failed = run->end = true;
}

static int round_kernel(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;

	if (kernel_setup_round(&s->setup)) {
		diag_tell(run->diag);
		run->failed = run->end = true;
	}
	if (!s->files && s->pages && (run->snapshot || is_frozen(s)))
		take_snapshot(run, s);
	if (!s->files)
		return 0;
	if (kernel_files_are_due(s->files))
		rotate(run, s);
	return kernel_pages_round(s->pages);
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
		     " events are lost by that, the rest of the recording is whole",
		     strerror(-err), c->unwritten);
}

/*
 * A buffer that fills up is not resized: since Linux 6.7 the kernel stops tracing meanwhile, and
 * does not count what it misses (kernel/trace/trace.c, tracing_stop_tr). Measured on 6.18: while
 * buffers of 64 MB grew to 256 MB in 0.14 to 0.26 s, 100,000 to 190,000 of 1,200,136 system calls
 * of dd were neither kept nor counted.
 */
static void tell_full_buffers(struct kernel_run *s, const struct counts *c)
{
	struct diag *const d = s->run->diag;
	const u64 kb = s->setup.buffer_kb;

	if (!(c->overwritten + c->dropped))
		return;
	diag_warning(d, NO_SPAN,
		     "%" PRIu64 " event%s %s lost, as a CPU's buffer of %" PRIu64 " KB was full",
		     c->overwritten + c->dropped, plural(c->overwritten + c->dropped),
		     is_are(c->overwritten + c->dropped), kb);
	diag_hint(d,
		  "-b %" PRIu64 " doubles it; a condition on the event leaves out what you do "
		  "not need",
		  2 * kb);
}

/* Tracing is off and everything has been written. */
static void finish(struct kernel_run *s)
{
	struct record_run *const run = s->run;
	struct counts c;
	u64 bytes = 0;

	if (!s->files) { /* a flight recorder is written at the end */
		run->failed |= snapshot(s, s->path, &bytes) != 0;
		/* a flight recorder overwrites on purpose: not a loss */
		c = sum(s, true);
		c.lost -= c.overwritten;
		c.overwritten = 0;
	} else {
		kernel_pages_stop(s->pages);
		kernel_files_settle(s->files);
		c = sum(s, true);
		kernel_state_stats(&s->state, s->directory, s->cpus, s->cpu_count);
		kernel_state_tasks(&s->state, run->kernel);
		kernel_files_finish(s->files);
	}
	run->lost += c.lost;
	tell_error(s, &c);
	tell_full_buffers(s, &c);
	diag_tell(run->diag);
	say(s, &c, bytes);
}

static int write_longest(struct kernel_run *s)
{
	const struct kernel_files_options o = files_options(s);

	kernel_state_tasks(&s->state, s->run->kernel);
	return kernel_longest_write(&o, s->setup.instance);
}

static int end(struct record_run *run, void *state)
{
	struct kernel_run *const s = state;

	if (s->is_on)
		kernel_events_keep_off(&s->setup.events, s->setup.instance);
	instance_try(s->setup.instance, "tracing_on", "0");
	if (s->is_on && s->is_longest)
		run->failed |= write_longest(s) != 0;
	else if (s->is_on)
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
	.wants_state = true,
	.idle_ms = 100,
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
