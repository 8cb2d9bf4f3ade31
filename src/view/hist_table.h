/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram as `pantrace hist` shows it, whether the kernel or BPF counted: keys, hits, sums. The
 * form of a key says how its number is printed, as in the kernel's histogram triggers
 * (Documentation/trace/histogram.rst).
 */
#ifndef PANTRACE_VIEW_HIST_TABLE_H
#define PANTRACE_VIEW_HIST_TABLE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vector.h"

enum hist_form {
	HIST_NUMBER,
	HIST_HEX,
	HIST_SYM, /* a kernel address and its function */
	HIST_SYM_OFFSET, /* and the distance from its begin */
	HIST_LOG2, /* the number is n: all above 2^(n-1), up to 2^n */
	HIST_BUCKETS, /* the number is the lowest of `width` */
	HIST_EXECNAME, /* a thread's number; text: its name */
	HIST_SYSCALL, /* a system call's number */
	HIST_USECS, /* a time in us instead of ns */
	HIST_PERCENT, /* of values: the share of the sum over all rows */
	HIST_GRAPH, /* of values: as a bar */
	HIST_STRING, /* text */
	HIST_STACK, /* several lines of text: one function each */
	HIST_FORM_COUNT
};

/* ".sym"; "" of those that have no word. */
extern const char *const hist_form_words[HIST_FORM_COUNT];

struct hist_column {
	const char *name;
	enum hist_form form;
	u64 width; /* HIST_BUCKETS */
	bool is_signed;
};

struct hist_cell {
	u64 number;
	const char *text;
};

struct hist_row {
	u64 hits;
	struct hist_cell *cells; /* keys, then values */
};

#define HIST_BY_HITS   UINT32_MAX
#define HIST_MAX_SORTS 2u

struct hist_sort {
	u32 column; /* of the cells, or HIST_BY_HITS */
	bool is_descending;
};

struct hist_table {
	struct arena arena; /* of the rows and their text */
	const char *title; /* event and specification */
	const char *engine; /* who counted: "kernel", "bpf" */
	const struct hist_column *columns;
	u32 nkeys, ncolumns;
	struct hist_sort sorts[HIST_MAX_SORTS];
	u32 nsorts;
	VECTOR(struct hist_row) rows;
	u64 hits, most_hits; /* hist_table_sort(): sum and maximum over the rows */
	u64 *sums, *most; /* of each column, too */
	u64 dropped; /* events that found no room for their key */
	bool is_paused;
	void *arg;
	/* The function of a kernel address and the offset in it; NULL: unknown. */
	const char *(*symbol)(void *arg, u64 address, u64 *ret_offset);
	const char *(*syscall)(void *arg, u64 number); /* NULL = unknown */
};

/* A new row with room for every cell. */
struct hist_row *hist_table_add(struct hist_table *t);
/* Sorts and sums up; before any of the following. */
void hist_table_sort(struct hist_table *t);
/* Removes all rows. */
void hist_table_clear(struct hist_table *t);
/* Aligned columns with bars. top: only the last rows in order; 0 = all. */
void hist_table_text(struct strbuf *out, const struct hist_table *t, u64 top);
/* The layout of the kernel's hist files. */
void hist_table_kernel_text(struct strbuf *out, const struct hist_table *t);
/* One object, on one line. */
void hist_table_json(struct strbuf *out, const struct hist_table *t, u64 top);
void hist_table_release(struct hist_table *t);

#endif
