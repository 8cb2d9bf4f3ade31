/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The best few names near a word, found in one pass over any number of candidates: "did you mean
 * 'x'?".
 */
#ifndef PANTRACE_BASE_NEAREST_H
#define PANTRACE_BASE_NEAREST_H

#include "base/diag.h"

struct nearest {
	const char *word;
	char best[3][128];
	unsigned int distance[3];
	u32 budget; /* how many more candidates are compared */
	char question[160];
};

void nearest_init(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *candidate);
/* Adds "did you mean 'PREFIXname'?" if a name is near. True if it did. */
bool nearest_hint(const struct nearest *n, struct diag *d, const char *prefix);
/* Both in one for names that are all at hand. True if one is near. */
bool diag_hint_nearest(struct diag *d, const char *word, const char *const *candidates, size_t n);
/* "; did you mean 'name'?", or "" if no name is near; valid as long as n is */
const char *nearest_question(struct nearest *n);

#endif
