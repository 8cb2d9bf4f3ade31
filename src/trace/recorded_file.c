/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/recorded_file.h"

#include <sys/stat.h>

/* Takes PATH. The file, if it is there and the one that was recorded. */
static struct elf_file *candidate(char *path, const char *build_id)
{
	struct elf_file *elf = NULL;
	const char *id;

	if (elf_file_open(path, &elf))
		elf = NULL;
	free(path);
	id = elf ? elf_file_build_id(elf) : NULL;
	if (elf && (!id || !str_eq(id, build_id))) {
		elf_file_close(elf);
		elf = NULL;
	}
	return elf;
}

static struct elf_file *in_place(const char *place, const char *path, const char *id)
{
	const char *slash = strrchr(path, '/');
	struct elf_file *elf = NULL;

	if (strlen(id) > 2) {
		elf = candidate(xasprintf("%s/.build-id/%.2s/%s", place, id, id + 2), id);
		if (!elf)
			elf = candidate(xasprintf("%s/.build-id/%.2s/%s.debug", place, id, id + 2),
					id);
	}
	if (!elf && *path == '/')
		elf = candidate(xasprintf("%s%s", place, path), id);
	if (!elf && slash)
		elf = candidate(xasprintf("%s%s", place, slash), id);
	return elf;
}

static struct elf_file *unchanged(const struct recorded_file_search *s)
{
	struct elf_file *elf;
	struct stat st;

	if (*s->path != '/' || stat(s->path, &st) ||
	    (s64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec >= s->unchanged_since_ns)
		return NULL;
	return elf_file_open(s->path, &elf) ? NULL : elf;
}

struct elf_file *recorded_file_open(const struct recorded_file_search *s)
{
	struct elf_file *elf = NULL;

	if (!*s->build_id)
		return unchanged(s);
	for (size_t i = 0; i < s->nr_places && !elf; i++)
		elf = in_place(s->places[i], s->path, s->build_id);
	if (!elf)
		elf = candidate(xstrdup(s->path), s->build_id);
	return elf ?: in_place("/usr/lib/debug", s->path, s->build_id);
}
