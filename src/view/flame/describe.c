/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The share and the colour of a frame, the same in every form of the picture. */
#include <stdio.h>

#include "base/hashmap.h"
#include "view/flame/flame.h"

static double share(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* 1234567 -> "1,234,567" */
static void add_count(struct strbuf *out, u64 count)
{
	char digits[24];
	const int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, digits[i]);
	}
}

void flame_describe(const struct flame *f, const struct flame_node *node,
		    const struct flame_options *options, struct strbuf *out)
{
	size_t n;
	const struct flame_node *all = flame_nodes(f, &n);
	const double now = share(node->total[FLAME_NEW], all->total[FLAME_NEW]);

	add_count(out, node->total[FLAME_NEW]);
	strbuf_addf(out, " %s, %.2f%%", options->unit, now);
	if (flame_is_comparison(f))
		strbuf_addf(out, "; %+.2f%%",
			    now - share(node->total[FLAME_OLD], all->total[FLAME_OLD]));
}

/* Hue of each kind of frame, and how far it varies by name: programs are warm. */
static const struct {
	u8 red, green, blue; /* the darkest */
	u8 more_red, more_green, more_blue; /* at most */
} palette[FLAME_KINDS] = {
	[FLAME_OTHER] = {190, 190, 190, 30, 30, 30},
	[FLAME_USER] = {235, 110, 60, 20, 90, 40},
	[FLAME_LIBRARY] = {235, 190, 70, 20, 45, 50},
	[FLAME_KERNEL] = {110, 160, 225, 60, 50, 25},
	[FLAME_INLINED] = {215, 150, 195, 35, 50, 40},
	[FLAME_COMPILED] = {115, 195, 115, 60, 45, 60},
};

/* Red: more than before; blue: less. By the difference of the shares; full colour at 20 %. */
static u32 difference_colour(const struct flame *f, const struct flame_node *node)
{
	size_t n;
	const struct flame_node *all = flame_nodes(f, &n);
	const double difference = share(node->total[FLAME_NEW], all->total[FLAME_NEW]) -
				  share(node->total[FLAME_OLD], all->total[FLAME_OLD]);
	const double size = MIN(1.0, (difference < 0 ? -difference : difference) / 20);
	const u32 faded = (u32)(240 - 170 * size);

	return difference > 0 ? 0xf00000 | faded << 8 | faded : faded << 16 | faded << 8 | 0xf0;
}

u32 flame_colour(const struct flame *f, const struct flame_node *node)
{
	size_t len;
	const char *name = flame_name(f, node, &len);
	const u32 hash = hash_bytes(name, len);
	const __typeof__(palette[0]) *p = &palette[node->kind];

	if (flame_is_comparison(f))
		return difference_colour(f, node);
	return (p->red + p->more_red * (hash & 255) / 255) << 16 |
	       (p->green + p->more_green * (hash >> 8 & 255) / 255) << 8 |
	       (p->blue + p->more_blue * (hash >> 16 & 255) / 255);
}
