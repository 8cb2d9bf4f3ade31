/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many colours a terminal has, by TERM, COLORTERM and NO_COLOR, and colours made of them. */
#ifndef PANTRACE_VIEW_TERMINAL_COLOUR_H
#define PANTRACE_VIEW_TERMINAL_COLOUR_H

#include "base/strbuf.h"

enum colours { COLOURS_NONE, COLOURS_16, COLOURS_256, COLOURS_24_BIT };

/* COLOURS_NONE also if fd is no terminal. */
enum colours terminal_colours(int fd);
/*
 * The sequence for text on this colour (0xRRGGBB), or on the nearest that there is; the text is
 * black or white, whichever is easier to read. "\033[0m" ends it.
 */
void colour_background(struct strbuf *out, u32 rgb, enum colours colours);

#endif
