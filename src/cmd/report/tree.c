/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/tree.h"

#include <math.h>

void tree_begin(struct tree *t)
{
	*t = (struct tree){.key = STRBUF_INIT};
}

static void node_release(struct tree_node *n)
{
	if (n->values)
		quantiles_release(n->values);
	vector_free(&n->children);
}

void tree_release(struct tree *t)
{
	node_release(&t->root);
	hashmap_each (&t->nodes, e)
		node_release(e->value);
	hashmap_release(&t->nodes);
	strbuf_release(&t->key);
	arena_release(&t->arena);
}

/* ---- events ---- */

struct tree_node *tree_child(struct tree *t, struct tree_node *parent, const char *name, size_t len)
{
	struct tree_node *n;
	void **at;

	strbuf_reset(&t->key);
	strbuf_add(&t->key, &parent->number, sizeof(parent->number));
	strbuf_add(&t->key, name, len);
	at = hashmap_put(&t->nodes, t->key.data, t->key.len, NULL);
	if (*at)
		return *at;
	n = *at = arena_new(&t->arena, struct tree_node);
	n->parent = parent;
	n->name = arena_strndup(&t->arena, name, len);
	n->depth = parent == &t->root ? 0 : parent->depth + 1;
	n->number = ++t->nr_nodes;
	return n;
}

void tree_count(struct tree *t, struct tree_node *n, u64 event, u64 weight, bool is_self)
{
	n->self_count += is_self;
	n->self_weight += is_self ? weight : 0;
	for (; n && n->last_event != event; n = n->parent) {
		n->last_event = event;
		n->count++;
		t->is_too_large |=
			__builtin_add_overflow((s64)n->weight, (s64)weight, (s64 *)&n->weight);
		if (!t->has_values)
			continue;
		if (!n->values)
			n->values = arena_new(&t->arena, struct quantiles);
		quantiles_add(n->values, (s64)weight);
	}
}

bool tree_is_within(const struct tree_node *n, const char *const *names, u32 depth)
{
	while (n->parent && n->depth > depth)
		n = n->parent;
	if (!n->parent || n->depth != depth)
		return false;
	for (; n->parent; n = n->parent)
		if (!str_eq(n->name, names[n->depth]))
			return false;
	return true;
}

/* ---- the table ---- */

/* The total that shares refer to: all events, or those of one kind, which are weighed alike. */
struct whole {
	double percent, total;
	bool by_weight;
};

static double part_of(const struct whole *w, u64 count, u64 weight)
{
	const double part = w->by_weight ? (double)(s64)weight : (double)count;

	return w->total > 0 ? w->percent * part / w->total : 0;
}

static struct whole whole_of(const struct tree_node *n, double percent, bool by_weight)
{
	return (struct whole){percent, by_weight ? (double)(s64)n->weight : (double)n->count,
			      by_weight};
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct tree_node *x = *(struct tree_node *const *)a,
			       *y = *(struct tree_node *const *)b;
	const bool *by_weight = arg;
	const s64 p = *by_weight ? (s64)x->weight : (s64)x->count,
		  q = *by_weight ? (s64)y->weight : (s64)y->count;

	return p != q ? (p < q ? 1 : -1) : strcmp(x->name, y->name);
}

static const struct table_column columns_counted[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false},
	{"count", "COUNT", TABLE_COUNT, true},
	{0},
};
static const struct table_column columns_weighed[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false},
	{"count", "COUNT", TABLE_COUNT, true},
	{"period", NULL, TABLE_COUNT, true},
	{0},
};
static const struct table_column columns_children[] = {
	{"percent", "CHILDREN", TABLE_PERCENT, false},
	{"self_percent", "SELF", TABLE_PERCENT, false},
	{"count", "COUNT", TABLE_COUNT, true},
	{"self_count", "SELF-COUNT", TABLE_COUNT, true},
	{0},
};
static const struct table_column columns_sum[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false}, {"count", "COUNT", TABLE_COUNT, true},
	{"sum", "SUM", TABLE_SIGNED, true},	      {"average", "AVERAGE", TABLE_SIGNED, false},
	{"min", "MIN", TABLE_SIGNED, false},	      {"p50", "P50", TABLE_SIGNED, false},
	{"p95", "P95", TABLE_SIGNED, false},	      {"p99", "P99", TABLE_SIGNED, false},
	{"max", "MAX", TABLE_SIGNED, false},	      {0},
};

static void fill_sum(struct table_row *row, struct quantiles *q)
{
	static const double parts[] = {0.5, 0.95, 0.99};

	row->values[2] = (u64)(s64)q->sum;
	row->values[3] = (u64)quantiles_average(q);
	row->values[4] = (u64)q->min;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++)
		row->values[5 + i] = (u64)quantiles_at(q, parts[i]);
	row->values[8] = (u64)q->max;
}

static void fill(const struct tree_table *how, const struct tree_node *n, double percent,
		 double self, struct table_row *row)
{
	u32 i = 0;

	/* halves to the even neighbour, as printf("%.2f") of perf */
	row->values[i++] = (u64)llrint(percent * 100);
	if (how->request->children)
		row->values[i++] = (u64)llrint(self * 100);
	row->values[i++] = n->count;
	row->values[i] = how->request->children ? n->self_count : n->weight;
	if (n->values)
		fill_sum(row, n->values);
}

static void add_rows(const struct tree_table *how, struct tree_node *n, const struct whole *whole,
		     const char *const *above, struct report_table *to)
{
	bool by_weight = whole->by_weight;

	if (n->children.len)
		qsort_r(n->children.items, n->children.len, sizeof(*n->children.items), by_size,
			&by_weight);
	for (size_t i = 0; i < n->children.len; i++) {
		struct tree_node *const c = n->children.items[i];
		const double percent = part_of(whole, c->count, c->weight);
		struct whole inner = *whole;
		const char **names;

		if (percent < how->request->percent_limit)
			continue;
		names = arena_new_array(&to->arena, const char *, c->depth + 1);
		if (c->depth)
			memcpy(names, above, c->depth * sizeof(*names));
		names[c->depth] = arena_strdup(&to->arena, c->name);
		fill(how, c, percent, part_of(whole, c->self_count, c->self_weight),
		     table_add(to, c->depth, names));
		if (!c->depth && how->has_events)
			inner = whole_of(c, percent, true);
		add_rows(how, c, &inner, names, to);
	}
}

void tree_table(struct tree *t, const struct tree_table *how, struct report_table *ret)
{
	const struct analysis_request *const q = how->request;
	const struct whole whole = whole_of(&t->root, 100, how->by_weight);

	ret->columns = q->sum		 ? columns_sum
		       : q->children	 ? columns_children
		       : how->is_weighed ? columns_weighed
					 : columns_counted;
	ret->main = q->sum || how->by_weight || q->children ? 2 : 1;
	hashmap_each (&t->nodes, e) {
		struct tree_node *const n = e->value;

		vector_push(&n->parent->children, n);
	}
	add_rows(how, &t->root, &whole, NULL, ret);
}
