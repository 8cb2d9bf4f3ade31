/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/list/name_list.h"

#include <stdlib.h>
#include <string.h>

void name_list_add(struct name_list *l, const char *name)
{
	vector_push(&l->names, arena_strdup(&l->arena, name));
}

static int compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

void name_list_finish(struct name_list *l)
{
	size_t n = 0;

	if (!l->names.len)
		return;
	qsort(l->names.items, l->names.len, sizeof(*l->names.items), compare);
	/* Several functions of one file may have the same name. */
	for (size_t i = 1; i < l->names.len; i++)
		if (!str_eq(l->names.items[n], l->names.items[i]))
			l->names.items[++n] = l->names.items[i];
	l->names.len = n + 1;
}

void name_list_release(struct name_list *l)
{
	vector_free(&l->names);
	arena_release(&l->arena);
}
