/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms as text and JSON.
 *
 * Buckets of hist(n, k), K = 2^k: 0 holds negative values; 1 .. 2K hold the single values 0 ..
 * 2K-1; each further run of K buckets shares one power of two: bucket b covers [S * 2^e, (S + 1) *
 * 2^e) with e = (b - 1) / K - 1 and S = K + (b - 1) % K. Buckets of lhist(n, min, max, step): 0
 * holds values below min, then one per step, the last holds those from max on.
 */
#ifndef PANTRACE_VIEW_HISTOGRAM_H
#define PANTRACE_VIEW_HISTOGRAM_H

#include "base/json.h"
#include "types/type.h"

struct histogram {
	const struct type *type; /* type_is_histogram() */
	const u64 *buckets;
	u32 nbuckets;
	u64 divisor; /* of hist; 0 = 1 */
};

void histogram_text(struct strbuf *out, const struct histogram *h);
void histogram_json(struct json *j, const struct histogram *h);

#endif
