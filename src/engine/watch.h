/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records which files processes map, for scripts that print user stacks or symbols: when those are
 * printed, the process and its /proc/PID/maps may be gone. A dummy perf event per CPU reports exec,
 * fork and executable mappings.
 */
#ifndef PANTRACE_ENGINE_WATCH_H
#define PANTRACE_ENGINE_WATCH_H

#include "binary/process/symbolize.h"

struct watch;

/*
 * Tells the symbolizer, which outlives it, what happens: at each watch_read(), and when it asks. Of
 * the process FOLLOWED changes are told at once; 0 = none. NULL if the kernel does not allow it:
 * names are then found only while processes live.
 */
struct watch *watch_open(struct kernel *k, pid_t followed, struct symbolizer *s);
void watch_close(struct watch *w); /* NULL is fine */
u32 watch_fds(const struct watch *w, const int **ret);
/* Tells the symbolizer what has happened since. */
void watch_read(struct watch *w);
/* Has the followed process mapped other code since the last question? */
bool watch_has_changed(struct watch *w);

#endif
