/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/quantiles.h"

#define BITS  8
#define WIDTH (1u << BITS)

/*
 * Magnitudes below 2 * WIDTH have a bucket each (rows BITS - 1 and BITS); of others the WIDTH
 * buckets of their highest bit.
 */
static void bucket_of(u64 magnitude, u32 *ret_row, u32 *ret_at)
{
	const u32 high = magnitude ? 63 - (u32)__builtin_clzll(magnitude) : 0;

	*ret_row = MAX(high, (u32)BITS - 1);
	*ret_at = high < BITS ? (u32)magnitude : (u32)(magnitude >> (high - BITS)) & (WIDTH - 1);
}

static u64 upper_end(u32 row, u32 at)
{
	if (row < BITS)
		return at;
	/* The last one ends behind INT64_MIN. */
	return MIN(((u64)(WIDTH + at + 1) << (row - BITS)) - 1, (u64)1 << 63);
}

static void into_bucket(struct quantiles *q, s64 value)
{
	const bool is_negative = value < 0;
	u32 row, at;
	u64 **to;

	bucket_of(is_negative ? -(u64)value : (u64)value, &row, &at);
	to = &q->buckets[is_negative][row];
	if (!*to)
		*to = xzalloc(WIDTH * sizeof(**to));
	(*to)[at]++;
}

void quantiles_add(struct quantiles *q, s64 value)
{
	q->min = q->count ? MIN(q->min, value) : value;
	q->max = q->count ? MAX(q->max, value) : value;
	q->sum += value;
	q->count++;
	q->is_sorted = false;
	if (q->count <= QUANTILES_EXACT) {
		vector_push(&q->few, value);
		return;
	}
	for (size_t i = 0; i < q->few.len; i++)
		into_bucket(q, q->few.items[i]);
	vector_free(&q->few);
	into_bucket(q, value);
}

static int by_value(const void *a, const void *b)
{
	const s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

/* The value with this number, from 1, in ascending order: of the most negative first. */
static s64 in_buckets(const struct quantiles *q, u64 rank)
{
	for (u32 row = 64; row-- > 0;)
		for (u32 at = WIDTH; q->buckets[1][row] && at-- > 0;) {
			const u64 n = q->buckets[1][row][at];

			if (rank <= n)
				return MAX(q->min, (s64)-upper_end(row, at));
			rank -= n;
		}
	for (u32 row = 0; row < 64; row++)
		for (u32 at = 0; q->buckets[0][row] && at < WIDTH; at++) {
			const u64 n = q->buckets[0][row][at];

			if (rank <= n)
				return MIN(q->max, (s64)upper_end(row, at));
			rank -= n;
		}
	return q->max;
}

s64 quantiles_at(struct quantiles *q, double part)
{
	u64 rank;

	if (!q->count)
		return 0;
	rank = (u64)(part * (double)q->count);
	rank += (double)rank < part * (double)q->count;
	rank = MIN(MAX(rank, (u64)1), q->count);
	if (q->count > QUANTILES_EXACT)
		return in_buckets(q, rank);
	if (!q->is_sorted)
		qsort(q->few.items, q->few.len, sizeof(*q->few.items), by_value);
	q->is_sorted = true;
	return q->few.items[rank - 1];
}

s64 quantiles_average(const struct quantiles *q)
{
	return q->count ? (s64)(q->sum / (__int128)q->count) : 0;
}

void quantiles_release(struct quantiles *q)
{
	for (u32 i = 0; i < 128; i++)
		free(q->buckets[i / 64][i % 64]);
	vector_free(&q->few);
}
