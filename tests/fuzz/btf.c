/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a BTF file (--btf FILE): everything in it is converted, completed and spelled. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "types/btf_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore_function(void *arg, const char *module, const char *name, u32 id)
{
	struct btf_function f;

	btf_find_function(arg, module, name, &f);
	return id > 64;
}

static void use_type(struct type_store *s, const struct type *t)
{
	struct strbuf text = STRBUF_INIT;
	u32 offset;

	type_complete(s, t);
	type_format(&text, t);
	type_find_member(s, t, "x", &offset);
	type_enumerator_name(s, t, 1);
	type_equal(t, t);
	type_align(t);
	strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"struct x", "union x", "enum x", "x",
					    "struct list_head"};
	struct type_store s;
	struct btf_source *btf;
	const struct type *context;
	struct btf_function f;
	char path[64];
	s64 value;
	const int fd = memfd_create("btf", MFD_CLOEXEC);

	if (fd < 0 || size > 1 << 16 || write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	type_store_init(&s);
	btf = btf_attach(&s, path);
	if (!btf_available(btf)) {
		for (u32 id = 0; id <= btf->vmlinux.count + 1; id++)
			use_type(&s, btf_convert(&btf->vmlinux, id));
		for (u32 i = 0; i < 4 * ARRAY_SIZE(names); i++)
			type_named(&s, names[i % ARRAY_SIZE(names)]);
		type_find_enumerator(&s, "X", &value);
		btf_each_function(btf, "*", "*", ignore_function, btf);
		btf_find_raw_tracepoint(btf, NULL, "x", &f);
		btf_find_iterator(btf, "x", &f, &context);
		btf_find_variable(btf, "x");
	}
	btf_release(btf);
	type_store_release(&s);
	close(fd);
	return 0;
}
