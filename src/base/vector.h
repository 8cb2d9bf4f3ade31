/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing array of any element type, malloc'ed. Zero-initialised is empty.
 *
 *	VECTOR(int) v = {0};
 *	vector_push(&v, 42);
 *	for (size_t i = 0; i < v.len; i++) use(v.items[i]);
 *	vector_free(&v);
 */
#ifndef PANTRACE_BASE_VECTOR_H
#define PANTRACE_BASE_VECTOR_H

#include "base/base.h"

#define VECTOR(T)                \
	struct {                 \
		T *items;        \
		size_t len, cap; \
	}

#define vector_reserve(v, n)                                                                   \
	do {                                                                                   \
		if ((v)->cap < (n)) {                                                          \
			(v)->cap = MAX((size_t)(n), (v)->cap ? (v)->cap * 2 : (size_t)8);      \
			(v)->items = xreallocarray((v)->items, (v)->cap, sizeof(*(v)->items)); \
		}                                                                              \
	} while (0)

/*
 * The value must not refer to the vector: whether its length is already incremented is undefined.
 */
#define vector_push(v, ...)                             \
	do {                                            \
		vector_reserve((v), (v)->len + 1);      \
		(v)->items[(v)->len++] = (__VA_ARGS__); \
	} while (0)

#define vector_last(v) ((v)->items[(v)->len - 1])

#define vector_free(v)             \
	do {                       \
		free((v)->items);  \
		(v)->items = NULL; \
		(v)->len = 0;      \
		(v)->cap = 0;      \
	} while (0)

#endif
