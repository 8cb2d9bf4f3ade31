/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph for terminals: the tree, a line a frame. With colours the share is drawn as a bar
 * behind the name.
 */
#include "base/escape.h"
#include "view/flame/flame.h"
#include "view/terminal/screen.h"

#define INDENT	     2
#define LEAST_SHARE  0.005 /* share of all; smaller frames are summed up in one line */
#define NAME_COLUMNS 8 /* the least room for a name, however */

/* The part of NODE's weight that no line of its children shows. */
struct hidden {
	u64 weight;
	size_t frames;
};

static void add_line(const struct flame *f, const struct flame_node *node,
		     const struct flame_options *o, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;
	size_t n, len, begin = out->len;
	const u64 all = flame_nodes(f, &n)->total[FLAME_NEW];
	const char *name = flame_name(f, node, &len);
	const u32 indent = MIN(node->depth * INDENT, !o->columns       ? 200
						     : o->columns > 40 ? o->columns - 30
								       : 10);

	strbuf_addf(out, "%6.2f%% %12llu  ", 100.0 * (double)node->total[FLAME_NEW] / (double)all,
		    (unsigned long long)node->total[FLAME_NEW]);
	strbuf_addchars(out, ' ', (int)indent);
	if (o->colours) {
		const size_t before = out->len;

		colour_background(out, flame_colour(f, node), o->colours);
		begin += out->len - before;
	}
	escape_line(&text, name, len);
	if (o->columns && text.len) {
		const size_t used = out->len - begin;
		const size_t room = MAX((size_t)o->columns > used ? o->columns - used : 0,
					(size_t)NAME_COLUMNS);

		text.len = screen_fit(text.data, (u32)room);
	}
	strbuf_add(out, text.data, text.len);
	strbuf_addstr(out, o->colours ? "\033[0m\n" : "\n");
	strbuf_release(&text);
}

/* Children are in order of their names, as in the picture, not of their weights. */
void flame_text(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
	size_t n;
	const struct flame_node *nodes = flame_nodes(f, &n);
	const u64 all = nodes->total[FLAME_NEW];
	struct hidden hidden = {0};

	escape_line(out, o->title, strlen(o->title));
	strbuf_addch(out, '\n');
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
		strbuf_addf(out, "%6.2f%% %12llu  in %zu frame%s of less than %.1f%% each\n",
			    100.0 * (double)hidden.weight / (double)all,
			    (unsigned long long)hidden.weight, hidden.frames, plural(hidden.frames),
			    100 * LEAST_SHARE);
}
