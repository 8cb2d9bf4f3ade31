/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace report --tui`: the tables of report in the terminal. Each view is a table that report
 * would print, whose options are on its first line, or the lines of a row's events; views lie on
 * each other, and Esc goes back to the one before. To make one the recording is read again.
 */
#ifndef PANTRACE_CMD_REPORT_TUI_TUI_H
#define PANTRACE_CMD_REPORT_TUI_TUI_H

#include "cmd/report/reading.h"
#include "view/terminal/parts.h"

enum view_mode { VIEW_TABLE, VIEW_LINES, VIEW_HELP };

#define VIEW_UNSORTED UINT32_MAX

/* A row of the table and its place in the tree. */
struct view_row {
	const struct table_row *row;
	u32 parent; /* index + 1; 0 = none */
	u32 end; /* index after the last row below it */
	bool is_open;
	bool passes; /* the filter: it, or a row below or above it, matches */
};

struct view {
	enum view_mode mode;
	const char *title; /* in `text` */
	struct arena text;
	/* ---- a table ---- */
	struct arguments arguments; /* of report, for this table alone */
	struct asked asked;
	struct report_table table;
	VECTOR(struct view_row) rows; /* as the table has them */
	VECTOR(u32) shown; /* rows in the order of the screen */
	struct table_style style;
	u32 widths[TABLE_COLUMNS]; /* of the widest value or title; 0 = a column is not shown */
	u32 sort; /* a column; VIEW_UNSORTED = as the table has them */
	bool is_ascending;
	u32 selected; /* a row */
	size_t first; /* of `shown`, at the top of the screen */
	char filter[64];
	/* ---- lines ---- */
	struct text_lines lines;
	u32 skip; /* columns that are left of the screen */
};

struct tui {
	const struct arguments *arguments; /* the command line's */
	char **paths;
	const volatile sig_atomic_t *interrupted;
	struct terminal terminal;
	struct screen screen;
	VECTOR(struct view *) views; /* the last one is seen */
	u32 table; /* which of the usual ones is at the bottom; 0 = the one that was asked for */
	struct prompt prompt;
	bool is_filter; /* what is written there */
	char search[64];
	char message[256]; /* one line until the next key; "" = none */
	bool is_over, was_given_up;
	enum exit_code code; /* of the first table: losses */
};

/* The command. A.tui is set, and standard output a terminal. Returns the exit code. */
int report_tui(const struct arguments *a, char **paths);

/* The view that is seen. */
static inline struct view *tui_view(const struct tui *t)
{
	return vector_last(&t->views);
}

void tui_say(struct tui *t, const char *text);

/* ---- tables.c: views that are read from the recording; without one, why is in the message ---- */

/* The first table, or the next of the usual ones, which takes the place of all views. */
void tui_next_table(struct tui *t);
/* --calls or --annotate of the selected row's function. */
void tui_open_calls(struct tui *t);
void tui_open_annotate(struct tui *t);
/* The events of the selected row. */
void tui_open_lines(struct tui *t);
/* The function that a row stands for; NULL = it is none. In the view's arena. */
const char *view_function(struct view *v, const struct table_row *row);

/* ---- view.c: rows that are folded, sorted, filtered ---- */

void view_release(struct view *v); /* frees it */
/* Once the table is there. */
void view_begin(struct view *v);
/* After folding, sorting or another filter. */
void view_arrange(struct view *v);
/* The selected row's place in `shown`. */
size_t view_place(const struct view *v);
const char *view_name(const struct table_row *row);
/* Selects the next row from the selected one on (or from it, too) that has the text. */
bool view_find(struct view *v, const char *text, bool also_here);

/* ---- keys.c, draw.c ---- */

struct tui_key {
	struct key_row row; /* modes: 1 << enum view_mode */
	void (*act)(struct tui *t);
};

extern const struct tui_key tui_keys[]; /* ends with act NULL */

void tui_press(struct tui *t, u32 key);
/* 0 or -errno */
int tui_draw(struct tui *t);
/* Rows of a view that the screen has room for. */
u32 tui_page(const struct tui *t);

#endif
