/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_debug.h"

#include <fts.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/cursor.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "binary/debug/lines.h"
#include "binary/process/maps.h"

enum { NOTES_MAX = 1 << 16, GNU_BUILD_ID = 3, BUILD_ID_MAX = 64 };

/* elf(5), notes: name size, size, type; name and contents, each aligned to 4. */
static char *build_id_in(const char *path)
{
	struct strbuf hex = STRBUF_INIT;
	struct cursor c;
	char *data;
	size_t len;

	if (file_read(path, NOTES_MAX, &data, &len))
		return NULL;
	c = cursor_of(data, len);
	while (!c.failed && c.pos < c.len && !hex.len) {
		const u32 name_size = cursor_u32(&c), size = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, name_size);
		const void *id;

		cursor_align(&c, 4);
		id = cursor_bytes(&c, size);
		cursor_align(&c, 4);
		if (id && name_size == 4 && !memcmp(name, "GNU", 4) && type == GNU_BUILD_ID &&
		    size <= BUILD_ID_MAX)
			strbuf_add_hex(&hex, id, size);
	}
	free(data);
	return hex.len ? strbuf_detach(&hex) : NULL;
}

char *kernel_build_id(void)
{
	return build_id_in("/sys/kernel/notes");
}

/* Takes over the path. Without a build-id of the kernel the name must do. */
static bool is_of(char *path, const char *id, char **ret)
{
	struct elf_file *f;
	const char *its;
	bool yes = false;

	if (!elf_file_open(path, &f)) {
		its = elf_file_build_id(f);
		yes = (!id || (its && str_eq(its, id))) && !debug_available(f);
		elf_file_close(f);
	}
	if (yes)
		*ret = path;
	else
		free(path);
	return yes;
}

/* What debuginfod's client has fetched: FOLDER/BUILDID/debuginfo. */
static bool was_fetched(const char *id, char **ret)
{
	bool found = false;
	char *folder;

	for (u32 i = 0; id && !found && (folder = debuginfod_folder(i)); i++) {
		if (*folder)
			found = is_of(xasprintf("%s/%s/debuginfo", folder, id), id, ret);
		free(folder);
	}
	return found;
}

static bool is_below(const char *directory, const char *release, const char *id, char **ret)
{
	/* As below /, and as somebody who has copied only the file has it. */
	static const char *const places[] = {
		"%s/usr/lib/debug/boot/vmlinux-%s",
		"%s/usr/lib/debug/lib/modules/%s/vmlinux",
		"%s/usr/lib/debug/usr/lib/modules/%s/vmlinux",
		"%s/lib/modules/%s/build/vmlinux",
		"%s/lib/modules/%s/vmlinux",
		"%s/boot/vmlinux-%s",
		"%s/vmlinux-%s",
	};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !found; i++) {
		struct strbuf path = STRBUF_INIT;
		const char *const name = strstr(places[i] + 2, "%s");

		strbuf_addf(&path, "%s%.*s%s%s", directory, (int)(name - places[i] - 2),
			    places[i] + 2, release, name + 2);
		found = is_of(strbuf_detach(&path), id, ret);
	}
	if (!found && id)
		found = is_of(xasprintf("%s/.build-id/%.2s/%s.debug", directory, id, id + 2), id,
			      ret);
	return found;
}

char *kernel_debug_file(const char *debug_path)
{
	char *id = kernel_build_id(), *found = NULL;
	char *places = xstrdup(debug_path ? debug_path : ""), *place, *rest;
	struct utsname u;

	if (uname(&u))
		u.release[0] = '\0';
	for (place = strtok_r(places, ":", &rest); place && !found;
	     place = strtok_r(NULL, ":", &rest))
		if (!is_of(xstrdup(place), id, &found))
			is_below(place, u.release, id, &found);
	if (!found && !is_below("", u.release, id, &found) && id &&
	    !is_of(xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2), id, &found))
		was_fetched(id, &found);
	free(places);
	free(id);
	return found;
}

/* ---- modules ---- */

const char *module_name(struct arena *arena, const char *given)
{
	char *const name = arena_strdup(arena, path_base_name(given));
	char *const end = strstr(name, ".ko");

	if (end)
		*end = '\0';
	for (char *p = name; *p; p++)
		if (*p == '-')
			*p = '_';
	return name;
}

char *module_build_id(const char *name)
{
	char *path = xasprintf("/sys/module/%s/notes/.note.gnu.build-id", name);
	char *id = build_id_in(path);

	free(path);
	return id;
}

struct module_search {
	struct arena arena;
	const char *name, *id; /* id NULL = any */
	char *found;
};

static bool is_module(struct module_search *q, const char *file)
{
	const char *const end = strstr(file, ".ko");

	return end && (str_eq(end, ".ko") || str_eq(end, ".ko.debug")) &&
	       str_eq(module_name(&q->arena, file), q->name);
}

/* Looks for it below a folder. */
static bool walk(struct module_search *q, const char *folder)
{
	char *const paths[] = {(char *)folder, NULL};
	FTS *const tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	FTSENT *e;

	while (tree && !q->found && (e = fts_read(tree)) != NULL)
		if ((e->fts_info == FTS_F || e->fts_info == FTS_NSOK) && is_module(q, e->fts_name))
			is_of(xstrdup(e->fts_path), q->id, &q->found);
	if (tree)
		fts_close(tree);
	return q->found != NULL;
}

static bool module_is_below(struct module_search *q, const char *directory, const char *release)
{
	static const char *const places[] = {
		"/usr/lib/debug/lib/modules/",
		"/usr/lib/debug/usr/lib/modules/",
		"/lib/modules/",
	};
	char *folder;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !q->found; i++) {
		folder = xasprintf("%s%s%s", directory, places[i], release);
		walk(q, folder);
		free(folder);
	}
	if (!q->found && q->id)
		is_of(xasprintf("%s/.build-id/%.2s/%s.debug",
				*directory ? directory : "/usr/lib/debug", q->id, q->id + 2),
		      q->id, &q->found);
	return q->found != NULL;
}

/* DIRECTORY itself may hold the file; what is below it is not searched, it may be large. */
static bool module_is_in(struct module_search *q, const char *directory)
{
	static const char *const ends[] = {".ko", ".ko.debug"};

	for (size_t i = 0; i < ARRAY_SIZE(ends) && !q->found; i++)
		is_of(xasprintf("%s/%s%s", directory, q->name, ends[i]), q->id, &q->found);
	return q->found != NULL;
}

bool module_is_build(const char *name, const char *build_id)
{
	char *id = module_build_id(name);
	const bool yes = !id || (build_id && str_eq(id, build_id));

	free(id);
	return yes;
}

/* "6.1.0" of "/lib/modules/6.1.0/kernel/fs/ext4.ko.xz"; of a name, the running kernel's. */
static char *release_of(const char *module)
{
	const char *const folder = strstr(module, "/modules/"), *release;
	struct utsname u;

	if (!folder)
		return xstrdup(uname(&u) ? "" : u.release);
	release = folder + strlen("/modules/");
	return xstrndup(release, strcspn(release, "/"));
}

char *module_debug_file(const char *debug_path, const char *module)
{
	struct module_search q = {0};
	char *places = xstrdup(debug_path ? debug_path : ""), *place, *rest, *id;
	char *release = release_of(module);

	q.name = module_name(&q.arena, module);
	q.id = id = module_build_id(q.name);
	if (strchr(module, '/'))
		is_of(xstrdup(module), NULL, &q.found);
	for (place = strtok_r(places, ":", &rest); place && !q.found;
	     place = strtok_r(NULL, ":", &rest))
		if (!module_is_in(&q, place))
			module_is_below(&q, place, release);
	if (!q.found && !module_is_below(&q, "", release))
		was_fetched(q.id, &q.found);
	free(release);
	free(id);
	free(places);
	arena_release(&q.arena);
	return q.found;
}
