/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data, for perf. Samples keep their event, address, call chain and period; tracepoints
 * their record, and events that no kernel laid out get one of their fields. What was mapped where a
 * call chain leads, and what a thread was called, stands before the first sample that needs it.
 * Times of one recording stay as its clock showed them. Of several they are of CLOCK_MONOTONIC, if
 * those of the first one are, else since 1970.
 */
#include <time.h>

#include "base/hashmap.h"
#include "trace/perf/formats.h"
#include "trace/writers/kernel_records.h"
#include "trace/writers/perf_told.h"

#define ROUND_BYTES (1u << 20) /* readers sort what comes between two rounds */
#define RECORD_MOST 65000 /* bytes of a record's body */
#define SIDE_EVENT  1 /* the id of the event that tells of tasks */

/* Parts of samples that are carried. */
#define KEPT                                                                     \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)

/* Numbers at the end of a sample, in the order of perf_event_open(2). */
static const struct {
	u64 type;
	const char *name;
} last_values[] = {{PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "weight"},
		   {PERF_SAMPLE_DATA_SRC, "data_src"},
		   {PERF_SAMPLE_TRANSACTION, "transaction"},
		   {PERF_SAMPLE_PHYS_ADDR, "phys_addr"},
		   {PERF_SAMPLE_CGROUP, "cgroup"}};

/* Parts that are not, and what a tracepoint has besides its record. */
static const struct {
	u64 type;
	bool of_tracepoint;
	const char *one, *several;
} not_kept[] = {
	{PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_INTR, false,
	 "sample's branches, or registers in the kernel",
	 "samples' branches, or registers in the kernel"},
	{PERF_SAMPLE_READ, false, "sample's values of counters", "samples' values of counters"},
	{PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE, false, "sample's sizes of pages",
	 "samples' sizes of pages"},
	{PERF_SAMPLE_AUX, false, "sample's piece of a hardware trace",
	 "samples' pieces of hardware traces"},
	{PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC |
		 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP,
	 true, "tracepoint's weight, data source, transaction, physical address or cgroup",
	 "tracepoints' weights, data sources, transactions, physical addresses or cgroups"},
};

/* An event of the file; its id is its index and SIDE_EVENT + 1. */
struct written_event {
	struct perf_event_attr attr;
	char *name;
};

struct perf_file {
	struct trace_writer writer;
	struct perf_writer *perf;
	struct dat_contents contents; /* of the first recording: its clock, its symbols */
	struct diag quiet;
	s32 clock; /* clockid_t; -1 = the kernel's own for perf */
	s64 origin_ns; /* of it */
	VECTOR(struct written_event) events;
	struct hashmap alike; /* attr, name -> index and 1 */
	struct hashmap kinds; /* {kind, format} -> the same */
	struct kernel_records records;
	bool has_records, has_own_records; /* of tracepoints; of ftrace's own events */
	struct perf_told told;
	struct recorded_stack stack; /* of the event */
	struct strbuf body;
	u64 round; /* the size of the file at the last one */
	u64 untold; /* lost before events that were left out: told before the next one */
};

static struct perf_file *file_of(struct trace_writer *w)
{
	return container_of(w, struct perf_file, writer);
}

/* ---- the file ---- */

/* That ftrace calls so; -1: the kernel's own, or none that perf knows. */
static s32 clock_named(const char *name)
{
	static const struct {
		const char *name;
		s32 id;
	} clocks[] = {{"mono", CLOCK_MONOTONIC},
		      {"mono_raw", CLOCK_MONOTONIC_RAW},
		      {"boot", CLOCK_BOOTTIME},
		      {"tai", CLOCK_TAI}};

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
		if (str_eq(clocks[i].name, name))
			return clocks[i].id;
	return -1;
}

static struct perf_clock_moment choose_clock(struct perf_file *p, const struct recording *r)
{
	const bool are_several = recordings_count(p->writer.options.all) > 1;

	p->clock = clock_named(p->contents.clock);
	p->origin_ns = r->origin_ns;
	if (r->is_unplaced)
		return (struct perf_clock_moment){0};
	if (p->clock < 0 || (are_several && p->clock != CLOCK_MONOTONIC)) {
		p->clock = CLOCK_REALTIME;
		p->origin_ns = 0;
	}
	return (struct perf_clock_moment){(u64)r->ns, (u64)(r->ns - p->origin_ns)};
}

static int open_perf(struct perf_file *p, const char *host, struct perf_clock_moment moment)
{
	const struct perf_writer_options o = {
		.clock = p->clock, .is_elsewhere = true, .host = host, .moment = moment};

	return perf_writer_open(&(struct recording_file){.fd = p->writer.fd}, NULL, 0, &o,
				&p->perf);
}

static int begin_file(struct perf_file *p, struct recording *r)
{
	const struct recorded_place place = recording_place(r);
	const int rc = r->reader->contents ? r->reader->contents(r, &p->contents, &p->quiet) : 0;

	return rc ?: open_perf(p, place.host, choose_clock(p, r));
}

static void perf_begin(struct trace_writer *w)
{
	struct perf_file *const p = file_of(w);

	dat_contents_init(&p->contents);
	p->contents.clock = "";
	p->clock = -1;
	p->quiet = (struct diag)DIAG_INIT;
	p->body = (struct strbuf)STRBUF_INIT;
	kernel_records_init(&p->records);
}

/* ---- events ---- */

/* Is it a sample of something that perf counts, not a tracepoint? */
static bool is_counted(struct recording *r)
{
	const struct perf_event_attr *const attr = r->reader->attr ? r->reader->attr(r) : NULL;

	return attr && attr->type != PERF_TYPE_TRACEPOINT;
}

/* As it was recorded, but for what is not carried. format: of a tracepoint. */
static struct perf_event_attr attr_of(const struct perf_file *p, struct recording *r,
				      const struct kernel_format *format)
{
	const bool has_stacks =
		r->reader->stack && r->reader->unplaced && !(r->reader->unplaced(r) & PLACE_STACK);
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_CPU | PERF_SAMPLE_RAW |
						      (has_stacks ? PERF_SAMPLE_CALLCHAIN : 0),
				       .sample_period = 1};
	u64 kept = KEPT;

	if (r->reader->attr)
		attr = *r->reader->attr(r);
	attr.size = sizeof(attr);
	if (format) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = format->id;
		attr.sample_type &= ~(u64)PERF_SAMPLE_ADDR;
	}
	for (size_t i = 0; i < ARRAY_SIZE(last_values) && !format; i++)
		kept |= last_values[i].type;
	if (attr.sample_type & PERF_SAMPLE_STACK_USER) { /* it was unwound */
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.exclude_callchain_user = 0;
	}
	attr.sample_type = (attr.sample_type & kept) | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
			   PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.read_format = attr.branch_sample_type = attr.sample_regs_user = 0;
	attr.sample_regs_intr = attr.sample_stack_user = attr.aux_watermark = 0;
	attr.sample_id_all = 1;
	attr.use_clockid = p->clock >= 0;
	attr.clockid = MAX(p->clock, 0);
	return attr;
}

/* An index. The same event of several recordings is one. */
static size_t event_like(struct perf_file *p, const struct perf_event_attr *attr, const char *name)
{
	struct strbuf key = STRBUF_INIT;
	void **at;

	strbuf_add(&key, attr, sizeof(*attr));
	strbuf_addstr(&key, name);
	at = hashmap_put(&p->alike, key.data, key.len, NULL);
	strbuf_release(&key);
	if (!*at) {
		vector_push(&p->events,
			    (struct written_event){.attr = *attr, .name = xstrdup(name)});
		*at = (void *)p->events.len;
	}
	return (uintptr_t)*at - 1;
}

static const struct written_event *event_of(struct perf_file *p, struct recording *r,
					    const struct kernel_format *format, u64 *ret_id)
{
	const void *const key[] = {r->kind, format};
	void **const at = hashmap_put(&p->kinds, key, sizeof(key), NULL);
	struct perf_event_attr attr;
	char *made;

	if (!*at) {
		attr = attr_of(p, r, format);
		made = format ? xasprintf("%s:%s", format->system, format->name)
			      : xstrdup(r->kind->name);
		*at = (void *)(event_like(p, &attr, made) + 1);
		free(made);
	}
	*ret_id = SIDE_EVENT + (uintptr_t)*at;
	return &p->events.items[(uintptr_t)*at - 1];
}

/* ---- tasks and mappings, when they are needed ---- */

static struct perf_side side_at(const struct perf_file *p, const struct recording *r)
{
	return (struct perf_side){p->perf, SIDE_EVENT, (u64)(r->ns - p->origin_ns)};
}

static void tell_mappings(struct perf_file *p, struct recording *r, s64 pid)
{
	const struct perf_side side = side_at(p, r);
	bool has_names = false;

	for (size_t i = 0; i < p->stack.len; i++) {
		const struct recorded_frame *const f = &p->stack.items[i];
		struct recorded_mapping m;

		if (r->reader->mapping && r->reader->mapping(r, f->address, f->is_kernel, &m))
			perf_tell_mapping(&p->told, &side, f->is_kernel, pid, &m);
		else
			has_names |= !r->reader->mapping && (f->symbol || f->object);
	}
	writer_gap(&p->writer, has_names, "call chain's names: its addresses are there",
		   "call chains' names: their addresses are there");
}

static void tell_lost(struct perf_file *p, const struct recording *r)
{
	const u64 lost[] = {SIDE_EVENT, r->lost};
	const struct perf_side side = side_at(p, r);
	struct strbuf body = STRBUF_INIT;

	if (r->lost == RECORDED_LOST_SOME) {
		writer_gap(&p->writer, 1, "place where events were lost, and nobody counted them",
			   "places where events were lost, and nobody counted them");
	} else if (r->lost) {
		strbuf_add(&body, lost, sizeof(lost));
		perf_side_record(&side, PERF_RECORD_LOST, 0, &body, 0, 0);
	}
}

/* ---- samples ---- */

static void add_u64(struct strbuf *to, u64 value)
{
	strbuf_add(to, &value, sizeof(value));
}

/* {u64 count, {context, addresses, innermost first}*} */
static void add_chain(struct strbuf *to, const struct recorded_stack *stack)
{
	const size_t count_at = to->len;
	u64 count = 0, context = 0;

	add_u64(to, count);
	for (size_t i = 0; i < stack->len; i++) {
		const struct recorded_frame *const f = &stack->items[i];
		const u64 of = f->is_kernel ? (u64)PERF_CONTEXT_KERNEL : (u64)PERF_CONTEXT_USER;

		if (f->is_inlined)
			continue;
		if (of != context) {
			add_u64(to, context = of);
			count++;
		}
		add_u64(to, f->address);
		count++;
	}
	memcpy(to->data + count_at, &count, sizeof(count));
}

/* u32 size, data, so that both are a multiple of 8 bytes */
static void add_raw(struct strbuf *to, const struct page_event *record)
{
	const u32 size = (u32)ALIGN_UP(record->size + 4, 8u) - 4;

	strbuf_add(to, &size, sizeof(size));
	strbuf_add(to, record->data, record->size);
	strbuf_addchars(to, 0, (int)(size - record->size));
}

static u64 number_of(struct recording *r, const char *name)
{
	s64 value;

	return recorded_number(r, name, &value) ? (u64)value : 0;
}

/* In the order of perf_event_open(2). record: of a tracepoint. */
static void add_sample(struct perf_file *p, struct recording *r, const struct recorded_place *place,
		       const struct perf_event_attr *attr, u64 id, const struct page_event *record)
{
	const u64 type = attr->sample_type, callers = p->stack.len ? p->stack.items[0].address : 0;
	const u64 ip = record ? callers : number_of(r, "ip") ?: callers;
	const u16 misc = ip && (s64)ip >= 0 ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	struct strbuf *const to = &p->body;

	strbuf_reset(to);
	add_u64(to, id);
	add_u64(to, ip);
	add_u64(to, (u32)place->pid | (u64)place->tid << 32);
	add_u64(to, (u64)(r->ns - p->origin_ns));
	if (type & PERF_SAMPLE_ADDR)
		add_u64(to, number_of(r, "addr"));
	if (type & PERF_SAMPLE_CPU)
		add_u64(to, (u32)place->cpu);
	if (type & PERF_SAMPLE_PERIOD)
		add_u64(to, place->period ?: 1);
	if (type & PERF_SAMPLE_CALLCHAIN)
		add_chain(to, &p->stack);
	if (type & PERF_SAMPLE_RAW)
		add_raw(to, record ?: &(struct page_event){.data = (const u8 *)""});
	for (size_t i = 0; i < ARRAY_SIZE(last_values); i++)
		if (type & last_values[i].type)
			add_u64(to, number_of(r, last_values[i].name));
	if (to->len > RECORD_MOST)
		writer_gap(&p->writer, 1, "event that is longer than a record can be",
			   "events that are longer than a record can be");
	else
		perf_writer_record(p->perf, PERF_RECORD_SAMPLE, misc, to->data, to->len);
}

/* Whom it is said to be of; the process is its thread where nobody knows it. */
static struct recorded_place place_of(struct perf_file *p, struct recording *r)
{
	struct recorded_place place = recording_place(r);

	if (place.pid < 0 && place.tid >= 0) {
		writer_gap(&p->writer, 1, "event's process: its thread stands for it",
			   "events' processes: their threads stand for them");
		place.pid = place.tid;
	}
	return place;
}

static void count_rest(struct perf_file *p, struct recording *r, bool is_tracepoint)
{
	const struct perf_event_attr *const attr = r->reader->attr ? r->reader->attr(r) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(not_kept) && attr; i++)
		if (attr->sample_type & not_kept[i].type &&
		    (is_tracepoint || !not_kept[i].of_tracepoint))
			writer_gap(&p->writer, 1, not_kept[i].one, not_kept[i].several);
}

static void perf_event(struct trace_writer *w, struct recording *r)
{
	struct perf_file *const p = file_of(w);
	const struct recorded_place place = place_of(p, r);
	const struct kernel_format *format = NULL;
	const struct written_event *event;
	struct page_event record;
	struct perf_side side;
	u64 id;

	recording_lost(r, p->untold);
	p->untold = r->lost;
	if (!w->error && writer_same_machine(w, r, place.host) && !p->perf)
		w->error = begin_file(p, r);
	if (w->error)
		return;
	if (r->ns < p->origin_ns) {
		writer_gap(w, 1, "event that was before the clock began",
			   "events that were before the clock began");
		return;
	}
	if (!is_counted(r)) {
		format = kernel_record(&p->records, w, r, place.tid, &record);
		if (!format)
			return;
		p->has_records = true;
		p->has_own_records |= str_eq(format->system, KERNEL_OWN_EVENTS);
	}
	event = event_of(p, r, format, &id);
	recording_stack(r, &p->stack);
	tell_lost(p, r);
	p->untold = 0;
	side = side_at(p, r);
	perf_tell_task(&p->told, &side, &place);
	tell_mappings(p, r, place.pid);
	count_rest(p, r, format != NULL);
	add_sample(p, r, &place, &event->attr, id, format ? &record : NULL);
	if (perf_writer_size(p->perf) - p->round > ROUND_BYTES) {
		perf_writer_round(p->perf);
		p->round = perf_writer_size(p->perf);
	}
	w->error = perf_writer_error(p->perf);
}

/* ---- the end ---- */

/* Behind the formats: names of functions and texts, which these events refer to; no tasks. */
static void add_names(const struct perf_file *p, struct strbuf *to)
{
	static const enum dat_part parts[] = {DAT_SYMBOLS, DAT_STRINGS};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct strbuf *const part = &p->contents.parts[parts[i]];

		if (part->len)
			strbuf_add(to, part->data, part->len);
		else
			strbuf_add(to, &(u32){0}, sizeof(u32));
	}
	add_u64(to, 0);
}

/* Formats of the tracepoints, as perf has them. */
static void write_formats(struct perf_file *p)
{
	struct strbuf text = STRBUF_INIT;
	struct dat_contents parts;

	dat_contents_init(&parts);
	kernel_records_put(&p->records, 4096, &parts);
	perf_formats_begin(&text);
	for (u32 i = DAT_HEADERS; i <= DAT_EVENT_FORMATS; i++)
		strbuf_add(&text, parts.parts[i].data, parts.parts[i].len);
	if (p->has_own_records)
		add_names(p, &text);
	else
		perf_formats_end(&text);
	perf_writer_feature(p->perf, PERF_FEATURE_TRACING_DATA, text.data, text.len);
	dat_contents_release(&parts);
	strbuf_release(&text);
}

/* The last one tells of tasks, and has no samples. */
static void write_events(struct perf_file *p)
{
	const struct perf_event_attr side = {.size = sizeof(side),
					     .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_DUMMY,
					     .sample_type = PERF_SIDE_TYPE | PERF_SAMPLE_IP,
					     .sample_period = 1,
					     .exclude_kernel = 1,
					     .comm = 1,
					     .mmap = 1,
					     .mmap2 = 1,
					     .sample_id_all = 1,
					     .use_clockid = p->clock >= 0,
					     .clockid = MAX(p->clock, 0)};
	const u64 side_id = SIDE_EVENT;
	u64 *const ids = xreallocarray(NULL, p->events.len + 1, sizeof(*ids));
	VECTOR(struct perf_written_event) all = {0};

	for (size_t i = 0; i < p->events.len; i++) {
		ids[i] = SIDE_EVENT + 1 + i;
		vector_push(&all, (struct perf_written_event){p->events.items[i].attr,
							      p->events.items[i].name, &ids[i], 1});
	}
	vector_push(&all, (struct perf_written_event){side, "dummy:u", &side_id, 1});
	perf_writer_events(p->perf, all.items, all.len);
	vector_free(&all);
	free(ids);
}

static void perf_end(struct trace_writer *w)
{
	struct perf_file *const p = file_of(w);
	const struct strbuf *const symbols = &p->contents.parts[DAT_SYMBOLS];

	if (!p->perf) /* without events */
		w->error = open_perf(p, NULL, (struct perf_clock_moment){0});
	if (w->error)
		return;
	write_events(p);
	if (p->has_records)
		write_formats(p);
	/* u32 size, text, NUL */
	if (p->told.has_kernel && symbols->len > sizeof(u32) + 1)
		perf_write_symbols(p->perf, symbols->data + sizeof(u32),
				   symbols->len - sizeof(u32) - 1);
	w->error = perf_writer_close(p->perf);
	p->perf = NULL;
}

static void perf_release(struct trace_writer *w)
{
	struct perf_file *const p = file_of(w);

	perf_writer_close(p->perf);
	for (size_t i = 0; i < p->events.len; i++)
		free(p->events.items[i].name);
	vector_free(&p->events);
	perf_told_release(&p->told);
	hashmap_release(&p->kinds);
	hashmap_release(&p->alike);
	kernel_records_release(&p->records);
	dat_contents_release(&p->contents);
	diag_release(&p->quiet);
	vector_free(&p->stack);
	strbuf_release(&p->body);
}

const struct trace_format perf_data_format = {
	.name = "perf.data",
	.suffixes = {".data"},
	.is_binary = true,
	.is_seekable = true,
	.no_symbols = true,
	.size = sizeof(struct perf_file),
	.begin = perf_begin,
	.event = perf_event,
	.end = perf_end,
	.release = perf_release,
};
