/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --latency FROM,TO[,KEY...]: the time from one event to the next of another (see pairs.h). */
#include "cmd/report/analysis.h"
#include "cmd/report/distribution.h"
#include "cmd/report/pairs.h"

struct latency {
	struct pairs *pairs;
	struct distribution took;
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

	distribution_release(&l->took);
	pairs_release(l->pairs);
	free(l);
}

static u8 latency_role(void *state, const struct recorded_kind *k)
{
	return (u8)pairs_role(((const struct latency *)state)->pairs, k);
}

static void latency_feed(void *state, struct recording *r, u8 role)
{
	struct latency *const l = state;
	s64 took;

	if (pairs_feed(l->pairs, r, (enum pair_role)role, &took))
		distribution_add(&l->took, took, r->ns);
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
	struct quantiles *const values = &l->took.values;
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
	row->values[0] = values->count;
	row->values[1] = (u64)quantiles_average(values);
	row->values[2] = (u64)values->min;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++)
		row->values[3 + i] = (u64)quantiles_at(values, parts[i]);
	row->values[7] = (u64)values->max;
	row->values[8] = (u64)l->took.max_at;
}

static void latency_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct latency *const l = state;
	const struct pairs *const p = l->pairs;

	if (l->took.values.count)
		strbuf_addch(out, '\n');
	distribution_text(&l->took, out);
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
