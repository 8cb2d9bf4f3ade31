/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as the description of a session: what is found in it are lines of it. */
#include "user/description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, const char *value)
{
	if (value && (strchr(value, '\n') || !strstr(text, value)))
		abort();
}

/* What is read of the lines is what they say when they are written again. */
static void check_tracked(const char *text)
{
	struct strbuf lines = STRBUF_INIT, shown = STRBUF_INIT;
	struct user_tracked t, again;

	user_tracked_read(text, &t);
	user_tracked_lines(&t, 0, &lines);
	user_tracked_text(&t, &shown);
	user_tracked_read(lines.data ? lines.data : "", &again);
	if (t.none != again.none || t.nr != again.nr ||
	    memcmp(t.limited, again.limited, sizeof(t.limited)))
		abort();
	strbuf_release(&lines);
	strbuf_release(&shown);
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
		check(text, s.trigger);
		check_tracked(s.text);
		user_session_release(&s);
	}
	free(text);
	return 0;
}
