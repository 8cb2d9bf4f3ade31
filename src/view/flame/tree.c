/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of a flame graph: a common beginning of stacks is stored once. */
#include "view/flame/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vector.h"

/* A frame while stacks are added. */
struct branch {
	u32 name, parent;
	u32 first_child, next; /* indices; 0 = none, as 0 is the root */
	u8 kind;
	u64 self[FLAME_SIDES];
};

struct name {
	const char *text;
	u32 len;
	u32 rank; /* its index in the finished, ordered tree */
};

struct flame {
	struct hashmap index; /* names -> their number + 1 */
	VECTOR(struct name) names;
	VECTOR(struct branch) branches;
	/* Branches by parent, name and kind: index + 1, open addressing, a power of two. */
	u32 *slots;
	size_t slots_size;
	u64 sum[FLAME_SIDES];
	/* The branches of the last stack: most stacks begin as the one before. */
	VECTOR(u32) path;
	VECTOR(struct flame_node) nodes;
	u32 depth;
};

struct flame *flame_new(void)
{
	struct flame *f = xzalloc(sizeof(*f));

	f->slots_size = 1024;
	f->slots = xzalloc(f->slots_size * sizeof(*f->slots));
	vector_push(&f->names, (struct name){.text = "all", .len = 3});
	vector_push(&f->branches, (struct branch){0});
	return f;
}

void flame_release(struct flame *f)
{
	if (!f)
		return;
	hashmap_release(&f->index);
	vector_free(&f->names);
	vector_free(&f->branches);
	vector_free(&f->path);
	vector_free(&f->nodes);
	free(f->slots);
	free(f);
}

/* ---- adding ---- */

u32 flame_name_number(struct flame *f, const char *text, size_t len)
{
	bool is_new;
	void **value = hashmap_put(&f->index, text, len, &is_new);

	if (is_new) {
		const struct hashmap_entry *e = &f->index.entries[f->index.len - 1];

		*value = (void *)(uintptr_t)f->names.len;
		vector_push(&f->names, (struct name){.text = e->key, .len = e->key_len});
	}
	return (u32)(uintptr_t)*value;
}

/* Mixes the three by a multiplication with 2^64 / golden ratio (Knuth 6.4). */
static size_t slot_of(const struct flame *f, u32 parent, u32 name, u8 kind)
{
	const u64 key = ((u64)parent << 32 | name) ^ (u64)kind << 29;

	return (size_t)(key * 0x9e3779b97f4a7c15 >> 20) & (f->slots_size - 1);
}

static void grow_slots(struct flame *f)
{
	free(f->slots);
	f->slots_size *= 2;
	f->slots = xzalloc(f->slots_size * sizeof(*f->slots));
	for (u32 i = 1; i < f->branches.len; i++) {
		const struct branch *b = &f->branches.items[i];
		size_t at = slot_of(f, b->parent, b->name, b->kind);

		while (f->slots[at])
			at = (at + 1) & (f->slots_size - 1);
		f->slots[at] = i + 1;
	}
}

static u32 child(struct flame *f, u32 parent, u32 name, u8 kind)
{
	size_t at = slot_of(f, parent, name, kind);
	u32 i;

	while ((i = f->slots[at])) {
		const struct branch *b = &f->branches.items[i - 1];

		if (b->parent == parent && b->name == name && b->kind == kind)
			return i - 1;
		at = (at + 1) & (f->slots_size - 1);
	}
	i = (u32)f->branches.len;
	f->slots[at] = i + 1;
	vector_push(&f->branches, (struct branch){.parent = parent,
						  .name = name,
						  .kind = kind,
						  .next = f->branches.items[parent].first_child});
	f->branches.items[parent].first_child = i;
	if (f->branches.len * 2 > f->slots_size)
		grow_slots(f);
	return i;
}

static bool is_frame(const struct flame *f, u32 branch, const struct flame_frame *frame)
{
	const struct branch *b = &f->branches.items[branch];

	return b->kind == frame->kind && b->name == frame->name;
}

bool flame_add(struct flame *f, const struct flame_frame *frames, size_t n, u64 weight,
	       enum flame_side side)
{
	size_t same = 0;
	u32 at;

	if (__builtin_add_overflow(f->sum[side], weight, &f->sum[side])) {
		f->sum[side] -= weight; /* wraps back */
		return false;
	}
	while (same < n && same < f->path.len && is_frame(f, f->path.items[same], &frames[same]))
		same++;
	f->path.len = same;
	at = same ? f->path.items[same - 1] : 0;
	for (size_t i = same; i < n; i++) {
		at = child(f, at, frames[i].name, (u8)frames[i].kind);
		vector_push(&f->path, at);
	}
	f->branches.items[at].self[side] += weight;
	return true;
}

u32 flame_last(const struct flame *f)
{
	return f->path.len ? vector_last(&f->path) : 0;
}

/* ---- putting it into order ---- */

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct name *names = arg;
	const struct name *x = &names[*(const u32 *)a], *y = &names[*(const u32 *)b];
	const int order = memcmp(x->text, y->text, MIN(x->len, y->len));

	return order ? order : (int)(x->len > y->len) - (int)(x->len < y->len);
}

static void rank_names(struct flame *f)
{
	u32 *order = xreallocarray(NULL, f->names.len, sizeof(*order));

	for (u32 i = 0; i < f->names.len; i++)
		order[i] = i;
	qsort_r(order, f->names.len, sizeof(*order), compare_names, f->names.items);
	for (u32 i = 0; i < f->names.len; i++)
		f->names.items[order[i]].rank = i;
	free(order);
}

static u64 place(const struct flame *f, u32 branch)
{
	const struct branch *b = &f->branches.items[branch];

	return (u64)f->names.items[b->name].rank << 8 | b->kind;
}

static int compare_places(const void *a, const void *b, void *arg)
{
	const u64 x = place(arg, *(const u32 *)a), y = place(arg, *(const u32 *)b);

	return (int)(x > y) - (int)(x < y);
}

struct step {
	u32 branch, depth;
};

/*
 * Depth first, without recursion: stacks may be thousands of frames deep. The children of the
 * branch that is taken lie on the stack in reverse order.
 */
static void put_in_order(struct flame *f)
{
	VECTOR(struct step) todo = {0};
	VECTOR(u32) children = {0};

	vector_push(&todo, (struct step){0, 0});
	vector_reserve(&f->nodes, f->branches.len);
	while (todo.len) {
		const struct step next = todo.items[--todo.len];
		const struct branch *b = &f->branches.items[next.branch];

		f->depth = MAX(f->depth, next.depth);
		vector_push(&f->nodes, (struct flame_node){.name = b->name,
							   .depth = next.depth,
							   .branch = next.branch,
							   .kind = b->kind,
							   .self = {b->self[0], b->self[1]},
							   .total = {b->self[0], b->self[1]}});
		children.len = 0;
		for (u32 c = b->first_child; c; c = f->branches.items[c].next)
			vector_push(&children, c);
		if (children.len > 1)
			qsort_r(children.items, children.len, sizeof(*children.items),
				compare_places, f);
		for (size_t i = children.len; i-- > 0;)
			vector_push(&todo, (struct step){children.items[i], next.depth + 1});
	}
	vector_free(&todo);
	vector_free(&children);
}

/*
 * Sums totals from the leaves to the root. Then sets where each frame begins: after the weight that
 * ends in its parent, as flamegraph.pl does.
 */
static void sum_up(struct flame *f)
{
	const size_t n = f->nodes.len;
	u32 *parents = xreallocarray(NULL, n, sizeof(*parents));
	u32 *last = xzalloc((f->depth + 1) * sizeof(*last)); /* the newest node of each depth */
	u64 *taken = xzalloc(n * sizeof(*taken)); /* how much of each node's width is given out */

	for (u32 i = 0; i < n; i++) {
		const struct flame_node *node = &f->nodes.items[i];

		last[node->depth] = i;
		parents[i] = node->depth ? last[node->depth - 1] : 0;
	}
	for (size_t i = n; i-- > 1;)
		for (u32 s = 0; s < FLAME_SIDES; s++)
			f->nodes.items[parents[i]].total[s] += f->nodes.items[i].total[s];
	for (size_t i = 0; i < n; i++)
		taken[i] = f->nodes.items[i].self[FLAME_NEW];
	for (size_t i = 1; i < n; i++) {
		struct flame_node *node = &f->nodes.items[i];

		node->start = f->nodes.items[parents[i]].start + taken[parents[i]];
		taken[parents[i]] += node->total[FLAME_NEW];
	}
	free(parents);
	free(last);
	free(taken);
}

void flame_finish(struct flame *f)
{
	rank_names(f);
	put_in_order(f);
	sum_up(f);
}

/* ---- of a finished one ---- */

const struct flame_node *flame_nodes(const struct flame *f, size_t *ret_n)
{
	*ret_n = f->nodes.len;
	return f->nodes.items;
}

const char *flame_name(const struct flame *f, const struct flame_node *node, size_t *ret_len)
{
	*ret_len = f->names.items[node->name].len;
	return f->names.items[node->name].text;
}

u32 *flame_node_of_stack(const struct flame *f)
{
	u32 *const nodes = xreallocarray(NULL, f->nodes.len, sizeof(*nodes));

	for (u32 i = 0; i < f->nodes.len; i++)
		nodes[f->nodes.items[i].branch] = i;
	return nodes;
}

bool flame_is_comparison(const struct flame *f)
{
	return f->sum[FLAME_OLD] != 0;
}

u32 flame_depth(const struct flame *f)
{
	return f->depth;
}
