/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --calls FUNCTION: of the events whose call chain has the function, who called it, and what it
 * called: a tree each, from the function on. Where it called itself, the outermost call counts.
 */
#include "cmd/report/tree.h"

struct calls {
	const struct analysis_request *request;
	struct tree tree;
	u64 events; /* that have the function */
	const struct recorded_kind *only;
	bool is_weighed, has_several_kinds;
	struct recorded_stack stack;
	struct strbuf text;
};

static void *calls_begin(const struct analysis_request *q, struct diag *d)
{
	struct calls *const c = xzalloc(sizeof(*c));

	c->request = q;
	c->text = (struct strbuf)STRBUF_INIT;
	tree_begin(&c->tree);
	return c;
}

static void calls_release(void *state)
{
	struct calls *const c = state;

	tree_release(&c->tree);
	vector_free(&c->stack);
	strbuf_release(&c->text);
	free(c);
}

/* The place of its outermost call in the event's chain; -1 = it has none. */
static ssize_t place_of_function(struct calls *c, struct recording *r)
{
	recording_stack(r, &c->stack);
	for (size_t i = c->stack.len; i-- > 0;) {
		strbuf_reset(&c->text);
		analysis_symbol(&c->stack.items[i], &c->text);
		if (str_eq(c->text.data, c->request->function))
			return (ssize_t)i;
	}
	return -1;
}

/* From the frame beside FROM on, in steps of BY, to the chain's end. */
static struct tree_node *path(struct calls *c, const char *name, ssize_t from, ssize_t by)
{
	struct tree_node *n = tree_child(&c->tree, &c->tree.root, name, strlen(name));

	for (ssize_t i = from + by;
	     i >= 0 && i < (ssize_t)c->stack.len && n->depth < TREE_DEPTH_MAX; i += by) {
		strbuf_reset(&c->text);
		analysis_symbol(&c->stack.items[i], &c->text);
		n = tree_child(&c->tree, n, c->text.data, c->text.len);
	}
	return n;
}

static struct tree_node *callers(struct calls *c, ssize_t at)
{
	return path(c, "callers", at, 1);
}

static struct tree_node *callees(struct calls *c, ssize_t at)
{
	return path(c, "callees", at, -1);
}

static void calls_feed(void *state, struct recording *r, u8 role)
{
	struct calls *const c = state;
	const ssize_t at = place_of_function(c, r);
	u64 weight;

	if (at < 0)
		return;
	weight = recording_place(r).period;
	c->is_weighed |= weight;
	c->tree.is_too_large |= weight > INT64_MAX;
	c->has_several_kinds |= c->only && c->only != r->kind;
	c->only = r->kind;
	c->events++;
	tree_count(&c->tree, callers(c, at), c->events, weight ?: 1, true);
	tree_count(&c->tree, callees(c, at), c->events, weight ?: 1, true);
}

static bool calls_holds(void *state, struct recording *r, const char *const *names, u32 depth)
{
	struct calls *const c = state;
	const ssize_t at = place_of_function(c, r);

	return at >= 0 && (tree_is_within(callers(c, at), names, depth) ||
			   tree_is_within(callees(c, at), names, depth));
}

static void calls_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct calls *const c = state;

	if (!c->events) {
		diag_error(d, NO_SPAN, "no event's call chain has the function '%s'",
			   c->request->function);
		return;
	}
	if (c->tree.is_too_large) {
		analysis_refuse_sum("period", d);
		return;
	}
	*ret = (struct report_table){.keys = {"direction"}, .nr_keys = 1};
	tree_table(&c->tree,
		   &(struct tree_table){.request = c->request,
					.is_weighed = c->is_weighed,
					.by_weight = c->is_weighed && !c->has_several_kinds},
		   ret);
}

const struct report_analysis analysis_calls = {
	.record_samples = true,
	.record_stacks = true,
	.needs_no_times = true,
	.begin = calls_begin,
	.feed = calls_feed,
	.holds = calls_holds,
	.finish = calls_finish,
	.release = calls_release,
};
