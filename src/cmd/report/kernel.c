/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/kernel.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "base/glob.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/recorded.h"
#include "trace/dat/recording.h"
#include "trace/ftrace/event_field.h"
#include "trace/ftrace/event_json.h"

struct report_kernel {
	struct report_kernel_options options;
	char *path;
	struct dat_recording recording;
	char *host;
	int name_width; /* of instances, in columns */
	char **names; /* by event id: "system:name" once it was met */
	u64 *counts; /* by event id: not printed, but counted */
	u8 *is_wanted; /* by event id: 0 = not yet asked, 1 = no, 2 = yes */
	struct strbuf line;
};

bool report_kernel_is(const char *path)
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

/* ---- which events ---- */

/* An unknown one only if none is named. */
static bool is_named(const struct string_list *events, const struct event_info *info)
{
	bool yes = !events->count;
	char *full;

	if (!info || yes)
		return yes;
	full = xasprintf("%s:%s", info->system, info->name);
	for (u32 i = 0; i < events->count && !yes; i++) {
		const char *const glob = event_name_bare(events->items[i]);

		yes = glob_match(glob, full) || glob_match(glob, info->name);
	}
	free(full);
	return yes;
}

struct asked {
	struct report_kernel *kernel;
	const struct raw_event *event;
	const struct event_info *info;
};

static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	const struct asked *const a = arg;
	struct task_names *const tasks = a->kernel->recording.text.tasks;
	struct field_value v = {0};

	if (a->info)
		v = event_field(a->info, &a->event->event, name);
	if (v.kind || only_field)
		return v;
	if (str_eq(name, "cpu")) {
		v.kind = FIELD_INTEGER;
		v.integer = a->event->cpu;
	} else if (str_eq(name, "tid")) {
		v.kind = FIELD_INTEGER;
		v.integer = (u64)page_event_pid(&a->event->event);
	} else if (str_eq(name, "pid")) {
		v.integer = (u64)task_tgid(tasks, page_event_pid(&a->event->event));
		v.kind = v.integer ? FIELD_INTEGER : FIELD_NONE; /* it may not be known */
	} else if (str_eq(name, "comm")) {
		v.kind = FIELD_TEXT;
		v.text = task_name(tasks, page_event_pid(&a->event->event), &v.size);
	}
	return v;
}

static bool wants(void *arg, const struct raw_event *event)
{
	struct report_kernel *const k = arg;
	const struct report_selection *const selection = k->options.selection;
	const u32 id = page_event_id(&event->event);
	struct asked asked = {.kernel = k, .event = event};

	if (!k->is_wanted[id])
		k->is_wanted[id] =
			is_named(&selection->events, event_table_get(k->recording.text.events, id))
				? 2
				: 1;
	if (k->is_wanted[id] == 1)
		return false;
	if (selection->nr_where)
		asked.info = event_table_get(k->recording.text.events, id);
	for (size_t i = 0; i < selection->nr_where; i++)
		if (!predicate_holds(selection->where[i], look_up, &asked))
			return false;
	return true;
}

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
	same = str_eq(name, trace_dat_uname(k->recording.file));
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

static int place(struct report_kernel *k, struct dat_source *s, struct diag *d)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {{"mono", CLOCK_MONOTONIC}, {"boot", CLOCK_BOOTTIME}, {"tai", CLOCK_TAI}};
	const char *clock =
		k->options.clock ?: trace_dat_buffer(k->recording.file, s->buffer)->clock;
	const struct ctf_trace *same = same_clock(k, clock);
	s64 date_ns;

	s->origin_ns = trace_dat_offset(k->recording.file);
	if (trace_dat_date(k->recording.file, s->buffer, &date_ns) && !k->options.clock &&
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

/* ---- events ---- */

bool report_kernel_time(const struct report_kernel *k, s64 *ret_ns)
{
	const struct dat_source *s = dat_recording_oldest(&k->recording);

	if (s)
		*ret_ns = s->ns;
	return s;
}

static const char *name_of(struct report_kernel *k, u32 id)
{
	const struct event_info *info;

	if (!k->names[id]) {
		info = event_table_get(k->recording.text.events, id);
		k->names[id] = info ? xasprintf("%s:%s", info->system, info->name)
				    : xasprintf("unknown event %u", id);
	}
	return k->names[id];
}

/* The text behind the name, without the newline. */
static void text_of(struct report_kernel *k, struct event_info *info, const struct raw_event *e,
		    const char **ret, size_t *ret_size)
{
	const size_t n = info->name_len;

	strbuf_reset(&k->line);
	trace_text_body(&k->recording.text, info, e, &k->line);
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
	const struct event_json_names names = {.kernel = a->kernel->recording.text.context.symbols};

	event_json_add(j, a->info, a->event, &names);
}

static int print_on_time_line(struct report_kernel *k, const struct dat_source *s,
			      struct ctf_printer *printer)
{
	const struct page_event *e = &s->event.event;
	struct event_info *info = event_table_get(k->recording.text.events, page_event_id(e));
	struct field_adder adder = {k, info, e};
	struct ctf_ready_event ready = {.ns = s->ns,
					.host = k->host,
					.name = name_of(k, page_event_id(e)),
					.cpu = s->event.cpu,
					.pid = page_event_pid(e),
					.text = ""};

	ready.task = task_name(k->recording.text.tasks, ready.pid, NULL);
	if (info) {
		text_of(k, info, &s->event, &ready.text, &ready.size);
		ready.fields = add_fields;
		ready.arg = &adder;
	}
	return ctf_print_ready(printer, &ready);
}

static int print_columns(struct report_kernel *k, struct dat_source *s, struct ctf_printer *printer)
{
	struct strbuf *const out = ctf_print_out(printer);
	s64 date_ns = 0;

	if (k->recording.sources.len > 1)
		strbuf_addf(out, "%*s%s ", k->name_width, s->name, *s->name ? ":" : " ");
	if (k->options.style == REPORT_TRACE_CMD) {
		trace_dat_date(k->recording.file, s->buffer, &date_ns);
		s->event.event.time += (u64)(trace_dat_offset(k->recording.file) + date_ns);
		trace_text_trace_cmd(&k->recording.text, &s->event, out);
	} else {
		trace_text_event(&k->recording.text, &s->event, out);
	}
	return ctf_print_added(printer);
}

int report_kernel_next(struct report_kernel *k, struct ctf_printer *printer)
{
	struct dat_source *s = dat_recording_oldest(&k->recording);
	int rc = 0;

	if (!printer)
		k->counts[page_event_id(&s->event.event)]++;
	else
		rc = k->options.style == REPORT_TIME_LINE ? print_on_time_line(k, s, printer)
							  : print_columns(k, s, printer);
	dat_recording_advance(&k->recording, s);
	return rc;
}

void report_kernel_skip(struct report_kernel *k)
{
	dat_recording_advance(&k->recording, dat_recording_oldest(&k->recording));
}

void report_kernel_counts(struct report_kernel *k,
			  void (*fn)(void *arg, const char *name, u64 count), void *arg)
{
	for (u32 id = 0; id < 65536; id++)
		if (k->counts[id])
			fn(arg, name_of(k, id), k->counts[id]);
}

u64 report_kernel_lost(const struct report_kernel *k, struct diag *d, bool *ret_gaps)
{
	const struct dat_loss loss = dat_recording_loss(&k->recording);

	if (loss.gaps)
		diag_warning(d, NO_SPAN,
			     "%s: events were lost at %" PRIu64
			     " place%s; how many, the recording does not say",
			     k->path, loss.gaps, loss.gaps == 1 ? "" : "s");
	if (loss.damaged)
		diag_error(d, NO_SPAN, "%s: %" PRIu64 " pages could not be read to their end",
			   k->path, loss.damaged);
	*ret_gaps |= loss.gaps != 0;
	return loss.events;
}

/* Alone its times are shown as they were recorded. */
static int prepare_source(struct report_kernel *k, struct dat_source *s, struct diag *d)
{
	const char *const clock = trace_dat_buffer(k->recording.file, s->buffer)->clock;

	if (k->options.style == REPORT_TIME_LINE)
		return place(k, s, d);
	k->name_width = MAX(k->name_width, (int)strlen(s->name));
	if (str_eq(clock, "counter") || str_eq(clock, "x86-tsc") || str_eq(clock, "uptime"))
		k->recording.text.options.counter = true;
	return 0;
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
	k->counts = xzalloc(65536 * sizeof(*k->counts));
	k->line = (struct strbuf)STRBUF_INIT;
	rc = dat_recording_open(path, d, &k->recording);
	if (!rc) {
		k->recording.text.context.raw_strings = options->raw;
		k->recording.wants = wants;
		k->recording.arg = k;
		k->host = host_of(trace_dat_uname(k->recording.file));
	}
	for (size_t i = 0; !rc && i < k->recording.sources.len; i++)
		rc = prepare_source(k, &k->recording.sources.items[i], d);
	if (rc) {
		report_kernel_close(k);
		return rc;
	}
	dat_recording_begin(&k->recording);
	*ret = k;
	return 0;
}

struct event_table *report_kernel_table(const struct report_kernel *k)
{
	return k->recording.text.events;
}

void report_kernel_close(struct report_kernel *k)
{
	dat_recording_close(&k->recording);
	for (u32 id = 0; id < 65536; id++)
		free(k->names[id]);
	strbuf_release(&k->line);
	free(k->is_wanted);
	free(k->counts);
	free(k->names);
	free(k->host);
	free(k->path);
	free(k);
}
