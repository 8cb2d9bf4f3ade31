/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An arena: memory that is given out piece by piece and released all at once.
 * One arena lives as long as one compilation (syntax trees, types, names), so
 * nothing in it is freed on its own. Not for use from several threads.
 */
#ifndef PANTRACE_BASE_ARENA_H
#define PANTRACE_BASE_ARENA_H

#include "base/base.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used; /* bytes used of the newest block */
};

#define ARENA_INIT \
	{          \
		0  \
	}

/* Zeroed memory, 16-byte aligned; never NULL. */
void *arena_alloc(struct arena *a, size_t size);
/* Copies n bytes of any value and adds a NUL. */
char *arena_text(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void *arena_memdup(struct arena *a, const void *p, size_t size);
void arena_release(struct arena *a);

#define arena_new(a, T)		 ((T *)arena_alloc((a), sizeof(T)))
#define arena_new_array(a, T, n) ((T *)arena_alloc((a), (n) * sizeof(T)))

#endif
