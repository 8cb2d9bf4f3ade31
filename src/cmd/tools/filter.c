/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/tools/tools.h"
#include "lang/predicate/predicate.h"

int tool_filter(const struct tool_spec *spec, const struct tool_given *given, struct kernel *kernel,
		const char *text, struct diag *d, struct strbuf *out)
{
	struct predicate_event event = {.name = "", .is_open = true};
	int err;

	for (size_t i = 0; i < spec->arguments.len; i++) {
		const char *const name = given->arguments[i];
		const char *const colon = name ? strchr(name, ':') : NULL;

		if (spec->arguments.items[i].effect == TOOL_EVENT && colon)
			predicate_event_live(&d->arena, kernel,
					     arena_strndup(&d->arena, name, (size_t)(colon - name)),
					     colon + 1, NULL, &event);
	}
	err = predicate_to_script(text, &event, d, NULL, out);
	if (err == -EINVAL)
		diag_code(d, EXIT_USAGE);
	predicate_event_release(&event);
	return err;
}
