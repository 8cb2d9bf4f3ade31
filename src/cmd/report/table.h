/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result of an analysis: sorted rows of a name and numbers, which may form a tree. Printed as
 * text, JSON and CSV, and compared with the table of another recording.
 */
#ifndef PANTRACE_CMD_REPORT_TABLE_H
#define PANTRACE_CMD_REPORT_TABLE_H

#include "base/arena.h"
#include "base/vector.h"
#include "view/sink.h"

enum table_unit {
	TABLE_COUNT,
	TABLE_SIGNED,
	TABLE_PERCENT, /* percent, in hundredths: 1234 = 12.34% */
	TABLE_POINTS, /* percent with a sign: +12.34% */
	TABLE_MILLI, /* thousandths */
	TABLE_MS, /* nanoseconds, shown in milliseconds */
	TABLE_US, /* nanoseconds, shown in microseconds */
	TABLE_TIME, /* a time stamp; 0 = none */
};

#define TABLE_COLUMNS 16
#define TABLE_KEYS    8

struct table_column {
	const char *key, *title; /* as in struct sink_column: a key of NULL = only in text */
	enum table_unit unit;
	bool grows; /* grows with the length of the recording: a count or a sum */
};

struct table_row {
	u32 depth; /* 0 = the outermost */
	const char *const *names; /* depth + 1 names: those of its ancestors, then its own */
	u64 values[TABLE_COLUMNS];
};

struct report_table {
	struct arena arena; /* for rows and names */
	const char *keys[TABLE_KEYS]; /* what the name at each depth is: "event", "task" */
	u32 nr_keys; /* deeper rows are frames of call chains */
	const struct table_column *columns; /* ends with an entry without title and key */
	VECTOR(struct table_row *) rows; /* parents before their children */
	u32 main; /* the column to sort and compare by */
	bool is_flat; /* the names are columns side by side, not levels of a tree */
};

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

struct table_style {
	enum table_format format;
	u64 limit; /* limit of rows on each level; 0 = all */
	bool utc, as_recorded; /* how times are printed */
};

/* Appends a row of zeros. names: depth + 1 strings, which must outlive the table. */
struct table_row *table_add(struct report_table *t, u32 depth, const char *const *names);
/* The same for depth 0; the name is copied. */
struct table_row *table_add_flat(struct report_table *t, const char *name);
/* Sorts flat rows by column `main`, the greatest first. */
void table_sort(struct report_table *t);
/* A cell as text has it. */
void table_value_text(u64 value, enum table_unit unit, const struct table_style *style,
		      struct strbuf *out);
void table_print(const struct report_table *t, const struct table_style *style, struct strbuf *out);
/* seconds: the length of each recording. Both tables must come from the same analysis. */
void table_compare(const struct report_table *before, const struct report_table *after,
		   const double seconds[2], struct report_table *ret);
void table_release(struct report_table *t);

#endif
