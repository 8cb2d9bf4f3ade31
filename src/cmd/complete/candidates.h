/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may stand in a place of a command line, by the word that its help uses for it: PID,
 * TRACEPOINT, FIELD.
 */
#ifndef PANTRACE_CMD_COMPLETE_CANDIDATES_H
#define PANTRACE_CMD_COMPLETE_CANDIDATES_H

#include <stddef.h>

struct completion {
	const char *word; /* as written so far */
	const char *const *words; /* those before it, from the command's name on */
	size_t nr_words;
	/* Takes one that begins with `word`. */
	void (*offer)(void *arg, const char *candidate, const char *help);
	void *arg;
};

/*
 * Offers what there is of this kind. What has parts ("tracepoint:sched:sched_switch") is offered up
 * to the end of the part that is being written. A kind that only the shell knows is offered as
 * ":files", ":directories" or ":commands".
 */
void candidates(const char *kind, const struct completion *c);

#endif
