/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heat map: time to the right, a value upwards, the darker the more often. One column per
 * interval; the value's axis is logarithmic: four rows per power of two. Nothing is left out: the
 * last column and the largest value are drawn, and where there are more columns than fit,
 * neighbours are added together.
 *
 *	struct heatmap *h = heatmap_new("Latency of block I/O", "us");
 *	heatmap_begin_column(h, from_ns, to_ns);	// CLOCK_REALTIME
 *	heatmap_add(h, 130, 17);			// 17 times 130 us
 *	err = heatmap_write(h, fd, HEATMAP_HTML);
 *	heatmap_free(h);
 *
 * The file needs no other: no script or style is loaded. Titles may hold anything, they are
 * escaped.
 */
#ifndef PANTRACE_VIEW_HEATMAP_H
#define PANTRACE_VIEW_HEATMAP_H

#include "base/strbuf.h"

enum heatmap_format { HEATMAP_SVG, HEATMAP_HTML };

struct heatmap;

/*
 * unit of the values: "ns", "us", "ms" and "s" are shown as times, "bytes" with binary prefixes,
 * all else as plain numbers.
 */
struct heatmap *heatmap_new(const char *title, const char *unit);
void heatmap_free(struct heatmap *h);
/* Starts a column: what is added from now on happened between these times. */
void heatmap_begin_column(struct heatmap *h, u64 from_ns, u64 to_ns);
void heatmap_add(struct heatmap *h, u64 value, u64 count);
/* 0 or -errno. */
int heatmap_write(const struct heatmap *h, int fd, enum heatmap_format format);
/* By the end of a file's name: ".svg", ".html", ".htm". False for another. */
bool heatmap_format_of(const char *path, enum heatmap_format *ret);

/* Appends a value with the unit that suits its size: "1.02 ms". */
void heatmap_add_value(struct strbuf *out, const char *unit, u64 value);
/* The row of a value and the least value of a row; for those who count elsewhere. */
u32 heatmap_row(u64 value);
u64 heatmap_row_begin(u32 row);

#endif
