/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/base.h"

#include <stdio.h>
#include <unistd.h>

static void *checked(void *p)
{
	if (p)
		return p;
	fputs("pantrace: out of memory\n", stderr);
	_exit(EXIT_FAILED);
}

void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *xzalloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return checked(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *s;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return checked(s);
}
