/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms in the words of the kernel's triggers: any text, looked up in an event of every kind
 * of field.
 */
#include "cmd/hist/definition.h"
#include "cmd/hist/spec.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char *text = xstrndup((const char *)data, len);
	struct hist_definition event;
	struct type_store types;
	struct diag d = DIAG_INIT;
	struct arena a = ARENA_INIT;

	type_store_init(&types);
	if (hist_definition_parse(
		    &a, &d, &types,
		    "p:event vfs_read a=%di:u32 b=+0(%si):string c=%dx:s8 d=%cx:x64 e=%r8:symbol",
		    true, &event))
		abort();
	for (int has_event = 0; has_event < 2; has_event++) {
		struct hist_spec spec = {0};

		if (hist_spec_parse(&a, &d, text, has_event, &spec))
			continue;
		spec.has_latency = *text & 1;
		if (!hist_spec_resolve(&spec, &d, &types, event.record) && spec.event)
			hist_spec_title(&a, &spec);
	}
	type_store_release(&types);
	arena_release(&a);
	diag_release(&d);
	free(text);
	return 0;
}
