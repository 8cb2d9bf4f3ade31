/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing to a pipe, socket or terminal that nobody reads blocks for ever. A program that blocks
 * signals to shut down in order would then never end; these functions prevent that.
 */
#ifndef PANTRACE_BASE_STALL_H
#define PANTRACE_BASE_STALL_H

#include "base/base.h"

/* Does somebody have to read this descriptor (a pipe, socket or terminal)? */
bool stall_is_possible(int fd);
/* The process is ending because of a signal: from now on a stalled reader gets only a moment. */
void stall_end(void);
/*
 * Is a signal pending that ends the process, and is blocked? (Signals that are not blocked end it
 * at once.)
 */
bool stall_signal_waits(void);
/*
 * Writes everything, as write_all(), but gives up with -ETIMEDOUT when the reader takes nothing for
 * a while and the process is ending: after stall_end(), or when SIGINT, SIGTERM, SIGHUP or SIGQUIT
 * is pending.
 */
int stall_write(int fd, const void *data, size_t len);
/* Applies this to stderr, too. */
void stall_watch_messages(void);

#endif
