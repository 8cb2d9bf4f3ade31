/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/terminal/parts.h"

#include "base/escape.h"

/* ---- keys ---- */

bool key_row_is(const struct key_row *k, u32 key, u32 mode)
{
	for (u32 i = 0; i < ARRAY_SIZE(k->keys) && k->keys[i]; i++)
		if (k->keys[i] == key)
			return k->modes & mode;
	return false;
}

u32 key_row_draw(const struct key_row *k, struct screen *s, u32 row, u32 column)
{
	const char *const word = k->label ? strchr(k->label, ' ') : NULL;
	u32 taken;

	if (!word || column + screen_width(k->label) > s->columns)
		return 0;
	taken = screen_put(s, row, column, (u32)(word - k->label), STYLE_STRONG, k->label);
	return taken + screen_put(s, row, column + taken, s->columns, STYLE_KEY, word + 1) + 1;
}

const struct key_move key_moves[] = {
	{{{KEY_UP}, ~0u, "Up", "one row up"}, -1},
	{{{KEY_DOWN}, ~0u, "Down", "one row down"}, 1},
	{{{KEY_PAGE_UP}, ~0u, "PgUp", "a page up"}, -1, .pages = true},
	{{{KEY_PAGE_DOWN, ' '}, ~0u, "PgDn Space", "a page down"}, 1, .pages = true},
	{{{KEY_HOME}, ~0u, "Home", "to the first row"}, INT32_MIN},
	{{{KEY_END}, ~0u, "End", "to the last row"}, INT32_MAX},
	{.by = 0},
};

s64 key_moves_by(u32 key, u32 page)
{
	for (const struct key_move *m = key_moves; m->by; m++)
		if (key_row_is(&m->row, key, ~0u))
			return m->pages ? (s64)m->by * page : m->by;
	return 0;
}

/* ---- a prompt ---- */

enum prompt_change prompt_key(struct prompt *p, u32 key)
{
	size_t len = strlen(p->text);

	if (key == KEY_ENTER || key == KEY_ESCAPE) {
		if (key == KEY_ESCAPE)
			p->text[0] = '\0';
		p->title = NULL;
		return PROMPT_DONE;
	}
	if (key == KEY_BACKSPACE && len) {
		while (--len && ((u8)p->text[len] & 0xc0) == 0x80) /* a whole character */
			;
		p->text[len] = '\0';
	} else if (key >= ' ' && key < 0x100 && key != KEY_BACKSPACE && len + 1 < sizeof(p->text))
		memcpy(p->text + len, (char[]){(char)key, '\0'}, 2);
	else
		return PROMPT_SAME;
	return PROMPT_CHANGED;
}

void prompt_draw(const struct prompt *p, struct screen *s, u32 row)
{
	struct strbuf text = STRBUF_INIT;
	u32 at = screen_put(s, row, 0, s->columns, STYLE_STRONG, p->title);

	escape_line(&text, p->text, strlen(p->text));
	at += screen_put(s, row, at, s->columns, STYLE_PLAIN, text.data);
	screen_put(s, row, at, 1, STYLE_SELECTED, " ");
	strbuf_release(&text);
}

/* ---- text that scrolls ---- */

void text_lines_add(struct text_lines *l, enum style style, const char *text)
{
	vector_push(&l->items, ((struct text_line){style, text}));
}

void text_lines_add_key(struct text_lines *l, const struct key_row *k, struct arena *a)
{
	text_lines_add(l, STYLE_PLAIN, arena_printf(a, "  %-12s %s", k->shown, k->meaning));
}

void text_lines_draw(struct text_lines *l, struct screen *s, const char *title, u32 skip)
{
	const u32 room = s->rows > 2 ? s->rows - 2 : 1;

	if (l->first + room > l->items.len)
		l->first = l->items.len > room ? l->items.len - room : 0;
	screen_paint(s, 0, 0, s->columns, STYLE_BAR);
	screen_put(s, 0, 0, s->columns, STYLE_BAR, title);
	for (u32 i = 0; i < room && l->first + i < l->items.len; i++) {
		const struct text_line *const line = &l->items.items[l->first + i];

		screen_put(s, 1 + i, 0, s->columns, line->style,
			   line->text + screen_fit(line->text, skip));
	}
}
