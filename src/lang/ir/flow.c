/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control flow: removal of what cannot be reached (the verifier refuses it), loop nesting and the
 * order of blocks.
 */
#include "lang/ir/pass.h"

enum { UNSEEN, OPEN, DONE };

struct walk {
	struct ir_function *f;
	u8 *state;
	u32 *stack; /* path of the depth-first search */
	u8 *next; /* successor to look at next, per block */
	u32 *order; /* blocks in the order in which they were finished */
	u32 norder;
	VECTOR(u32) back_edges; /* from, to, from, to ... */
};

/*
 * Successors in the order in which the search should visit them; the last one follows the block in
 * the layout.
 */
static u32 ordered_successors(const struct ir_block *b, const u8 *depth, u32 from, u32 succ[2])
{
	const struct ir_insn *last;
	u32 n = b->insns.len ? ir_successors(b, succ) : 0, t;
	bool swap;

	if (n < 2)
		return n;
	last = &vector_last(&b->insns);
	/* Comparisons with == usually test for the exceptional case. */
	swap = last->cond != IR_EQ;
	/* The exit of a loop is laid out after the loop. */
	if (depth && depth[succ[0]] != depth[succ[1]] &&
	    MIN(depth[succ[0]], depth[succ[1]]) < depth[from])
		swap = depth[succ[0]] > depth[succ[1]];
	if (swap) {
		t = succ[0];
		succ[0] = succ[1];
		succ[1] = t;
	}
	return n;
}

static void search(struct walk *w, const u8 *depth)
{
	u32 n = 0, succ[2];

	memset(w->state, UNSEEN, w->f->blocks.len);
	memset(w->next, 0, w->f->blocks.len);
	w->norder = 0;
	w->stack[n++] = 0;
	w->state[0] = OPEN;
	while (n) {
		const u32 b = w->stack[n - 1];
		const u32 count = ordered_successors(&w->f->blocks.items[b], depth, b, succ);

		if (w->next[b] == count) {
			w->state[b] = DONE;
			w->order[w->norder++] = b;
			n--;
			continue;
		}
		const u32 s = succ[w->next[b]++];

		if (w->state[s] == UNSEEN) {
			w->state[s] = OPEN;
			w->stack[n++] = s;
		} else if (w->state[s] == OPEN && !depth) {
			vector_push(&w->back_edges, b);
			vector_push(&w->back_edges, s);
		}
	}
}

/* Predecessor lists: those of block b are list[start[b] .. start[b + 1]). */
static u32 *predecessors(const struct ir_function *f, u32 *start)
{
	const size_t n = f->blocks.len;
	u32 *list = xmalloc((2 * n + 1) * sizeof(*list)), succ[2];
	u32 *fill = xzalloc((n + 1) * sizeof(*fill));

	memset(start, 0, (n + 1) * sizeof(*start));
	for (size_t b = 0; b < n; b++)
		for (u32 i = f->blocks.items[b].insns.len ? ir_successors(&f->blocks.items[b], succ)
							  : 0;
		     i-- > 0;)
			start[succ[i] + 1]++;
	for (size_t b = 0; b < n; b++)
		start[b + 1] += start[b];
	for (u32 b = 0; b < n; b++)
		for (u32 i = f->blocks.items[b].insns.len ? ir_successors(&f->blocks.items[b], succ)
							  : 0;
		     i-- > 0;)
			list[start[succ[i]] + fill[succ[i]]++] = b;
	free(fill);
	return list;
}

/* Every block from which `from` can be reached without passing the header is one level deeper. */
static void deepen(const struct walk *w, const u32 *start, const u32 *list, u32 from, u32 header,
		   u32 mark, u32 *marks, u8 *depth)
{
	u32 n = 0;

	/* Several back edges to one header are one loop: `mark` is the header's number + 1. */
	if (marks[header] != mark) {
		marks[header] = mark;
		depth[header] += depth[header] < 8;
	}
	if (marks[from] != mark) {
		marks[from] = mark;
		depth[from] += depth[from] < 8;
		w->stack[n++] = from;
	}
	while (n) {
		const u32 b = w->stack[--n];

		for (u32 i = start[b]; i < start[b + 1]; i++) {
			const u32 p = list[i];

			if (marks[p] == mark || w->state[p] == UNSEEN)
				continue;
			marks[p] = mark;
			depth[p] += depth[p] < 8;
			w->stack[n++] = p;
		}
	}
}

static int compare_headers(const void *a, const void *b)
{
	const u32 x = ((const u32 *)a)[1], y = ((const u32 *)b)[1];

	return x < y ? -1 : x > y;
}

static void measure_loops(struct walk *w, u8 *depth)
{
	const size_t n = w->f->blocks.len;
	u32 *start, *list, *marks;

	if (!w->back_edges.len)
		return;
	start = xmalloc((n + 1) * sizeof(*start));
	marks = xzalloc((n + 1) * sizeof(*marks));
	list = predecessors(w->f, start);
	qsort(w->back_edges.items, w->back_edges.len / 2, 2 * sizeof(u32), compare_headers);
	for (size_t i = 0; i < w->back_edges.len; i += 2) {
		const u32 header = w->back_edges.items[i + 1];

		deepen(w, start, list, w->back_edges.items[i], header, header + 1, marks, depth);
	}
	free(list);
	free(marks);
	free(start);
}

void ir_order_blocks(struct ir_function *f, u8 **ret_depth, struct arena *scratch)
{
	const size_t n = f->blocks.len;
	struct walk w = {
		.f = f,
		.state = arena_alloc(scratch, n + 1),
		.stack = arena_new_array(scratch, u32, n + 1),
		.next = arena_alloc(scratch, n + 1),
		.order = arena_new_array(scratch, u32, n + 1),
	};
	u8 *depth = arena_alloc(scratch, n + 1), *new_depth;
	u32 *place = arena_new_array(scratch, u32, n + 1);
	struct ir_block *ordered;

	search(&w, NULL);
	measure_loops(&w, depth);
	search(&w, depth);
	ordered = arena_new_array(f->arena, struct ir_block, w.norder);
	new_depth = arena_alloc(scratch, w.norder);
	for (u32 i = 0; i < w.norder; i++) {
		const u32 b = w.order[w.norder - 1 - i];

		place[b] = i;
		ordered[i] = f->blocks.items[b];
		new_depth[i] = depth[b];
	}
	for (u32 i = 0; i < w.norder; i++) {
		struct ir_insn *last = &vector_last(&ordered[i].insns);

		if (last->op == IR_JUMP || last->op == IR_BRANCH)
			last->then = place[last->then];
		if (last->op == IR_BRANCH)
			last->otherwise = place[last->otherwise];
	}
	f->blocks.items = ordered;
	f->blocks.len = f->blocks.cap = w.norder;
	vector_free(&w.back_edges);
	*ret_depth = new_depth;
}
