/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as a tracefs format file. */
#include "types/tracefs_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct strbuf out = STRBUF_INIT;
	struct type_store s;
	const struct type *t;
	const char *print;

	type_store_init(&s);
	if (!tracefs_format_parse(&s, size % 2 ? "syscalls" : "sched", text, &t, &print)) {
		for (u32 i = 0; i < t->count; i++) {
			type_format(&out, t->members[i].type);
			if (t->members[i].type->element)
				type_complete(&s, t->members[i].type->element);
			type_align(t->members[i].type);
		}
	}
	strbuf_release(&out);
	type_store_release(&s);
	free(text);
	return 0;
}
