/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/nearest.h"

#include <stdio.h>

/* The edit distance (Levenshtein), at most max + 1. */
static unsigned int edit_distance(const char *a, const char *b, unsigned int max)
{
	size_t la = strlen(a), lb = strlen(b);
	unsigned int row[65];

	if (la > 64 || lb > 64 || (la > lb ? la - lb : lb - la) > max)
		return max + 1;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return MIN(row[lb], max + 1);
}

void nearest_init(struct nearest *n, const char *word)
{
	memset(n, 0, sizeof(*n));
	n->word = word;
	n->budget = 200000;
	for (u32 i = 0; i < ARRAY_SIZE(n->distance); i++)
		n->distance[i] = (unsigned int)MIN(strlen(word) / 3 + 1, (size_t)3) + 1;
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	const size_t lw = strlen(n->word), lc = strlen(candidate);
	const u32 last = ARRAY_SIZE(n->distance) - 1;
	unsigned int d;

	if (lc > lw + 3 || lw > lc + 3 || lc >= sizeof(n->best[0]) || !n->budget)
		return;
	n->budget--;
	d = edit_distance(n->word, candidate, n->distance[last] - 1);
	if (d >= n->distance[last])
		return;
	for (u32 i = 0; i <= last; i++)
		if (n->distance[i] == d && str_eq(n->best[i], candidate))
			return;
	for (u32 i = last;; i--) { /* insertion into the short sorted list */
		if (i && n->distance[i - 1] > d) {
			memcpy(n->best[i], n->best[i - 1], sizeof(n->best[i]));
			n->distance[i] = n->distance[i - 1];
			continue;
		}
		memcpy(n->best[i], candidate, lc + 1);
		n->distance[i] = d;
		return;
	}
}

bool nearest_hint(const struct nearest *n, struct diag *d, const char *prefix)
{
	if (!n->best[0][0])
		return false;
	if (n->best[1][0] && n->distance[1] == n->distance[0])
		diag_hint(d, "did you mean '%s%s' or '%s%s'?", prefix, n->best[0], prefix,
			  n->best[1]);
	else
		diag_hint(d, "did you mean '%s%s'?", prefix, n->best[0]);
	return true;
}

bool diag_hint_nearest(struct diag *d, const char *word, const char *const *candidates, size_t n)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; i < n; i++)
		nearest_offer(&near, candidates[i]);
	return nearest_hint(&near, d, "");
}

const char *nearest_question(struct nearest *n)
{
	if (n->best[0][0])
		snprintf(n->question, sizeof(n->question), "; did you mean '%s'?", n->best[0]);
	return n->question;
}
