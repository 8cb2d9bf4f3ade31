/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell commands in a scratch directory. */
#ifndef PANTRACE_TESTS_SCRATCH_H
#define PANTRACE_TESTS_SCRATCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* True if it succeeded; its complaints are not shown. */
__attribute__((format(printf, 2, 3), unused)) static bool run_in(const char *dir, const char *fmt,
								 ...)
{
	char command[4096];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd %s && exec 2>/dev/null; ", dir);

	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

#endif
