/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as metadata of a CTF trace; what it describes is decoded from the text itself. */
#include "trace/ctf/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ctf_print_options options = {
		.format = size % 2 ? CTF_FORMAT_TEXT : CTF_FORMAT_BABELTRACE, .escape = size % 3};
	const struct ctf_value_style style = {.options = &options};
	struct diag d = DIAG_INIT;
	struct strbuf out = STRBUF_INIT;
	struct ctf_metadata *m = ctf_metadata_parse("metadata", (const char *)data, size, &d);

	for (size_t i = 0; m && i < m->all_events.len && i < 16; i++) {
		const struct ctf_event_class *e = m->all_events.items[i];
		u64 *slots = xzalloc((m->nr_slots + 1) * sizeof(*slots));
		struct ctf_cursor c = {.data = data,
				       .end = MIN(size, (size_t)256) * 8,
				       .slots = slots},
				  again = c;

		if (e->fields) {
			struct json json = JSON_INIT(&out);

			ctf_put_text(&out, &c, e->fields, CTF_NO_SLOT, &style);
			ctf_put_json(&json, &again, e->fields, CTF_NO_SLOT, &style);
		}
		strbuf_reset(&out);
		free(slots);
	}
	strbuf_release(&out);
	ctf_metadata_release(m);
	diag_release(&d);
	return 0;
}
