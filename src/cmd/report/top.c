/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --top: counts events by keys, as a tree with one level per key. A sample weighs its period, any
 * other event 1 or the value of a field. With --children a symbol also gets what its callees have;
 * with -g call chains follow the last key.
 */
#include "cmd/report/tree.h"
#include "trace/ftrace/number_text.h"

enum key_kind {
	KEY_EVENT,
	KEY_TASK,
	KEY_COMM,
	KEY_PID,
	KEY_TID,
	KEY_CPU,
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
	bool has_frames; /* keys that depend on a frame, or -g */
	struct tree tree;
	u64 events, lacking; /* events that lack what was asked for */
	const struct recorded_kind *only; /* the only kind of event so far */
	bool is_weighed, has_several_kinds, has_fractions;
	struct recorded_stack stack;
	struct strbuf text;
};

/* ---- the request ---- */

static const struct {
	const char *name;
	enum key_kind kind;
} key_kinds[] = {
	{"event", KEY_EVENT},	{"task", KEY_TASK},	{"comm", KEY_COMM},
	{"pid", KEY_PID},	{"tid", KEY_TID},	{"cpu", KEY_CPU},
	{"symbol", KEY_SYMBOL}, {"object", KEY_OBJECT}, {"caller", KEY_CALLER},
	{"stack", KEY_STACK},
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

static void top_release(void *state)
{
	struct top *const t = state;

	tree_release(&t->tree);
	vector_free(&t->stack);
	strbuf_release(&t->text);
	arena_release(&t->arena);
	free(t);
}

static void *top_begin(const struct analysis_request *q, struct diag *d)
{
	struct top *t = xzalloc(sizeof(*t));

	t->request = q;
	t->has_frames = q->call_graph != NULL;
	t->text = (struct strbuf)STRBUF_INIT;
	tree_begin(&t->tree);
	t->tree.has_values = q->sum != NULL;
	if (*q->keys && parse_keys(t, q->keys, d)) {
		top_release(t);
		return NULL;
	}
	return t;
}

/* Default keys: functions for samples, threads for other events. */
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

/* Nothing if it is unknown. */
static void add_place(struct top *t, struct recording *r, enum key_kind kind)
{
	const struct recorded_place place = recording_place(r);
	const s64 number = kind == KEY_PID ? place.pid : kind == KEY_TID ? place.tid : place.cpu;

	if (number >= 0)
		text_unsigned(&t->text, (u64)number);
}

static void add_stack(const struct top *t, size_t from, struct strbuf *out)
{
	for (size_t i = from; i < t->stack.len; i++) {
		if (i > from)
			strbuf_addch(out, '\n');
		analysis_symbol(&t->stack.items[i], out);
	}
}

/*
 * Adds the event's name for this key, as seen from this frame of its call chain. Returns false if
 * it has none.
 */
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
	case KEY_COMM:
		analysis_task(r, true, &t->text);
		return true;
	case KEY_PID:
	case KEY_TID:
	case KEY_CPU:
		add_place(t, r, key->kind);
		break;
	case KEY_SYMBOL:
		if (f)
			analysis_symbol(f, &t->text);
		break;
	case KEY_OBJECT:
		if (f)
			strbuf_addstr(&t->text, f->object ?: "[unknown]");
		break;
	case KEY_CALLER:
		if (f && frame + 1 < t->stack.len)
			analysis_symbol(f + 1, &t->text);
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

/* Follows the chain from the function to its callers, or from the outermost caller inwards. */
static struct tree_node *add_graph(struct top *t, struct tree_node *n, size_t frame)
{
	const bool is_caller = str_eq(t->request->call_graph, "caller");
	const bool has_symbol = t->keys[t->nr_keys - 1].kind == KEY_SYMBOL;
	const size_t first = frame + (has_symbol && !is_caller);

	for (size_t i = first; i < t->stack.len && n->depth < TREE_DEPTH_MAX; i++) {
		const size_t at = is_caller ? t->stack.len - 1 - (i - first) : i;

		strbuf_reset(&t->text);
		analysis_symbol(&t->stack.items[at], &t->text);
		n = tree_child(&t->tree, n, t->text.data, t->text.len);
	}
	return n;
}

/* The node for an event seen from this frame; NULL if it lacks a key. */
static struct tree_node *find(struct top *t, struct recording *r, size_t frame)
{
	struct tree_node *n = &t->tree.root;

	for (u32 i = 0; i < t->nr_keys; i++) {
		strbuf_reset(&t->text);
		if (!add_name(t, r, &t->keys[i], frame))
			return NULL;
		n = tree_child(&t->tree, n, t->text.data, t->text.len);
	}
	return t->request->call_graph ? add_graph(t, n, frame) : n;
}

/* Returns false if the event lacks the field. */
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
	t->tree.is_too_large |= v.kind == FIELD_INTEGER && !v.is_signed && v.integer > INT64_MAX;
	return v.kind == FIELD_INTEGER;
}

static void top_feed(void *state, struct recording *r, u8 role)
{
	struct top *const t = state;
	struct tree_node *n;
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
	tree_count(&t->tree, n, t->events, weight, true);
	for (size_t i = 1; t->request->children && i < t->stack.len; i++) {
		n = find(t, r, i);
		if (n)
			tree_count(&t->tree, n, t->events, weight, false);
	}
}

/* Nodes that nothing is counted in do no harm: this state makes no table. */
static bool top_holds(void *state, struct recording *r, const char *const *names, u32 depth)
{
	struct top *const t = state;
	struct tree_node *n;
	u64 weight;
	bool found;

	if (t->has_frames)
		recording_stack(r, &t->stack);
	n = weigh(t, r, &weight) ? find(t, r, 0) : NULL;
	found = n && tree_is_within(n, names, depth);
	for (size_t i = 1; t->request->children && n && !found && i < t->stack.len; i++) {
		n = find(t, r, i);
		found = n && tree_is_within(n, names, depth);
	}
	return found;
}

/* ---- the table ---- */

/* Returns false if there is nothing to show. */
static bool say_what_lacks(const struct top *t, struct diag *d)
{
	const bool lacks_all = t->lacking && t->lacking == t->events;

	if (t->has_fractions)
		diag_error(d, NO_SPAN, "--sum: '%s' has fractions; whole numbers can be summed up",
			   t->request->sum);
	else if (t->tree.is_too_large)
		analysis_refuse_sum(t->request->sum ?: "period", d);
	else if (lacks_all)
		diag_error(d, NO_SPAN, "no event has all of what was asked for: %s%s%s",
			   t->request->keys, *t->request->keys && t->request->sum ? ", " : "",
			   t->request->sum ?: "");
	else if (t->lacking)
		diag_warning(d, NO_SPAN,
			     "%" PRIu64 " of %" PRIu64
			     " event%s %s left out: they have not all of what was asked for",
			     t->lacking, t->events, plural(t->events), is_are(t->lacking));
	return !t->has_fractions && !t->tree.is_too_large && !lacks_all;
}

static void top_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct top *const t = state;
	const bool by_weight = t->request->sum || (t->is_weighed && !t->has_several_kinds);

	if (!say_what_lacks(t, d))
		return;
	*ret = (struct report_table){.nr_keys = t->nr_keys};
	for (u32 i = 0; i < t->nr_keys; i++)
		ret->keys[i] = arena_strdup(&ret->arena, t->keys[i].name);
	tree_table(&t->tree,
		   &(struct tree_table){.request = t->request,
					.is_weighed = t->is_weighed,
					.by_weight = by_weight,
					.has_events = t->keys[0].kind == KEY_EVENT},
		   ret);
}

const struct report_analysis analysis_top = {
	.record_samples = true,
	.needs_no_times = true,
	.begin = top_begin,
	.feed = top_feed,
	.holds = top_holds,
	.finish = top_finish,
	.release = top_release,
};
