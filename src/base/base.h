/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every file of the tool may rely on: integer names, container macros,
 * and the allocation policy.
 *
 * Allocation policy: a command-line tracer that cannot get a few bytes cannot do
 * anything useful, so xmalloc() and friends never return NULL; they end the
 * process with a message and exit code 1 (kernel objects are tied to our file
 * descriptors and vanish with us). Sizes that come from foreign data are checked
 * against a limit before they get here.
 */
#ifndef PANTRACE_BASE_BASE_H
#define PANTRACE_BASE_BASE_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a)		 (sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, m) ((type *)((char *)(p)-offsetof(type, m)))
#define MIN(a, b)		 ((a) < (b) ? (a) : (b))
#define MAX(a, b)		 ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, a)		 (((x) + (a)-1) & ~((__typeof__(x))(a)-1))
#define PRINTF_LIKE(f, a)	 __attribute__((format(printf, f, a)))
#define UNUSED			 __attribute__((unused))

/* Exit codes of every command (doc/architecture.md, "Exit codes"). */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LOST = 3, /* finished, but events were lost */
	EXIT_PRIVILEGE = 4, /* missing privilege */
	EXIT_UNSUPPORTED = 5, /* the kernel lacks the feature */
	/* added to the number of the signal that ended the command: main() ends by it, too */
	EXIT_SIGNAL = 0x100
};

void *xmalloc(size_t size);
void *xzalloc(size_t size);
void *xrealloc(void *p, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* A count's noun and verb: "1 event is", "2 events are". */
static inline const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

static inline const char *is_are(u64 n)
{
	return n == 1 ? "is" : "are";
}

static inline const char *was_were(u64 n)
{
	return n == 1 ? "was" : "were";
}

static inline bool str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool str_ends(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return m <= n && strcmp(s + n - m, end) == 0;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

#endif
