/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map as it was read: rows of key and value, summed over the CPUs, to be sorted and printed.
 */
#ifndef PANTRACE_VIEW_MAP_VIEW_H
#define PANTRACE_VIEW_MAP_VIEW_H

#include "view/map_order.h"
#include "view/output.h"
#include "view/value.h"

struct map_row {
	const u8 *key; /* without the bucket of histograms; NULL in a scalar map */
	const u8 *value; /* plain types: as laid out by map_view.value */
	/* count, sum, min, max; total of avg and stats; all buckets together of histograms */
	u64 total;
	u64 count; /* avg, stats, stddev; tseries: the latest interval of the map */
	unsigned __int128 squares; /* stddev: sum of the squares */
	/* hist, lhist: by bucket number; tseries: struct tseries_point, two each; malloc'ed */
	u64 *buckets;
	u32 nbuckets;
};

struct map_view {
	const char *name; /* without '@' */
	const struct type *key; /* TYPE_NONE = scalar */
	bool key_is_list;
	const struct type *value;
	struct map_row *rows; /* malloc'ed */
	size_t nrows;
	/*
	 * sort() sets the order of printing; which rows are the top ones is decided by value all
	 * the same
	 */
	enum map_order order;
	bool is_descending;
	void *storage; /* what keys and values point into; malloc'ed */
};

struct map_print_options {
	u64 top; /* only the last rows in order; 0 = all */
	u64 divisor; /* of values and of hist buckets; 0 = 1 */
};

/*
 * Order of printing (ascending): integers, count and sum by value; min and max by value; avg and
 * stats by average; hist and lhist by total; everything else by key. Equal values: by key.
 */
void map_view_sort(struct map_view *m);
/* Keeps only the `top` largest rows (0 = all) and brings them into the order of printing. */
void map_view_arrange(struct map_view *m, u64 top);
void map_view_release(struct map_view *m);
/* A scalar map without a row prints as zero (print(@x) of a map that was never assigned to). */
void map_view_print(struct value_printer *p, struct output *out, const struct map_view *m,
		    const struct map_print_options *options);

/* count, sum, min, max, avg, stddev as the one number that they print. */
u64 map_row_number(const struct type *t, const struct map_row *row);
/* One value of a row. */
void map_value_add(struct value_printer *p, const struct medium *to, const struct type *t,
		   const struct map_row *row, u64 divisor);

#endif
