/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stretches of code over which a value or a slot is in use, in the order of blocks. A stretch goes
 * from the first to the last use; where it touches a loop it covers the whole loop, because the
 * value may be needed in the next turn. That is never less than what is really live, and costs one
 * pass.
 */
#include "lang/ir/pass.h"

/* Back edges, merged where they overlap: region[i] = {first, last} position. */
static void find_loops(const struct ir_function *f, const u32 *first, struct ir_stretches *s,
		       struct arena *a)
{
	const size_t n = f->blocks.len;
	u32 *loop_end =
		arena_new_array(a, u32, n + 1); /* per block: last position of a jump back to it */
	u32 succ[2];

	for (u32 b = 0; b < n; b++)
		for (u32 i = ir_successors(&f->blocks.items[b], succ); i-- > 0;)
			if (succ[i] <= b)
				loop_end[succ[i]] = MAX(loop_end[succ[i]], first[b + 1] - 1);
	s->region_of = arena_new_array(a, u32, n + 1);
	s->regions = arena_new_array(a, struct ir_stretch, n + 2);
	for (u32 b = 0; b < n; b++) {
		struct ir_stretch *last = &s->regions[s->nregions];

		if (s->nregions && first[b] <= last->end) {
			last->end = MAX(last->end, loop_end[b]);
			s->region_of[b] = s->nregions;
		} else if (loop_end[b]) {
			s->regions[++s->nregions] = (struct ir_stretch){first[b], loop_end[b]};
			s->region_of[b] = s->nregions;
		}
	}
}

void ir_stretches_begin(struct ir_stretches *s, const struct ir_function *f, struct arena *a)
{
	memset(s, 0, sizeof(*s));
	s->first = arena_new_array(a, u32, f->blocks.len + 1);
	for (size_t b = 0; b < f->blocks.len; b++)
		s->first[b + 1] = s->first[b] + (u32)f->blocks.items[b].insns.len;
	find_loops(f, s->first, s, a);
}

void ir_stretch_use(const struct ir_stretches *s, struct ir_stretch *stretch, u32 block,
		    u32 position)
{
	struct ir_stretch use = {position, position};

	if (s->region_of[block])
		use = s->regions[s->region_of[block]];
	if (!stretch->end && !stretch->start) {
		*stretch = (struct ir_stretch){use.start, use.end + 1};
		return;
	}
	stretch->start = MIN(stretch->start, use.start);
	stretch->end = MAX(stretch->end, use.end + 1);
}
