/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/tui/tui.h"

#include <poll.h>

#include "view/terminal/signals.h"

#define LOOK_MS 500 /* for signals that came just before it waits */

void tui_say(struct tui *t, const char *text)
{
	snprintf(t->message, sizeof(t->message), "%s", text);
}

static int loop(struct tui *t)
{
	struct pollfd input = {.fd = t->terminal.in, .events = POLLIN};
	int rc = 0;
	u32 key;

	while (!rc && !t->is_over && !terminal_end_asked) {
		rc = tui_draw(t);
		if (!rc && poll(&input, 1, LOOK_MS) < 0 && errno != EINTR)
			rc = -errno;
		terminal_measure(&t->terminal);
		while (!rc && !t->is_over && !terminal_end_asked &&
		       (key = terminal_key(&t->terminal)))
			tui_press(t, key);
	}
	return rc == -ETIMEDOUT ? 0 : rc; /* asked to end, and nobody reads the terminal */
}

int report_tui(const struct arguments *a, char **paths)
{
	struct tui t = {.arguments = a, .paths = paths, .interrupted = &terminal_end_asked};
	int rc;

	if (terminal_refusal()) {
		complain("report", "%s; without --tui it prints lines", terminal_refusal());
		return EXIT_FAILED;
	}
	terminal_guard();
	terminal_signals();
	rc = terminal_open(&t.terminal);
	if (!rc)
		tui_next_table(&t);
	if (!rc && t.views.len)
		rc = loop(&t);
	terminal_close(&t.terminal);
	if (rc)
		complain("report", "%s", strerror(-rc));
	for (size_t i = 0; i < t.views.len; i++)
		view_release(t.views.items[i]);
	if (!rc && !t.views.len && !t.code && !terminal_end_asked)
		t.code = EXIT_FAILED; /* nothing to show, which was said */
	vector_free(&t.views);
	screen_release(&t.screen);
	return rc ? EXIT_FAILED : (int)t.code;
}
