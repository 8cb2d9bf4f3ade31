/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is shared with another process through a file (rings, counting tables: both sides
 * write, so no copy will do). The other may cut the file short at any time; touching what is gone
 * raises SIGBUS. Within the ranges that are named here it reads as zeros instead, and the range
 * says so. Any other SIGBUS is what it always was: it is not caught.
 */
#ifndef PANTRACE_BASE_SHARED_RANGE_H
#define PANTRACE_BASE_SHARED_RANGE_H

#include "base/base.h"

struct shared_range {
	const u8 *start;
	size_t len;
	volatile bool is_cut; /* what was read since the last look may be zeros that nobody wrote */
	struct shared_range *next;
};

/* Of a mapping, page-aligned. r stays the caller's, at its place, until it is removed. */
void shared_range_add(struct shared_range *r, const void *start, size_t len);
/* Before the mapping ends; zeros are fine. */
void shared_range_remove(struct shared_range *r);

#endif
