/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/vector.h"

enum {
	MAX_FILE = 256 << 20,
	MAX_WALK = 4096, /* overlapping entries looked at for one address */
};

struct perf_map_entry {
	u64 start, end, reach; /* reach: the largest end so far */
	u32 order;
	const char *name;
};

struct perf_map {
	struct arena arena;
	VECTOR(struct perf_map_entry) list;
};

static int by_start(const void *a, const void *b)
{
	const struct perf_map_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool read_hex(const char **s, const char *end, u64 *ret)
{
	const char *p = *s;
	u64 v = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x')
		p += 2;
	for (*s = p; p < end && p - *s < 16; p++) {
		u32 digit = *p >= '0' && *p <= '9'		   ? (u32)(*p - '0')
			    : (*p | 32) >= 'a' && (*p | 32) <= 'f' ? (u32)((*p | 32) - 'a' + 10)
								   : 16;
		if (digit == 16)
			break;
		v = v << 4 | digit;
	}
	if (p == *s || p >= end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*s = p;
	*ret = v;
	return true;
}

static void parse_line(struct perf_map *map, const char *s, const char *end)
{
	struct perf_map_entry e = {.order = (u32)map->list.len};
	u64 size;

	if (!read_hex(&s, end, &e.start) || !read_hex(&s, end, &size) || s == end || !size ||
	    e.start + size < e.start)
		return;
	e.end = e.start + size;
	e.name = arena_strndup(&map->arena, s, (size_t)(end - s));
	vector_push(&map->list, e);
}

struct perf_map *perf_map_parse(const char *text, size_t len)
{
	struct perf_map *map = xzalloc(sizeof(*map));
	const char *end = text + len;
	u64 reach = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (!newline)
			newline = end;
		parse_line(map, text, newline);
		text = newline + (newline < end);
	}
	if (map->list.len)
		qsort(map->list.items, map->list.len, sizeof(*map->list.items), by_start);
	for (size_t i = 0; i < map->list.len; i++) {
		reach = MAX(reach, map->list.items[i].end);
		map->list.items[i].reach = reach;
	}
	return map;
}

int perf_map_read(const char *path, uid_t uid, uid_t uid2, struct perf_map **ret)
{
	struct stat st;
	const int fd = foreign_file(AT_FDCWD, path, O_RDONLY, &st);
	char *text = NULL;
	size_t len;
	int err = 0;

	if (fd < 0)
		return fd;
	if (st.st_uid != uid && st.st_uid != uid2 && st.st_uid != 0)
		err = -EPERM;
	if (!err)
		err = file_read_fd(fd, MAX_FILE, &text, &len);
	close(fd);
	if (err)
		return err;
	*ret = perf_map_parse(text, len);
	free(text);
	return 0;
}

const char *perf_map_find(const struct perf_map *map, u64 address, u64 *ret_offset)
{
	const struct perf_map_entry *best = NULL;
	size_t low = 0, high = map->list.len;
	u32 steps = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->list.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && map->list.items[i].reach > address && steps++ < MAX_WALK;) {
		const struct perf_map_entry *e = &map->list.items[i];

		if (e->end > address && (!best || e->order > best->order))
			best = e;
	}
	if (!best)
		return NULL;
	*ret_offset = address - best->start;
	return best->name;
}

void perf_map_release(struct perf_map *map)
{
	if (!map)
		return;
	vector_free(&map->list);
	arena_release(&map->arena);
	free(map);
}
