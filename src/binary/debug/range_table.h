/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranges of addresses, some of which may overlap: the first one that was added and covers an
 * address. Zeros are an empty table. Shared by the files of this folder only.
 */
#ifndef PANTRACE_BINARY_DEBUG_RANGE_TABLE_H
#define PANTRACE_BINARY_DEBUG_RANGE_TABLE_H

#include "base/vector.h"

struct range_row {
	u64 start, end;
	u64 reach; /* the largest end up to and including this row: how far a walk back must go */
	u32 item; /* whose range it is; rises in the order in which they were added */
};

struct range_table {
	VECTOR(struct range_row) rows;
};

/* [start, end) of an item, which may have several; an empty one is not added. */
void range_table_add(struct range_table *t, u64 start, u64 end, u32 item);
/* To be called once, before the first question. */
void range_table_sort(struct range_table *t);
/* The lowest item that covers the address; UINT32_MAX = none. */
u32 range_table_find(const struct range_table *t, u64 address);
void range_table_release(struct range_table *t);

#endif
