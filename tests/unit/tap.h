/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TAP for unit tests: ok(condition, name...), then `return tap_done();` from main. What is said of
 * a failure goes to stderr, as in tap.sh: prove passes that on.
 */
#ifndef PANTRACE_TESTS_TAP_H
#define PANTRACE_TESTS_TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static int ok(int condition, const char *fmt, ...)
{
	char name[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	printf("%sok %d - %s\n", condition ? "" : "not ", ++tap_count, name);
	if (!condition)
		fprintf(stderr, "# Failed test %d of %s: %s\n", tap_count, __BASE_FILE__, name);
	tap_failed += !condition;
	return condition;
}

__attribute__((unused)) static int is_str(const char *got, const char *want, const char *name)
{
	int same = got && want ? !strcmp(got, want) : got == want;

	ok(same, "%s", name);
	if (!same)
		fprintf(stderr, "# got:  %s\n# want: %s\n", got ? got : "(null)",
			want ? want : "(null)");
	return same;
}

__attribute__((unused)) static int is_int(long long got, long long want, const char *name)
{
	ok(got == want, "%s", name);
	if (got != want)
		fprintf(stderr, "# got %lld, want %lld\n", got, want);
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
