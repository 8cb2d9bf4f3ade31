/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/terminal/signals.h"

#include "base/base.h"
#include "base/stall.h"

volatile sig_atomic_t terminal_end_asked;

static void on_end(int number)
{
	terminal_end_asked = 1;
	stall_end();
}

/* The window has another size, or the terminal came back: poll() returns. */
static void on_change(int number)
{
}

void terminal_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction end = {.sa_handler = on_end}, change = {.sa_handler = on_change};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &end, NULL);
	sigaction(SIGWINCH, &change, NULL);
}
