// SPDX-License-Identifier: MIT
/* Sessions of the process itself, for tests. After lib/internal.h and tap.h. */
#ifndef PANTRACE_TESTS_SESSIONS_H
#define PANTRACE_TESTS_SESSIONS_H

#include <string.h>

/*
 * The number of a session; 0 if there is none. Recorders that look at all programs of the machine
 * have sessions here, too, so that the first of our own need not be number 1.
 */
static unsigned int number_of(const char *name)
{
	struct pt_session_info info;

	for (unsigned int i = 1; i < PT_SESSIONS; i++)
		if (pt_session_info(i, &info) && !strcmp(info.spec.name, name))
			return i;
	return 0;
}

#endif
