/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TAP for unit tests: ok(condition, name...), then `return tap_done();` from main. */
#ifndef PANTRACE_TESTS_TAP_H
#define PANTRACE_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static int ok(int condition, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", condition ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	tap_failed += !condition;
	return condition;
}

__attribute__((unused)) static int is_str(const char *got, const char *want, const char *name)
{
	int same = got && want ? !strcmp(got, want) : got == want;

	ok(same, "%s", name);
	if (!same)
		printf("# got:  %s\n# want: %s\n", got ? got : "(null)", want ? want : "(null)");
	return same;
}

__attribute__((unused)) static int is_int(long long got, long long want, const char *name)
{
	ok(got == want, "%s", name);
	if (got != want)
		printf("# got %lld, want %lld\n", got, want);
	return got == want;
}

__attribute__((unused)) static void tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, why);
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
