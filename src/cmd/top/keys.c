/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What keys do. The table is also the help and the last line of the screen. */
#include "cmd/top/top.h"

#define IN(mode)   (1u << TOP_##mode)
#define EVERYWHERE (IN(TABLE) | IN(STACKS) | IN(HELP))
#define IN_TEXT	   (IN(STACKS) | IN(HELP))

/* ---- moving ---- */

static void select_row(struct top *t, s64 index)
{
	const s64 last = (s64)t->rows.items.len - 1;

	if (last >= 0)
		t->selected_id = t->rows.items.items[MAX(MIN(index, last), 0)].id;
}

static void move(struct top *t, s64 by)
{
	if (t->mode == TOP_TABLE)
		select_row(t, (s64)top_selected(t) + by);
	else
		t->lines.first = (size_t)MAX((s64)t->lines.first + by, 0);
}

/* ---- the table ---- */

static void toggle_threads(struct top *t)
{
	t->choice.by_thread = !t->choice.by_thread;
	top_make_rows(t);
}

static void toggle_tree(struct top *t)
{
	t->choice.as_tree = !t->choice.as_tree;
	top_make_rows(t);
}

static void sort_by(struct top *t, const struct column *c)
{
	t->choice.sort = c;
	t->choice.is_ascending = false;
	top_make_rows(t);
}

static void sort_right(struct top *t)
{
	const struct column *const next = t->choice.sort + 1;

	sort_by(t, next->key ? next : top_columns);
}

static void sort_left(struct top *t)
{
	const struct column *c = t->choice.sort;

	if (c == top_columns)
		while (c[1].key)
			c++;
	else
		c--;
	sort_by(t, c);
}

static void sort_by_cpu(struct top *t)
{
	sort_by(t, column_find("cpu"));
}

static void sort_by_time(struct top *t)
{
	sort_by(t, column_find("time"));
}

static void sort_by_pid(struct top *t)
{
	sort_by(t, column_find("pid"));
	t->choice.is_ascending = true;
	top_make_rows(t);
}

static void turn(struct top *t)
{
	t->choice.is_ascending = !t->choice.is_ascending;
	top_make_rows(t);
}

static void freeze(struct top *t)
{
	t->is_frozen = !t->is_frozen;
}

/* ---- input ---- */

/* Selects the next match from `from` on; wraps around. */
static void find_from(struct top *t, size_t from)
{
	const size_t n = t->rows.items.len;

	for (size_t i = 0; i < n; i++) {
		const struct row *const r = &t->rows.items.items[(from + i) % n];

		if (row_matches(r, t->search)) {
			t->selected_id = r->id;
			return;
		}
	}
	t->message = "nothing has this name or number";
}

static void search_next(struct top *t)
{
	if (*t->search)
		find_from(t, top_selected(t) + 1);
}

static void begin_search(struct top *t)
{
	t->prompt = (struct prompt){.title = "Search: "};
	t->is_filter = false;
}

static void begin_filter(struct top *t)
{
	t->prompt = (struct prompt){.title = "Filter: "};
	t->is_filter = true;
	snprintf(t->prompt.text, sizeof(t->prompt.text), "%s", t->filter);
}

/* Takes effect with each character. */
static void prompt_changed(struct top *t)
{
	if (t->is_filter) {
		snprintf(t->filter, sizeof(t->filter), "%s", t->prompt.text);
		top_make_rows(t);
	} else {
		snprintf(t->search, sizeof(t->search), "%s", t->prompt.text);
		if (*t->search)
			find_from(t, top_selected(t));
	}
}

static void write_key(struct top *t, u32 key)
{
	if (key == KEY_F3 && !t->is_filter)
		search_next(t);
	else if (prompt_key(&t->prompt, key) != PROMPT_SAME && key != KEY_ENTER)
		prompt_changed(t);
}

/* ---- stacks, help, quit ---- */

static void open_stacks(struct top *t)
{
	const struct row *const r =
		t->rows.items.len ? &t->rows.items.items[top_selected(t)] : NULL;

	if (!r)
		return;
	hot_stacks_watch(&t->stacks, t->engine, r->id, t->choice.by_thread, r->task->comm);
	t->mode = TOP_STACKS;
	t->lines.first = 0;
}

static void switch_stacks(struct top *t)
{
	t->stacks.is_off = !t->stacks.is_off;
	t->lines.first = 0;
	hot_stacks_read(&t->stacks, t->engine);
}

static void forget_stacks(struct top *t)
{
	hot_stacks_watch(&t->stacks, t->engine, t->stacks.id, t->stacks.by_thread, t->stacks.name);
}

static void help(struct top *t)
{
	t->mode_before_help = t->mode;
	t->mode = TOP_HELP;
	t->lines.first = 0;
}

static void leave(struct top *t)
{
	if (t->mode == TOP_STACKS)
		hot_stacks_watch(&t->stacks, t->engine, 0, false, "");
	t->mode = t->mode == TOP_HELP ? t->mode_before_help : TOP_TABLE;
	t->lines.first = 0;
}

static void redraw(struct top *t)
{
	t->terminal.is_stale = true;
}

static void quit(struct top *t)
{
	t->is_over = true;
}

const struct key_binding top_keys[] = {
	{{{KEY_F1, '?', 'h'}, IN(TABLE) | IN(STACKS), "F1 ? h", "this help", "F1 Help"}, help},
	{{{KEY_ENTER, KEY_RIGHT},
	  IN(TABLE),
	  "Enter Right",
	  "the stacks of the selected row",
	  "Enter Stacks"},
	 open_stacks},
	{{{KEY_F3, '/'},
	  IN(TABLE),
	  "F3 /",
	  "search: select a row by a part of its name, or its number",
	  "F3 Search"},
	 begin_search},
	{{{'n'}, IN(TABLE), "n", "the next match of the search"}, search_next},
	{{{KEY_F4, '\\'},
	  IN(TABLE),
	  "F4 \\",
	  "filter: show only rows with this in their name",
	  "F4 Filter"},
	 begin_filter},
	{{{KEY_F5, 't'}, IN(TABLE), "F5 t", "as a tree, or as a list", "F5 Tree"}, toggle_tree},
	{{{KEY_F6, '>'}, IN(TABLE), "F6 >", "sort by the next column", "F6 Sort"}, sort_right},
	{{{'<'}, IN(TABLE), "<", "sort by the column before"}, sort_left},
	{{{'I'}, IN(TABLE), "I", "reverse the order"}, turn},
	{{{'P'}, IN(TABLE), "P", "sort by CPU%"}, sort_by_cpu},
	{{{'T'}, IN(TABLE), "T", "sort by TIME"}, sort_by_time},
	{{{'N'}, IN(TABLE), "N", "sort by PID"}, sort_by_pid},
	{{{'H'}, IN(TABLE), "H", "threads, or processes", "H Threads"}, toggle_threads},
	{{{KEY_TAB}, IN(STACKS), "Tab", "stacks on CPUs, or off-CPU", "Tab On/Off"}, switch_stacks},
	{{{'c'}, IN(STACKS), "c", "clear these stacks, and start again", "c Clear"}, forget_stacks},
	{{{'Z'}, IN(TABLE) | IN(STACKS), "Z", "freeze; counting goes on", "Z Freeze"}, freeze},
	{{{KEY_CONTROL('L')}, EVERYWHERE, "Ctrl-L", "redraw the screen"}, redraw},
	{{{KEY_ESCAPE, 'q', KEY_LEFT, KEY_ENTER}, IN_TEXT, "Esc q Left", "back", "Esc Back"},
	 leave},
	{{{KEY_F10, 'q'}, IN(TABLE), "F10 q", "quit, as Ctrl-C does", "F10 Quit"}, quit},
	{{{KEY_F10}, IN_TEXT, "F10", "quit"}, quit},
	{.act = NULL},
};

void top_key(struct top *t, u32 key)
{
	t->message = NULL;
	if (key == KEY_GONE)
		t->is_over = true;
	if (t->prompt.title) {
		write_key(t, key);
		return;
	}
	if (key_moves_by(key, top_page(t)))
		move(t, key_moves_by(key, top_page(t)));
	for (const struct key_binding *b = top_keys; b->act; b++)
		if (key_row_is(&b->row, key, 1u << t->mode)) {
			b->act(t);
			return;
		}
}
