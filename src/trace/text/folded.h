/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: "sh;main;work 17": frames from the outermost function on, then the weight. */
#ifndef PANTRACE_TRACE_TEXT_FOLDED_H
#define PANTRACE_TRACE_TEXT_FOLDED_H

#include "trace/text/dialect.h"

/* True if all lines of the head are folded stacks, and at least one has several frames. */
bool text_folded_is(const void *head, size_t len);
/*
 * Fills in comm, period and name of the event; *frames: the frames after the first. Returns false
 * if the line is not a folded stack.
 */
bool text_folded_parse(const struct line *line, struct text_event *event,
		       struct text_range *ret_frames);
/* Removes the outermost frame from *frames into *ret. Returns false if there is none. */
bool text_folded_first(struct text_range *frames, struct text_range *ret);

#endif
