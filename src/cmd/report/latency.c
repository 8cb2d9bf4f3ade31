/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --latency FROM,TO[,KEY...]: the time from one event to the next of another (see pairs.h). */
#include "cmd/report/analysis.h"
#include "cmd/report/pairs.h"
#include "view/histogram.h"
#include "view/quantiles.h"

struct latency {
	struct pairs *pairs;
	struct quantiles values;
	s64 max_at; /* end time of the longest pair */
	u64 buckets[2][66]; /* [0] in nanoseconds, [1] in microseconds */
};

static void *latency_begin(const struct analysis_request *q, struct diag *d)
{
	struct pairs *const pairs = pairs_new(q->latency, d);
	struct latency *const l = pairs ? xzalloc(sizeof(*l)) : NULL;

	if (l)
		l->pairs = pairs;
	return l;
}

static void latency_release(void *state)
{
	struct latency *const l = state;

	quantiles_release(&l->values);
	pairs_release(l->pairs);
	free(l);
}

static u8 latency_role(void *state, const struct recorded_kind *k)
{
	return (u8)pairs_role(((const struct latency *)state)->pairs, k);
}

static void add_bucket(u64 *buckets, u64 v)
{
	buckets[v ? 65 - __builtin_clzll(v) : 1]++;
}

static void latency_feed(void *state, struct recording *r, u8 role)
{
	struct latency *const l = state;
	s64 took;

	if (!pairs_feed(l->pairs, r, (enum pair_role)role, &took))
		return;
	if (!l->values.count || took > l->values.max)
		l->max_at = r->ns;
	quantiles_add(&l->values, took);
	add_bucket(l->buckets[0], (u64)took);
	add_bucket(l->buckets[1], (u64)took / 1000);
}

static void latency_lost(void *state)
{
	pairs_lost(((struct latency *)state)->pairs);
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"count", "COUNT", TABLE_COUNT, true},
	{"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"min_ns", "MIN(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},
	{"p90_ns", "P90(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},
	{"p999_ns", "P99.9(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},
	{"max_time_ns", "MAX AT", TABLE_TIME, false},
	{0},
};

static void latency_finish(void *state, struct report_table *ret, struct diag *d)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999};
	struct latency *const l = state;
	struct table_row *row;
	char *name;

	if (!pairs_check(l->pairs, d))
		return;
	*ret = (struct report_table){
		.keys = {"latency"}, .nr_keys = 1, .columns = columns, .main = 1};
	name = xasprintf("%s to %s", l->pairs->ends[PAIR_FROM].event,
			 l->pairs->ends[PAIR_TO].event);
	row = table_add_flat(ret, name);
	free(name);
	row->values[0] = l->values.count;
	row->values[1] = (u64)quantiles_average(&l->values);
	row->values[2] = (u64)l->values.min;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++)
		row->values[3 + i] = (u64)quantiles_at(&l->values, parts[i]);
	row->values[7] = (u64)l->values.max;
	row->values[8] = (u64)l->max_at;
}

static void latency_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct latency *const l = state;
	const struct pairs *const p = l->pairs;
	const bool in_us = l->values.max >= 100000;
	const struct type type = {.kind = TYPE_HIST};
	const struct histogram h = {
		.type = &type, .buckets = l->buckets[in_us], .nbuckets = ARRAY_SIZE(l->buckets[0])};

	if (l->values.count) {
		strbuf_addf(out, "\n%s:\n", in_us ? "microseconds" : "nanoseconds");
		histogram_text(out, &h);
	}
	if (p->open || p->cut || p->again || p->unbegun)
		strbuf_addf(out,
			    "\nnot in it: %" PRIu64 " begun and not ended, %" PRIu64
			    " begun again before they ended, %" PRIu64
			    " ended that did not begin\n",
			    p->open + p->cut, p->again, p->unbegun);
}

const struct report_analysis analysis_latency = {
	.begin = latency_begin,
	.role = latency_role,
	.feed = latency_feed,
	.lost = latency_lost,
	.finish = latency_finish,
	.text = latency_text,
	.release = latency_release,
};
