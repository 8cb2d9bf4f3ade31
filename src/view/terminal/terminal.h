/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal that shows full screens: taken over, read key by key, and given back as it was,
 * however the process ends or stops (kill -9 excepted).
 *
 * What is sent are the sequences of ECMA-48 that all terminals share since the VT100 (doc/
 * architecture.md says why no terminfo is asked). There is one such terminal in a process, because
 * signals must find it.
 */
#ifndef PANTRACE_VIEW_TERMINAL_TERMINAL_H
#define PANTRACE_VIEW_TERMINAL_TERMINAL_H

#include <termios.h>

#include "view/terminal/colour.h"

struct terminal {
	int in, out;
	bool owns_in; /* standard input is no terminal: /dev/tty was opened */
	struct termios before;
	u32 columns, rows;
	enum colours colours;
	bool is_utf8; /* by the locale: LC_ALL, LC_CTYPE, LANG */
	/* what it shows is not what was sent: it was stopped, or its size has changed */
	bool is_stale;
	u8 input[64]; /* bytes of keys, not taken yet */
	u32 ninput;
	/* standard error goes into a file meanwhile, and is shown afterwards; -1 = it does not */
	int messages, errors_before;
};

/* What terminal_key() returns beside characters (their code points). */
enum key {
	KEY_NONE = 0,
	KEY_ENTER = '\r',
	KEY_TAB = '\t',
	KEY_ESCAPE = 0x1b,
	KEY_BACKSPACE = 0x7f,
	KEY_UP = 0x110000, /* above all characters */
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_F1,
	KEY_F2,
	KEY_F3,
	KEY_F4,
	KEY_F5,
	KEY_F6,
	KEY_F7,
	KEY_F8,
	KEY_F9,
	KEY_F10,
	KEY_OTHER, /* one that nobody asks for */
	KEY_GONE, /* the terminal has hung up */
};

#define KEY_CONTROL(letter) ((u32)(letter)&0x1f)

/* Why this terminal cannot show full screens, as a sentence to go on after "pantrace: "; NULL. */
const char *terminal_refusal(void);
/*
 * Handles crashes from now on: the terminal is given back first. To be called before anything else
 * of this process handles SIGSEGV.
 */
void terminal_guard(void);
/* Standard output is the terminal. 0 or -errno: then nothing was changed. */
int terminal_open(struct terminal *t);
/* May be called twice, and without terminal_open() if *t is zeroes. */
void terminal_close(struct terminal *t);
bool terminal_is_open(const struct terminal *t);
/* Asks for the size; it may have changed. */
void terminal_measure(struct terminal *t);
/* The next key that was pressed, KEY_NONE without waiting for one. */
u32 terminal_key(struct terminal *t);
/* 0 or -errno */
int terminal_write(struct terminal *t, const struct strbuf *text);

#endif
