/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/terminal/colour.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/diag.h"

/* Names of terminals, the first that matches counts; those that are not here have 16 colours. */
static const struct {
	const char *name;
	enum colours colours;
} terminals[] = {
	{"*-direct*", COLOURS_24_BIT}, {"*256*", COLOURS_256},	{"alacritty*", COLOURS_256},
	{"*kitty*", COLOURS_256},      {"foot*", COLOURS_256},	{"*ghostty*", COLOURS_256},
	{"*wezterm*", COLOURS_256},    {"*-m", COLOURS_NONE},	{"*-mono*", COLOURS_NONE},
	{"vt[1-4]??*", COLOURS_NONE},  {"vt52*", COLOURS_NONE}, {"*", COLOURS_16},
};

enum colours terminal_colours(int fd)
{
	const char *const colourterm = getenv("COLORTERM"), *const name = getenv("TERM");

	if (!terminal_is_coloured(fd))
		return COLOURS_NONE;
	if (colourterm && (str_eq(colourterm, "truecolor") || str_eq(colourterm, "24bit")))
		return COLOURS_24_BIT;
	for (size_t i = 0; i < ARRAY_SIZE(terminals); i++)
		if (!fnmatch(terminals[i].name, name, 0))
			return terminals[i].colours;
	return COLOURS_16;
}

/* The first eight colours as most terminals show them; themes differ, their names do not. */
static const u32 basic[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00,
			    0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5};

static u32 distance(u32 a, u32 b)
{
	u32 sum = 0;

	for (u32 shift = 0; shift < 24; shift += 8) {
		const s32 d = (s32)(a >> shift & 255) - (s32)(b >> shift & 255);

		sum += (u32)(d * d);
	}
	return sum;
}

static u32 nearest_basic(u32 rgb)
{
	u32 best = 0;

	for (u32 i = 1; i < ARRAY_SIZE(basic); i++)
		if (distance(rgb, basic[i]) < distance(rgb, basic[best]))
			best = i;
	return best;
}

/* Perceived brightness (ITU-R BT.601), 0 to 255. */
static u32 brightness(u32 rgb)
{
	return (299 * (rgb >> 16 & 255) + 587 * (rgb >> 8 & 255) + 114 * (rgb & 255)) / 1000;
}

void colour_background(struct strbuf *out, u32 rgb, enum colours colours)
{
	const u32 red = rgb >> 16 & 255, green = rgb >> 8 & 255, blue = rgb & 255;
	const bool is_dark = brightness(rgb) < 110;
	u32 colour;

	switch (colours) {
	case COLOURS_24_BIT:
		strbuf_addf(out, "\033[38;2;%s;48;2;%u;%u;%um", is_dark ? "255;255;255" : "0;0;0",
			    red, green, blue);
		break;
	case COLOURS_256: /* the cube of 6 * 6 * 6 */
		colour = 16 + 36 * ((red + 25) / 51) + 6 * ((green + 25) / 51) + (blue + 25) / 51;
		strbuf_addf(out, "\033[38;5;%u;48;5;%um", is_dark ? 231 : 16, colour);
		break;
	case COLOURS_16:
		colour = nearest_basic(rgb);
		strbuf_addf(out, "\033[%u;%um", brightness(basic[colour]) < 110 ? 97 : 30,
			    40 + colour);
		break;
	case COLOURS_NONE:
		break;
	}
}
