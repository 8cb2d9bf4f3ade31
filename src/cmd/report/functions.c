/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --functions: what function_graph measured, by function. A call's time is the kernel's own
 * (rettime - calltime of funcgraph_exit); what of it was spent in calls that were traced, too, is
 * not the function's own time.
 */
#include <math.h>

#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "view/quantiles.h"

enum { ENTRY = ANALYSIS_ROLES, EXIT };

static const struct analysis_event events[] = {
	{"ftrace:funcgraph_exit", EXIT, true},
	{"ftrace:funcgraph_entry", ENTRY},
	{"ftrace:fgraph_retaddr_entry", ENTRY}, /* with the option funcgraph-retaddr */
	{0},
};

static const char *const func_field[] = {"func", NULL};
static const char *const depth_field[] = {"depth", NULL};
static const char *const call_time[] = {"calltime", NULL};
static const char *const return_time[] = {"rettime", NULL};

struct function {
	const char *name;
	struct quantiles took;
	s64 own_ns; /* of the calls whose beginning was recorded */
	u64 unentered; /* calls whose beginning was not */
};

/* A call that has not returned. */
struct call {
	u64 function, depth;
	s64 inner_ns; /* in calls below it */
};

struct thread {
	VECTOR(struct call) calls;
};

struct functions {
	struct arena arena;
	struct hashmap by_address; /* struct place -> struct function */
	struct hashmap by_name;
	struct hashmap threads; /* by analysis_thread() -> struct thread */
	u64 cut; /* calls whose return was not recorded */
	u64 odd; /* that returned before they were called: the clock went back */
};

/* An address has its function in one recording. */
struct place {
	const struct recording *recording;
	u64 address;
};

static void *functions_begin(const struct analysis_request *q, struct diag *d)
{
	return xzalloc(sizeof(struct functions));
}

static void functions_release(void *state)
{
	struct functions *const f = state;

	hashmap_each (&f->by_name, e)
		quantiles_release(&((struct function *)e->value)->took);
	hashmap_each (&f->threads, e)
		vector_free(&((struct thread *)e->value)->calls);
	hashmap_release(&f->by_address);
	hashmap_release(&f->by_name);
	hashmap_release(&f->threads);
	arena_release(&f->arena);
	free(f);
}

/* ---- who ---- */

static struct function *named(struct functions *f, const char *name)
{
	struct function *found = hashmap_gets(&f->by_name, name);

	if (found)
		return found;
	found = arena_new(&f->arena, struct function);
	found->name = arena_strdup(&f->arena, name);
	hashmap_puts(&f->by_name, found->name, found);
	return found;
}

static struct function *function_of(struct functions *f, struct recording *r, u64 address)
{
	const struct place key = {r, address};
	void **const at = hashmap_put(&f->by_address, &key, sizeof(key), NULL);
	const char *name;
	char number[24];

	if (*at)
		return *at;
	name = r->reader->function ? r->reader->function(r, address) : NULL;
	snprintf(number, sizeof(number), "0x%" PRIx64, address);
	return *at = named(f, name ?: number);
}

static struct thread *thread_of(struct functions *f, struct recording *r)
{
	const u64 key = analysis_thread(r);
	void **const at = hashmap_put(&f->threads, &key, sizeof(key), NULL);

	if (!*at)
		*at = arena_new(&f->arena, struct thread);
	return *at;
}

/* ---- events ---- */

/* Calls from this depth on are over: their return was not recorded. */
static void leave(struct functions *f, struct thread *t, u64 depth)
{
	while (t->calls.len && t->calls.items[t->calls.len - 1].depth >= depth) {
		t->calls.len--;
		f->cut++;
	}
}

static void entered(struct functions *f, struct thread *t, u64 function, u64 depth)
{
	leave(f, t, depth);
	vector_push(&t->calls, (struct call){function, depth, 0});
}

static void returned(struct functions *f, struct thread *t, struct function *who, u64 function,
		     u64 depth, s64 ns)
{
	struct call *last;

	quantiles_add(&who->took, ns);
	leave(f, t, depth + 1);
	last = t->calls.len ? &t->calls.items[t->calls.len - 1] : NULL;
	if (last && last->depth == depth && last->function == function) {
		who->own_ns += MAX(ns - last->inner_ns, (s64)0);
		t->calls.len--;
	} else {
		who->unentered++;
	}
	if (t->calls.len)
		t->calls.items[t->calls.len - 1].inner_ns += ns;
}

static void functions_feed(void *state, struct recording *r, u8 role)
{
	struct functions *const f = state;
	struct thread *const t = thread_of(f, r);
	const u64 function = analysis_number(r, func_field);
	const u64 depth = analysis_number(r, depth_field);
	s64 ns;

	if (role == ENTRY) {
		entered(f, t, function, depth);
		return;
	}
	ns = (s64)(analysis_number(r, return_time) - analysis_number(r, call_time));
	if (ns < 0)
		f->odd++;
	else
		returned(f, t, function_of(f, r, function), function, depth, ns);
}

static void functions_lost(void *state)
{
	struct functions *const f = state;

	hashmap_each (&f->threads, e) {
		struct thread *const t = e->value;

		f->cut += t->calls.len;
		t->calls.len = 0;
	}
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"percent", "OWN%", TABLE_PERCENT, false},	{"own_ns", "OWN(ms)", TABLE_MS, true},
	{"total_ns", "TOTAL(ms)", TABLE_MS, true},	{"calls", "CALLS", TABLE_COUNT, true},
	{"average_ns", "AVERAGE(us)", TABLE_US, false}, {"p50_ns", "P50(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},		{"max_ns", "MAX(us)", TABLE_US, false},
	{"unentered", "UNENTERED", TABLE_COUNT, true},	{0},
};

static void functions_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct functions *const f = state;
	s64 all_ns = 0;

	*ret = (struct report_table){
		.keys = {"function"}, .nr_keys = 1, .columns = columns, .main = 2};
	hashmap_each (&f->by_name, e)
		all_ns += ((struct function *)e->value)->own_ns;
	hashmap_each (&f->by_name, e) {
		struct function *const one = e->value;
		const u64 values[] = {
			all_ns ? (u64)llround(1e4 * (double)one->own_ns / (double)all_ns) : 0,
			(u64)one->own_ns,
			(u64)(s64)one->took.sum,
			one->took.count,
			(u64)quantiles_average(&one->took),
			(u64)quantiles_at(&one->took, 0.5),
			(u64)quantiles_at(&one->took, 0.99),
			(u64)one->took.max,
			one->unentered,
		};

		memcpy(table_add_flat(ret, one->name)->values, values, sizeof(values));
	}
	table_sort(ret);
}

static void functions_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct functions *const f = state;
	u64 under_way = f->cut, unentered = 0;

	hashmap_each (&f->threads, e)
		under_way += ((struct thread *)e->value)->calls.len;
	hashmap_each (&f->by_name, e)
		unentered += ((struct function *)e->value)->unentered;
	if (unentered)
		strbuf_addf(out,
			    "\nUNENTERED: %" PRIu64
			    " call%s whose beginning was not recorded; OWN is without them\n",
			    unentered, plural(unentered));
	if (under_way)
		strbuf_addf(out, "\nnot in it: %" PRIu64 " call%s whose return was not recorded\n",
			    under_way, plural(under_way));
	if (f->odd)
		strbuf_addf(out,
			    "\nnot in it: %" PRIu64
			    " call%s that ended before they began by the recorded clock\n",
			    f->odd, plural(f->odd));
}

const struct report_analysis analysis_functions = {
	.events = events,
	.record_command = "pantrace record -p function_graph",
	.begin = functions_begin,
	.feed = functions_feed,
	.lost = functions_lost,
	.finish = functions_finish,
	.text = functions_text,
	.release = functions_release,
};
