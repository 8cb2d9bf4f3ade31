/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Indexes of debug information: bytes that claim to be one, with a checksum and an identity that
 * are right, are asked everything that an index is asked.
 */
#include "binary/debug/index_format.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static int on_name(void *arg, const struct index_name *n)
{
	const struct debug_index *x = arg;
	u32 count;
	const struct index_site *s = index_sites(x, n, &count);
	u32 sum = 0;

	for (u32 i = 0; i < count; i++)
		sum += s[i].die ^ s[i].function;
	if (n->linkage)
		index_has_linkage(x, n->linkage);
	return sum == 1 && n->name && strlen(n->name) > (1 << 20);
}

static void ask(const struct debug_index *x)
{
	static const char *const paths[] = {"typed.c", "c", "/usr/include/stdio.h", "a.c"};
	static const char *const names[] = {"main", "*", "a*", "", "_Z1fv"};
	struct index_list list = {0};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *path = index_path(x, paths[i]);

		if (path)
			index_path(x, path);
		index_units_of(x, paths[i], index_next_line(x, paths[i], 3), &list);
		index_units_of(x, paths[i], 0, &list);
		index_declared(x, paths[i], 3, &list);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		index_each_name(x, names[i], on_name, (void *)(uintptr_t)x);
		index_variables(x, i ? names[i] : NULL, &list);
		index_types(x, names[i], &list);
	}
	for (size_t i = 0; i + 1 < list.list.len; i++)
		index_unit_die(x, list.list.items[i]);
	for (u64 address = 0; address < 1 << 14; address += 1 << 10)
		index_unit_at(x, address);
	vector_free(&list.list);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static const struct index_identity of = {.build_id = "0123456789abcdef"};
	struct debug_index *x;
	struct index_header h;
	u8 *copy;

	len -= len % 8;
	copy = xmalloc(len + 1);
	memcpy(copy, data, len);
	if (len >= sizeof(h)) {
		memcpy(&h, copy, sizeof(h));
		h.of = of;
		h.len = len;
		memcpy(copy, &h, sizeof(h));
		h.checksum = index_checksum(copy, len);
		memcpy(copy, &h, sizeof(h));
	}
	x = index_parse(copy, len, &of);
	if (x)
		ask(x);
	index_release(x);
	return 0;
}
