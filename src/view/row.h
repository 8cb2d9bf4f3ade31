/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a table, as the tools print them: row("PID=%-6d COMM=%-16s FILE=%s/%s", ...) and
 * table("COMM=%-16s COUNT=%8d", @map).
 *
 * A column begins at a word "NAME=" of the format (a capital letter first, or "--") and goes on to
 * the next one; the first conversion's width and alignment are the column's. The last column is
 * never padded. The reader of the tool chooses which columns are seen and which rows pass; JSON has
 * one object per row with the names in lower case. A column STACK (kstack, ustack) stands below its
 * row, a frame a line; in JSON it is an array.
 */
#ifndef PANTRACE_VIEW_ROW_H
#define PANTRACE_VIEW_ROW_H

#include <regex.h>

#include "base/hashmap.h"
#include "view/printf_format.h"
#include "view/map_view.h"
#include "view/output.h"

struct row_match {
	const char *column;
	regex_t regex;
};

/* What the user of a tool asked for. Zero-initialised: every column, every row. */
struct row_style {
	VECTOR(const char *) hidden;
	VECTOR(struct row_match) matches; /* all must match */
	const char *limited_column; /* argument lists (%a): show at most `limit` */
	u64 limit; /* 0 = all */
	/* row_ranges() adds a column to it at each call; NULL = none */
	struct heatmap *heatmap;
	/* when its next column begins; 0 = the first one, which begins with the run */
	u64 heatmap_from_ns;
	struct strbuf
		/* JSON: the time of day that a tool prints before a report, part of its objects */
		report_time;
	u32 width; /* columns of the terminal that reads; 0 = as long as rows are */
	bool header_done;
	/* const struct format * -> struct row_layout *, made at a format's first row */
	struct hashmap layouts;
	struct row_layout *last_layout;
	struct strbuf cell;
};

/* NULL, or what is wrong with the expression: valid until the next call. */
const char *row_style_match(struct row_style *s, const char *column, const char *expression);
void row_style_release(struct row_style *s);
/* The member "time" of a report's object, where there is one. */
void row_report_time(struct row_style *s, struct json *j);

/* The line of names; once, before anything else (nothing in JSON). */
void row_header(struct row_style *s, struct output *out, const struct format *f);
/* One row from a record. */
void row_print(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct type *payload_type, const u8 *payload);
/* A whole map, in its order of printing: the key's parts, then the value. */
void row_table(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct map_view *m, u64 top);

/*
 * A map from lower bounds to counts as a distribution with bars. bounds: "UNIT/DIVISOR TITLE: 1 8
 * 64", or "UNIT/DIVISOR TITLE: *4 1048576" for the powers of 4 up to a million; below the first
 * bound lies the bucket 0. Every bucket between the lowest and the highest that is not empty is
 * shown; of an explicit list all of them.
 */
void row_ranges(struct row_style *s, struct value_printer *p, struct output *out,
		const char *bounds, const struct map_view *m);

#endif
