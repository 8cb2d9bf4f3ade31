/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a trace.dat, a recording of trace-cmd or of ours, of all of its buffers in one
 * order: in columns, or on the time line. Where its times lie on that is known
 *
 *	- from its date (trace-cmd's --date),
 *	- from another recording of the same machine that knows the same clock (CTF: x86-tsc of
 *	ours, mono of LTTng's),
 *	- of the clock mono, and of those beside which our own recorder saw it,
 *	- of clocks mono, boot and tai, from this machine as it runs, if it was recorded here since
 *	it started.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "trace/dat/trace_dat.h"
#include "trace/dat/writer.h"
#include "trace/ftrace/event_field.h"
#include "trace/ftrace/event_json.h"
#include "trace/recording.h"

/* A buffer that has events: the recording's own, or an instance's. */
struct dat_source {
	size_t buffer; /* of trace_dat_buffer() */
	const char *name; /* of the instance; "" = top */
	struct recorded_clock clock; /* that its times are ticks of */
	bool has_event;
	struct raw_event event; /* the next one */
	s64 ns; /* of the event, on the time line */
	struct page_merge events;
};

struct dat_recording {
	struct recording recording;
	struct trace_dat *file;
	struct trace_text text; /* to print it */
	VECTOR(struct dat_source) sources;
	struct dat_source *current; /* whose event it stands at; NULL before the first */
	char *host;
	int name_width; /* of instances, in columns */
	struct recorded_kind **kinds; /* by event id: once it was met */
	struct hashmap modules; /* "ext4" -> "[ext4]", for call chains */
	struct strbuf line;
};

#define EVENT_IDS 65536

static struct dat_recording *dat_of(const struct recording *r)
{
	return container_of(r, struct dat_recording, recording);
}

/* ---- where its times lie ---- */

/* "Linux HOST RELEASE MACHINE" */
static char *host_of(const char *uname)
{
	const char *host = strchr(uname, ' ');

	return host ? xstrndup(host + 1, strcspn(host + 1, " ")) : NULL;
}

static bool is_of_this_boot(const struct dat_recording *k, const char *path)
{
	struct utsname u;
	struct stat st;
	char *name;
	bool same;

	if (uname(&u) || stat(path, &st))
		return false;
	name = xasprintf("%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	same = str_eq(name, trace_dat_uname(k->file));
	free(name);
	return same && (s64)st.st_mtim.tv_sec * 1000000000 >
			       clock_distance_ns(CLOCK_BOOTTIME, CLOCK_REALTIME);
}

static int refuse_clock(const struct dat_recording *k, const char *clock, const char *path,
			struct diag *d)
{
	s64 realtime_ns;

	diag_error(d, NO_SPAN,
		   "%s: its times are of the clock '%s', and nothing says when that was", path,
		   *clock ? clock : "local");
	diag_hint(d, trace_dat_realtime(k->file, &realtime_ns)
			     ? "alone, in columns, it is shown with its times as recorded"
			     : "trace-cmd record -C mono, and report on the machine that it is of "
			       "before that starts again; or trace-cmd record --date. What "
			       "trace-cmd extract writes is always said to be 'local': "
			       "--kernel-clock says it better");
	return -ENODATA;
}

static int locate(struct recordings *all, struct dat_recording *k, struct dat_source *s,
		  const char *path, struct diag *d)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {{"mono", CLOCK_MONOTONIC}, {"boot", CLOCK_BOOTTIME}, {"tai", CLOCK_TAI}};
	const char *const said = recordings_options(all)->clock;
	const char *const clock = said ?: trace_dat_buffer(k->file, s->buffer)->clock;
	const s64 offset_ns = trace_dat_offset(k->file);
	s64 date_ns, monotonic_ns = 0;

	s->clock.origin_ns = offset_ns;
	if (trace_dat_date(k->file, s->buffer, &date_ns) && !said && !str_eq(clock, "x86-tsc") &&
	    !str_eq(clock, "counter")) {
		s->clock.origin_ns += date_ns;
		return 0;
	}
	if (k->host && recordings_clock(all, k->host, clock, &s->clock)) {
		s->clock.origin_ns += offset_ns;
		return 0;
	}
	if ((str_eq(clock, "mono") || trace_dat_monotonic(k->file, clock, &monotonic_ns)) &&
	    trace_dat_realtime(k->file, &date_ns)) {
		s->clock.origin_ns =
			(s64)((u64)s->clock.origin_ns + (u64)date_ns + (u64)monotonic_ns);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!str_eq(clocks[i].name, clock) || !is_of_this_boot(k, path))
			continue;
		s->clock.origin_ns += clock_distance_ns(clocks[i].id, CLOCK_REALTIME);
		return 0;
	}
	if (recordings_options(all)->recorded_times) {
		k->recording.is_unplaced = true;
		return 0;
	}
	return refuse_clock(k, clock, path, d);
}

static s64 on_time_line(const struct dat_source *s, u64 time)
{
	if (s->clock.frequency == 1000000000)
		return (s64)((u64)s->clock.origin_ns + time);
	return (s64)((u64)s->clock.origin_ns +
		     (u64)((unsigned __int128)time * 1000000000u / s->clock.frequency));
}

/* ---- events ---- */

static void source_advance(struct dat_source *s)
{
	s->has_event = page_merge_next(&s->events, &s->event);
	if (s->has_event)
		s->ns = on_time_line(s, s->event.event.time);
}

static struct recorded_kind *kind_of(struct dat_recording *k, u32 id)
{
	const struct event_info *info;
	char *name;

	if (k->kinds[id])
		return k->kinds[id];
	info = event_table_get(k->text.events, id);
	name = info ? xasprintf("%s:%s", info->system, info->name)
		    : xasprintf("unknown event %u", id);
	k->kinds[id] = recorded_kind_new(k->recording.all, name, info ? info->name : NULL);
	free(name);
	return k->kinds[id];
}

static struct dat_source *oldest(const struct dat_recording *k)
{
	struct dat_source *best = NULL;

	for (size_t i = 0; i < k->sources.len; i++) {
		struct dat_source *s = &k->sources.items[i];

		if (s->has_event && (!best || s->ns < best->ns))
			best = s;
	}
	return best;
}

static bool dat_next(struct recording *r, struct diag *d)
{
	struct dat_recording *const k = dat_of(r);
	struct dat_source *best;

	if (k->current)
		source_advance(k->current);
	else
		for (size_t i = 0; i < k->sources.len; i++)
			source_advance(&k->sources.items[i]);
	if (k->current && k->sources.len == 1)
		best = k->current->has_event ? k->current : NULL;
	else
		best = oldest(k);
	if (!best)
		return false;
	k->current = best;
	r->ns = best->ns;
	r->origin_ns = best->clock.origin_ns;
	recording_lost(r, best->event.lost);
	r->kind = kind_of(k, page_event_id(&best->event.event));
	return true;
}

static u64 time_of(const struct dat_source *s, s64 ns)
{
	const unsigned __int128 since = (u64)ns - (u64)s->clock.origin_ns;

	return ns <= s->clock.origin_ns
		       ? 0
		       : (u64)MIN(since * s->clock.frequency / 1000000000u, UINT64_MAX);
}

/* Only what is certainly outside is passed over: times were rounded. */
static void dat_narrow(struct recording *r, s64 begin_ns, s64 end_ns)
{
	struct dat_recording *const k = dat_of(r);

	for (size_t i = 0; i < k->sources.len; i++) {
		struct dat_source *const s = &k->sources.items[i];
		const bool may_be_set = str_eq(trace_dat_buffer(k->file, s->buffer)->clock, "tai");
		const u64 end = time_of(s, end_ns), more = s->clock.frequency / 1000000000u + 1;

		page_merge_narrow(&s->events, may_be_set ? 0 : time_of(s, begin_ns),
				  may_be_set || end > UINT64_MAX - more ? UINT64_MAX : end + more);
	}
	k->current = NULL;
}

static struct field_value dat_value(struct recording *r, const char *name, bool only_field)
{
	const struct dat_recording *const k = dat_of(r);

	return trace_text_value(&k->text, &k->current->event, name, only_field);
}

static u32 dat_unplaced(struct recording *r)
{
	/* stacks are events of their own, behind the one that they are of */
	return PLACE_STACK | PLACE_LOCALS |
	       (task_names_have_tgids(dat_of(r)->text.tasks) ? 0 : PLACE_PID);
}

static const char *dat_format(struct recording *r, const char *system, const char *name)
{
	return event_table_text(dat_of(r)->text.events, system, name);
}

static const u8 *dat_raw(struct recording *r, u32 *ret_size)
{
	const struct page_event *const e = &dat_of(r)->current->event.event;

	*ret_size = e->size;
	return e->data;
}

/* Read a second time: what it says besides events is not kept otherwise. */
static int dat_contents(struct recording *r, struct dat_contents *ret, struct diag *d)
{
	struct dat_recording *const k = dat_of(r);
	const size_t buffer = k->sources.len ? k->sources.items[0].buffer : 0;
	struct trace_dat *again;
	const int rc = trace_dat_open_whole(r->path, ret, d, &again);

	if (rc)
		return rc;
	ret->clock = k->sources.len ? trace_dat_buffer(k->file, buffer)->clock : "";
	ret->page_size = k->sources.len ? trace_dat_layout(k->file, buffer).size : 0;
	trace_dat_close(again);
	return 0;
}

static const char *module_name(struct dat_recording *k, const char *module)
{
	void **const at = hashmap_put(&k->modules, module, strlen(module) + 1, NULL);

	if (!*at)
		*at = xasprintf("[%s]", module);
	return *at;
}

/* Frames of programs have no names: nothing tells what was mapped there. */
static struct recorded_frame frame_of(struct dat_recording *k, u64 address, bool is_user)
{
	struct recorded_frame f = {.address = address, .in_file = address, .is_kernel = !is_user};
	struct kernel_symbol found;

	if (is_user)
		return f;
	f.object = "[kernel.kallsyms]";
	if (k->text.context.symbols &&
	    ksyms_at(k->text.context.symbols, address, KSYM_FIRST, &found)) {
		f.symbol = found.name;
		f.offset = address - found.address;
		if (found.module)
			f.object = module_name(k, found.module);
	}
	return f;
}

static bool dat_stack(struct recording *r, struct recorded_stack *ret)
{
	struct dat_recording *const k = dat_of(r);
	const struct page_event *const e = &k->current->event.event;
	const struct event_info *info = event_table_get(k->text.events, page_event_id(e));
	struct event_stack stack;

	if (!info || !event_stack(info, e, &stack))
		return false;
	for (u32 i = 0; i < stack.count; i++)
		vector_push(ret, frame_of(k, event_stack_address(&stack, i), stack.is_user));
	return ret->len;
}

static const char *dat_function(struct recording *r, u64 address)
{
	return frame_of(dat_of(r), address, false).symbol;
}

static void dat_place(struct recording *r, struct recorded_place *ret)
{
	const struct dat_recording *const k = dat_of(r);
	const s32 tid = page_event_pid(&k->current->event.event);
	const s32 pid = task_tgid(k->text.tasks, tid);

	ret->cpu = k->current->event.cpu;
	ret->tid = tid;
	ret->pid = pid || !tid ? pid : -1;
	ret->comm = task_name(k->text.tasks, tid, &ret->comm_size);
	ret->host = k->host;
}

/* ---- lines ---- */

/* The text behind the name, without the newline. */
static void text_of(struct dat_recording *k, struct event_info *info, const struct raw_event *e,
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
	struct dat_recording *recording;
	const struct event_info *info;
	const struct page_event *event;
};

static void dat_fields(struct recording *r, struct json *j)
{
	const struct dat_recording *const k = dat_of(r);
	const struct page_event *const e = &k->current->event.event;
	const struct event_json_names names = {.kernel = k->text.context.symbols};

	event_json_fields(j, event_table_get(k->text.events, page_event_id(e)), e, &names);
}

static void dat_values(struct recording *r, field_value_fn *fn, void *arg)
{
	const struct dat_recording *const k = dat_of(r);
	const struct page_event *const e = &k->current->event.event;
	const struct event_info *info = event_table_get(k->text.events, page_event_id(e));

	struct event_stack stack;

	if (info && !event_stack(info, e, &stack)) /* which dat_stack() tells */
		event_values(info, e, fn, arg);
}

static void add_fields(void *arg, struct json *j)
{
	const struct field_adder *a = arg;
	const struct event_json_names names = {.kernel = a->recording->text.context.symbols};

	event_json_add(j, a->info, a->event, &names);
}

static int print_on_time_line(struct dat_recording *k, struct ctf_printer *printer)
{
	const struct page_event *e = &k->current->event.event;
	struct event_info *info = event_table_get(k->text.events, page_event_id(e));
	struct field_adder adder = {k, info, e};
	struct ctf_ready_event ready = {.ns = k->recording.ns,
					.host = k->host,
					.name = k->recording.kind->name,
					.cpu = k->current->event.cpu,
					.pid = page_event_pid(e),
					.text = ""};

	ready.task = task_name(k->text.tasks, ready.pid, NULL);
	if (info) {
		text_of(k, info, &k->current->event, &ready.text, &ready.size);
		ready.fields = add_fields;
		ready.arg = &adder;
	}
	return ctf_print_ready(printer, &ready);
}

static int dat_print(struct recording *r, struct ctf_printer *printer)
{
	struct dat_recording *const k = dat_of(r);
	const char *const style = recordings_options(r->all)->style;
	struct dat_source *const s = k->current;
	struct strbuf *const out = ctf_print_out(printer);
	s64 date_ns = 0;

	if (!style)
		return print_on_time_line(k, printer);
	if (k->sources.len > 1)
		strbuf_addf(out, "%*s%s ", k->name_width, s->name, *s->name ? ":" : " ");
	if (*style) {
		trace_dat_date(k->file, s->buffer, &date_ns);
		s->event.event.time += (u64)(trace_dat_offset(k->file) + date_ns);
		trace_text_trace_cmd(&k->text, &s->event, out);
	} else {
		trace_text_event(&k->text, &s->event, out);
	}
	return ctf_print_added(printer);
}

/* ---- the file ---- */

static void dat_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	const struct dat_recording *const k = dat_of(r);
	u64 gaps = 0, damaged = 0;

	for (size_t i = 0; i < k->sources.len; i++) {
		ret->events += k->sources.items[i].events.lost;
		gaps += k->sources.items[i].events.gaps;
		damaged += k->sources.items[i].events.damaged;
	}
	if (gaps)
		diag_warning(d, NO_SPAN,
			     "%s: events were lost at %" PRIu64
			     " place%s; how many, the recording does not say",
			     r->path, gaps, plural(gaps));
	if (damaged)
		diag_error(d, NO_SPAN, "%s: %" PRIu64 " page%s could not be read to their end",
			   r->path, damaged, plural(damaged));
	ret->gaps |= gaps != 0;
}

struct name_receiver {
	recorded_name_fn *fn;
	void *arg;
	int rc;
};

static int event_name(void *arg, const char *system, const char *name)
{
	struct name_receiver *to = arg;
	char full[256];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	return to->rc = to->fn(to->arg, full, name);
}

static int dat_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct name_receiver to = {.fn = fn, .arg = arg};

	event_table_each(dat_of(r)->text.events, event_name, &to);
	return to.rc;
}

/* Of events that were met, and what each has. */
static int dat_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	int rc = 0;

	for (u32 id = 0; id < EVENT_IDS && !rc; id++) {
		const struct event_info *info = event_table_met(dat_of(r)->text.events, id);

		for (u32 i = 0; info && i < info->record->count && !rc; i++)
			if (info->record->members[i].name)
				rc = fn(arg, info->record->members[i].name, NULL);
	}
	return rc;
}

static void dat_names(const char *path, recorded_name_fn *fn, void *arg)
{
	struct diag quiet = DIAG_INIT;
	struct trace_text text;
	struct trace_dat *file;

	if (!trace_dat_open(path, &quiet, &file)) {
		trace_dat_text(file, &text);
		event_table_each(text.events, event_name,
				 &(struct name_receiver){.fn = fn, .arg = arg});
		trace_dat_close(file);
	}
	diag_release(&quiet);
}

static const char *dat_text(struct recording *r)
{
	return trace_dat_latency(dat_of(r)->file);
}

static void dat_rename_host(struct recording *r, const char *name)
{
	free(dat_of(r)->host);
	dat_of(r)->host = xstrdup(name);
}

static void dat_close(struct recording *r)
{
	struct dat_recording *const k = dat_of(r);

	for (size_t i = 0; i < k->sources.len; i++)
		page_merge_release(&k->sources.items[i].events);
	vector_free(&k->sources);
	trace_dat_close(k->file);
	strbuf_release(&k->line);
	hashmap_each (&k->modules, e)
		free(e->value);
	hashmap_release(&k->modules);
	free(k->kinds);
	free(k->host);
	free(k);
}

/* Alone its times are shown as they were recorded. */
static int add_source(struct recordings *all, struct dat_recording *k, size_t buffer,
		      const char *path, struct diag *d)
{
	const struct trace_dat_buffer *const b = trace_dat_buffer(k->file, buffer);
	struct dat_source s = {
		.buffer = buffer, .name = b->name, .clock = {.frequency = 1000000000}};
	int rc;

	if (!b->cpus)
		return 0;
	if (!recordings_options(all)->style) {
		rc = locate(all, k, &s, path, d);
		if (rc)
			return rc;
	}
	k->name_width = MAX(k->name_width, (int)strlen(s.name));
	k->text.options.counter |= str_eq(b->clock, "counter") || str_eq(b->clock, "x86-tsc") ||
				   str_eq(b->clock, "uptime");
	rc = trace_dat_events(k->file, buffer, &s.events);
	if (!rc)
		vector_push(&k->sources, s);
	return rc;
}

static int dat_open(struct recordings *all, const char *path, struct diag *d,
		    struct recording **ret)
{
	struct dat_recording *k = xzalloc(sizeof(*k));
	int rc = trace_dat_open(path, d, &k->file);

	if (rc) {
		free(k);
		return rc;
	}
	if (trace_dat_latency(k->file) && !recordings_options(all)->takes_text) {
		diag_error(d, NO_SPAN, "%s: what a latency tracer left is text: it has no events",
			   path);
		diag_hint(d, "`pantrace report %s` prints it", path);
		rc = -ENOTSUP;
	}
	k->kinds = xzalloc(EVENT_IDS * sizeof(*k->kinds));
	k->line = (struct strbuf)STRBUF_INIT;
	k->host = host_of(trace_dat_uname(k->file));
	trace_dat_text(k->file, &k->text);
	k->text.context.raw_strings = recordings_options(all)->print.format == CTF_FORMAT_JSON;
	for (size_t i = 0; i < trace_dat_buffers(k->file) && !rc; i++)
		rc = add_source(all, k, i, path, d);
	*ret = rc ? NULL : &k->recording;
	if (rc)
		dat_close(&k->recording);
	return rc;
}

const struct recording_reader dat_reader = {
	.name = "trace.dat",
	.style = "trace-cmd",
	.is_kernel = true,
	.recognise = trace_dat_is,
	.open = dat_open,
	.next = dat_next,
	.narrow = dat_narrow,
	.value = dat_value,
	.place = dat_place,
	.fields = dat_fields,
	.values = dat_values,
	.print = dat_print,
	.loss = dat_loss,
	.each_event = dat_each_event,
	.each_field = dat_each_field,
	.names = dat_names,
	.close = dat_close,
	.stack = dat_stack,
	.function = dat_function,
	.unplaced = dat_unplaced,
	.format = dat_format,
	.raw = dat_raw,
	.contents = dat_contents,
	.marks_losses = true,
	.rename_host = dat_rename_host,
	.text = dat_text,
};
