/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of the table: threads, or processes as sums of their threads; filtered and sorted. */
#ifndef PANTRACE_CMD_TOP_ROWS_H
#define PANTRACE_CMD_TOP_ROWS_H

#include "cmd/top/tasks.h"

struct column;
struct pid_list;

struct row {
	const struct task *task; /* the thread, or the first one of the process */
	u32 id, parent; /* for the tree */
	u32 threads;
	char state;
	u64 counts[COUNTS];
	u64 cpu_ns; /* since it began */
	u64 group_ns;
	u64 span_ns; /* of the interval */
	/* in a tree, bit N: the line at depth N goes on below this row */
	u64 lines;
	u32 depth;
};

/* Which rows, in which order. */
struct row_choice {
	const struct pid_list *pids; /* only these processes; none: all */
	const char *filter; /* a part of the name, or the id; "" = all */
	const struct column *sort;
	bool is_ascending, by_thread, as_tree;
};

struct rows {
	VECTOR(struct row) items;
	struct row total; /* of all tasks, chosen or not */
	u32 processes, threads, running;
};

/* *ret points into *t. */
void rows_make(const struct tasks *t, const struct row_choice *c, struct rows *ret);
void rows_release(struct rows *r);

/* Is `text` a part of the row's name, in any case, or its id? True for "". */
bool row_matches(const struct row *r, const char *text);

#endif
