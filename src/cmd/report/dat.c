/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/dat.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/glob.h"
#include "cmd/report/names.h"
#include "kernel/tracefs/event_name.h"
#include "trace/dat/trace_dat.h"

#define FLUSH_AT (1u << 18)

/* A buffer of the recording that is being read. */
struct dat_source {
	struct page_merge events;
	struct raw_event head;
	bool has;
	const char *name;
	s64 offset_ns; /* that trace-cmd adds */
};

struct dat_report {
	const struct report_dat_options *options;
	struct diag diag;
	struct trace_dat *file;
	struct trace_text text;
	VECTOR(struct dat_source) sources;
	struct strbuf out;
	u64 *counts; /* by event id */
	u8 *wanted; /* by event id: 0 = not yet asked, 1 = no, 2 = yes */
	u64 printed;
	int error; /* of writing */
};

bool report_dat_is(const char *path)
{
	const int fd = foreign_open(path, NULL);
	char head[16];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return n > 0 && trace_dat_is(head, (size_t)n);
}

bool report_dat_matches(const struct string_list *events, const struct event_info *info)
{
	char *full;
	bool yes = false;

	if (!info)
		return !events->count;
	full = xasprintf("%s:%s", info->system, info->name);
	for (u32 i = 0; i < events->count && !yes; i++) {
		const char *const glob = event_name_bare(events->items[i]);

		yes = glob_match(glob, full) || glob_match(glob, info->name);
	}
	free(full);
	return yes || !events->count;
}

static bool wanted(struct dat_report *r, u32 id)
{
	if (!r->wanted[id])
		r->wanted[id] =
			report_dat_matches(&r->options->events, event_table_get(r->text.events, id))
				? 2
				: 1;
	return r->wanted[id] == 2;
}

static void flush(struct dat_report *r)
{
	if (!r->error)
		r->error = write_all(STDOUT_FILENO, r->out.data, r->out.len);
	strbuf_reset(&r->out);
}

static struct dat_source *oldest(struct dat_report *r)
{
	struct dat_source *best = NULL;

	for (size_t i = 0; i < r->sources.len; i++) {
		struct dat_source *s = &r->sources.items[i];

		if (s->has && (!best || s->head.event.time < best->head.event.time))
			best = s;
	}
	return best;
}

static void print(struct dat_report *r, struct dat_source *s, size_t width)
{
	const u32 id = page_event_id(&s->head.event);

	if (!wanted(r, id))
		return;
	r->printed++;
	r->counts[id]++;
	if (r->options->count)
		return;
	if (r->sources.len > 1)
		strbuf_addf(&r->out, "%*s%s ", (int)width, s->name, *s->name ? ":" : " ");
	if (r->options->trace_cmd) {
		s->head.event.time += (u64)s->offset_ns;
		trace_text_trace_cmd(&r->text, &s->head, &r->out);
	} else {
		trace_text_event(&r->text, &s->head, &r->out);
	}
	if (r->out.len >= FLUSH_AT)
		flush(r);
}

static int open_sources(struct dat_report *r)
{
	int err = 0;

	for (size_t i = 0; i < trace_dat_buffers(r->file) && !err; i++) {
		const struct trace_dat_buffer *b = trace_dat_buffer(r->file, i);
		struct dat_source s = {.name = b->name};
		s64 date_ns = 0;

		if (!b->cpus)
			continue;
		if (str_eq(b->clock, "counter") || str_eq(b->clock, "x86-tsc") ||
		    str_eq(b->clock, "uptime"))
			r->text.options.counter = true;
		trace_dat_date(r->file, i, &date_ns);
		s.offset_ns = trace_dat_offset(r->file) + date_ns;
		err = trace_dat_events(r->file, i, &s.events);
		if (!err)
			vector_push(&r->sources, s);
	}
	return err;
}

static void read_all(struct dat_report *r)
{
	size_t width = 0;
	struct dat_source *s;

	for (size_t i = 0; i < r->sources.len; i++) {
		s = &r->sources.items[i];
		s->has = page_merge_next(&s->events, &s->head);
		width = MAX(width, strlen(s->name));
	}
	while ((s = oldest(r)) && !r->error &&
	       !(r->options->limit && r->printed >= r->options->limit)) {
		print(r, s, width);
		s->has = page_merge_next(&s->events, &s->head);
	}
}

static void print_counts(struct dat_report *r)
{
	for (u32 id = 0; id < 65536; id++) {
		const struct event_info *info =
			r->counts[id] ? event_table_get(r->text.events, id) : NULL;

		if (info)
			strbuf_addf(&r->out, "%10" PRIu64 "  %s:%s\n", r->counts[id], info->system,
				    info->name);
		else if (r->counts[id])
			strbuf_addf(&r->out, "%10" PRIu64 "  unknown event %u\n", r->counts[id],
				    id);
	}
}

static int finish(struct dat_report *r)
{
	u64 lost = 0, gaps = 0, damaged = 0;

	if (r->options->count)
		print_counts(r);
	flush(r);
	for (size_t i = 0; i < r->sources.len; i++) {
		lost += r->sources.items[i].events.lost;
		gaps += r->sources.items[i].events.gaps;
		damaged += r->sources.items[i].events.damaged;
	}
	if (damaged)
		diag_error(&r->diag, NO_SPAN, "%" PRIu64 " pages could not be read to their end",
			   damaged);
	if (lost)
		diag_warning(&r->diag, NO_SPAN,
			     "%" PRIu64 " events had been lost when this was recorded", lost);
	if (gaps)
		diag_warning(&r->diag, NO_SPAN,
			     "events had been lost at %" PRIu64
			     " place%s when this was recorded; how many, it does not say",
			     gaps, gaps == 1 ? "" : "s");
	if (r->error && r->error != -EPIPE)
		diag_error(&r->diag, NO_SPAN, "cannot write: %s", strerror(-r->error));
	return (lost || gaps) && !r->diag.errors && !r->error ? EXIT_LOST : EXIT_OK;
}

int report_dat(const char *path, const struct report_dat_options *o)
{
	struct dat_report r = {.options = o, .diag = DIAG_INIT, .out = STRBUF_INIT};
	int rc = EXIT_OK;

	r.counts = xzalloc(65536 * sizeof(*r.counts));
	r.wanted = xzalloc(65536);
	if (!trace_dat_open(path, &r.diag, &r.file)) {
		trace_dat_text(r.file, &r.text);
		if (!open_sources(&r)) {
			read_all(&r);
			report_names_check(
				&(struct report_names){.kernels = &r.text.events, .nr_kernels = 1},
				&o->events, NULL, 0, &r.diag);
			rc = finish(&r);
		}
		for (size_t i = 0; i < r.sources.len; i++)
			page_merge_release(&r.sources.items[i].events);
		vector_free(&r.sources);
		trace_dat_close(r.file);
	}
	if (rc == EXIT_OK)
		rc = (int)diag_exit_code(&r.diag);
	diag_tell(&r.diag);
	diag_release(&r.diag);
	strbuf_release(&r.out);
	free(r.counts);
	free(r.wanted);
	return rc;
}
