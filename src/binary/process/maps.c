/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/maps.h"

#include <stdio.h>

#include "base/file.h"

enum { MAX_MAPS = 64 << 20 /* bytes: more than max_map_count lines of ordinary length */ };

static const char deleted[] = " (deleted)";

/* The kernel writes newlines in paths as \012, and nothing else is escaped (fs/seq_file.c,
 * seq_path). */
static char *unescape_path(struct arena *a, const char *s, size_t n)
{
	char *out = arena_alloc(a, n + 1), *p = out;

	for (size_t i = 0; i < n; i++) {
		if (n - i >= 4 && memcmp(s + i, "\\012", 4) == 0) {
			*p++ = '\n';
			i += 3;
		} else {
			*p++ = s[i];
		}
	}
	*p = 0;
	return out;
}

static enum mapping_kind mapping_kind(const char *path, size_t n, u64 inode)
{
	size_t suffix = sizeof(deleted) - 1;

	if (n == 6 && memcmp(path, "[vdso]", 6) == 0)
		return MAPPING_VDSO;
	if (n && *path == '[' && strncmp(path, "[heap]", 6) != 0 &&
	    strncmp(path, "[stack", 6) != 0 && strncmp(path, "[anon", 5) != 0)
		return MAPPING_OTHER;
	if (!n || *path != '/' || !inode || str_starts(path, "/memfd:") ||
	    str_starts(path, "/dev/zero") || str_starts(path, "/SYSV") ||
	    str_starts(path, "//anon") || str_starts(path, "/anon_hugepage"))
		return MAPPING_ANONYMOUS;
	return n > suffix && memcmp(path + n - suffix, deleted, suffix) == 0 ? MAPPING_DELETED
									     : MAPPING_FILE;
}

/* "55d0c0a00000-55d0c0a30000 r-xp 00002000 fe:01 123456    /usr/bin/bash" */
static void parse_line(struct process_maps *maps, const char *line, size_t len)
{
	struct process_mapping m = {0};
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &m.start,
		   &m.end, permissions, &m.offset, &m.major, &m.minor, &m.inode, &at) < 7)
		return;
	m.is_data = strlen(permissions) == 4 && permissions[2] != 'x';
	if (strlen(permissions) != 4 || (m.is_data && !maps->with_data) || m.end <= m.start ||
	    (size_t)at > len)
		return;
	if (maps->list.len && vector_last(&maps->list).end > m.start)
		return;
	at += (int)strspn(line + at, " ");
	len = len > (size_t)at ? len - (size_t)at : 0;
	m.kind = mapping_kind(line + at, len, m.inode);
	if (m.kind == MAPPING_DELETED)
		len -= sizeof(deleted) - 1;
	m.path = unescape_path(&maps->arena, line + at, len);
	vector_push(&maps->list, m);
}

void process_maps_parse(struct process_maps *maps, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *permissions = memchr(text, ' ', n);

		/* The cheap test first: nine lines of ten are not executable. */
		if (permissions && n > (size_t)(permissions - text) + 4 &&
		    (permissions[3] == 'x' || maps->with_data)) {
			char *line = xstrndup(text, n);

			parse_line(maps, line, n);
			free(line);
		}
		text += n + (text[n] == '\n');
	}
}

int process_maps_read(struct process_maps *maps, pid_t pid)
{
	char path[32], *text;
	size_t len;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	err = file_read(path, MAX_MAPS, &text, &len);
	if (err)
		return err;
	process_maps_parse(maps, text);
	free(text);
	return len ? 0 : -ESRCH;
}

void process_maps_release(struct process_maps *maps)
{
	vector_free(&maps->list);
	arena_release(&maps->arena);
}

const struct process_mapping *process_maps_find(const struct process_maps *maps, u64 address)
{
	size_t low = 0, high = maps->list.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct process_mapping *m = &maps->list.items[middle];

		if (address < m->start)
			high = middle;
		else if (address >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

int process_each_mapping(pid_t pid, int (*fn)(void *arg, const struct process_mapping *m),
			 void *arg)
{
	struct process_maps maps = {0};
	int result = process_maps_read(&maps, pid);

	for (size_t i = 0; i < maps.list.len && !result; i++)
		result = fn(arg, &maps.list.items[i]);
	process_maps_release(&maps);
	return result;
}
