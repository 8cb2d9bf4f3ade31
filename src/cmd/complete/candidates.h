/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may stand at a place of a command line, by the placeholder that its help uses: PID,
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
 * Offers all candidates of this kind. Names of several parts ("tracepoint:sched:sched_switch") are
 * offered up to the end of the part that is being typed. A kind that only the shell knows is
 * offered as ":files", ":directories" or ":commands".
 */
void candidates(const char *kind, const struct completion *c);

#endif
