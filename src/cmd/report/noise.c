/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --hwlat, --osnoise, --timerlat: what these tracers of the kernel measured on each CPU, as rtla
 * shows it. A tracer is a row: its event, what is measured, and the cells of its table.
 *
 * Fields and their units: kernel/trace/trace_entries.h, Documentation/trace/{hwlat_detector,
 * osnoise-tracer,timerlat-tracer}.rst; hwlat and osnoise count microseconds, timerlat nanoseconds.
 */
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "cmd/report/distribution.h"

enum { SAMPLE = ANALYSIS_ROLES, SINGLE };

#define CELLS	 13
#define CONTEXTS 3

enum cell_of {
	CELL_SUM, /* of the field, in units of `unit` ns */
	CELL_MAX, /* likewise */
	CELL_REST, /* what the first sum leaves of the second, in hundredths of percent */
	/* of all that was measured */
	CELL_COUNT,
	CELL_MIN,
	CELL_AVERAGE,
	CELL_P99,
	CELL_LONGEST,
	CELL_LONGEST_AT,
};

struct cell {
	struct table_column column;
	enum cell_of of;
	const char *field;
	u32 unit;
};

struct tracer {
	const char *name;
	const char *measured[2]; /* the value is the greater of these fields */
	u32 unit; /* of these, in ns */
	const char *what; /* above a histogram */
	const char *context; /* field: of which kind the sample is; NULL = there is one kind */
	const char *const *contexts; /* their names */
	struct cell cells[CELLS];
};

/* What was measured in one place. */
struct measured {
	u64 host, cpu, context;
	const char *names[2]; /* "3"; "thread" */
	u64 values[CELLS];
	bool has_samples;
	struct distribution all;
};

struct noise {
	const struct tracer *tracer;
	struct arena arena;
	struct hashmap places; /* {host, cpu, context} -> struct measured */
	VECTOR(struct measured *) order;
	u64 host; /* the first one */
	bool has_singles; /* each noise was recorded, so the longest of a period is not needed */
	u64 strange; /* samples without what is measured */
};

/* clang-format off */
#define DISTRIBUTION_CELLS                                                                         \
	{{"min_ns", "MIN(us)", TABLE_US, false}, CELL_MIN},                                        \
	{{"average_ns", "AVERAGE(us)", TABLE_US, false}, CELL_AVERAGE},                            \
	{{"p99_ns", "P99(us)", TABLE_US, false}, CELL_P99},                                        \
	{{"max_ns", "MAX(us)", TABLE_US, false}, CELL_LONGEST},                                    \
	{{"max_time_ns", "MAX AT", TABLE_TIME, false}, CELL_LONGEST_AT}

static const struct tracer hwlat = {
	.name = "hwlat", .measured = {"duration", "outer_duration"}, .unit = 1000,
	.what = "longest gap of each sample",
	.cells = {
		{{"samples", "SAMPLES", TABLE_COUNT, true}, CELL_COUNT},
		{{"gaps", "GAPS", TABLE_COUNT, true}, CELL_SUM, "count", 1},
		{{"max_inner_ns", "INNER(us)", TABLE_US, false}, CELL_MAX, "duration", 1000},
		{{"max_outer_ns", "OUTER(us)", TABLE_US, false}, CELL_MAX, "outer_duration", 1000},
		{{"nmis", "NMIS", TABLE_COUNT, true}, CELL_SUM, "nmi_count", 1},
		{{"nmi_ns", "IN NMIS(us)", TABLE_US, true}, CELL_SUM, "nmi_total_ts", 1},
		DISTRIBUTION_CELLS,
	},
};

static const struct tracer osnoise = {
	.name = "osnoise", .measured = {"max_sample"}, .unit = 1000,
	.what = "longest noise of each period",
	.cells = {
		{{"noise_ns", "NOISE(us)", TABLE_US, true}, CELL_SUM, "noise", 1000},
		{{"runtime_ns", "RUNTIME(us)", TABLE_US, true}, CELL_SUM, "runtime", 1000},
		{{"available", "AVAILABLE", TABLE_PERCENT, false}, CELL_REST},
		{{"periods", "PERIODS", TABLE_COUNT, true}, CELL_SUM, NULL, 1},
		{{"max_noise_ns", "MAX NOISE(us)", TABLE_US, false}, CELL_MAX, "noise", 1000},
		{{"max_single_ns", "SINGLE(us)", TABLE_US, false}, CELL_MAX, "max_sample", 1000},
		{{"hardware", "HW", TABLE_COUNT, true}, CELL_SUM, "hw_count", 1},
		{{"nmis", "NMI", TABLE_COUNT, true}, CELL_SUM, "nmi_count", 1},
		{{"irqs", "IRQ", TABLE_COUNT, true}, CELL_SUM, "irq_count", 1},
		{{"softirqs", "SOFTIRQ", TABLE_COUNT, true}, CELL_SUM, "softirq_count", 1},
		{{"threads", "THREAD", TABLE_COUNT, true}, CELL_SUM, "thread_count", 1},
	},
};

static const char *const contexts[CONTEXTS] = {"irq", "thread", "user"};

static const struct tracer timerlat = {
	.name = "timerlat", .measured = {"timer_latency"}, .unit = 1,
	.what = "latency", .context = "context", .contexts = contexts,
	.cells = {
		{{"samples", "SAMPLES", TABLE_COUNT, true}, CELL_COUNT},
		DISTRIBUTION_CELLS,
	},
};
/* clang-format on */

static void *new_noise(const struct tracer *tracer)
{
	struct noise *n = xzalloc(sizeof(*n));

	n->tracer = tracer;
	return n;
}

static void noise_release(void *state)
{
	struct noise *const n = state;

	for (size_t i = 0; i < n->order.len; i++)
		distribution_release(&n->order.items[i]->all);
	vector_free(&n->order);
	hashmap_release(&n->places);
	arena_release(&n->arena);
	free(n);
}

/* ---- events ---- */

/* -1 = the event has no such field, or what no clock gave. */
static s64 duration_of(struct recording *r, const char *field, u32 unit)
{
	s64 v;

	return field && recorded_number(r, field, &v) && v >= 0 && v <= INT64_MAX / unit ? v * unit
											 : -1;
}

static const char *cpu_name(struct noise *n, struct recording *r, u64 cpu, bool is_first_host)
{
	const char *const host = recording_place(r).host;

	return is_first_host || !host ? arena_printf(&n->arena, "%" PRIu64, cpu)
				      : arena_printf(&n->arena, "%s %" PRIu64, host, cpu);
}

static const char *context_name(struct noise *n, u64 context)
{
	if (!n->tracer->contexts)
		return NULL;
	return context < CONTEXTS ? n->tracer->contexts[context]
				  : arena_printf(&n->arena, "%" PRIu64, context);
}

static struct measured *place_of(struct noise *n, struct recording *r)
{
	s64 context = 0;
	u64 key[] = {analysis_host(r), analysis_cpu(r), 0};
	struct measured *m;
	void **at;

	if (n->tracer->context)
		recorded_number(r, n->tracer->context, &context);
	key[2] = (u64)context;
	at = hashmap_put(&n->places, key, sizeof(key), NULL);
	if (*at)
		return *at;
	n->host = n->order.len ? n->host : key[0];
	m = *at = arena_new(&n->arena, struct measured);
	*m = (struct measured){.host = key[0], .cpu = key[1], .context = key[2]};
	m->names[0] = cpu_name(n, r, m->cpu, m->host == n->host);
	m->names[1] = context_name(n, m->context);
	vector_push(&n->order, m);
	return m;
}

/* Each noise of osnoise that its threshold lets pass. */
static void single(struct noise *n, struct recording *r)
{
	const s64 took = duration_of(r, "duration", 1);
	struct measured *const m = place_of(n, r);

	if (!n->has_singles)
		for (size_t i = 0; i < n->order.len; i++) {
			distribution_release(&n->order.items[i]->all);
			n->order.items[i]->all = (struct distribution){0};
		}
	n->has_singles = true;
	if (took < 0)
		n->strange++;
	else
		distribution_add(&m->all, took, r->ns);
}

static void sample(struct noise *n, struct recording *r)
{
	const struct tracer *const t = n->tracer;
	const s64 first = duration_of(r, t->measured[0], t->unit);
	struct measured *m;

	if (first < 0) {
		n->strange++;
		return;
	}
	m = place_of(n, r);
	m->has_samples = true;
	if (!n->has_singles)
		distribution_add(&m->all, MAX(first, duration_of(r, t->measured[1], t->unit)),
				 r->ns);
	for (u32 i = 0; i < CELLS && t->cells[i].column.key; i++) {
		const struct cell *const c = &t->cells[i];
		const s64 v = c->field ? duration_of(r, c->field, c->unit) : 1;

		if (c->of == CELL_SUM && v > 0)
			m->values[i] += (u64)v;
		if (c->of == CELL_MAX && v > 0)
			m->values[i] = MAX(m->values[i], (u64)v);
	}
}

static void noise_feed(void *state, struct recording *r, u8 role)
{
	if (role == SINGLE)
		single(state, r);
	else
		sample(state, r);
}

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	const struct measured *const x = *(struct measured *const *)a,
				     *const y = *(struct measured *const *)b;

	if (x->host != y->host)
		return x->host > y->host ? 1 : -1;
	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? 1 : -1;
	return x->context > y->context ? 1 : x->context < y->context ? -1 : 0;
}

static u64 value_of(struct measured *m, const struct cell *c, u32 i)
{
	struct quantiles *const q = &m->all.values;

	switch (c->of) {
	case CELL_REST:
		return m->values[1] ? 10000 - MIN((u64)((unsigned __int128)m->values[0] * 10000 /
							m->values[1]),
						  10000)
				    : 0;
	case CELL_COUNT:
		return q->count;
	case CELL_MIN:
		return (u64)q->min;
	case CELL_AVERAGE:
		return (u64)quantiles_average(q);
	case CELL_P99:
		return (u64)quantiles_at(q, 0.99);
	case CELL_LONGEST:
		return (u64)q->max;
	case CELL_LONGEST_AT:
		return (u64)m->all.max_at;
	default:
		return m->values[i];
	}
}

static const struct table_column *columns_of(const struct tracer *t, struct arena *arena)
{
	struct table_column *const columns = arena_alloc(arena, (CELLS + 1) * sizeof(*columns));

	for (u32 i = 0; i < CELLS; i++)
		columns[i] = t->cells[i].column;
	columns[CELLS] = (struct table_column){0};
	return columns;
}

static void noise_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct noise *const n = state;
	const struct tracer *const t = n->tracer;

	if (n->strange) {
		diag_error(d, NO_SPAN,
			   "%" PRIu64
			   " event%s of %s %s no field '%s': they are text, or of another program",
			   n->strange, plural(n->strange), t->name,
			   n->strange == 1 ? "has" : "have", t->measured[0]);
		return;
	}
	*ret = (struct report_table){
		.keys = {"cpu", t->context}, .nr_keys = t->context ? 2 : 1, .is_flat = true};
	ret->columns = columns_of(t, &ret->arena);
	qsort(n->order.items, n->order.len, sizeof(*n->order.items), compare);
	for (size_t m = 0; m < n->order.len; m++) {
		struct measured *const from = n->order.items[m];
		const char **const names =
			arena_memdup(&ret->arena, from->names, sizeof(from->names));
		struct table_row *row;

		if (!from->has_samples)
			continue;
		for (u32 i = 0; i < ret->nr_keys; i++)
			names[i] = arena_strdup(&ret->arena, names[i]);
		row = table_add(ret, ret->nr_keys - 1, names);
		for (u32 i = 0; i < CELLS && t->cells[i].column.key; i++)
			row->values[i] = value_of(from, &t->cells[i], i);
	}
}

static void noise_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct noise *const n = state;

	for (size_t i = 0; i < n->order.len; i++) {
		const struct measured *const m = n->order.items[i];

		strbuf_addf(out, "\nCPU %s%s%s, %s, in ", m->names[0], m->names[1] ? " " : "",
			    m->names[1] ?: "", n->has_singles ? "each noise" : n->tracer->what);
		distribution_text(&m->all, out);
	}
}

#define TRACER(name, command, ...)                                                       \
	static void *name##_begin(const struct analysis_request *q, struct diag *d)      \
	{                                                                                \
		return new_noise(&name);                                                 \
	}                                                                                \
	static const struct analysis_event name##_events[] = {                           \
		{"ftrace:" #name, SAMPLE, true}, {#name, SAMPLE, true}, __VA_ARGS__{0}}; \
	const struct report_analysis analysis_##name = {                                 \
		.events = name##_events,                                                 \
		.record_command = command,                                               \
		.begin = name##_begin,                                                   \
		.feed = noise_feed,                                                      \
		.finish = noise_finish,                                                  \
		.text = noise_text,                                                      \
		.release = noise_release,                                                \
	}

TRACER(hwlat, "pantrace record -p hwlat -d 60");
TRACER(osnoise, "pantrace record -p osnoise -e osnoise:sample_threshold -d 60",
       {"osnoise:sample_threshold", SINGLE}, {"sample_threshold", SINGLE}, );
TRACER(timerlat, "pantrace record -p timerlat -d 60");
