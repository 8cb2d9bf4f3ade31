/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/terminal/screen.h"

/* With 16 colours, which follow the user's own; and without any. */
static const struct {
	const char *coloured, *plain;
} looks[STYLES] = {
	[STYLE_PLAIN] = {"0", "0"},
	[STYLE_DIM] = {"0;2", "0"},
	[STYLE_STRONG] = {"0;1", "0;1"},
	[STYLE_BAR] = {"0;30;42", "0;7"},
	[STYLE_SORTED] = {"0;30;46", "0;1;7"},
	[STYLE_KEY] = {"0;30;46", "0;7"},
	[STYLE_SELECTED] = {"0;30;46", "0;7"},
	[STYLE_CALM] = {"0;32", "0"},
	[STYLE_WARM] = {"0;33", "0"},
	[STYLE_HOT] = {"0;1;31", "0;1"},
	[STYLE_PLACE] = {"0;36", "0"},
};

struct range {
	u32 from, to;
};

/* Characters that take two columns: East Asian Width W and F of Unicode 15, in short. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},	{0x2e80, 0x303e},   {0x3041, 0xa4cf},
	{0xa960, 0xa97c},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
};

/* Marks that join the character before them, and what is not seen: left out. */
static const struct range without_width[] = {
	{0x300, 0x36f},	  {0x483, 0x489},   {0x591, 0x5bd},	{0x610, 0x61a},	  {0x64b, 0x65f},
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2064},	{0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
	{0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0000, 0xe01ef},
};

static bool is_in(u32 c, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

static u32 width_of(u32 c)
{
	if (c < 0x300)
		return 1;
	if (is_in(c, without_width, ARRAY_SIZE(without_width)))
		return 0;
	return is_in(c, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

/* The character at *p, which moves on; what is no UTF-8 or is a control becomes '?'. */
static u32 next_character(const char **p)
{
	const u8 *s = (const u8 *)*p;
	const u32 extra = s[0] < 0x80	? 0
			  : s[0] < 0xc2 ? 4
			  : s[0] < 0xe0 ? 1
			  : s[0] < 0xf0 ? 2
			  : s[0] < 0xf5 ? 3
					: 4;
	u32 c = extra ? s[0] & (0x3fu >> extra) : s[0];

	*p += 1;
	if (extra == 4 || (!extra && (c < ' ' || c == 0x7f)))
		return '?';
	for (u32 i = 1; i <= extra; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return '?';
		c = c << 6 | (s[i] & 0x3f);
	}
	*p += extra;
	return c;
}

u32 screen_width(const char *text)
{
	u32 columns = 0;

	while (*text)
		columns += width_of(next_character(&text));
	return columns;
}

size_t screen_fit(const char *text, u32 columns)
{
	const char *const begin = text;
	u32 used = 0;

	while (*text) {
		const char *const from = text;

		used += width_of(next_character(&text));
		if (used > columns)
			return (size_t)(from - begin);
	}
	return (size_t)(text - begin);
}

void screen_release(struct screen *s)
{
	free(s->cells);
	free(s->sent);
	strbuf_release(&s->out);
	*s = (struct screen){0};
}

void screen_begin(struct screen *s, struct terminal *t)
{
	const size_t count = (size_t)t->columns * t->rows;

	if (s->columns != t->columns || s->rows != t->rows) {
		s->cells = xreallocarray(s->cells, count, sizeof(*s->cells));
		s->sent = xreallocarray(s->sent, count, sizeof(*s->sent));
		s->columns = t->columns;
		s->rows = t->rows;
		t->is_stale = true;
	}
	if (!s->terminal)
		s->out = (struct strbuf)STRBUF_INIT;
	s->terminal = t;
	for (size_t i = 0; i < count; i++)
		s->cells[i] = (struct cell){" ", STYLE_PLAIN};
}

u32 screen_put(struct screen *s, u32 row, u32 column, u32 width, enum style style, const char *text)
{
	u32 at = 0;

	if (row >= s->rows || column >= s->columns)
		return 0;
	width = MIN(width, s->columns - column);
	while (*text) {
		const char *const from = text;
		u32 c = next_character(&text), columns = width_of(c);
		struct cell *const cell = &s->cells[(size_t)row * s->columns + column + at];

		if (!columns)
			continue;
		if (at + columns > width)
			break;
		*cell = (struct cell){"?", (u8)style};
		if (c != '?' && (c < 0x80 || s->terminal->is_utf8))
			memcpy(cell->text, from, (size_t)(text - from));
		if (columns == 2)
			cell[1] = (struct cell){"?", (u8)style};
		if (columns == 2 && s->terminal->is_utf8)
			cell[1].text[0] = '\0';
		at += columns;
	}
	return at;
}

void screen_put_right(struct screen *s, u32 row, u32 column, u32 width, enum style style,
		      const char *text)
{
	const u32 columns = MIN(screen_width(text), width);

	screen_put(s, row, column + width - columns, columns, style, text);
}

void screen_paint(struct screen *s, u32 row, u32 column, u32 width, enum style style)
{
	for (u32 i = 0; row < s->rows && i < width && column + i < s->columns; i++)
		s->cells[(size_t)row * s->columns + column + i].style = (u8)style;
}

static bool is_same(const struct cell *a, const struct cell *b)
{
	return a->style == b->style && str_eq(a->text, b->text);
}

static void send_row(struct screen *s, u32 row, bool all, u32 *style)
{
	const struct cell *const cells = s->cells + (size_t)row * s->columns,
				 *const sent = s->sent + (size_t)row * s->columns;
	u32 cursor = UINT32_MAX; /* the column that it is in, if it is in this row */

	for (u32 i = 0; i < s->columns; i++) {
		if ((!all && is_same(&cells[i], &sent[i])) || !cells[i].text[0])
			continue;
		if (cursor != i)
			strbuf_addf(&s->out, "\033[%u;%uH", row + 1, i + 1);
		if (*style != cells[i].style)
			strbuf_addf(&s->out, "\033[%sm",
				    s->terminal->colours ? looks[cells[i].style].coloured
							 : looks[cells[i].style].plain);
		*style = cells[i].style;
		strbuf_addstr(&s->out, cells[i].text);
		cursor = i + 1 + (i + 1 < s->columns && !cells[i + 1].text[0]);
	}
}

int screen_end(struct screen *s)
{
	const bool all = s->terminal->is_stale;
	u32 style = UINT32_MAX;

	strbuf_reset(&s->out);
	s->terminal->is_stale = false;
	if (all)
		strbuf_addstr(&s->out, "\033[0m\033[2J");
	for (u32 row = 0; row < s->rows; row++)
		send_row(s, row, all, &style);
	memcpy(s->sent, s->cells, (size_t)s->columns * s->rows * sizeof(*s->sent));
	return s->out.len ? terminal_write(s->terminal, &s->out) : 0;
}
