/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file line by line through one buffer, not a mapping: others may truncate or write it
 * meanwhile.
 */
#ifndef PANTRACE_TRACE_TEXT_LINES_H
#define PANTRACE_TRACE_TEXT_LINES_H

#include "base/base.h"

#define LINE_MOST (1u << 20) /* bytes; a longer line is cut */

struct line {
	const char *text; /* without the newline; valid until the next call */
	size_t size;
};

struct lines {
	int fd;
	char *buffer;
	size_t at, end; /* bytes that were read but not returned yet */
	bool is_over, is_back, is_cut;
	struct line last;
	u64 number; /* number of the last line, from 1 */
	u64 cut; /* number of lines that were too long */
	int error; /* errno of a read */
};

/* Takes over the descriptor. */
void lines_open(struct lines *l, int fd);
void lines_close(struct lines *l);
/* Returns false at the end or after an error. */
bool lines_next(struct lines *l, struct line *ret);
/* The next call returns the last line again. */
void lines_back(struct lines *l);

#endif
