/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/vdso.h"

#include <unistd.h>

#include "binary/elf/internal.h"
#include "binary/process/maps.h"

static int copy_out(void *arg, const struct process_mapping *m)
{
	const size_t len = m->end - m->start;

	if (m->kind != MAPPING_VDSO)
		return 0;
	return elf_file_open_buffer(memcpy(xmalloc(len), (const void *)(uintptr_t)m->start, len),
				    len, "[vdso]", arg)
		       ?: 1;
}

int vdso_open(struct elf_file **ret)
{
	const int rc = process_each_mapping(getpid(), copy_out, ret);

	return rc > 0 ? 0 : rc ?: -ENOENT;
}
