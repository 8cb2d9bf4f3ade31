/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histograms, numbered as DTrace's llquantize() numbers them: bucket 0 holds what is
 * below base^low; each order of magnitude [base^m, base^(m+1)) with low <= m <= high then is cut
 * into equal parts as wide as base^(m+1) / steps (1 if that is less), of which the first 1/base
 * belongs to the orders below; the last bucket holds what is at base^(high+1) or above.
 */
#include "types/type.h"

struct llhist type_llhist_of(const struct type *t)
{
	return (struct llhist){.base = (u32)t->lhist_min,
			       .low = (u32)t->lhist_max & 0xffff,
			       .high = (u32)t->lhist_max >> 16,
			       .steps = (u32)t->lhist_step};
}

void llhist_begin(const struct llhist *h, struct llhist_order *o)
{
	*o = (struct llhist_order){.first_bucket = 1, .from = 1};
	for (u32 i = 0; i < h->low; i++)
		o->from *= h->base;
	llhist_measure(h, o);
}

void llhist_measure(const struct llhist *h, struct llhist_order *o)
{
	u64 to = o->from * h->base, parts = MIN(to, (u64)h->steps);

	o->to = to;
	o->width = to / parts;
	o->buckets = (u32)(parts - parts / h->base);
}

void llhist_next(const struct llhist *h, struct llhist_order *o)
{
	o->first_bucket += o->buckets;
	o->from = o->to;
	llhist_measure(h, o);
}

u32 llhist_buckets(const struct llhist *h)
{
	struct llhist_order o;

	llhist_begin(h, &o);
	for (u32 m = h->low; m < h->high; m++)
		llhist_next(h, &o);
	return o.first_bucket + o.buckets + 1;
}

bool llhist_lower_bound(const struct llhist *h, u32 bucket, s64 *ret)
{
	struct llhist_order o;

	if (!bucket || bucket >= llhist_buckets(h))
		return false;
	llhist_begin(h, &o);
	for (u32 m = h->low; m < h->high && bucket >= o.first_bucket + o.buckets; m++)
		llhist_next(h, &o);
	*ret = (s64)(o.from + (bucket - o.first_bucket) * o.width);
	return true;
}
