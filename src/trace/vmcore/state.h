/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything in a trace.dat but the pages, from the memory of a dead kernel. */
#ifndef PANTRACE_TRACE_VMCORE_STATE_H
#define PANTRACE_TRACE_VMCORE_STATE_H

#include "trace/dat/writer.h"
#include "trace/vmcore/kernel.h"

/*
 * The texts of events' `format` files (formats.c), of modules' and dynamic events, too. 0 or -errno
 * with a diagnostic.
 */
int dead_formats_read(struct dead_kernel *k, struct dat_contents *c);

/*
 * Symbols, strings, names of tasks, and the machine. What the dump does not have is left out;
 * *ret_uname, malloc'ed, is the contents'.
 */
void dead_state_read(struct dead_kernel *k, struct dat_contents *c, char **ret_uname);
/*
 * The contents' version, malloc'ed (clock.c): how the clocks of these buffers stood to the clock
 * mono, and that to the time of the day. Clocks of which the dump does not tell are left out.
 */
char *dead_clocks_say(struct dead_kernel *k, const struct dat_instance *instances, size_t n);

#endif
