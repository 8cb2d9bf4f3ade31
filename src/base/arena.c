/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <stdio.h>

/*
 * Blocks double in size: the thousands of small arenas (one per traced process) stay small, and a
 * large arena has few blocks.
 */
#define BLOCK_MIN ((size_t)1024)
#define BLOCK_MAX ((size_t)64 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(16) char data[];
};

static void add_block(struct arena *a, size_t size)
{
	struct arena_block *b = xzalloc(sizeof(*b) + size);

	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	a->used = 0;
}

static size_t next_size(const struct arena *a)
{
	return a->blocks ? MIN(MAX(a->blocks->size * 2, BLOCK_MIN), BLOCK_MAX) : BLOCK_MIN;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	size = ALIGN_UP(size, (size_t)16);
	if (!a->blocks || a->blocks->size - a->used < size)
		add_block(a, MAX(size, next_size(a)));
	p = a->blocks->data + a->used;
	a->used += size;
	return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t size)
{
	return size ? memcpy(arena_alloc(a, size), p, size) : arena_alloc(a, 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, s, len);
	return copy;
}

char *arena_text(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	if (n)
		memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	int len;
	char *s;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = arena_alloc(a, (size_t)len + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return s;
}

void arena_release(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->used = 0;
}
