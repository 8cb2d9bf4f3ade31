/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pipe, socket or terminal that nobody reads blocks its writer for ever. A program that blocks
 * signals to shut down in order would then never end; these functions let it.
 */
#ifndef PANTRACE_BASE_STALL_H
#define PANTRACE_BASE_STALL_H

#include "base/base.h"

/* Is this descriptor one that somebody has to read? */
bool stall_is_possible(int fd);
/*
 * The process ends, by a signal: from now on a reader that stalls is waited for only for a moment.
 */
void stall_end(void);
/*
 * Has a signal come that ends the process, and is blocked? Those that are not blocked end it at
 * once.
 */
bool stall_signal_waits(void);
/*
 * Writes everything, as write_all(), but gives up with -ETIMEDOUT when the reader takes nothing for
 * a while and the process ends: after stall_end(), or when SIGINT, SIGTERM, SIGHUP or SIGQUIT
 * waits.
 */
int stall_write(int fd, const void *data, size_t len);
/* From now on this holds for what is written to stderr. */
void stall_watch_messages(void);

#endif
