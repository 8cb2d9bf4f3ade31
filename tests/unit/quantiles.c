/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view/quantiles.h: answers beside those of all values, sorted. */
#include "view/quantiles.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tap.h"

enum { MOST = 200000 };

static s64 values[MOST];
static const double parts[] = {0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
static const int thousandths[] = {0, 1, 10, 50, 250, 500, 900, 950, 990, 999, 1000};

static int by_value(const void *a, const void *b)
{
	const s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return (x > y) - (x < y);
}

static u64 magnitude(s64 v)
{
	return v < 0 ? -(u64)v : (u64)v;
}

/* Farther from 0 by at most 1/256, on the same side. */
static bool is_near(s64 is, s64 exact)
{
	const u64 m = magnitude(exact), n = magnitude(is);

	return (is < 0) == (exact < 0) && n >= m && n - m <= (m < 512 ? 0 : m / 256);
}

/* Of the first n values. */
static void check(size_t n, const char *what)
{
	struct quantiles q = {0};
	__int128 sum = 0;
	bool good = true, total;

	for (size_t i = 0; i < n; i++) {
		quantiles_add(&q, values[i]);
		sum += values[i];
	}
	qsort(values, n, sizeof(*values), by_value);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && good; i++) {
		/* the smallest value that so many of n do not exceed, in whole numbers */
		const u64 rank = MAX(((u64)thousandths[i] * n + 999) / 1000, (u64)1);
		const s64 is = quantiles_at(&q, parts[i]), exact = values[rank - 1];

		good = n <= QUANTILES_EXACT ? is == exact : is_near(is, exact);
		good = good && is >= values[0] && is <= values[n - 1];
		if (!good)
			printf("# %s: part %g of %zu is %" PRId64 ", not %" PRId64 "\n", what,
			       parts[i], n, is, exact);
	}
	ok(good, "%s, %zu values", what, n);
	total = q.count == n && q.min == values[0] && q.max == values[n - 1] && q.sum == sum &&
		quantiles_average(&q) == (s64)(sum / (s64)n);
	ok(total, "  count, sum, least, greatest, average are exact");
	quantiles_release(&q);
}

static u64 random_u64(void)
{
	static u64 x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

enum shape { EVEN, WIDE, BOTH_SIDES, SAME, COARSE, SHAPES };

static s64 value_of(enum shape shape, size_t i)
{
	switch (shape) {
	case EVEN:
		return (s64)i + 1;
	case WIDE: /* of all sizes alike */
		return (s64)(random_u64() >> 1 >> random_u64() % 63);
	case BOTH_SIDES:
		return (s64)random_u64() >> random_u64() % 64;
	case SAME:
		return 1234567;
	default: /* two peaks, and few far away */
		return i % 1000 ? (i % 2 ? 250 : 1000000) : (s64)i * 1000000;
	}
}

int main(void)
{
	static const char *const names[SHAPES] = {"1, 2, 3 ...", "of all sizes", "of both signs",
						  "all the same", "two peaks"};
	static const size_t counts[] = {1, 2, 3, 20, 100, 1000, 1024, 1025, 5000, MOST};
	struct quantiles none = {0};

	ok(!quantiles_at(&none, 0.5) && !quantiles_average(&none), "none");
	for (enum shape shape = 0; shape < SHAPES; shape++)
		for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
			for (size_t i = 0; i < counts[c]; i++)
				values[i] = value_of(shape, i);
			check(counts[c], names[shape]);
		}
	for (size_t i = 0; i < MOST; i++)
		values[i] = i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : 0;
	check(MOST, "the least and the greatest of all");
	return tap_done();
}
