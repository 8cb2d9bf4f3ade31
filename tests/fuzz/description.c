/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as the description of a session: what is found in it are lines of it. */
#include "user/description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, const char *value)
{
	if (value && (strchr(value, '\n') || !strstr(text, value)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct user_session s;

	if (!user_description_parse(text, "/run/pantrace/sessions/name", "name", &s)) {
		if (*s.directory != '/' || s.mode > 2 || s.recorder < 0)
			abort();
		check(text, s.directory);
		check(text, s.output);
		check(text, s.ask);
		check(text, s.predicate);
		user_session_release(&s);
	}
	free(text);
	return 0;
}
