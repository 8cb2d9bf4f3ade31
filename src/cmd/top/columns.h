/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns: a table in columns.c, for the screen, plain text, --sort and the help. */
#ifndef PANTRACE_CMD_TOP_COLUMNS_H
#define PANTRACE_CMD_TOP_COLUMNS_H

#include "base/options.h"
#include "base/strbuf.h"
#include "cmd/top/rows.h"
#include "view/terminal/screen.h"

struct column {
	const char *key; /* for --sort */
	const char *title, *meaning;
	u32 width;
	u32 rank; /* on a narrow screen the highest ranks are left out first; 0 = never */
	bool is_text; /* left-aligned, sorted from A on */
	u64 (*value)(const struct row *r); /* what it is sorted by */
	void (*text)(const struct row *r, struct strbuf *out);
	enum style (*style)(const struct row *r); /* NULL: zeroes are dim */
};

extern const struct column top_columns[]; /* ends with key NULL; the name is the last */

const struct column *column_find(const char *key);
/* The columns for --help: at most n - 1, and a row of zeroes. */
void columns_help(struct option_field *fields, u32 n);
/* For qsort(); never 0 for two different rows. */
int column_compare(const struct column *c, bool ascending, const struct row *a,
		   const struct row *b);

/* The style of a cell. */
enum style column_style(const struct column *c, const struct row *r, const char *text);

/* "12.3": percent of the interval; "1.2k" per second; "3.4M" bytes per second. */
void share_text(u64 ns, u64 span_ns, struct strbuf *out);
void rate_text(u64 n, u64 span_ns, struct strbuf *out);
void bytes_text(u64 n, u64 span_ns, struct strbuf *out);

#endif
