/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/rows.h"

#include <stdlib.h>

#include "cmd/top/columns.h"

#define DEEPEST 40u /* levels of the tree that are drawn */

bool row_matches(const struct row *r, const char *text)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", r->id);
	return !*text || strcasestr(r->task->comm, text) || str_eq(id, text);
}

static bool is_chosen(const struct row *r, const struct row_choice *c)
{
	bool is_listed = !c->pids->count;

	for (u32 i = 0; i < c->pids->count; i++)
		is_listed |= (u32)c->pids->items[i] == r->task->process ||
			     (u32)c->pids->items[i] == r->task->tid;
	return is_listed && row_matches(r, c->filter);
}

/* ---- processes ---- */

/* A process shows the busiest state of its threads: R, then D, ... */
static char busier(char a, char b)
{
	static const char order[] = "XZtTISPDR";

	return strchr(order, a) > strchr(order, b) ? a : b;
}

static void add_task(struct row *r, const struct task *t, bool by_thread)
{
	const u32 parent = by_thread && t->tid != t->process ? t->process : t->parent;

	if (!r->task || t->tid == t->process) {
		r->task = t;
		r->id = by_thread ? t->tid : t->process;
		r->parent = parent;
	}
	r->threads += t->state != 'X';
	r->state = r->state ? busier(r->state, t->state) : t->state;
	for (u32 i = 0; i < COUNTS; i++)
		r->counts[i] += t->counts[i];
	r->cpu_ns += t->is_released && !by_thread ? 0 : t->totals[COUNT_CPU];
	r->group_ns = MAX(r->group_ns, t->group_ns);
}

static void collect(const struct tasks *t, const struct row_choice *c, struct rows *ret)
{
	struct hashmap of = {0}; /* id -> index into rows + 1 */

	for (size_t i = 0; i < t->items.len; i++) {
		const struct task *const task = &t->items.items[i];
		const u32 id = c->by_thread ? task->tid : task->process;
		bool is_new;
		void **const at = hashmap_put(&of, &id, sizeof(id), &is_new);

		/* two threads that had the same number are two rows */
		if (is_new || c->by_thread) {
			vector_push(&ret->items, ((struct row){.span_ns = t->to_ns - t->from_ns}));
			*at = (void *)(uintptr_t)ret->items.len;
		}
		add_task(&ret->items.items[(size_t)(uintptr_t)*at - 1], task, c->by_thread);
		for (u32 k = 0; k < COUNTS; k++)
			ret->total.counts[k] += task->counts[k];
		ret->threads += task->state != 'X';
		ret->processes += task->tid == task->process && task->state != 'X';
		ret->running += task->state == 'R';
	}
	ret->total.span_ns = t->to_ns - t->from_ns;
	for (size_t i = 0; i < ret->items.len && !c->by_thread; i++)
		ret->items.items[i].cpu_ns += ret->items.items[i].group_ns;
	hashmap_release(&of);
}

static void choose(struct rows *r, const struct row_choice *c)
{
	size_t n = 0;

	for (size_t i = 0; i < r->items.len; i++)
		if (is_chosen(&r->items.items[i], c))
			r->items.items[n++] = r->items.items[i];
	r->items.len = n;
}

static int by_choice(const void *a, const void *b, void *arg)
{
	const struct row_choice *const c = arg;

	return column_compare(c->sort, c->is_ascending, a, b);
}

/* ---- the tree ---- */

struct tree {
	struct row *sorted;
	size_t n;
	u32 *first, *next; /* children of each row, indexes + 1; 0 = no more */
	u32 roots;
	struct rows *to;
};

static void add_subtree(struct tree *t, u32 list, u32 depth, u64 lines)
{
	for (u32 i = list; i; i = t->next[i - 1]) {
		const u64 below = lines | (t->next[i - 1] ? 1ULL << depth : 0);
		struct row r = t->sorted[i - 1];
		u32 *last;

		r.depth = depth;
		r.lines = below;
		vector_push(&t->to->items, r);
		if (depth < DEEPEST) {
			add_subtree(t, t->first[i - 1], depth + 1, below);
			continue;
		}
		for (last = &t->first[i - 1]; *last;) /* deeper rows follow at this depth */
			last = &t->next[*last - 1];
		*last = t->next[i - 1];
		t->next[i - 1] = t->first[i - 1];
	}
}

/* From the last row on, each is put in front of its siblings: so they stay sorted. */
static void plant(struct rows *r)
{
	struct tree t = {.sorted = r->items.items, .n = r->items.len, .to = r};
	struct hashmap of = {0};

	t.first = xzalloc((t.n + 1) * sizeof(*t.first));
	t.next = xzalloc((t.n + 1) * sizeof(*t.next));
	for (size_t i = t.n; i-- > 0;) {
		bool is_new;

		*hashmap_put(&of, &t.sorted[i].id, sizeof(u32), &is_new) =
			(void *)(uintptr_t)(i + 1);
	}
	for (size_t i = t.n; i-- > 0;) {
		const u32 parent = t.sorted[i].parent;
		const size_t above = (size_t)(uintptr_t)hashmap_get(&of, &parent, sizeof(parent));
		/* only a parent that began before its child: so there are no cycles */
		const bool has_parent =
			above && above - 1 != i &&
			t.sorted[above - 1].task->start_ns <= t.sorted[i].task->start_ns &&
			(t.sorted[above - 1].task->start_ns < t.sorted[i].task->start_ns ||
			 t.sorted[above - 1].id < t.sorted[i].id);
		u32 *const list = has_parent ? &t.first[above - 1] : &t.roots;

		t.next[i] = *list;
		*list = (u32)i + 1;
	}
	r->items.items = NULL;
	r->items.len = r->items.cap = 0;
	add_subtree(&t, t.roots, 0, 0);
	hashmap_release(&of);
	free(t.first);
	free(t.next);
	free(t.sorted);
}

void rows_make(const struct tasks *t, const struct row_choice *c, struct rows *ret)
{
	*ret = (struct rows){0};
	collect(t, c, ret);
	choose(ret, c);
	if (ret->items.len)
		qsort_r(ret->items.items, ret->items.len, sizeof(struct row), by_choice, (void *)c);
	if (c->as_tree)
		plant(ret);
}

void rows_release(struct rows *r)
{
	vector_free(&r->items);
}
