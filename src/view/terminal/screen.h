/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a terminal is to show, as cells. Each frame is drawn anew from screen_begin() on; only what
 * differs from the frame before is sent.
 */
#ifndef PANTRACE_VIEW_TERMINAL_SCREEN_H
#define PANTRACE_VIEW_TERMINAL_SCREEN_H

#include "view/terminal/terminal.h"

/* What a piece of text means; how it looks is one table in screen.c. */
enum style {
	STYLE_PLAIN,
	STYLE_DIM, /* zeroes, what does not matter now */
	STYLE_STRONG, /* headings, totals */
	STYLE_BAR, /* the line of titles */
	STYLE_SORTED, /* the title that rows are sorted by */
	STYLE_KEY, /* a key in the last line */
	STYLE_SELECTED, /* the selected row */
	STYLE_CALM, /* on-CPU, a small share */
	STYLE_WARM, /* waiting, a share worth a look */
	STYLE_HOT, /* a share that explains something */
	STYLE_PLACE, /* functions and files */
	STYLES
};

struct cell {
	char text[5]; /* one character; "" = the right half of a wide one */
	u8 style;
};

struct screen {
	struct terminal *terminal;
	u32 columns, rows;
	struct cell *cells, *sent; /* columns * rows each */
	struct strbuf out;
};

void screen_release(struct screen *s);
/* Empties all cells, in the terminal's size. */
void screen_begin(struct screen *s, struct terminal *t);
/*
 * Text from a place on, at most `width` columns; returns the columns that it takes. What lies
 * outside of the screen is left out. The text is UTF-8 and has been escaped (base/escape.h);
 * characters that this terminal cannot show become '?'.
 */
u32 screen_put(struct screen *s, u32 row, u32 column, u32 width, enum style style,
	       const char *text);
/* The same at the right edge of the width. */
void screen_put_right(struct screen *s, u32 row, u32 column, u32 width, enum style style,
		      const char *text);
/* Gives this style to cells whose text stays. */
void screen_paint(struct screen *s, u32 row, u32 column, u32 width, enum style style);
/* Sends it. 0 or -errno. */
int screen_end(struct screen *s);
/* How many columns text takes. */
u32 screen_width(const char *text);
/* How many of its bytes fit into so many columns, whole characters. */
size_t screen_fit(const char *text, u32 columns);

#endif
