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

/*
 * In a directory of a user's, or of a whole system: by build-id, as distributions lay debug files
 * out and perf its cache, then by path and by name.
 */
static struct elf_file *in_place(const char *place, const char *path, const char *id)
{
	static const char *const by_id[] = {"", ".debug", "/elf", "/debug"},
				 *const directories[] = {"", "/usr/lib/debug"},
				 *const by_path[] = {"", ".debug"};
	const char *slash = strrchr(path, '/');
	struct elf_file *elf = NULL;

	for (size_t d = 0; d < ARRAY_SIZE(directories) && strlen(id) > 2; d++)
		for (size_t i = 0; i < ARRAY_SIZE(by_id) && !elf; i++)
			elf = candidate(xasprintf("%s%s/.build-id/%.2s/%s%s", place, directories[d],
						  id, id + 2, by_id[i]),
					id);
	for (size_t i = 0; i < ARRAY_SIZE(by_path) && !elf && slash; i++) {
		if (slash != path)
			elf = candidate(xasprintf("%s%s%s", place, path, by_path[i]), id);
		if (!elf)
			elf = candidate(xasprintf("%s%s%s", place, slash, by_path[i]), id);
	}
	return elf;
}

/* Where others of this user's tools keep such files; nothing is fetched. */
static struct elf_file *in_caches(const char *path, const char *id)
{
	static const char *const names[] = {"executable", "debuginfo"};
	const char *const home = getenv("HOME");
	struct elf_file *elf = NULL;
	char *place, *folder;

	for (u32 i = 0; !elf && (folder = debuginfod_folder(i)); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(names) && !elf && *folder; k++)
			elf = candidate(xasprintf("%s/%s/%s", folder, id, names[k]), id);
		free(folder);
	}
	if (elf || !home || *home != '/')
		return elf;
	place = xasprintf("%s/.debug", home); /* perf's */
	elf = in_place(place, path, id);
	free(place);
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
	if (!elf)
		elf = in_place("/usr/lib/debug", s->path, s->build_id);
	return elf ?: in_caches(s->path, s->build_id);
}
