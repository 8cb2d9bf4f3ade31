/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph for terminals: the tree, a line a frame. With colours the share is drawn as a bar
 * behind the name.
 */
#include "base/escape.h"
#include "view/flame/flame.h"

#define INDENT	     2
#define LEAST_SHARE  0.005 /* of all; smaller frames are summed up */
#define NAME_COLUMNS 8 /* left for a name at least, however deep */

/* What of NODE's part its own lines do not show. */
struct hidden {
	u64 weight;
	size_t frames;
};

/* Black on this colour, or on the nearest of the 6 * 6 * 6 cube that most terminals have. */
static void add_background(struct strbuf *out, u32 rgb, enum flame_colours colours)
{
	const u32 red = rgb >> 16, green = rgb >> 8 & 255, blue = rgb & 255;

	if (colours == FLAME_24_BIT)
		strbuf_addf(out, "\033[38;2;0;0;0;48;2;%u;%u;%um", red, green, blue);
	else
		strbuf_addf(out, "\033[30;48;5;%um",
			    16 + 36 * ((red + 25) / 51) + 6 * ((green + 25) / 51) +
				    (blue + 25) / 51);
}

static void add_line(const struct flame *f, const struct flame_node *node,
		     const struct flame_options *o, struct strbuf *out)
{
	size_t n, len, begin = out->len;
	const u64 all = flame_nodes(f, &n)->total[FLAME_NEW];
	const char *name = flame_name(f, node, &len);
	const u32 indent = MIN(node->depth * INDENT, o->columns > 40 ? o->columns - 30 : 10);

	strbuf_addf(out, "%6.2f%% %12llu  ", 100.0 * (double)node->total[FLAME_NEW] / (double)all,
		    (unsigned long long)node->total[FLAME_NEW]);
	strbuf_addchars(out, ' ', (int)indent);
	if (o->colours) {
		const size_t before = out->len;

		add_background(out, flame_colour(f, node), o->colours);
		begin += out->len - before;
	}
	if (o->columns) {
		const size_t used = out->len - begin;
		const size_t room = MAX((size_t)o->columns > used ? o->columns - used : 0,
					(size_t)NAME_COLUMNS);

		len = MIN(len, room);
	}
	escape_line(out, name, len);
	strbuf_addstr(out, o->colours ? "\033[0m\n" : "\n");
}

/* Children by weight would be another order than the picture's: it is by name there, too. */
void flame_text(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
	size_t n;
	const struct flame_node *nodes = flame_nodes(f, &n);
	const u64 all = nodes->total[FLAME_NEW];
	struct hidden hidden = {0};

	strbuf_addf(out, "%s\n", o->title);
	if (!all) {
		strbuf_addf(out, "no %s\n", o->unit);
		return;
	}
	strbuf_addf(out, "  SHARE %12s  FRAME\n", o->unit);
	for (size_t i = 0; i < n; i++) {
		const u32 depth = nodes[i].depth;

		if ((double)nodes[i].total[FLAME_NEW] >= LEAST_SHARE * (double)all) {
			add_line(f, &nodes[i], o, out);
			continue;
		}
		hidden.weight += nodes[i].total[FLAME_NEW];
		for (hidden.frames++; i + 1 < n && nodes[i + 1].depth > depth; i++)
			hidden.frames++;
	}
	if (hidden.frames)
		strbuf_addf(out, "%6.2f%% %12llu  in %zu frames of less than %.1f%% each\n",
			    100.0 * (double)hidden.weight / (double)all,
			    (unsigned long long)hidden.weight, hidden.frames, 100 * LEAST_SHARE);
}
