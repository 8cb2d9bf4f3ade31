/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an analysis of a recording comes to: rows with a name and numbers, sorted, which may stand
 * below each other. Printed as text, JSON and CSV, and compared with that of another recording.
 */
#ifndef PANTRACE_CMD_REPORT_TABLE_H
#define PANTRACE_CMD_REPORT_TABLE_H

#include "base/arena.h"
#include "base/vector.h"
#include "view/sink.h"

enum table_unit {
	TABLE_COUNT,
	TABLE_SIGNED,
	TABLE_PERCENT, /* in 1/100: 1234 = 12.34% */
	TABLE_POINTS, /* the same, signed: +12.34% */
	TABLE_MILLI, /* in 1/1000 */
	TABLE_MS, /* nanoseconds, shown in milliseconds */
	TABLE_US, /* nanoseconds, shown in microseconds */
	TABLE_TIME, /* of the time line; 0 = none */
};

#define TABLE_COLUMNS 16
#define TABLE_KEYS    8

struct table_column {
	const char *key, *title; /* as in struct sink_column: key NULL = only in text */
	enum table_unit unit;
	bool grows; /* with the length of the recording: a count, a sum */
};

struct table_row {
	u32 depth; /* 0 = the outermost */
	const char *const *names; /* depth + 1 of them: what it stands below, and its own */
	u64 values[TABLE_COLUMNS];
};

struct report_table {
	struct arena arena; /* for rows and names */
	const char *keys[TABLE_KEYS]; /* what names are, by depth: "event", "task" */
	u32 nr_keys; /* rows below the last are frames of call chains */
	const struct table_column *columns; /* ends with one without a title and a key */
	VECTOR(struct table_row *) rows; /* each before those below it */
	u32 main; /* the column that it is sorted by, and compared */
	bool is_flat; /* names stand beside each other, not below each other */
};

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

struct table_style {
	enum table_format format;
	u64 limit; /* rows of each level that are shown; 0 = all */
	bool utc, as_recorded; /* of times */
};

/* A row at the end, its values 0. names: depth + 1, which stay. */
struct table_row *table_add(struct report_table *t, u32 depth, const char *const *names);
/* The same, of depth 0; the name is copied. */
struct table_row *table_add_flat(struct report_table *t, const char *name);
/* Flat rows, the greatest of column `main` first. */
void table_sort(struct report_table *t);
void table_print(const struct report_table *t, const struct table_style *style, struct strbuf *out);
/* seconds: how long each recording is. Both tables come from the same analysis. */
void table_compare(const struct report_table *before, const struct report_table *after,
		   const double seconds[2], struct report_table *ret);
void table_release(struct report_table *t);

#endif
