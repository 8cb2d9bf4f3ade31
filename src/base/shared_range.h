/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is shared with another process through a file (rings, counting tables: both sides
 * write, so a copy will not do). The other process may truncate the file at any time, and touching
 * missing pages raises SIGBUS. Within the ranges registered here, such pages read as zeros instead,
 * and the range records it. Any other SIGBUS is left alone.
 */
#ifndef PANTRACE_BASE_SHARED_RANGE_H
#define PANTRACE_BASE_SHARED_RANGE_H

#include "base/base.h"

struct shared_range {
	const u8 *start;
	size_t len;
	volatile bool
		is_cut; /* some bytes read since the last check may be zeros that nobody wrote */
	struct shared_range *next;
};

/*
 * Registers a page-aligned part of a mapping. r stays the caller's and must not move until it is
 * removed.
 */
void shared_range_add(struct shared_range *r, const void *start, size_t len);
/* Call before unmapping; zero-initialised is fine. */
void shared_range_remove(struct shared_range *r);

#endif
