/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of `pantrace report --tui`. */
#include <ctype.h>

#include "base/escape.h"
#include "cmd/report/tui/tui.h"

#define HEADING	   2 /* lines above the table's titles */
#define LEAST_NAME 24 /* columns for names, if that means fewer numbers */

static u32 heading_of(const struct tui *t)
{
	return t->terminal.rows >= 8 ? HEADING : t->terminal.rows >= 5 ? 1 : 0;
}

u32 tui_page(const struct tui *t)
{
	const u32 taken = tui_view(t)->mode == VIEW_TABLE ? heading_of(t) + 2 : 2;

	return t->terminal.rows > taken ? t->terminal.rows - taken : 1;
}

/* ---- the lines above ---- */

static void draw_title(struct tui *t)
{
	const struct view *const v = tui_view(t);
	const bool is_sorted = v->sort != VIEW_UNSORTED;
	struct strbuf text = STRBUF_INIT;
	u32 at;

	screen_paint(&t->screen, 0, 0, t->screen.columns, STYLE_BAR);
	strbuf_addf(&text, "pantrace report %s ", v->title);
	escape_line(&text, t->paths[0], strlen(t->paths[0]));
	if (is_sorted)
		strbuf_addf(&text, "; by %s%s", v->table.columns[v->sort].title,
			    v->is_ascending ? ", the least first" : "");
	if (*v->filter) {
		strbuf_addstr(&text, "; only '");
		escape_line(&text, v->filter, strlen(v->filter));
		strbuf_addch(&text, '\'');
	}
	at = screen_put(&t->screen, 0, 0, t->screen.columns, STYLE_BAR, text.data);
	if (t->code == EXIT_LOST)
		screen_put(&t->screen, 0, at, t->screen.columns, STYLE_HOT, " events were lost ");
	strbuf_release(&text);
}

/* A name of several lines, a stack, in one. */
static void add_name(const struct tui *t, const char *name, struct strbuf *out)
{
	for (;; name++) {
		const size_t n = strcspn(name, "\n");

		escape_line(out, name, n);
		name += n;
		if (!*name)
			return;
		strbuf_addstr(out, t->terminal.is_utf8 ? " ← " : " < ");
	}
}

/* The names of the selected row and those around it, which may not fit below. */
static void draw_path(struct tui *t)
{
	const struct view *const v = tui_view(t);
	const struct table_row *const row = v->rows.items[v->selected].row;
	struct strbuf text = STRBUF_INIT;

	for (u32 i = 0; i <= row->depth; i++) {
		strbuf_addstr(&text, i ? " > " : "");
		add_name(t, row->names[i], &text);
	}
	screen_put(&t->screen, 1, 0, t->screen.columns, STYLE_PLACE, text.data);
	strbuf_release(&text);
}

/* ---- the table ---- */

/* Where there is no room, the last columns go first; the first two stay. */
static void lay_out(const struct tui *t, u32 widths[TABLE_COLUMNS])
{
	const struct view *const v = tui_view(t);
	u32 taken = 0, n = TABLE_COLUMNS;

	memcpy(widths, v->widths, sizeof(v->widths));
	for (u32 i = 0; i < TABLE_COLUMNS; i++)
		taken += widths[i] ? widths[i] + 1 : 0;
	while (n-- > 1 && taken + LEAST_NAME > t->screen.columns)
		if (widths[n]) {
			taken -= widths[n] + 1;
			widths[n] = 0;
		}
}

static void draw_titles(struct tui *t, u32 line, const u32 *widths)
{
	const struct view *const v = tui_view(t);
	struct strbuf names = STRBUF_INIT;
	u32 at = 0;

	screen_paint(&t->screen, line, 0, t->screen.columns, STYLE_BAR);
	for (u32 i = 0; i < TABLE_COLUMNS; i++) {
		if (!widths[i])
			continue;
		screen_put_right(&t->screen, line, at, widths[i],
				 i == v->sort ? STYLE_SORTED : STYLE_BAR,
				 v->table.columns[i].title);
		at += widths[i] + 1;
	}
	for (u32 i = 0; i < v->table.nr_keys; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", v->table.keys[i]);
	for (size_t i = 0; i < names.len; i++)
		names.data[i] = (char)toupper((u8)names.data[i]);
	screen_put(&t->screen, line, at, t->screen.columns, STYLE_BAR, names.data);
	strbuf_release(&names);
}

static enum style style_of(enum table_unit unit, u64 value)
{
	if (!value)
		return STYLE_DIM;
	if (unit != TABLE_PERCENT)
		return STYLE_PLAIN;
	return value >= 5000 ? STYLE_HOT : value >= 1000 ? STYLE_WARM : STYLE_PLAIN;
}

/* The mark of a row that has others below it, and its name. */
static void draw_name(struct tui *t, u32 line, u32 at, u32 row)
{
	const struct view *const v = tui_view(t);
	const struct view_row *const r = &v->rows.items[row];
	const bool utf8 = t->terminal.is_utf8;
	struct strbuf name = STRBUF_INIT;

	at += 2 * (v->table.is_flat ? 0 : r->row->depth);
	if (r->end > row + 1)
		screen_put(&t->screen, line, at, 1, STYLE_DIM,
			   r->is_open ? utf8 ? "▾" : "-"
			   : utf8     ? "▸"
				      : "+");
	for (u32 i = v->table.is_flat ? 0 : r->row->depth; i <= r->row->depth; i++) {
		strbuf_addstr(&name, name.len ? "  " : "");
		add_name(t, r->row->names[i], &name);
	}
	screen_put(&t->screen, line, at + 2, t->screen.columns,
		   r->row->values[v->table.main] ? STYLE_PLAIN : STYLE_DIM, name.data);
	strbuf_release(&name);
}

static void draw_row(struct tui *t, u32 line, u32 row, const u32 *widths)
{
	const struct view *const v = tui_view(t);
	const u64 *const values = v->rows.items[row].row->values;
	u32 at = 0;

	for (u32 i = 0; i < TABLE_COLUMNS; i++) {
		struct strbuf text = STRBUF_INIT;

		if (!widths[i])
			continue;
		table_value_text(values[i], v->table.columns[i].unit, &v->style, &text);
		screen_put_right(&t->screen, line, at, widths[i],
				 style_of(v->table.columns[i].unit, values[i]), text.data);
		at += widths[i] + 1;
		strbuf_release(&text);
	}
	draw_name(t, line, at, row);
	if (row == v->selected)
		screen_paint(&t->screen, line, 0, t->screen.columns, STYLE_SELECTED);
}

/* The selected row stays on the screen. */
static void scroll(struct tui *t)
{
	struct view *const v = tui_view(t);
	const size_t page = tui_page(t), place = view_place(v), n = v->shown.len;

	v->first = MIN(v->first, place);
	if (place >= v->first + page)
		v->first = place - page + 1;
	if (v->first + page > n)
		v->first = n > page ? n - page : 0;
}

static void draw_table(struct tui *t)
{
	static void (*const heading[HEADING])(struct tui *) = {draw_title, draw_path};
	const struct view *const v = tui_view(t);
	const u32 top = heading_of(t);
	u32 widths[TABLE_COLUMNS];

	for (u32 i = 0; i < top; i++)
		heading[i](t);
	lay_out(t, widths);
	draw_titles(t, top, widths);
	scroll(t);
	for (u32 i = 0; i < tui_page(t) && v->first + i < v->shown.len; i++)
		draw_row(t, top + 1 + i, v->shown.items[v->first + i], widths);
}

/* ---- the whole screen ---- */

static void draw_last(struct tui *t)
{
	const u32 line = t->terminal.rows - 1;
	u32 at = 0;

	if (*t->message) {
		struct strbuf text = STRBUF_INIT;

		escape_line(&text, t->message, strlen(t->message));
		screen_put(&t->screen, line, 0, t->screen.columns, STYLE_WARM, text.data);
		strbuf_release(&text);
	} else if (t->prompt.title) {
		prompt_draw(&t->prompt, &t->screen, line);
	} else if (t->views.len) {
		for (const struct tui_key *k = tui_keys; k->act; k++)
			if (k->row.modes & 1u << tui_view(t)->mode)
				at += key_row_draw(&k->row, &t->screen, line, at);
	}
}

int tui_draw(struct tui *t)
{
	screen_begin(&t->screen, &t->terminal);
	if (t->views.len && tui_view(t)->mode == VIEW_TABLE)
		draw_table(t);
	else if (t->views.len)
		text_lines_draw(&tui_view(t)->lines, &t->screen, tui_view(t)->title,
				tui_view(t)->skip);
	draw_last(t);
	return screen_end(&t->screen);
}
