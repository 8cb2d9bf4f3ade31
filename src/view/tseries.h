/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values of tseries() as a graph, one line per interval, or as JSON. Layout of the text
 * (bpftrace's):
 *
 *	             smallest                                      largest
 *	hh:mm:ss.ms  |___________________________________________________|
 *	10:39:49.300 |                    *                              | 12
 *	10:39:49.400 |                                                   | -
 *	             v___________________________________________________v
 *	             smallest                                      largest
 */
#ifndef PANTRACE_VIEW_TSERIES_H
#define PANTRACE_VIEW_TSERIES_H

#include "base/json.h"
#include "types/type.h"

struct tseries_point {
	u64 epoch; /* number of the interval since 1970 */
	u64 value;
};

/*
 * What the CPUs have stored in one element (TSERIES_ELEMENT_SIZE bytes each) together: that of the
 * latest interval; zeros if there is none.
 */
struct tseries_point tseries_fold(const struct tseries *ts, const u8 *elements, u32 ncpus);

struct tseries_view {
	struct tseries ts;
	const struct tseries_point *points; /* in any order */
	u32 npoints;
	u64 last_epoch; /* the latest of all keys of the map: the series of each key ends there */
};

void tseries_text(struct strbuf *out, const struct tseries_view *v);
void tseries_json(struct json *j, const struct tseries_view *v);

#endif
