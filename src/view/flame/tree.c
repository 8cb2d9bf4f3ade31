/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of a flame graph: a common beginning of stacks is stored once. */
#include "view/flame/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vector.h"

struct name {
	const char *text;
	u32 len;
	u32 rank; /* its index among all names in order */
};

/*
 * A frame of a stack is one number: name * 8 + kind while stacks are added, then rank * 8 + kind,
 * so that numbers are in the order of frames.
 */
#define KIND_BITS 3
_Static_assert(FLAME_KINDS <= 1 << KIND_BITS, "a kind has its bits");

struct weights {
	u64 of[FLAME_SIDES];
};

struct flame {
	struct hashmap index; /* names -> their number */
	VECTOR(struct name) names;
	struct hashmap stacks; /* by their frames, each once */
	VECTOR(struct weights) weights; /* of each stack */
	VECTOR(u32) key; /* the last stack */
	u32 last; /* its number */
	u64 sum[FLAME_SIDES];
	VECTOR(struct flame_node) nodes;
	u32 *node_of_stack;
	u32 depth;
};

struct flame *flame_new(void)
{
	struct flame *f = xzalloc(sizeof(*f));

	vector_push(&f->names, (struct name){.text = "all", .len = 3});
	return f;
}

void flame_release(struct flame *f)
{
	if (!f)
		return;
	hashmap_release(&f->index);
	hashmap_release(&f->stacks);
	vector_free(&f->names);
	vector_free(&f->weights);
	vector_free(&f->key);
	vector_free(&f->nodes);
	free(f->node_of_stack);
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

bool flame_add(struct flame *f, const struct flame_frame *frames, size_t n, u64 weight,
	       enum flame_side side)
{
	bool is_new;
	void **at;

	if (__builtin_add_overflow(f->sum[side], weight, &f->sum[side])) {
		f->sum[side] -= weight; /* wraps back */
		return false;
	}
	f->key.len = 0;
	for (size_t i = 0; i < n; i++)
		vector_push(&f->key, frames[i].name << KIND_BITS | frames[i].kind);
	at = hashmap_put(&f->stacks, f->key.items, n * sizeof(*f->key.items), &is_new);
	f->last = (u32)(container_of(at, struct hashmap_entry, value) - f->stacks.entries);
	if (is_new)
		vector_push(&f->weights, (struct weights){0});
	f->weights.items[f->last].of[side] += weight;
	return true;
}

u32 flame_last(const struct flame *f)
{
	return f->last;
}

/* ---- putting it into order ---- */

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct name *names = arg;
	const struct name *x = &names[*(const u32 *)a], *y = &names[*(const u32 *)b];
	const int order = memcmp(x->text, y->text, MIN(x->len, y->len));

	return order ? order : (int)(x->len > y->len) - (int)(x->len < y->len);
}

/* Returns the names' numbers in their order, and writes each frame by its name's rank. */
static u32 *rank_names(struct flame *f)
{
	u32 *const order = xreallocarray(NULL, f->names.len, sizeof(*order));

	for (u32 i = 0; i < f->names.len; i++)
		order[i] = i;
	qsort_r(order, f->names.len, sizeof(*order), compare_names, f->names.items);
	for (u32 i = 0; i < f->names.len; i++)
		f->names.items[order[i]].rank = i;
	hashmap_each (&f->stacks, stack) {
		u32 *const frames = stack->key;

		for (size_t i = 0; i < stack->key_len / sizeof(*frames); i++)
			frames[i] = f->names.items[frames[i] >> KIND_BITS].rank << KIND_BITS |
				    (frames[i] & ((1 << KIND_BITS) - 1));
	}
	return order;
}

/* How many frames two stacks have in common at their beginning. */
static u32 common(const struct hashmap_entry *a, const struct hashmap_entry *b)
{
	const u32 *const x = a->key, *const y = b->key;
	const u32 n = MIN(a->key_len, b->key_len) / sizeof(*x);
	u32 i = 0;

	while (i < n && x[i] == y[i])
		i++;
	return i;
}

/* A stack before those that begin with it. */
static int compare_stacks(const void *a, const void *b)
{
	const struct hashmap_entry *const x = *(struct hashmap_entry *const *)a;
	const struct hashmap_entry *const y = *(struct hashmap_entry *const *)b;
	const u32 at = common(x, y), end = at * sizeof(u32);

	if (end == x->key_len || end == y->key_len)
		return (int)(x->key_len > y->key_len) - (int)(x->key_len < y->key_len);
	return ((u32 *)x->key)[at] < ((u32 *)y->key)[at] ? -1 : 1;
}

static struct hashmap_entry **stacks_in_order(struct flame *f)
{
	struct hashmap_entry **const stacks = xreallocarray(NULL, f->stacks.len, sizeof(*stacks));

	for (size_t i = 0; i < f->stacks.len; i++)
		stacks[i] = &f->stacks.entries[i];
	if (f->stacks.len)
		qsort(stacks, f->stacks.len, sizeof(*stacks), compare_stacks);
	return stacks;
}

/*
 * Of stacks in order each adds the frames that the one before does not have. A frame begins where
 * the weight of all stacks before it ends: after its parent's own, as flamegraph.pl has it.
 */
void flame_finish(struct flame *f)
{
	u32 *const names = rank_names(f);
	struct hashmap_entry **const stacks = stacks_in_order(f);
	VECTOR(u32) path = {0}; /* the nodes of the stack, from the root */
	u64 taken = 0;

	f->node_of_stack = xreallocarray(NULL, f->stacks.len, sizeof(*f->node_of_stack));
	vector_push(&f->nodes, (struct flame_node){0});
	vector_push(&path, 0);
	for (size_t i = 0; i < f->stacks.len; i++) {
		const u32 *const frames = stacks[i]->key;
		const size_t number = (size_t)(stacks[i] - f->stacks.entries);
		const struct weights *const w = &f->weights.items[number];

		path.len = i ? common(stacks[i - 1], stacks[i]) + 1 : 1;
		for (u32 k = (u32)path.len - 1; k < stacks[i]->key_len / sizeof(*frames); k++) {
			vector_push(&path, (u32)f->nodes.len);
			vector_push(&f->nodes, (struct flame_node){
						       .name = names[frames[k] >> KIND_BITS],
						       .kind = frames[k] & ((1 << KIND_BITS) - 1),
						       .depth = k + 1,
						       .start = taken,
					       });
		}
		f->node_of_stack[number] = vector_last(&path);
		f->depth = MAX(f->depth, (u32)path.len - 1);
		for (u32 s = 0; s < FLAME_SIDES; s++) {
			f->nodes.items[vector_last(&path)].self[s] += w->of[s];
			for (size_t k = 0; k < path.len; k++)
				f->nodes.items[path.items[k]].total[s] += w->of[s];
		}
		taken += w->of[FLAME_NEW];
	}
	vector_free(&path);
	free(stacks);
	free(names);
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

u32 flame_node_of_stack(const struct flame *f, u32 stack)
{
	return f->node_of_stack[stack];
}

bool flame_is_comparison(const struct flame *f)
{
	return f->sum[FLAME_OLD] != 0;
}

u32 flame_depth(const struct flame *f)
{
	return f->depth;
}
