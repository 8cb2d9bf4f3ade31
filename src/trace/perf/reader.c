/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a perf.data, as perf script prints them, or on the time line. Where they lie on
 * that the file says (perf record -k: CLOCK_DATA), or another recording of the same clock.
 */
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "trace/dat/writer.h"
#include "trace/ftrace/event_field.h"
#include "trace/ftrace/event_json.h"
#include "trace/perf/machine.h"
#include "trace/perf/script_text.h"
#include "trace/recording.h"

struct perf_recording {
	struct recording recording;
	struct perf_data *data;
	struct perf_machine *machine;
	struct trace_text text; /* for tracepoints */
	struct perf_script script; /* the event, and how it is printed */
	struct recorded_kind **kinds; /* by index; made when it is met */
	size_t nr_kinds;
	s64 origin_ns; /* of its clock, on the time line */
	const char *host; /* NULL = unknown */
	/* perf counts samples that a ring lost twice: when it reads on, and at the end, by event */
	u64 lost, lost_samples, throttled, damaged;
	bool counts_by_event; /* PERF_FORMAT_LOST */
	struct strbuf line;
};

static struct perf_recording *perf_of(const struct recording *r)
{
	return container_of(r, struct perf_recording, recording);
}

/* ---- events ---- */

static struct recorded_kind *kind_of(struct perf_recording *p, u32 index)
{
	const char *colon, *name;

	if (index >= p->nr_kinds) { /* of a pipe they come one by one */
		const size_t n = perf_data_kinds(p->data);

		p->kinds = xreallocarray(p->kinds, n, sizeof(*p->kinds));
		memset(p->kinds + p->nr_kinds, 0, (n - p->nr_kinds) * sizeof(*p->kinds));
		p->nr_kinds = n;
		perf_script_begin(&p->script, p->data);
		if (perf_data_formats(p->data))
			trace_dat_text(perf_data_formats(p->data), &p->text);
		p->text.context.raw_strings =
			recordings_options(p->recording.all)->print.format == CTF_FORMAT_JSON;
	}
	if (!p->kinds[index]) {
		name = perf_data_kind(p->data, index)->name;
		colon = strchr(name, ':');
		p->kinds[index] =
			recorded_kind_new(p->recording.all, name, colon ? colon + 1 : NULL);
		p->kinds[index]->is_sample =
			perf_data_kind(p->data, index)->attr.type != PERF_TYPE_TRACEPOINT;
	}
	return p->kinds[index];
}

/* u64 id, u64 lost; or u64 lost alone. */
static void count_lost(struct perf_recording *p, const struct perf_record *r)
{
	struct cursor c = r->body;

	if (r->type == PERF_RECORD_LOST) {
		u64 n;

		cursor_u64(&c);
		n = cursor_u64(&c);
		p->lost += n;
		recording_lost(&p->recording, n);
	} else if (r->type == PERF_RECORD_LOST_SAMPLES) {
		p->lost_samples += cursor_u64(&c);
	} else if (r->type == PERF_RECORD_THROTTLE) {
		p->throttled++;
	}
}

static bool perf_next(struct recording *r, struct diag *d)
{
	struct perf_recording *const p = perf_of(r);
	struct perf_script *const s = &p->script;
	struct perf_record record;

	while (perf_data_next(p->data, &record)) {
		if (record.type != PERF_RECORD_SAMPLE) {
			p->counts_by_event |=
				perf_data_kind(p->data, record.kind)->attr.read_format &
				(1u << 4); /* PERF_FORMAT_LOST, Linux 6.0 */
			count_lost(p, &record);
			perf_machine_tell(p->machine, &record);
			continue;
		}
		r->kind = kind_of(p, record.kind);
		s->kind = record.kind;
		s->attr = &perf_data_kind(p->data, record.kind)->attr;
		if (!perf_sample_parse(s->attr, record.body, &s->sample)) {
			p->damaged++;
			continue;
		}
		s->misc = record.misc;
		s->info = NULL;
		if (s->attr->type == PERF_TYPE_TRACEPOINT && p->text.events &&
		    s->attr->config <= UINT16_MAX)
			s->info = event_table_get(p->text.events, (u32)s->attr->config);
		r->ns = (s64)((u64)p->origin_ns + s->sample.time);
		r->origin_ns = p->origin_ns;
		return true;
	}
	return false;
}

/* What ftrace calls it; "" = it has none such. */
static const char *clock_name(int clock)
{
	return clock == CLOCK_MONOTONIC	      ? "mono"
	       : clock == CLOCK_MONOTONIC_RAW ? "mono_raw"
	       : clock == CLOCK_BOOTTIME      ? "boot"
	       : clock == CLOCK_TAI	      ? "tai"
	       : clock < 0		      ? "perf"
					      : "";
}

static const struct {
	const char *name;
	size_t at;
	u64 needs; /* of sample_type */
} sample_fields[] = {
	{"ip", offsetof(struct perf_sample, ip), PERF_SAMPLE_IP},
	{"addr", offsetof(struct perf_sample, addr), PERF_SAMPLE_ADDR},
	{"period", offsetof(struct perf_sample, period), 0},
	{"weight", offsetof(struct perf_sample, weight),
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT},
	{"data_src", offsetof(struct perf_sample, data_src), PERF_SAMPLE_DATA_SRC},
	{"transaction", offsetof(struct perf_sample, transaction), PERF_SAMPLE_TRANSACTION},
	{"phys_addr", offsetof(struct perf_sample, phys_addr), PERF_SAMPLE_PHYS_ADDR},
	{"cgroup", offsetof(struct perf_sample, cgroup), PERF_SAMPLE_CGROUP},
};

static bool sample_field(const struct perf_script *s, size_t i, u64 *ret)
{
	memcpy(ret, (const u8 *)&s->sample + sample_fields[i].at, sizeof(*ret));
	return !sample_fields[i].needs || s->attr->sample_type & sample_fields[i].needs;
}

static struct field_value number(u64 v, bool is_there)
{
	return (struct field_value){.kind = is_there ? FIELD_INTEGER : FIELD_NONE, .integer = v};
}

static struct field_value perf_value(struct recording *r, const char *name, bool only_field)
{
	struct perf_recording *const p = perf_of(r);
	const struct perf_script *const s = &p->script;
	const struct page_event raw = {.data = s->sample.raw, .size = s->sample.raw_size};
	struct field_value v = {0};
	u64 n;

	if (s->info && s->sample.raw)
		v = event_field(s->info, &raw, name);
	for (size_t i = 0; !v.kind && i < ARRAY_SIZE(sample_fields); i++)
		if (str_eq(sample_fields[i].name, name))
			v = number(n, sample_field(s, i, &n));
	if (v.kind || only_field)
		return v;
	if (str_eq(name, "cpu"))
		return number(s->sample.cpu, s->attr->sample_type & PERF_SAMPLE_CPU);
	if (str_eq(name, "tid"))
		return number(s->sample.tid, s->attr->sample_type & PERF_SAMPLE_TID);
	if (str_eq(name, "pid"))
		return number(s->sample.pid, s->attr->sample_type & PERF_SAMPLE_TID);
	if (str_eq(name, "comm") && s->attr->sample_type & PERF_SAMPLE_TID) {
		v.kind = FIELD_TEXT;
		v.text = perf_machine_comm(p->machine, s->sample.tid);
		v.size = strlen(v.text);
	}
	return v;
}

static u32 perf_unplaced(struct recording *r)
{
	struct perf_data *const data = perf_of(r)->data;
	bool has_user_stacks = false, has_locals = false;
	u64 has = 0;

	for (size_t i = 0; i < perf_data_kinds(data); i++) {
		const struct perf_event_attr *const attr = &perf_data_kind(data, i)->attr;

		has |= attr->sample_type;
		has_user_stacks |= attr->sample_type & PERF_SAMPLE_CALLCHAIN &&
				   (!attr->exclude_callchain_user ||
				    attr->sample_type & PERF_SAMPLE_STACK_USER);
		has_locals |= attr->sample_type & PERF_SAMPLE_STACK_USER &&
			      attr->sample_type & PERF_SAMPLE_REGS_USER;
	}
	return (has & PERF_SAMPLE_CPU ? 0 : PLACE_CPU) |
	       (has & PERF_SAMPLE_CALLCHAIN ? 0 : PLACE_STACK) |
	       (has_user_stacks ? 0 : PLACE_USER_STACK) | (has_locals ? 0 : PLACE_LOCALS) |
	       (has & PERF_SAMPLE_TID ? 0 : PLACE_PID | PLACE_TID | PLACE_COMM);
}

/* Of a file they are known from the beginning, of a pipe when the first event is read. */
static const char *perf_format(struct recording *r, const char *system, const char *name)
{
	struct perf_recording *const p = perf_of(r);
	struct trace_text text;

	if (!perf_data_formats(p->data))
		return NULL;
	trace_dat_text(perf_data_formats(p->data), &text);
	return event_table_text(text.events, system, name);
}

static const u8 *perf_raw(struct recording *r, u32 *ret_size)
{
	const struct perf_sample *const s = &perf_of(r)->script.sample;

	*ret_size = s->raw ? (u32)s->raw_size : 0;
	return s->raw;
}

static int perf_contents(struct recording *r, struct dat_contents *ret, struct diag *d)
{
	const struct perf_recording *const p = perf_of(r);
	size_t size;
	char *const symbols = perf_data_kernel_symbols(p->data, &size);

	(void)d;
	ret->clock = clock_name(perf_data_clock(p->data));
	if (symbols)
		dat_contents_symbols(ret, symbols, size);
	free(symbols);
	return 0;
}

static bool perf_stack(struct recording *r, struct recorded_stack *ret)
{
	struct perf_recording *const p = perf_of(r);

	return perf_script_stack(&p->script, p->machine, ret);
}

static bool perf_mapping(struct recording *r, u64 address, bool is_kernel,
			 struct recorded_mapping *ret)
{
	struct perf_recording *const p = perf_of(r);

	return perf_machine_mapped(p->machine, p->script.sample.pid,
				   is_kernel ? PERF_MODE_KERNEL : PERF_MODE_USER, address, ret);
}

static const struct perf_event_attr *perf_attr(struct recording *r)
{
	return perf_of(r)->script.attr;
}

static void perf_place(struct recording *r, struct recorded_place *ret)
{
	struct perf_recording *const p = perf_of(r);
	const struct perf_script *const s = &p->script;

	ret->host = p->host;
	if (s->attr->type != PERF_TYPE_TRACEPOINT || s->sample.period > 1)
		ret->period = s->sample.period;
	if (s->attr->sample_type & PERF_SAMPLE_CPU)
		ret->cpu = s->sample.cpu;
	if (!(s->attr->sample_type & PERF_SAMPLE_TID))
		return;
	ret->pid = (s32)s->sample.pid;
	ret->tid = (s32)s->sample.tid;
	ret->comm = perf_machine_comm(p->machine, s->sample.tid);
	ret->comm_size = strlen(ret->comm);
}

/* ---- lines ---- */

static void perf_fields(struct recording *r, struct json *j)
{
	struct perf_recording *const p = perf_of(r);
	const struct perf_script *const s = &p->script;
	const struct page_event raw = {.data = s->sample.raw, .size = s->sample.raw_size};
	const struct event_json_names names = {.kernel = p->text.context.symbols};
	u64 n;

	if (s->info && s->sample.raw) {
		event_json_fields(j, s->info, &raw, &names);
	} else {
		json_object(j);
		for (size_t i = 0; i < ARRAY_SIZE(sample_fields); i++)
			if (sample_field(s, i, &n))
				json_member_u64(j, sample_fields[i].name, n);
		json_end(j, '}');
	}
}

static void perf_values(struct recording *r, field_value_fn *fn, void *arg)
{
	const struct perf_script *const s = &perf_of(r)->script;
	const struct page_event raw = {.data = s->sample.raw, .size = s->sample.raw_size};
	struct field_value v = {.kind = FIELD_INTEGER, .bits = 64};

	if (s->info && s->sample.raw) {
		event_values(s->info, &raw, fn, arg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sample_fields); i++) {
		const char *const name = sample_fields[i].name;

		v.is_hex = str_eq(name, "ip") || str_ends(name, "addr");
		if (sample_field(s, i, &v.integer))
			fn(arg, name, strlen(name), &v);
	}
}

static void perf_tasks(struct recording *r, recorded_task_fn *fn, void *arg)
{
	perf_machine_tasks(perf_of(r)->machine, fn, arg);
}

static void add_sample_fields(void *arg, struct json *j)
{
	struct perf_recording *const p = arg;

	json_key(j, "fields");
	perf_fields(&p->recording, j);
	perf_script_frames_json(&p->script, p->machine, j);
}

static int print_on_time_line(struct perf_recording *p, struct ctf_printer *printer)
{
	const struct perf_script *const s = &p->script;
	struct ctf_ready_event ready = {
		.ns = p->recording.ns,
		.host = p->host,
		.name = p->recording.kind->name,
		.cpu = s->attr->sample_type & PERF_SAMPLE_CPU ? s->sample.cpu : UINT32_MAX,
		.pid = (s32)s->sample.tid,
		.task = perf_machine_comm(p->machine, s->sample.tid),
		.fields = add_sample_fields,
		.arg = p,
	};

	strbuf_reset(&p->line);
	perf_script_body(&p->script, p->machine, &p->text.context, &p->line);
	if (p->script.values.print &&
	    recordings_options(p->recording.all)->print.format == CTF_FORMAT_TEXT)
		perf_script_stack_text(&p->script, p->machine, &p->line);
	ready.text = p->line.data;
	ready.size = p->line.len;
	return ctf_print_ready(printer, &ready);
}

static void perf_rename_host(struct recording *r, const char *name)
{
	perf_of(r)->host = name;
}

static int perf_print(struct recording *r, struct ctf_printer *printer)
{
	struct perf_recording *const p = perf_of(r);

	if (!recordings_options(r->all)->style)
		return print_on_time_line(p, printer);
	perf_script_line(&p->script, p->machine, r->kind->name, &p->text.context,
			 ctf_print_out(printer));
	return ctf_print_added(printer);
}

/* ---- the file ---- */

static void perf_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	const struct perf_recording *const p = perf_of(r);
	const u64 mappings = perf_machine_left_out(p->machine), late = perf_data_late(p->data);

	ret->events +=
		p->counts_by_event ? MAX(p->lost, p->lost_samples) : p->lost + p->lost_samples;
	if (p->throttled)
		diag_warning(d, NO_SPAN,
			     "%s: the kernel held samples back %" PRIu64
			     " times, as they came faster than "
			     "kernel.perf_event_max_sample_rate allows",
			     r->path, p->throttled);
	if (p->damaged)
		diag_error(d, NO_SPAN, "%s: %" PRIu64 " sample%s %s not fit into their records",
			   r->path, p->damaged, plural(p->damaged),
			   p->damaged == 1 ? "does" : "do");
	if (mappings)
		diag_error(d, NO_SPAN, "%s: %" PRIu64 " mapping%s %s left out: there are too many",
			   r->path, mappings, plural(mappings), was_were(mappings));
	if (late)
		diag_warning(d, NO_SPAN,
			     "%s: %" PRIu64 " record%s %s out of order: recorded after later ones",
			     r->path, late, plural(late), is_are(late));
	perf_data_left_out(p->data, d);
}

static int each_kind(struct perf_data *data, recorded_name_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < perf_data_kinds(data) && !rc; i++) {
		const char *name = perf_data_kind(data, i)->name;
		const char *colon = name ? strchr(name, ':') : NULL;

		if (name)
			rc = fn(arg, name, colon ? colon + 1 : NULL);
	}
	return rc;
}

static int perf_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	return each_kind(perf_of(r)->data, fn, arg);
}

static int perf_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct perf_recording *const p = perf_of(r);
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sample_fields) && !rc; i++)
		rc = fn(arg, sample_fields[i].name, NULL);
	for (size_t k = 0; k < perf_data_kinds(p->data) && p->text.events && !rc; k++) {
		const struct perf_event_attr *const attr = &perf_data_kind(p->data, k)->attr;
		const struct event_info *info =
			attr->type == PERF_TYPE_TRACEPOINT && attr->config <= UINT16_MAX
				? event_table_get(p->text.events, (u32)attr->config)
				: NULL;

		for (u32 i = 0; info && i < info->record->count && !rc; i++)
			if (info->record->members[i].name)
				rc = fn(arg, info->record->members[i].name, NULL);
	}
	return rc;
}

static void perf_names(const char *path, recorded_name_fn *fn, void *arg)
{
	struct diag quiet = DIAG_INIT;
	struct perf_data *data;

	if (!perf_data_open(path, &quiet, &data)) {
		each_kind(data, fn, arg);
		perf_data_close(data);
	}
	diag_release(&quiet);
}

static void perf_close(struct recording *r)
{
	struct perf_recording *const p = perf_of(r);

	perf_machine_release(p->machine);
	perf_data_close(p->data);
	strbuf_release(&p->line);
	perf_script_release(&p->script);
	free(p->kinds);
	free(p);
}

static int locate(struct recordings *all, struct perf_recording *p, const char *path,
		  struct diag *d)
{
	const int clock = perf_data_clock(p->data);
	const char *const host = p->host;
	struct recorded_clock other;
	u64 clock_ns, day_ns;

	if (clock == CLOCK_REALTIME)
		return 0;
	if (perf_data_clock_at(p->data, &clock_ns, &day_ns)) {
		p->origin_ns = (s64)(day_ns - clock_ns);
		return 0;
	}
	if (clock >= 0 && host && recordings_clock(all, host, clock_name(clock), &other)) {
		p->origin_ns = other.origin_ns;
		return 0;
	}
	if (recordings_options(all)->recorded_times) {
		p->recording.is_unplaced = true;
		return 0;
	}
	diag_error(d, NO_SPAN, "%s: its times are of %s, and nothing says when that was", path,
		   clock < 0 ? "the kernel's clock for perf" : "a clock");
	diag_hint(d, "perf record -k mono says it; without a time line's options (--json, --begin, "
		     "--end, other recordings) its events are printed as perf script does");
	return -ENODATA;
}

static int perf_open(struct recordings *all, const char *path, struct diag *d,
		     struct recording **ret)
{
	const struct recordings_options *const o = recordings_options(all);
	const struct perf_machine_options machine = {.places = o->files.items,
						     .nr_places = o->files.count,
						     .no_symbols = o->no_symbols,
						     .types = o->locals.print ? o->locals.types
									      : NULL};
	struct perf_recording *p = xzalloc(sizeof(*p));
	int rc;

	p->line = (struct strbuf)STRBUF_INIT;
	rc = perf_data_open(path, d, &p->data);
	p->host = rc ? NULL : perf_data_host(p->data);
	if (!rc && !o->style)
		rc = locate(all, p, path, d);
	if (rc) {
		perf_close(&p->recording);
		return rc;
	}
	if (o->tool_order)
		perf_data_as_perf(p->data);
	p->machine = perf_machine_new(p->data, &machine);
	p->script.text = (struct strbuf)STRBUF_INIT;
	p->script.values = o->locals;
	*ret = &p->recording;
	return 0;
}

const struct recording_reader perf_reader = {
	.name = "perf.data",
	.style = "perf",
	.is_kernel = true,
	.recognise = perf_data_is,
	.open = perf_open,
	.next = perf_next,
	.value = perf_value,
	.place = perf_place,
	.fields = perf_fields,
	.values = perf_values,
	.print = perf_print,
	.loss = perf_loss,
	.each_event = perf_each_event,
	.each_field = perf_each_field,
	.names = perf_names,
	.close = perf_close,
	.stack = perf_stack,
	.tasks = perf_tasks,
	.unplaced = perf_unplaced,
	.format = perf_format,
	.raw = perf_raw,
	.contents = perf_contents,
	.mapping = perf_mapping,
	.attr = perf_attr,
	.rename_host = perf_rename_host,
};
