/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/live.h"

#include <dirent.h>
#include <stdio.h>

#include "base/file.h"
#include "base/vector.h"

#define MAX_CPUS 8192

int ring_text(const char *directory, const char *file, char **ret)
{
	char *path = xasprintf("%s/%s", directory, file);
	const int err = file_read(path, 1 << 20, ret, NULL);

	free(path);
	return err;
}

/*
 * events/ of an instance has the headers too (since 3.10); buffer_subbuf_size_kb is the instance's
 * own (6.8).
 */
int ring_layout(const char *directory, struct page_layout *ret)
{
	char *page, *event = NULL, *size;
	int err = ring_text(directory, "events/header_page", &page);

	if (err)
		return err;
	ring_text(directory, "events/header_event", &event);
	err = page_layout_parse(page, event, ret);
	free(page);
	free(event);
	if (!err && !ring_text(directory, "buffer_subbuf_size_kb", &size)) {
		const unsigned long kb = strtoul(size, NULL, 10);

		if (kb && kb <= 1u << 14)
			ret->size = (u32)kb * 1024;
		free(size);
	}
	return err;
}

bool ring_has_clock(const char *directory, const char *clock)
{
	char *text, *chosen;
	bool has;

	if (ring_text(directory, "trace_clock", &text))
		return false;
	chosen = xasprintf("[%s]", clock);
	has = strstr(text, chosen);
	free(chosen);
	free(text);
	return has;
}

static u64 counter(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	/* "overrun" is also the end of "commit overrun". */
	while (at && at > text && at[-1] != '\n')
		at = strstr(at + 1, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

int ring_counts(const char *directory, u32 cpu, struct ring_counts *ret)
{
	char file[64], *text;
	int err;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
	err = ring_text(directory, file, &text);
	if (err)
		return err;
	ret->entries = counter(text, "entries: ");
	ret->bytes = counter(text, "bytes: ");
	ret->overrun = counter(text, "overrun: ");
	ret->dropped = counter(text, "dropped events: ") + counter(text, "commit overrun: ");
	ret->read = counter(text, "read events: ");
	free(text);
	return 0;
}

void ring_counts_add(struct ring_counts *all, const struct ring_counts *one)
{
	all->entries += one->entries;
	all->bytes += one->bytes;
	all->overrun += one->overrun;
	all->dropped += one->dropped;
	all->read += one->read;
}

static int compare_cpus(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

int ring_cpus(const char *directory, u32 **ret, u32 *ret_count)
{
	char *path = xasprintf("%s/per_cpu", directory);
	VECTOR(u32) cpus = {0};
	DIR *dir = opendir(path);
	const int err = dir ? 0 : -errno;
	struct dirent *e;
	u32 cpu;

	free(path);
	while (dir && (e = readdir(dir)))
		if (sscanf(e->d_name, "cpu%u", &cpu) == 1 && cpu < MAX_CPUS)
			vector_push(&cpus, cpu);
	if (dir)
		closedir(dir);
	if (cpus.len)
		qsort(cpus.items, cpus.len, sizeof(*cpus.items), compare_cpus);
	*ret = cpus.items;
	*ret_count = (u32)cpus.len;
	return err ? err : cpus.len ? 0 : -ENOENT;
}

struct ring_counts ring_counts_of_all(const char *directory, u32 *ret_cpus)
{
	struct ring_counts all = {0}, one;
	u32 *cpus, count;

	if (ring_cpus(directory, &cpus, &count))
		count = 0;
	for (u32 i = 0; i < count; i++)
		if (!ring_counts(directory, cpus[i], &one))
			ring_counts_add(&all, &one);
	free(cpus);
	if (ret_cpus)
		*ret_cpus = count;
	return all;
}
