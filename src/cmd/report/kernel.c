/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/kernel.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "cmd/report/dat.h"
#include "trace/ftrace/event_json.h"
#include "trace/dat/trace_dat.h"

struct kernel_source {
	struct page_merge events;
	struct raw_event head;
	s64 ns; /* of the head, since the epoch */
	bool has;
	s64 origin_ns; /* of the clock's 0 */
	u64 frequency; /* of its ticks */
};

struct report_kernel {
	struct report_kernel_options options;
	char *path;
	struct trace_dat *file;
	struct trace_text text;
	VECTOR(struct kernel_source) sources;
	char *host;
	char **names; /* by event id: "system:name" once it was met */
	u8 *is_wanted; /* by event id: 0 = not yet asked, 1 = no, 2 = yes */
	struct strbuf line;
};

/* ---- where its times lie ---- */

/* "Linux HOST RELEASE MACHINE" */
static char *host_of(const char *uname)
{
	const char *host = strchr(uname, ' ');

	return host ? xstrndup(host + 1, strcspn(host + 1, " ")) : NULL;
}

static bool is_of_this_boot(const struct report_kernel *k)
{
	struct utsname u;
	struct stat st;
	char *name;
	bool same;

	if (uname(&u) || stat(k->path, &st))
		return false;
	name = xasprintf("%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	same = str_eq(name, trace_dat_uname(k->file));
	free(name);
	return same && (s64)st.st_mtim.tv_sec * 1000000000 >
			       clock_distance_ns(CLOCK_BOOTTIME, CLOCK_REALTIME);
}

static bool has_clock(const struct ctf_trace *t, const char *name)
{
	return t->has_clock && ctf_metadata_clock(t->metadata, name);
}

/* A CTF trace of the same machine with the same clock. */
static const struct ctf_trace *same_clock(const struct report_kernel *k, const char *clock)
{
	const bool is_tsc = str_eq(clock, "x86-tsc");

	if (!is_tsc && !str_eq(clock, "mono"))
		return NULL;
	for (u32 i = 0; i < ctf_set_traces(k->options.set); i++) {
		const struct ctf_trace *t = ctf_set_trace(k->options.set, i);

		if (k->host && t->hostname && str_eq(k->host, t->hostname) &&
		    (is_tsc ? t->is_ours && has_clock(t, "tsc") : has_clock(t, "monotonic")))
			return t;
	}
	return NULL;
}

static int place(struct report_kernel *k, size_t buffer, struct diag *d, struct kernel_source *s)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {{"mono", CLOCK_MONOTONIC}, {"boot", CLOCK_BOOTTIME}, {"tai", CLOCK_TAI}};
	const char *clock = k->options.clock ?: trace_dat_buffer(k->file, buffer)->clock;
	const struct ctf_trace *same = same_clock(k, clock);
	s64 date_ns;

	s->frequency = 1000000000;
	s->origin_ns = trace_dat_offset(k->file);
	if (trace_dat_date(k->file, buffer, &date_ns) && !k->options.clock &&
	    !str_eq(clock, "x86-tsc") && !str_eq(clock, "counter")) {
		s->origin_ns += date_ns;
		return 0;
	}
	if (same) {
		s->frequency = same->frequency;
		s->origin_ns += same->origin_ns;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!str_eq(clocks[i].name, clock) || !is_of_this_boot(k))
			continue;
		s->origin_ns += clock_distance_ns(clocks[i].id, CLOCK_REALTIME);
		return 0;
	}
	diag_error(d, NO_SPAN,
		   "%s: its times are of the clock '%s', and nothing says when that was", k->path,
		   *clock ? clock : "local");
	diag_hint(d, "trace-cmd record -C mono, and report on the machine that it is of before "
		     "that starts again; or "
		     "trace-cmd record --date. What trace-cmd extract writes is always said to be "
		     "'local': "
		     "--kernel-clock says it better");
	return -ENODATA;
}

static s64 since_epoch(const struct kernel_source *s, u64 time)
{
	if (s->frequency == 1000000000)
		return (s64)((u64)s->origin_ns + time);
	return (s64)((u64)s->origin_ns +
		     (u64)((unsigned __int128)time * 1000000000u / s->frequency));
}

/* ---- events ---- */

static void advance(struct report_kernel *k, struct kernel_source *s)
{
	while ((s->has = page_merge_next(&s->events, &s->head))) {
		const u32 id = page_event_id(&s->head.event);

		if (!k->is_wanted[id])
			k->is_wanted[id] = report_dat_matches(&k->options.events,
							      event_table_get(k->text.events, id))
						   ? 2
						   : 1;
		if (k->is_wanted[id] == 2)
			break;
	}
	if (s->has)
		s->ns = since_epoch(s, s->head.event.time);
}

static struct kernel_source *oldest(const struct report_kernel *k)
{
	struct kernel_source *best = NULL;

	for (size_t i = 0; i < k->sources.len; i++) {
		struct kernel_source *s = &k->sources.items[i];

		if (s->has && (!best || s->ns < best->ns))
			best = s;
	}
	return best;
}

bool report_kernel_time(const struct report_kernel *k, s64 *ret_ns)
{
	const struct kernel_source *s = oldest(k);

	if (s)
		*ret_ns = s->ns;
	return s;
}

static const char *name_of(struct report_kernel *k, u32 id, const struct event_info *info)
{
	if (!k->names[id])
		k->names[id] = info ? xasprintf("%s:%s", info->system, info->name)
				    : xasprintf("unknown event %u", id);
	return k->names[id];
}

/* The text behind the name, without the newline. */
static void text_of(struct report_kernel *k, struct event_info *info, const struct raw_event *e,
		    const char **ret, size_t *ret_size)
{
	const size_t n = info->name_len;

	strbuf_reset(&k->line);
	trace_text_body(&k->text, info, e, &k->line);
	while (k->line.len && k->line.data[k->line.len - 1] == '\n')
		k->line.len--;
	*ret = k->line.data;
	*ret_size = k->line.len;
	if (k->line.len >= n + 2 && !memcmp(k->line.data, info->name, n) &&
	    !memcmp(k->line.data + n, ": ", 2)) {
		*ret += n + 2;
		*ret_size -= n + 2;
	}
}

struct field_adder {
	struct report_kernel *kernel;
	const struct event_info *info;
	const struct page_event *event;
};

static void add_fields(void *arg, struct json *j)
{
	const struct field_adder *a = arg;
	const struct event_json_names names = {.kernel = a->kernel->text.context.symbols};

	event_json_add(j, a->info, a->event, &names);
}

int report_kernel_next(struct report_kernel *k, struct ctf_printer *printer, const char **ret_name)
{
	struct kernel_source *s = oldest(k);
	const struct page_event *e = &s->head.event;
	const u32 id = page_event_id(e);
	struct event_info *info = event_table_get(k->text.events, id);
	struct ctf_ready_event ready = {
		.ns = s->ns, .host = k->host, .cpu = s->head.cpu, .text = ""};
	struct field_adder adder = {k, info, e};
	int rc = 0;

	*ret_name = ready.name = name_of(k, id, info);
	if (printer) {
		if (e->size >= 8)
			memcpy(&ready.pid, e->data + 4, sizeof(ready.pid));
		ready.task = task_name(k->text.tasks, ready.pid, NULL);
		if (info) {
			text_of(k, info, &s->head, &ready.text, &ready.size);
			ready.fields = add_fields;
			ready.arg = &adder;
		}
		rc = ctf_print_ready(printer, &ready);
	}
	advance(k, s);
	return rc;
}

u64 report_kernel_lost(const struct report_kernel *k, struct diag *d, bool *ret_gaps)
{
	u64 lost = 0, gaps = 0, damaged = 0;

	for (size_t i = 0; i < k->sources.len; i++) {
		lost += k->sources.items[i].events.lost;
		gaps += k->sources.items[i].events.gaps;
		damaged += k->sources.items[i].events.damaged;
	}
	if (gaps)
		diag_warning(d, NO_SPAN,
			     "%s: events were lost at %" PRIu64
			     " place%s; how many, the recording does not say",
			     k->path, gaps, gaps == 1 ? "" : "s");
	if (damaged)
		diag_error(d, NO_SPAN, "%s: %" PRIu64 " pages could not be read to their end",
			   k->path, damaged);
	*ret_gaps |= gaps != 0;
	return lost;
}

int report_kernel_open(const char *path, const struct report_kernel_options *options,
		       struct diag *d, struct report_kernel **ret)
{
	struct report_kernel *k = xzalloc(sizeof(*k));
	int rc;

	k->options = *options;
	k->path = xstrdup(path);
	k->names = xzalloc(65536 * sizeof(*k->names));
	k->is_wanted = xzalloc(65536);
	k->line = (struct strbuf)STRBUF_INIT;
	rc = trace_dat_open(path, d, &k->file);
	if (!rc) {
		trace_dat_text(k->file, &k->text);
		k->text.context.raw_strings = options->raw;
		k->host = host_of(trace_dat_uname(k->file));
	}
	for (size_t i = 0; !rc && i < trace_dat_buffers(k->file); i++) {
		struct kernel_source s = {0};

		if (!trace_dat_buffer(k->file, i)->cpus)
			continue;
		rc = place(k, i, d, &s);
		if (!rc)
			rc = trace_dat_events(k->file, i, &s.events);
		if (rc)
			break;
		vector_push(&k->sources, s);
		advance(k, &vector_last(&k->sources));
	}
	if (rc)
		report_kernel_close(k);
	else
		*ret = k;
	return rc;
}

struct event_table *report_kernel_table(const struct report_kernel *k)
{
	return k->text.events;
}

void report_kernel_close(struct report_kernel *k)
{
	for (size_t i = 0; i < k->sources.len; i++)
		page_merge_release(&k->sources.items[i].events);
	vector_free(&k->sources);
	for (u32 id = 0; id < 65536; id++)
		free(k->names[id]);
	trace_dat_close(k->file);
	strbuf_release(&k->line);
	free(k->is_wanted);
	free(k->names);
	free(k->host);
	free(k->path);
	free(k);
}
