/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What full screens have in common: keys that explain themselves, a prompt, text that scrolls. */
#ifndef PANTRACE_VIEW_TERMINAL_PARTS_H
#define PANTRACE_VIEW_TERMINAL_PARTS_H

#include "base/arena.h"
#include "base/vector.h"
#include "view/terminal/screen.h"

/* A key: a row of a command's table, which is its help and the last line of its screen, too. */
struct key_row {
	u32 keys[4];
	u32 modes; /* bits of the command's own: where it is a key */
	const char *shown, *meaning;
	const char *label; /* in the last line, "F1 Help"; NULL = not there */
};

bool key_row_is(const struct key_row *k, u32 key, u32 mode);
/* The label at a column, where there is room. Returns the columns taken, with a gap behind. */
u32 key_row_draw(const struct key_row *k, struct screen *s, u32 row, u32 column);

/* Keys that move through rows, the same everywhere: in the help, too. */
struct key_move {
	struct key_row row;
	s32 by; /* rows, or pages */
	bool pages;
};

extern const struct key_move key_moves[]; /* ends with by 0 */

/* How many rows the key moves where a page has so many; 0 = it moves nothing. */
s64 key_moves_by(u32 key, u32 page);

/* A line in which the user writes. */
struct prompt {
	const char *title; /* NULL: nobody writes */
	char text[64];
};

enum prompt_change { PROMPT_SAME, PROMPT_CHANGED, PROMPT_DONE };

/* Enter ends it; Esc, too, and empties it. DONE: the text may have changed, too. */
enum prompt_change prompt_key(struct prompt *p, u32 key);
void prompt_draw(const struct prompt *p, struct screen *s, u32 row);

struct text_line {
	enum style style;
	const char *text; /* lives as long as the lines are shown */
};

struct text_lines {
	VECTOR(struct text_line) items;
	size_t first; /* the one at the top of the screen */
};

/*
 * Between a title, on the first row, and the last row of the screen; from column `skip` of the
 * text on. Moves `first` so that the screen is full.
 */
void text_lines_draw(struct text_lines *l, struct screen *s, const char *title, u32 skip);
void text_lines_add(struct text_lines *l, enum style style, const char *text);
/* Of a key, for the help; in the arena. */
void text_lines_add_key(struct text_lines *l, const struct key_row *k, struct arena *a);

#endif
