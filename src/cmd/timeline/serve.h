/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_TIMELINE_SERVE_H
#define PANTRACE_CMD_TIMELINE_SERVE_H

#include "view/timeline/timeline.h"

/*
 * Shows it to a browser until Ctrl-C, or idle_ns without a page. words: the command line. An exit
 * code (said).
 */
int timeline_serve(const struct timeline *t, const struct timeline_options *o, u64 idle_ns,
		   char *const *words);

#endif
