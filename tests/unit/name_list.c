// SPDX-License-Identifier: GPL-2.0-or-later
// Names are told in the order of the alphabet, each once, however many there are.
#include "cmd/list/name_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * A name of few letters, so that many share their beginning and some are the same; every odd_th
 * begins otherwise.
 */
static void make(char name[64], u32 i, u32 odd)
{
	size_t len =
		(size_t)snprintf(name, 64, "%s", odd && i % odd == odd - 1 ? "other:" : "kprobe:");
	const int more = rand() % 30;

	for (int n = 0; n < more; n++)
		name[len++] = "ab_\xc3"[rand() % 4];
	name[len] = '\0';
}

static void test_many(u32 count, u32 odd, const char *what)
{
	struct name_list l = {.arena = ARENA_INIT};
	char **want = xmalloc((count + 1) * sizeof(*want)), name[64];
	bool same = true;
	size_t n = 0;

	for (u32 i = 0; i < count; i++) {
		make(name, i, odd);
		want[i] = xstrdup(name);
		name_list_add(&l, name);
	}
	name_list_finish(&l);
	qsort(want, count, sizeof(*want), by_text);
	for (u32 i = 0; i < count; i++) {
		if (i && !strcmp(want[i], want[i - 1]))
			continue;
		same = same && n < l.names.len && !strcmp(l.names.items[n], want[i]);
		n++;
	}
	ok(same && n == l.names.len, "%u names%s", count, what);
	for (u32 i = 0; i < count; i++)
		free(want[i]);
	free(want);
	name_list_release(&l);
}

int main(void)
{
	static const u32 counts[] = {0, 1, 2, 3, 50000};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		test_many(counts[i], 0, "");
		test_many(counts[i], 1, ", none with the prefix");
		test_many(counts[i], 5000, ", one of 5000 without the prefix");
	}
	return tap_done();
}
