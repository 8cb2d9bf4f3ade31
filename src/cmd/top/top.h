/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace top`: what the tasks of this machine do, live. A script counts in the kernel
 * (script.c). After each interval its maps become a table of tasks (tasks.h), and these become rows
 * (rows.h), which are shown on a screen (draw.c, keys.c) or printed (batch.c).
 */
#ifndef PANTRACE_CMD_TOP_TOP_H
#define PANTRACE_CMD_TOP_TOP_H

#include "base/options.h"
#include "cmd/top/columns.h"
#include "cmd/top/hot_stacks.h"
#include "engine/run_config.h"
#include "view/sink.h"
#include "view/terminal/parts.h"

/* The command line. */
struct top_options {
	struct run_config config;
	const char *sort, *filter;
	struct pid_list pids;
	u64 delay_ns, rounds, limit; /* rounds, limit: 0 = no limit */
	bool is_batch, by_thread, as_tree;
};

enum top_mode { TOP_TABLE, TOP_STACKS, TOP_HELP };

struct top {
	const struct top_options *o;
	struct engine *engine; /* while wake() runs */
	int timer, epoll;
	u32 cpus;
	u64 round; /* number of readings with counts */
	bool is_over;
	int error; /* -errno that ended the run */

	struct tasks *live, *shown; /* live: the last reading; shown: the same unless frozen */
	struct row_choice choice;
	struct rows rows;
	char filter[64];
	int *of_pids; /* of each -p: readable when it has ended; -1 = the kernel cannot tell */

	/* batch */
	struct sink sink;

	/* the screen */
	struct terminal terminal;
	struct screen screen;
	enum top_mode mode, mode_before_help;
	struct text_lines lines; /* of stacks and of the help */
	struct arena text;
	bool is_frozen;
	u32 selected_id; /* 0 = the first row */
	size_t first_row; /* shown at the top */
	struct prompt prompt;
	bool is_filter; /* what is written there */
	char search[64];
	const char *message; /* one line until the next key; NULL = none */
	struct hot_stacks stacks;
};

extern const char top_script[];

int cmd_top(int argc, char **argv);

/* Makes the rows anew, after a reading or another choice. */
void top_make_rows(struct top *t);
/* The selected row's index; 0 if it is gone. */
size_t top_selected(const struct top *t);

struct key_binding {
	struct key_row row; /* modes: 1 << enum top_mode */
	void (*act)(struct top *t);
};

extern const struct key_binding top_keys[]; /* ends with act NULL */

/* keys.c: one key. */
void top_key(struct top *t, u32 key);

/* draw.c: the whole screen. 0 or -errno */
int top_draw(struct top *t);
/* Rows of the table that the screen has room for. */
u32 top_page(const struct top *t);

/* batch.c: the rows, as text or JSON, to `out`. */
void top_print(struct top *t, struct output *out);

#endif
