/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What keys do. The table is also the help and the last line of the screen. */
#include "cmd/report/tui/tui.h"

#define IN(mode)   (1u << VIEW_##mode)
#define EVERYWHERE (IN(TABLE) | IN(LINES) | IN(HELP))
#define IN_TEXT	   (IN(LINES) | IN(HELP))

#define SIDEWAYS 16 /* columns at once */

/* ---- moving ---- */

static void select_place(struct view *v, s64 place)
{
	const s64 last = (s64)v->shown.len - 1;

	if (last >= 0)
		v->selected = v->shown.items[MAX(MIN(place, last), 0)];
}

static void move(struct tui *t, s64 by)
{
	struct view *const v = tui_view(t);

	if (v->mode == VIEW_TABLE)
		select_place(v, (s64)view_place(v) + by);
	else
		v->lines.first = (size_t)MAX((s64)v->lines.first + by, 0);
}

static void leftwards(struct tui *t)
{
	struct view *const v = tui_view(t);

	v->skip -= MIN(v->skip, SIDEWAYS);
}

static void rightwards(struct tui *t)
{
	tui_view(t)->skip += SIDEWAYS;
}

/* ---- folding ---- */

static struct view_row *selected(struct tui *t)
{
	struct view *const v = tui_view(t);

	return &v->rows.items[v->selected];
}

static bool has_rows_below(const struct view *v)
{
	return v->rows.items[v->selected].end > v->selected + 1;
}

static void set_open(struct tui *t, bool is_open)
{
	selected(t)->is_open = is_open;
	view_arrange(tui_view(t));
}

static void unfold(struct tui *t)
{
	if (has_rows_below(tui_view(t)))
		set_open(t, true);
}

/* Of a row that has nothing to fold, the one above it is selected. */
static void fold(struct tui *t)
{
	struct view *const v = tui_view(t);

	if (has_rows_below(v) && selected(t)->is_open)
		set_open(t, false);
	else if (selected(t)->parent)
		v->selected = selected(t)->parent - 1;
}

static void toggle(struct tui *t)
{
	if (has_rows_below(tui_view(t)))
		set_open(t, !selected(t)->is_open);
}

static void set_all(struct tui *t, bool is_open)
{
	struct view *const v = tui_view(t);

	for (size_t i = 0; i < v->rows.len; i++)
		v->rows.items[i].is_open = is_open;
	view_arrange(v);
}

static void unfold_all(struct tui *t)
{
	set_all(t, true);
}

static void fold_all(struct tui *t)
{
	set_all(t, false);
}

/* ---- sorting ---- */

/* The next column that is shown; after the last comes the table's own order. */
static void sort_by_next(struct tui *t, int step)
{
	struct view *const v = tui_view(t);
	const struct table_column *const columns = v->table.columns;
	u32 count = 0;

	while (columns[count].key || columns[count].title)
		count++;
	/* 0 is the table's own order, 1 the first column */
	do
		v->sort = (v->sort + 1 + count + 1 + (u32)step) % (count + 1) - 1;
	while (v->sort != VIEW_UNSORTED && !columns[v->sort].title);
	view_arrange(v);
}

static void sort_right(struct tui *t)
{
	sort_by_next(t, 1);
}

static void sort_left(struct tui *t)
{
	sort_by_next(t, -1);
}

static void turn(struct tui *t)
{
	struct view *const v = tui_view(t);

	v->is_ascending = !v->is_ascending;
	if (v->sort == VIEW_UNSORTED)
		v->sort = 0;
	view_arrange(v);
}

/* ---- writing ---- */

static void find(struct tui *t, bool also_here)
{
	if (*t->search && !view_find(tui_view(t), t->search, also_here))
		tui_say(t, "no row has this in its name");
}

static void find_line(struct tui *t, bool also_here)
{
	struct text_lines *const l = &tui_view(t)->lines;

	for (size_t i = l->first + !also_here; i < l->items.len && *t->search; i++)
		if (strcasestr(l->items.items[i].text, t->search)) {
			l->first = i;
			return;
		}
	if (*t->search)
		tui_say(t, "no line below has this");
}

static void search(struct tui *t, bool also_here)
{
	(tui_view(t)->mode == VIEW_TABLE ? find : find_line)(t, also_here);
}

static void search_next(struct tui *t)
{
	search(t, false);
}

static void begin_search(struct tui *t)
{
	t->prompt = (struct prompt){.title = "Search: "};
	t->is_filter = false;
}

static void begin_filter(struct tui *t)
{
	t->prompt = (struct prompt){.title = "Filter: "};
	t->is_filter = true;
	snprintf(t->prompt.text, sizeof(t->prompt.text), "%s", tui_view(t)->filter);
}

/* What was written so far has its effect at once. */
static void prompt_changed(struct tui *t)
{
	struct view *const v = tui_view(t);

	if (t->is_filter) {
		snprintf(v->filter, sizeof(v->filter), "%s", t->prompt.text);
		view_arrange(v);
		if (!v->shown.len)
			tui_say(t, "no row has this in its name");
	} else {
		snprintf(t->search, sizeof(t->search), "%s", t->prompt.text);
		search(t, true);
	}
}

static void write_key(struct tui *t, u32 key)
{
	if (key == KEY_F3 && !t->is_filter)
		search_next(t);
	else if (prompt_key(&t->prompt, key) != PROMPT_SAME && key != KEY_ENTER)
		prompt_changed(t);
}

/* ---- other views ---- */

static void enter(struct tui *t)
{
	if (view_function(tui_view(t), selected(t)->row))
		tui_open_calls(t);
	else
		tui_open_lines(t);
}

static void help(struct tui *t)
{
	const struct view *const of = tui_view(t);
	struct view *const v = xzalloc(sizeof(*v));

	v->mode = VIEW_HELP;
	v->title = "pantrace report --tui: help";
	text_lines_add(&v->lines, STYLE_STRONG, "Keys");
	for (const struct key_move *m = key_moves; m->by; m++)
		text_lines_add_key(&v->lines, &m->row, &v->text);
	for (const struct tui_key *k = tui_keys; k->act; k++)
		if (k->row.modes & 1u << of->mode)
			text_lines_add_key(&v->lines, &k->row, &v->text);
	vector_push(&t->views, v);
}

static void leave(struct tui *t)
{
	if (t->views.len == 1)
		return;
	view_release(tui_view(t));
	t->views.len--;
}

static void leave_or_quit(struct tui *t)
{
	t->is_over = t->views.len == 1;
	leave(t);
}

static void redraw(struct tui *t)
{
	t->terminal.is_stale = true;
}

static void quit(struct tui *t)
{
	t->is_over = true;
}

const struct tui_key tui_keys[] = {
	{{{KEY_F1, '?', 'h'}, IN(TABLE) | IN(LINES), "F1 ? h", "this help", "F1 Help"}, help},
	{{{KEY_RIGHT}, IN(TABLE), "Right", "unfold: show what is below the row"}, unfold},
	{{{KEY_LEFT}, IN(TABLE), "Left", "fold; again: to the row above"}, fold},
	{{{'+', 'e'}, IN(TABLE), "+ e", "fold or unfold", "+ Fold"}, toggle},
	{{{'E'}, IN(TABLE), "E", "unfold all rows"}, unfold_all},
	{{{'C'}, IN(TABLE), "C", "fold all rows"}, fold_all},
	{{{KEY_ENTER},
	  IN(TABLE),
	  "Enter",
	  "of a function: who called it and what it called; else the row's events",
	  "Enter Calls"},
	 enter},
	{{{'a'}, IN(TABLE), "a", "of a function: samples by source line and address", "a Annotate"},
	 tui_open_annotate},
	{{{'l'}, IN(TABLE), "l", "the row's events, line by line", "l Events"}, tui_open_lines},
	{{{KEY_TAB},
	  IN(TABLE),
	  "Tab",
	  "the next table: functions, call trees, events, tasks, stacks",
	  "Tab Table"},
	 tui_next_table},
	{{{KEY_F3, '/'},
	  IN(TABLE) | IN_TEXT,
	  "F3 /",
	  "search for a part of a name, also in folded rows",
	  "F3 Search"},
	 begin_search},
	{{{'n'}, IN(TABLE) | IN_TEXT, "n", "the next one that is searched for"}, search_next},
	{{{KEY_F4, '\\'},
	  IN(TABLE),
	  "F4 \\",
	  "filter: only rows with this in their names, and those around them",
	  "F4 Filter"},
	 begin_filter},
	{{{KEY_F6, '>'}, IN(TABLE), "F6 >", "sort by the next column", "F6 Sort"}, sort_right},
	{{{'<'}, IN(TABLE), "<", "sort by the column before"}, sort_left},
	{{{'I'}, IN(TABLE), "I", "the other way round"}, turn},
	{{{KEY_RIGHT}, IN_TEXT, "Right", "to the right, in long lines"}, rightwards},
	{{{KEY_LEFT}, IN_TEXT, "Left", "to the left"}, leftwards},
	{{{KEY_CONTROL('L')}, EVERYWHERE, "Ctrl-L", "redraw the screen"}, redraw},
	{{{KEY_ESCAPE, KEY_BACKSPACE}, EVERYWHERE, "Esc", "back", "Esc Back"}, leave},
	{{{'q'}, EVERYWHERE, "q", "back; in the first table: quit", "q Quit"}, leave_or_quit},
	{{{KEY_F10}, EVERYWHERE, "F10", "quit, as Ctrl-C does"}, quit},
	{.act = NULL},
};

void tui_press(struct tui *t, u32 key)
{
	*t->message = '\0';
	if (key == KEY_GONE)
		t->is_over = true;
	if (t->prompt.title) {
		write_key(t, key);
		return;
	}
	if (key_moves_by(key, tui_page(t)))
		move(t, key_moves_by(key, tui_page(t)));
	for (const struct tui_key *k = tui_keys; k->act; k++)
		if (key_row_is(&k->row, key, 1u << tui_view(t)->mode)) {
			k->act(t);
			return;
		}
}
