/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"
#include "trace/perf/perf_data.h"

#define NOTES_MAX	(1u << 16)
#define NT_GNU_BUILD_ID 3

struct perf_build_id perf_build_id_of_notes(const char *path)
{
	struct perf_build_id id = {0};
	struct cursor c;
	char *data;
	size_t len;

	if (file_read(path, NOTES_MAX, &data, &len))
		return id;
	c = cursor_of(data, len);
	while (!c.failed && !id.size) {
		const u32 name_size = cursor_u32(&c), size = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, (name_size + 3ull) & ~3ull);
		const u8 *value = cursor_bytes(&c, (size + 3ull) & ~3ull);

		if (!name || !value || type != NT_GNU_BUILD_ID || name_size != 4 ||
		    memcmp(name, "GNU", 4) || size > sizeof(id.bytes))
			continue;
		memcpy(id.bytes, value, size);
		id.size = (u8)size;
	}
	free(data);
	return id;
}
