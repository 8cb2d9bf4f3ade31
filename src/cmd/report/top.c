/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --top: events counted by keys, each below the one before, as a tree. Samples weigh what they
 * stand for (their period), other events 1, or the value of a field. With --children a symbol also
 * has what the functions that it called have; with -g the chains of calls stand below the last key.
 */
#include <math.h>

#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "view/quantiles.h"

#define DEPTH_MAX (TABLE_KEYS + 256)

struct node {
	struct node *parent; /* NULL = the root */
	const char *name;
	u32 depth; /* of a row; the root has none */
	u64 count, weight; /* with all below it, and all that it called */
	u64 self_count, self_weight;
	u64 last_event; /* that was added: recursion is counted once */
	struct quantiles *values; /* --sum */
	VECTOR(struct node *) children; /* when all are there */
	u32 number;
};

enum key_kind {
	KEY_EVENT,
	KEY_TASK,
	KEY_FRAME_FIRST,
	KEY_SYMBOL,
	KEY_OBJECT,
	KEY_CALLER,
	KEY_STACK,
	KEY_FRAME_LAST,
	KEY_FIELD
};

struct key {
	const char *name;
	enum key_kind kind;
};

struct top {
	const struct analysis_request *request;
	struct arena arena;
	struct key keys[TABLE_KEYS];
	u32 nr_keys;
	bool has_frames; /* keys that are of frames, or -g */
	struct node root;
	struct hashmap nodes; /* u32 number of the parent, name */
	u32 nr_nodes;
	u64 events, lacking; /* that have not what was asked for */
	const struct recorded_kind *only; /* kind of event */
	bool is_weighed, has_several_kinds, has_fractions;
	struct recorded_stack stack;
	struct strbuf text, key;
};

/* ---- what is asked for ---- */

static const struct {
	const char *name;
	enum key_kind kind;
} key_kinds[] = {
	{"event", KEY_EVENT},	{"task", KEY_TASK},	{"symbol", KEY_SYMBOL},
	{"object", KEY_OBJECT}, {"caller", KEY_CALLER}, {"stack", KEY_STACK},
};

bool analysis_is_key(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_kinds); i++)
		if (str_eq(key_kinds[i].name, word))
			return true;
	return false;
}

static int add_key(struct top *t, const char *word, size_t len, struct diag *d)
{
	struct key key = {arena_strndup(&t->arena, word, len), KEY_FIELD};

	if (!len)
		diag_error(d, NO_SPAN, "--top: a key is empty in '%s'", t->request->keys);
	else if (t->nr_keys == TABLE_KEYS)
		diag_error(d, NO_SPAN, "--top takes at most %d keys", TABLE_KEYS);
	if (!len || t->nr_keys == TABLE_KEYS)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(key_kinds); i++)
		if (str_eq(key_kinds[i].name, key.name))
			key.kind = key_kinds[i].kind;
	t->has_frames |= key.kind > KEY_FRAME_FIRST && key.kind < KEY_FRAME_LAST;
	t->keys[t->nr_keys++] = key;
	return 0;
}

static int parse_keys(struct top *t, const char *text, struct diag *d)
{
	int rc = 0;

	while (!rc && text) {
		const char *const end = strchrnul(text, ',');

		rc = add_key(t, text, (size_t)(end - text), d);
		text = *end ? end + 1 : NULL;
	}
	return rc;
}

static void node_release(struct node *n)
{
	if (n->values)
		quantiles_release(n->values);
	vector_free(&n->children);
}

static void top_release(void *state)
{
	struct top *const t = state;

	node_release(&t->root);
	hashmap_each (&t->nodes, e)
		node_release(e->value);
	hashmap_release(&t->nodes);
	vector_free(&t->stack);
	strbuf_release(&t->text);
	strbuf_release(&t->key);
	arena_release(&t->arena);
	free(t);
}

static void *top_begin(const struct analysis_request *q, struct diag *d)
{
	struct top *t = xzalloc(sizeof(*t));

	t->request = q;
	t->has_frames = q->call_graph != NULL;
	t->text = t->key = (struct strbuf)STRBUF_INIT;
	if (*q->keys && parse_keys(t, q->keys, d)) {
		top_release(t);
		return NULL;
	}
	return t;
}

/* Without a word of it: samples by function, other events by thread. */
static void choose_keys(struct top *t, const struct recorded_kind *first)
{
	struct diag none = DIAG_INIT;

	parse_keys(t,
		   first->is_sample	 ? "event,comm,object,symbol"
		   : t->request->by_comm ? "event,comm"
					 : "event,task",
		   &none);
}

/* ---- an event ---- */

static struct node *child(struct top *t, struct node *parent, const char *name, size_t len)
{
	struct node *n;
	void **at;

	strbuf_reset(&t->key);
	strbuf_add(&t->key, &parent->number, sizeof(parent->number));
	strbuf_add(&t->key, name, len);
	at = hashmap_put(&t->nodes, t->key.data, t->key.len, NULL);
	if (*at)
		return *at;
	n = *at = arena_new(&t->arena, struct node);
	n->parent = parent;
	n->name = arena_strndup(&t->arena, name, len);
	n->depth = parent == &t->root ? 0 : parent->depth + 1;
	n->number = ++t->nr_nodes;
	return n;
}

static void add_symbol(const struct recorded_frame *f, struct strbuf *out)
{
	if (f->symbol)
		strbuf_addstr(out, f->symbol);
	else
		strbuf_addf(out, "0x%016" PRIx64, f->in_file);
}

static void add_value(struct recording *r, const char *name, struct strbuf *out)
{
	const struct field_value v = r->reader->value(r, name, false);

	if (v.kind == FIELD_TEXT || (v.kind == FIELD_INTEGER && v.text))
		strbuf_add(out, v.text, v.size);
	else if (v.kind == FIELD_INTEGER && v.is_signed)
		strbuf_addf(out, "%" PRId64, (s64)v.integer);
	else if (v.kind == FIELD_INTEGER)
		strbuf_addf(out, "%" PRIu64, v.integer);
	else if (v.kind == FIELD_DECIMAL)
		strbuf_addf(out, "%.9g", v.decimal);
}

static void add_stack(const struct top *t, size_t from, struct strbuf *out)
{
	for (size_t i = from; i < t->stack.len; i++) {
		if (i > from)
			strbuf_addch(out, '\n');
		add_symbol(&t->stack.items[i], out);
	}
}

/* What the event has for this key, seen from this frame of its chain. False: nothing. */
static bool add_name(struct top *t, struct recording *r, const struct key *key, size_t frame)
{
	const struct recorded_frame *const f = frame < t->stack.len ? &t->stack.items[frame] : NULL;

	switch (key->kind) {
	case KEY_EVENT:
		strbuf_addstr(&t->text, r->kind->name);
		return true;
	case KEY_TASK:
		analysis_task(r, t->request->by_comm, &t->text);
		return true;
	case KEY_SYMBOL:
		if (f)
			add_symbol(f, &t->text);
		break;
	case KEY_OBJECT:
		if (f)
			strbuf_addstr(&t->text, f->object ?: "[unknown]");
		break;
	case KEY_CALLER:
		if (f && frame + 1 < t->stack.len)
			add_symbol(f + 1, &t->text);
		else if (f)
			strbuf_addstr(&t->text, "[none]");
		break;
	case KEY_STACK:
		add_stack(t, frame, &t->text);
		break;
	default:
		add_value(r, key->name, &t->text);
	}
	return t->text.len;
}

/* From the function on to its callers, or from the outermost to it. */
static struct node *add_graph(struct top *t, struct node *n, size_t frame)
{
	const bool is_caller = str_eq(t->request->call_graph, "caller");
	const bool has_symbol = t->keys[t->nr_keys - 1].kind == KEY_SYMBOL;
	const size_t first = frame + (has_symbol && !is_caller);

	for (size_t i = first; i < t->stack.len && n->depth < DEPTH_MAX; i++) {
		const size_t at = is_caller ? t->stack.len - 1 - (i - first) : i;

		strbuf_reset(&t->text);
		add_symbol(&t->stack.items[at], &t->text);
		n = child(t, n, t->text.data, t->text.len);
	}
	return n;
}

/* The node where an event seen from this frame ends; NULL: it has not all keys. */
static struct node *find(struct top *t, struct recording *r, size_t frame)
{
	struct node *n = &t->root;

	for (u32 i = 0; i < t->nr_keys; i++) {
		strbuf_reset(&t->text);
		if (!add_name(t, r, &t->keys[i], frame))
			return NULL;
		n = child(t, n, t->text.data, t->text.len);
	}
	return t->request->call_graph ? add_graph(t, n, frame) : n;
}

static void count(struct top *t, struct node *n, u64 weight, bool is_self)
{
	n->self_count += is_self;
	n->self_weight += is_self ? weight : 0;
	for (; n && n->last_event != t->events; n = n->parent) {
		n->last_event = t->events;
		n->count++;
		n->weight += weight;
		if (!t->request->sum)
			continue;
		if (!n->values)
			n->values = arena_new(&t->arena, struct quantiles);
		quantiles_add(n->values, (s64)weight);
	}
}

/* False: it has no such field. */
static bool weigh(struct top *t, struct recording *r, u64 *ret)
{
	const char *const field = t->request->sum ?: r->kind->is_sample ? "period" : NULL;
	struct field_value v;

	*ret = 1;
	if (!field)
		return true;
	v = r->reader->value(r, field, false);
	t->has_fractions |= v.kind == FIELD_DECIMAL;
	t->is_weighed = true;
	*ret = v.integer;
	return v.kind == FIELD_INTEGER;
}

static void top_feed(void *state, struct recording *r, u8 role)
{
	struct top *const t = state;
	struct node *n;
	u64 weight;

	if (!t->nr_keys)
		choose_keys(t, r->kind);
	t->has_several_kinds |= t->only && t->only != r->kind;
	t->only = r->kind;
	t->events++;
	if (t->has_frames)
		recording_stack(r, &t->stack);
	n = weigh(t, r, &weight) ? find(t, r, 0) : NULL;
	if (!n) {
		t->lacking++;
		return;
	}
	count(t, n, weight, true);
	for (size_t i = 1; t->request->children && i < t->stack.len; i++) {
		n = find(t, r, i);
		if (n)
			count(t, n, weight, false);
	}
}

/* ---- the table ---- */

/* What parts are parts of: all events, or those of one kind, which are weighed alike. */
struct whole {
	double percent, total;
	bool by_weight;
};

static double part_of(const struct whole *w, u64 count, u64 weight)
{
	const double part = w->by_weight ? (double)(s64)weight : (double)count;

	return w->total > 0 ? w->percent * part / w->total : 0;
}

static struct whole whole_of(const struct node *n, double percent, bool by_weight)
{
	return (struct whole){percent, by_weight ? (double)(s64)n->weight : (double)n->count,
			      by_weight};
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
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

static void fill(const struct top *t, const struct node *n, double percent, double self,
		 struct table_row *row)
{
	u32 i = 0;

	row->values[i++] = (u64)llround(percent * 100);
	if (t->request->children)
		row->values[i++] = (u64)llround(self * 100);
	row->values[i++] = n->count;
	row->values[i] = t->request->children ? n->self_count : n->weight;
	if (n->values)
		fill_sum(row, n->values);
}

static void add_rows(struct top *t, struct node *n, const struct whole *whole,
		     const char *const *above, struct report_table *to)
{
	bool by_weight = whole->by_weight;

	if (n->children.len)
		qsort_r(n->children.items, n->children.len, sizeof(*n->children.items), by_size,
			&by_weight);
	for (size_t i = 0; i < n->children.len; i++) {
		struct node *const c = n->children.items[i];
		const double percent = part_of(whole, c->count, c->weight);
		struct whole inner = *whole;
		const char **names;

		if (percent < t->request->percent_limit)
			continue;
		names = arena_new_array(&to->arena, const char *, c->depth + 1);
		if (c->depth)
			memcpy(names, above, c->depth * sizeof(*names));
		names[c->depth] = arena_strdup(&to->arena, c->name);
		fill(t, c, percent, part_of(whole, c->self_count, c->self_weight),
		     table_add(to, c->depth, names));
		if (!c->depth && t->keys[0].kind == KEY_EVENT)
			inner = whole_of(c, percent, true);
		add_rows(t, c, &inner, names, to);
	}
}

/* False: there is nothing to show. */
static bool say_what_lacks(const struct top *t, struct diag *d)
{
	const bool lacks_all = t->lacking && t->lacking == t->events;

	if (t->has_fractions)
		diag_error(d, NO_SPAN, "--sum: '%s' has fractions; whole numbers can be summed up",
			   t->request->sum);
	else if (lacks_all)
		diag_error(d, NO_SPAN, "no event has all of what was asked for: %s%s%s",
			   t->request->keys, *t->request->keys && t->request->sum ? ", " : "",
			   t->request->sum ?: "");
	else if (t->lacking)
		diag_warning(d, NO_SPAN,
			     "%" PRIu64 " of %" PRIu64 " events are left out: they have not all of "
			     "what was asked for",
			     t->lacking, t->events);
	return !t->has_fractions && !lacks_all;
}

static void top_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct top *const t = state;
	const bool by_weight = t->request->sum || (t->is_weighed && !t->has_several_kinds);
	struct whole whole = whole_of(&t->root, 100, by_weight);

	if (!say_what_lacks(t, d))
		return;
	*ret = (struct report_table){
		.nr_keys = t->nr_keys,
		.columns = t->request->sum	  ? columns_sum
			   : t->request->children ? columns_children
			   : t->is_weighed	  ? columns_weighed
						  : columns_counted,
	};
	ret->main = t->request->sum || by_weight || t->request->children ? 2 : 1;
	for (u32 i = 0; i < t->nr_keys; i++)
		ret->keys[i] = arena_strdup(&ret->arena, t->keys[i].name);
	hashmap_each (&t->nodes, e) {
		struct node *const n = e->value;

		vector_push(&n->parent->children, n);
	}
	add_rows(t, &t->root, &whole, NULL, ret);
}

const struct report_analysis analysis_top = {
	.begin = top_begin,
	.feed = top_feed,
	.finish = top_finish,
	.release = top_release,
};
