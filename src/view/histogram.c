/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/histogram.h"

#include "view/value.h"

#define BAR_WIDTH   52
#define LABEL_WIDTH 16
#define COUNT_WIDTH 8

/* One end of a bucket. */
struct bound {
	bool is_open; /* there is none */
	bool is_plain; /* printed as it is, never as "1K" */
	u32 slot, power; /* hist: value = slot << power */
	s64 value;
};

static struct bound hist_lower(u32 bits, u32 bucket)
{
	u32 k = 1u << bits;
	u32 exponent, slot;

	if (!bucket)
		return (struct bound){.is_open = true};
	if (bucket - 1 <= 2 * k)
		return (struct bound){.is_plain = true, .value = bucket - 1};
	exponent = (bucket - 1) / k - 1;
	slot = k + (bucket - 1) % k;
	if (exponent + bits > 63)
		return (struct bound){.is_open = true};
	return (struct bound){
		.value = (s64)((u64)slot << exponent), .slot = slot, .power = exponent};
}

static struct bound lhist_lower(const struct type *t, u32 bucket)
{
	s64 steps = bucket ? (s64)bucket - 1 : 0;

	if (!bucket)
		return (struct bound){.is_open = true};
	return (struct bound){.is_plain = t->lhist_step % 1024 != 0,
			      .value = t->lhist_min + steps * t->lhist_step};
}

static struct bound llhist_lower(const struct type *t, u32 bucket)
{
	const struct llhist h = type_llhist_of(t);
	struct bound b = {.is_plain = true};

	b.is_open = !llhist_lower_bound(&h, bucket, &b.value);
	return b;
}

static struct bound lower_bound(const struct type *t, u32 bucket)
{
	if (t->kind == TYPE_LLHIST)
		return llhist_lower(t, bucket);
	return t->kind == TYPE_HIST ? hist_lower(t->hist_bits, bucket) : lhist_lower(t, bucket);
}

static struct bound upper_bound(const struct type *t, u32 bucket)
{
	struct bound b = lower_bound(t, bucket + 1);

	/* The overflow bucket of lhist begins at the last step that is not above max. */
	if (t->kind == TYPE_LHIST && b.value > t->lhist_max)
		b.is_open = true;
	return b;
}

static void hist_number(struct strbuf *out, const struct bound *b)
{
	/* The unit is the largest power of 1024 in the width of the bucket, so that labels of one
	 * decade share it. */
	if (b->is_plain)
		strbuf_addf(out, "%" PRId64, b->value);
	else
		strbuf_addf(out, "%" PRIu64 "%.1s", (u64)b->slot << b->power % 10,
			    &"\0KMGTPE"[b->power / 10]);
}

static void lhist_number(struct strbuf *out, const struct bound *b)
{
	s64 v = b->value;

	if (!b->is_plain && v && v % (1024 * 1024) == 0)
		strbuf_addf(out, "%" PRId64 "M", v / (1024 * 1024));
	else if (!b->is_plain && v && v % 1024 == 0)
		strbuf_addf(out, "%" PRId64 "K", v / 1024);
	else
		strbuf_addf(out, "%" PRId64, v);
}

static void add_number(struct strbuf *out, const struct type *t, const struct bound *b)
{
	if (t->kind == TYPE_HIST)
		hist_number(out, b);
	else
		lhist_number(out, b);
}

static void add_label(struct strbuf *out, const struct type *t, u32 bucket)
{
	struct bound low = lower_bound(t, bucket), high = upper_bound(t, bucket);
	bool single = low.is_plain && high.is_plain && low.value + 1 == high.value;

	strbuf_addch(out, low.is_open ? '(' : '[');
	if (low.is_open)
		strbuf_addstr(out, "...");
	else
		add_number(out, t, &low);
	if (single && !low.is_open && !high.is_open) {
		strbuf_addch(out, ']');
		return;
	}
	strbuf_addstr(out, ", ");
	if (high.is_open)
		strbuf_addstr(out, "...");
	else
		add_number(out, t, &high);
	strbuf_addch(out, ')');
}

/* First and last bucket in use; false if all are empty. */
static bool used_range(const struct histogram *h, u32 *ret_first, u32 *ret_last)
{
	bool any = false;

	for (u32 i = 0; i < h->nbuckets; i++) {
		if (!h->buckets[i])
			continue;
		if (!any)
			*ret_first = i;
		*ret_last = i;
		any = true;
	}
	return any;
}

static u64 count_of(const struct histogram *h, u32 bucket)
{
	/* The divisor of print(@m, top, div) is for hist() only, as bpftrace has it. */
	return h->type->kind == TYPE_HIST && h->divisor > 1 ? h->buckets[bucket] / h->divisor
							    : h->buckets[bucket];
}

void histogram_text(struct strbuf *out, const struct histogram *h)
{
	u32 first = 0, last = 0;
	u64 max = 1;

	if (!used_range(h, &first, &last))
		return;
	for (u32 i = first; i <= last; i++)
		max = MAX(max, count_of(h, i));
	for (u32 i = first; i <= last; i++) {
		u64 count = count_of(h, i);
		int width = (int)((float)count / (float)max * BAR_WIDTH);
		size_t start = out->len;

		add_label(out, h->type, i);
		strbuf_addchars(out, ' ', LABEL_WIDTH - (int)(out->len - start));
		strbuf_addf(out, "%*" PRIu64 " |", COUNT_WIDTH, count);
		strbuf_addchars(out, '@', width);
		strbuf_addchars(out, ' ', BAR_WIDTH - width);
		strbuf_addstr(out, "|\n");
	}
}

void histogram_json(struct json *j, const struct histogram *h)
{
	u32 first = 1, last = 0;

	used_range(h, &first, &last);
	json_array(j);
	for (u32 i = first; i <= last; i++) {
		struct bound low = lower_bound(h->type, i), high = upper_bound(h->type, i);

		json_object(j);
		if (!low.is_open)
			json_member_s64(j, "min", low.value);
		if (!high.is_open) /* closed intervals here, unlike the text */
			json_member_s64(j, "max", (s64)((u64)high.value - 1));
		json_member_u64(j, "count", count_of(h, i));
		json_end(j, '}');
	}
	json_end(j, ']');
}
