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

char *kernel_debug_file(void)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-%s",
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/usr/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux",
		"/lib/modules/%s/vmlinux",
		"/boot/vmlinux-%s",
	};
	char *id = kernel_build_id(), *found = NULL;
	struct utsname u;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !found && !uname(&u); i++) {
		const int before = (int)(strstr(places[i], "%s") - places[i]);

		is_of(xasprintf("%.*s%s%s", before, places[i], u.release, places[i] + before + 2),
		      id, &found);
	}
	if (!found && id)
		is_of(xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2), id, &found);
	free(id);
	return found;
}
