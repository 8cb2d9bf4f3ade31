/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/name_list.h"

#include <stdlib.h>
#include <string.h>

#define RUN 4096 /* so many are sorted at once, then runs are merged */

static int compare(const struct listed_name *x, const struct listed_name *y)
{
	for (u32 i = 0; i < ARRAY_SIZE(x->head); i++)
		if (x->head[i] != y->head[i])
			return x->head[i] < y->head[i] ? -1 : 1;
	return strcmp(x->text, y->text);
}

static int compare_names(const void *a, const void *b)
{
	return compare(a, b);
}

/* The next 8 bytes of a name, moved past. */
static u64 next_bytes(const char **at)
{
	u64 bytes = 0;

	for (int i = 0; i < 8; i++)
		bytes = bytes << 8 | (u8)(**at ? *(*at)++ : 0);
	return bytes;
}

static void sort_from(struct name_list *l, size_t first)
{
	struct listed_name *names = l->names.items;

	for (size_t i = first; i < l->names.len; i++) {
		const char *at = names[i].text + l->skip;

		for (u32 n = 0; n < ARRAY_SIZE(names[i].head); n++)
			names[i].head[n] = next_bytes(&at);
	}
	if (first < l->names.len)
		qsort(names + first, l->names.len - first, sizeof(*names), compare_names);
	l->sorted = l->names.len;
}

void name_list_add(struct name_list *l, const char *name)
{
	if (l->skip && strncmp(name, l->prefix, l->skip) != 0)
		l->skip = 0;
	vector_push(&l->names, ((struct listed_name){.text = arena_strdup(&l->arena, name)}));
	if (l->skip && l->names.len - l->sorted == RUN)
		sort_from(l, l->sorted);
}

static void merge(const struct listed_name *a, size_t na, const struct listed_name *b, size_t nb,
		  struct listed_name *ret)
{
	while (na && nb) {
		if (compare(b, a) < 0) {
			*ret++ = *b++;
			nb--;
		} else {
			*ret++ = *a++;
			na--;
		}
	}
	memcpy(ret, a, na * sizeof(*a));
	memcpy(ret + na, b, nb * sizeof(*b));
}

static void merge_runs(struct name_list *l)
{
	const size_t len = l->names.len;
	struct listed_name *from = l->names.items;
	struct listed_name *to = xreallocarray(NULL, len, sizeof(*to)), *swap;

	for (size_t run = RUN; run < len; run *= 2) {
		for (size_t i = 0; i < len; i += 2 * run) {
			const size_t na = MIN(run, len - i), nb = MIN(run, len - i - na);

			merge(from + i, na, from + i + na, nb, to + i);
		}
		swap = from;
		from = to;
		to = swap;
	}
	l->names.items = from;
	l->names.cap = len;
	free(to);
}

void name_list_finish(struct name_list *l)
{
	size_t n = 0;

	if (!l->names.len)
		return;
	sort_from(l, l->skip ? l->sorted : 0);
	if (l->skip && l->names.len > RUN)
		merge_runs(l);
	/* Functions of one file may share their name with those of others. */
	for (size_t i = 1; i < l->names.len; i++)
		if (compare(&l->names.items[n], &l->names.items[i]))
			l->names.items[++n] = l->names.items[i];
	l->names.len = n + 1;
}

void name_list_release(struct name_list *l)
{
	vector_free(&l->names);
	arena_release(&l->arena);
}
