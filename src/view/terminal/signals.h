/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_VIEW_TERMINAL_SIGNALS_H
#define PANTRACE_VIEW_TERMINAL_SIGNALS_H

#include <signal.h>

/* Set once a signal has asked for the end. */
extern volatile sig_atomic_t terminal_end_asked;

/*
 * For a command that draws on the whole terminal: SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for the
 * end. poll() returns for them, and when the window gets another size.
 */
void terminal_signals(void);

#endif
