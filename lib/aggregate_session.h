/* SPDX-License-Identifier: MIT */
/* The tables of sessions that count events (aggregate.h): whose they are, and what a child does. */
#ifndef PANTRACE_LIB_AGGREGATE_SESSION_H
#define PANTRACE_LIB_AGGREGATE_SESSION_H

#include "internal.h"

/*
 * The tables of session NUMBER; NULL: none, what was lost by it has been counted. A child makes its
 * own here.
 */
PT_HIDDEN struct pt_tables *pt_tables_of(unsigned int number);
/*
 * The lock is held. The file is the session's; PARENT as in the header. A descriptor, or a negative
 * errno.
 */
PT_HIDDEN int pt_tables_make(unsigned int number, const struct pt_spec *spec, uint32_t pid,
			     uint32_t parent, char file[64]);
/* Where the tables of session NUMBER are mapped, which has some. */
PT_HIDDEN void pt_tables_where(unsigned int number, void **ret, size_t *ret_size);
/*
 * Has memory for the records to come, or for ALL. The lock is held. Returns whether some have none
 * yet.
 */
PT_HIDDEN bool pt_tables_follow(unsigned int number, bool all);
/*
 * No event is counted any more that begins from now on; the memory is given back. The lock is held.
 */
PT_HIDDEN void pt_tables_unmap(unsigned int number);

#endif
