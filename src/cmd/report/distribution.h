/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations: their quantiles, and a histogram in powers of two. Zero-initialised is empty. */
#ifndef PANTRACE_CMD_REPORT_DISTRIBUTION_H
#define PANTRACE_CMD_REPORT_DISTRIBUTION_H

#include "base/strbuf.h"
#include "view/quantiles.h"

struct distribution {
	struct quantiles values;
	s64 max_at; /* time of the longest */
	u64 buckets[2][66]; /* [0] in nanoseconds, [1] in microseconds */
};

/* took: not negative. */
void distribution_add(struct distribution *d, s64 took_ns, s64 at_ns);
/* The unit and the histogram; nothing if there is no value. */
void distribution_text(const struct distribution *d, struct strbuf *out);
void distribution_release(struct distribution *d);

#endif
