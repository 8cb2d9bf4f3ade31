/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: "sh;main;work 17", the outermost function first, then how much it weighs. */
#ifndef PANTRACE_TRACE_TEXT_FOLDED_H
#define PANTRACE_TRACE_TEXT_FOLDED_H

#include "trace/text/dialect.h"

/* Whether all lines of the head are such, one of them with several frames. */
bool text_folded_is(const void *head, size_t len);
/* comm, period and name of the event; the frames behind the first. False: no such line. */
bool text_folded_parse(const struct line *line, struct text_event *event,
		       struct text_range *ret_frames);
/* Takes the last frame off. False: there is none. */
bool text_folded_last(struct text_range *frames, struct text_range *ret);

#endif
