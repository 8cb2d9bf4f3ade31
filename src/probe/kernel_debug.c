/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_debug.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/cursor.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "binary/debug/lines.h"

enum { NOTES_MAX = 1 << 16, GNU_BUILD_ID = 3, BUILD_ID_MAX = 64 };

/* elf(5), notes: name size, size, type; name and contents, each aligned to 4. */
char *kernel_build_id(void)
{
	struct strbuf hex = STRBUF_INIT;
	struct cursor c;
	char *data;
	size_t len;

	if (file_read("/sys/kernel/notes", NOTES_MAX, &data, &len))
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
	if (!found && !is_below("", u.release, id, &found) && id)
		is_of(xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2), id, &found);
	free(places);
	free(id);
	return found;
}
