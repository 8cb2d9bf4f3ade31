/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quantiles of any number of values in bounded memory. Up to QUANTILES_EXACT values are kept and
 * answers are exact. Of more, values from 512 on share buckets of 1/256 of their size, and an
 * answer is the end of its bucket that is farther from 0: its magnitude is at most 1/256 (0.4 %)
 * too large, and it is never outside of minimum and maximum. Below 512 all are exact; so are
 * count, sum, minimum and maximum.
 */
#ifndef PANTRACE_VIEW_QUANTILES_H
#define PANTRACE_VIEW_QUANTILES_H

#include "base/vector.h"

#define QUANTILES_EXACT 1024

/* Zero-initialised is empty. */
struct quantiles {
	u64 count;
	s64 min, max;
	__int128 sum;
	VECTOR(s64) few;
	bool is_sorted;
	/* [negative][of 256 values with the same highest bit]; NULL = none; [..][8]: below 512 */
	u64 *buckets[2][64];
};

void quantiles_add(struct quantiles *q, s64 value);
/* The smallest value that this part (0 to 1) of all values does not exceed; 0 if there is none. */
s64 quantiles_at(struct quantiles *q, double part);
/* 0 if there is none. */
s64 quantiles_average(const struct quantiles *q);
void quantiles_release(struct quantiles *q);

#endif
