/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of samples. It claims events that are sampled (-F, -c, -g) and those that only perf
 * has, such as cpu-clock.
 */
#include "record/samples/samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "probe/count.h"
#include "record/probes.h"
#include "record/samples/internal.h"
#include "trace/perf/formats.h"

#define IDLE_MS	  100
#define BUSY_PART 4 /* a round that wrote more than this fraction of a ring is busy */
#define MODE	  0600 /* samples reveal other users' programs */

/* ---- the request ---- */

static bool is_sampling(const struct record_request *r)
{
	const struct sample_request *const s = &r->samples;

	return s->frequency || s->period || s->frames || s->call_graph;
}

static bool claims(struct kernel *k, const struct record_request *r, const char *event)
{
	return is_sampling(r) || (!record_probe_is(event) && perf_events_has_counter(k, event));
}

static bool wanted(const struct record_request *r)
{
	return is_sampling(r) && !r->events.len;
}

static int check(const struct command_spec *spec, const struct record_request *r)
{
	const struct sample_request *const s = &r->samples;
	const bool has_tasks = r->pids.count || s->threads.count;
	u64 kb;

	if (record_buffer_kb(r, RING_MOST_KB, &kb))
		return options_usage_error(spec, RECORD_BUFFER_TAKES, r->buffer);
	if (s->frequency && s->period)
		return options_usage_error(spec, "-F and -c: by time or by number of events; "
						 "choose one");
	if (has_tasks && (r->has_command || r->all || s->cgroups.count))
		return options_usage_error(spec, "-p and -t cannot be combined with %s",
					   r->has_command ? "a command" : "-a and -G");
	if (s->cgroups.count && r->has_command)
		return options_usage_error(spec, "-G samples what runs in a cgroup, not a command");
	if (r->rotate_bytes || r->rotate_ns)
		return options_usage_error(spec, "samples are not recorded in chunks: without "
						 "--rotate-size and --rotate-time");
	if (r->overwrite)
		return options_usage_error(spec, "samples are not kept in a flight recorder: "
						 "without --overwrite");
	return OPTIONS_GO_ON;
}

/* ---- begin ---- */

/* A probe is sampled as the tracepoint that is made for it, under the name that it is known by. */
static int choose_probes(struct samples *s, const struct record_event *asked)
{
	const char *condition = record_probe_condition(asked->text);
	struct record_probe_list made = {0};
	int err = record_probes_make(s->run, asked->text, &made);

	if (asked->filter)
		condition = arena_printf(&s->arena, "/%s/", asked->filter);
	for (size_t i = 0; i < made.all.len && !err; i++) {
		const struct record_probe *const p = &made.all.items[i];

		err = perf_events_parse(&s->chosen,
					arena_printf(&s->arena, "%s:%s %s", p->event->group,
						     p->event->name, condition ?: ""));
		if (!err)
			vector_last(&s->chosen.list).name =
				arena_printf(&s->arena, "%s:%s", p->group, p->event->name);
	}
	vector_free(&made.all);
	return err;
}

static int choose_events(struct samples *s)
{
	const struct record_request *const r = s->request;
	const bool has_processor = kernel_ask(s->run->kernel, KERNEL_PERF_HARDWARE)->yes;
	int err = 0;
	bool any = false;

	s->chosen.of_own_programs = r->pids.count || r->samples.threads.count || r->has_command;
	for (size_t i = 0; i < r->events.len && !err; i++) {
		const struct record_event *const e = &r->events.items[i];

		if (e->source != &record_samples)
			continue;
		any = true;
		if (record_probe_is(e->text)) {
			err = choose_probes(s, e);
			continue;
		}
		err = perf_events_parse(&s->chosen, e->filter ? arena_printf(&s->arena, "%s /%s/",
									     e->text, e->filter)
							      : e->text);
	}
	return any ? err : perf_events_add(&s->chosen, has_processor ? "cycles" : "cpu-clock");
}

/* Only events that readers know by name; others need a program, or give only an address. */
static int check_kinds(struct samples *s)
{
	for (size_t i = 0; i < s->chosen.list.len; i++) {
		const struct perf_choice *const c = &s->chosen.list.items[i];

		if (c->attr.type == PERF_TYPE_TRACEPOINT || c->attr.type == PERF_TYPE_SOFTWARE ||
		    c->attr.type == PERF_TYPE_HARDWARE)
			continue;
		diag_error(s->run->diag, NO_SPAN, "-e '%s': %s events cannot be sampled by name",
			   c->name, c->target->provider->name);
		diag_hint(s->run->diag, "`pantrace probe --help` shows how to make an event of it, "
					"which is sampled as -e SYSTEM:EVENT");
		return -EOPNOTSUPP;
	}
	return 0;
}

static void release(struct samples *s)
{
	samples_close(s);
	recording_file_close(&s->file);
	free(s->path);
	hashmap_release(&s->build_ids);
	hashmap_release(&s->files);
	perf_events_release(&s->chosen);
	probe_env_release(&s->env);
	btf_release(s->btf);
	type_store_release(&s->types);
	arena_release(&s->arena);
	free(s);
}

static int begin(struct record_run *run, void **ret)
{
	struct samples *s = xzalloc(sizeof(*s));
	int err;

	s->run = run;
	s->request = run->request;
	s->file = (struct recording_file)RECORDING_FILE_NONE;
	s->epoll = -1;
	type_store_init(&s->types);
	s->btf = btf_attach(&s->types, NULL);
	s->env = (struct probe_env){.types = &s->types,
				    .btf = s->btf,
				    .kernel = run->kernel,
				    .arena = &s->arena,
				    .diag = run->diag,
				    .max_probes = UINT32_MAX};
	s->chosen.env = &s->env;
	err = choose_events(s) ?: check_kinds(s);
	if (err)
		release(s);
	else
		*ret = s;
	return err;
}

/* ---- start ---- */

static int open_file(struct samples *s)
{
	int err;

	if (s->request->file) {
		s->path = xstrdup("the recording");
		s->file.fd = fcntl(*s->request->file, F_DUPFD_CLOEXEC, 0);
		return s->file.fd < 0 ? -errno : 0;
	}
	err = s->run->directory ? record_directory(s->run) : 0;
	if (err)
		return err;
	s->path = record_path(s->run, &record_samples);
	if (s->request->carrier)
		err = recording_file_open_carried(&s->file, s->request->carrier, s->path);
	else
		err = recording_file_open(&s->file, -1, s->path, MODE);
	if (err)
		diag_error(s->run->diag, NO_SPAN, "cannot write '%s': %s", s->path,
			   recording_file_why(err));
	return err;
}

static int read_formats(struct samples *s, struct strbuf *to)
{
	VECTOR(struct perf_tracepoint) events = {0};
	int err = 0;

	for (size_t i = 0; i < s->chosen.list.len; i++) {
		const struct perf_choice *const c = &s->chosen.list.items[i];

		if (c->attr.type == PERF_TYPE_TRACEPOINT)
			vector_push(&events,
				    (struct perf_tracepoint){c->target->module, c->target->function,
							     arena_strndup(&s->arena, c->name,
									   strcspn(c->name, ":"))});
	}
	if (events.len)
		err = perf_formats_add(s->run->kernel, events.items, events.len, to);
	if (err)
		diag_error(s->run->diag, NO_SPAN, "cannot read the formats of the tracepoints: %s",
			   strerror(-err));
	vector_free(&events);
	return err;
}

static int begin_file(struct samples *s)
{
	struct perf_written_event *events = xreallocarray(NULL, s->events.len, sizeof(*events));
	struct strbuf formats = STRBUF_INIT;
	const struct perf_writer_options options = {
		.formats = &formats,
		.clock = CLOCK_MONOTONIC,
		.compress = s->request->compress && str_eq(s->request->compress, "zstd")};
	int err = read_formats(s, &formats);

	for (size_t i = 0; i < s->events.len; i++) {
		const struct sample_event *const e = &s->events.items[i];

		events[i] = (struct perf_written_event){e->attr, e->name, e->ids.items, e->ids.len};
	}
	if (!err) {
		err = perf_writer_open(&s->file, events, s->events.len, &options, &s->writer);
		if (err)
			diag_error(s->run->diag, NO_SPAN, "cannot write %s: %s", s->path,
				   strerror(-err));
	}
	strbuf_release(&formats);
	free(events);
	return err;
}

/* Another tracer's BPF program may drop all events, which would look as if there were none. */
static void look_for_programs(struct samples *s)
{
	for (size_t i = 0; i + 1 < s->events.len; i++) {
		const struct sample_event *const e = &s->events.items[i];

		if (e->attr.type != PERF_TYPE_TRACEPOINT || !e->fds.len ||
		    !count_is_decided(e->fds.items[0]))
			continue;
		diag_warning(
			s->run->diag, NO_SPAN,
			"another tracer has a BPF program on %s: only what that lets through is "
			"recorded, which may be nothing",
			e->name);
		s->is_decided = true;
	}
}

static int start(struct record_run *run, void *state)
{
	struct samples *const s = state;
	int err = samples_set_attributes(s);

	if (!err)
		err = samples_open(s);
	if (!err)
		err = open_file(s);
	if (!err) {
		err = begin_file(s);
		if (err)
			recording_file_undo(&s->file);
	}
	if (err)
		return err;
	look_for_programs(s);
	samples_write_build_ids(s);
	samples_write_state(s);
	perf_writer_checkpoint(s->writer);
	if (!run->command || !samples_tracking(s)->attr.inherit)
		count_switch(true);
	return 0;
}

/* ---- run ---- */

static int round_samples(struct record_run *run, void *state)
{
	struct samples *const s = state;
	const size_t n = samples_pump(s);

	if (perf_writer_error(s->writer))
		run->end = true;
	return n > s->rings.items[0].ring.size / BUSY_PART;
}

static int poll_fd(void *state)
{
	return ((struct samples *)state)->epoll;
}

static void progress(void *state, struct record_progress *ret)
{
	const struct samples *const s = state;

	for (size_t i = 0; i < s->events.len; i++)
		ret->events += s->events.items[i].kept;
	ret->lost = s->lost_records;
	ret->bytes = s->writer ? perf_writer_size(s->writer) : 0;
}

/* ---- end ---- */

static void write_times(struct samples *s)
{
	const u64 times[] = {s->first_ns, s->last_ns};

	perf_writer_feature(s->writer, PERF_FEATURE_SAMPLE_TIME, times, sizeof(times));
}

/* "perf.data: 4012 of cpu-clock, 3 of page-faults (7 lost)" */
static void tell(const struct samples *s)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i + 1 < s->events.len; i++) {
		const struct sample_event *const e = &s->events.items[i];

		if (e->choice->is_one_of_many && !e->kept && !e->lost)
			continue;
		strbuf_addf(&text, "%s%" PRIu64 " of %s", text.len ? ", " : "", e->kept, e->name);
		if (e->lost)
			strbuf_addf(&text, " (%" PRIu64 " lost)", e->lost);
	}
	fprintf(stderr, "%s: %s\n", s->path, text.len ? text.data : "no event occurred");
	strbuf_release(&text);
}

static void tell_losses(struct samples *s)
{
	u64 lost = 0;

	for (size_t i = 0; i + 1 < s->events.len; i++)
		lost += s->events.items[i].lost;
	if (!s->counts_lost)
		lost = s->lost_records;
	if (lost)
		fprintf(stderr,
			"WARNING: %" PRIu64
			" sample%s %s lost: the rings were full; larger ones (-b), fewer "
			"samples (-F)\n",
			lost, plural(lost), is_are(lost));
	if (samples_tracking(s)->lost)
		fprintf(stderr,
			"WARNING: %" PRIu64
			" record%s of tasks and mappings %s lost: names of threads and "
			"functions may be missing\n",
			samples_tracking(s)->lost, plural(samples_tracking(s)->lost),
			is_are(samples_tracking(s)->lost));
	if (s->throttled)
		fprintf(stderr,
			"WARNING: the kernel held samples back %" PRIu64
			" times, as they came faster than kernel.perf_event_max_sample_rate "
			"allows\n",
			s->throttled);
	s->run->lost += lost + samples_tracking(s)->lost + s->throttled + s->is_decided;
}

/* One by one: the seccomp filter allows ioctl(2), not prctl(2). */
static void stop(struct samples *s)
{
	for (size_t i = 0; i < s->events.len; i++)
		for (size_t f = 0; f < s->events.items[i].fds.len; f++)
			ioctl(s->events.items[i].fds.items[f], PERF_EVENT_IOC_DISABLE, 0);
}

static int finish(struct samples *s)
{
	int err;

	stop(s);
	samples_pump(s);
	samples_count_lost(s);
	write_times(s);
	if (s->files.len)
		samples_write_build_ids(s);
	err = perf_writer_close(s->writer);
	if (!s->request->quiet)
		tell(s);
	tell_losses(s);
	if (err)
		fprintf(stderr, "ERROR: not everything is written to %s: %s\n", s->path,
			strerror(-err));
	return err;
}

static int end(struct record_run *run, void *state)
{
	struct samples *const s = state;
	const int err = s->writer ? finish(s) : 0;

	release(s);
	return err;
}

const struct record_source record_samples = {
	.name = "samples",
	.file = "perf.data",
	.suffix = ".data",
	.wants_state = true,
	.idle_ms = IDLE_MS,
	.claims = claims,
	.wanted = wanted,
	.check = check,
	.begin = begin,
	.start = start,
	.round = round_samples,
	.poll_fd = poll_fd,
	.progress = progress,
	.end = end,
};
