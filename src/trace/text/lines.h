/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file line by line, through one buffer: others may cut it short or write to it meanwhile. */
#ifndef PANTRACE_TRACE_TEXT_LINES_H
#define PANTRACE_TRACE_TEXT_LINES_H

#include "base/base.h"

#define LINE_MOST (1u << 20) /* bytes; of a longer one only the beginning is given */

struct line {
	const char *text; /* without its newline; until the next one */
	size_t size;
};

struct lines {
	int fd;
	char *buffer;
	size_t at, end; /* what was read and not yet given */
	bool is_over, is_back, is_cut;
	struct line last;
	u64 number; /* of the last line, from 1 on */
	int error; /* of a read */
};

/* The descriptor is taken. */
void lines_open(struct lines *l, int fd);
void lines_close(struct lines *l);
/* False: the end, or an error. */
bool lines_next(struct lines *l, struct line *ret);
/* The last one comes again. */
void lines_back(struct lines *l);

#endif
