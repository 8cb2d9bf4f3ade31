/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How wide the reader's terminal is, and lines that fit. */
#ifndef PANTRACE_VIEW_WIDTH_H
#define PANTRACE_VIEW_WIDTH_H

#include "base/strbuf.h"

/* Columns of the terminal that fd is; 0 = it is none, and lines have the length that they have. */
u32 terminal_width(int fd);
/*
 * Cuts each line from byte `from` on to so many columns; what was cut is marked by '>' at the edge.
 * 0 columns: nothing is cut.
 */
void text_fit(struct strbuf *text, size_t from, u32 columns);

#endif
