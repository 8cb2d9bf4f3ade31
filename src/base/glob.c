/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/glob.h"

/* Matches one [class] at *pattern and moves after it; an unclosed '[' is a plain character. */
static bool match_class(const char **pattern, char c)
{
	const char *p = *pattern + 1;
	bool negated = *p == '!' || *p == '^', found = false, first = true;

	if (negated)
		p++;
	for (; *p && (*p != ']' || first); p++) {
		char low = *p, high = *p;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			high = p[2];
			p += 2;
		}
		found |= c >= low && c <= high;
		first = false;
	}
	if (!*p) {
		(*pattern)++;
		return c == '[';
	}
	*pattern = p + 1;
	return found != negated;
}

bool glob_match(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		const char *p = pattern;

		if (*p == '*') {
			star = ++pattern;
			if (!*pattern)
				return true;
			retry = s;
			continue;
		}
		if (*p == '[' ? match_class(&p, *s) : (*p == '?' || *p == *s) && *p++) {
			pattern = p;
			s++;
			continue;
		}
		if (!star)
			return false;
		pattern = star;
		s = ++retry;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool glob_has_wildcard(const char *s)
{
	return s[strcspn(s, "*?[")] != '\0';
}
