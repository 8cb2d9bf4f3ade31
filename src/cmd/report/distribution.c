/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/distribution.h"

#include "view/histogram.h"

static void add_bucket(u64 *buckets, u64 v)
{
	buckets[v ? 65 - __builtin_clzll(v) : 1]++;
}

void distribution_add(struct distribution *d, s64 took_ns, s64 at_ns)
{
	if (!d->values.count || took_ns > d->values.max)
		d->max_at = at_ns;
	quantiles_add(&d->values, took_ns);
	add_bucket(d->buckets[0], (u64)took_ns);
	add_bucket(d->buckets[1], (u64)took_ns / 1000);
}

void distribution_text(const struct distribution *d, struct strbuf *out)
{
	const bool in_us = d->values.max >= 100000;
	const struct type type = {.kind = TYPE_HIST};
	const struct histogram h = {
		.type = &type, .buckets = d->buckets[in_us], .nbuckets = ARRAY_SIZE(d->buckets[0])};

	if (!d->values.count)
		return;
	strbuf_addf(out, "%s:\n", in_us ? "microseconds" : "nanoseconds");
	histogram_text(out, &h);
}

void distribution_release(struct distribution *d)
{
	quantiles_release(&d->values);
}
