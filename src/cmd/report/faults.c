/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --faults: page faults of each thread, from the exception tracepoints (with the processor's error
 * code) or from samples of perf's fault counters.
 */
#include "base/hashmap.h"
#include "cmd/report/analysis.h"

enum { USER = ANALYSIS_ROLES, KERNEL, ANY, MINOR, MAJOR, ROLES_END };

static const struct analysis_event events[] = {
	{"exceptions:page_fault_user", USER},
	{"exceptions:page_fault_kernel", KERNEL},
	{"page-faults*", ANY},
	{"faults*", ANY},
	{"minor-faults*", MINOR},
	{"major-faults*", MAJOR},
	{0},
};

/* Bits of the x86 page fault error code. */
#define CODE_WRITE (1u << 1)
#define CODE_FETCH (1u << 4)

struct counts {
	u64 of[ROLES_END]; /* by role */
	u64 write, fetch;
};

struct faults {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap tasks; /* name -> struct counts */
	struct counts all;
	struct strbuf key;
};

static void *faults_begin(const struct analysis_request *q, struct diag *d)
{
	struct faults *f = xzalloc(sizeof(*f));

	f->request = q;
	f->key = (struct strbuf)STRBUF_INIT;
	return f;
}

static void faults_release(void *state)
{
	struct faults *const f = state;

	hashmap_release(&f->tasks);
	strbuf_release(&f->key);
	arena_release(&f->arena);
	free(f);
}

static void count(struct counts *c, u8 role, u64 n, u64 code)
{
	c->of[role] += n;
	c->write += (code & CODE_WRITE) != 0;
	c->fetch += (code & CODE_FETCH) != 0;
}

static void faults_feed(void *state, struct recording *r, u8 role)
{
	static const char *const code_field[] = {"error_code", NULL};
	static const char *const period_field[] = {"period", NULL};
	const bool is_exception = role == USER || role == KERNEL;
	const u64 code = is_exception ? analysis_number(r, code_field) : 0;
	const u64 n = is_exception ? 1 : analysis_number(r, period_field);
	struct faults *const f = state;
	void **at;

	strbuf_reset(&f->key);
	analysis_task(r, f->request->by_comm, &f->key);
	at = hashmap_put(&f->tasks, f->key.data, f->key.len + 1, NULL);
	if (!*at)
		*at = arena_new(&f->arena, struct counts);
	count(*at, role, n, code);
	count(&f->all, role, n, code);
}

/* One fault may appear as several events, so only one source is counted. */
static u64 total(const struct counts *c, const struct counts *all)
{
	if (all->of[USER] || all->of[KERNEL])
		return c->of[USER] + c->of[KERNEL];
	return all->of[ANY] ? c->of[ANY] : c->of[MINOR] + c->of[MAJOR];
}

static const struct table_column columns[] = {
	{"faults", "FAULTS", TABLE_COUNT, true}, {"user", "USER", TABLE_COUNT, true},
	{"kernel", "KERNEL", TABLE_COUNT, true}, {"write", "WRITE", TABLE_COUNT, true},
	{"fetch", "FETCH", TABLE_COUNT, true},	 {"minor", "MINOR", TABLE_COUNT, true},
	{"major", "MAJOR", TABLE_COUNT, true},	 {0},
};

static void faults_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct faults *const f = state;

	if (!f->tasks.len) {
		diag_error(d, NO_SPAN,
			   "no event '%s' or 'page-faults' was recorded, which this is "
			   "made of",
			   events[0].name);
		diag_hint(d, "`pantrace record -e 'exceptions:page_fault_*'` records them");
		return;
	}
	*ret = (struct report_table){
		.keys = {f->request->by_comm ? "comm" : "task"}, .nr_keys = 1, .columns = columns};
	hashmap_each (&f->tasks, e) {
		const struct counts *const c = e->value;
		struct table_row *const row = table_add_flat(ret, e->key);
		const u64 values[] = {
			total(c, &f->all), c->of[USER],	 c->of[KERNEL], c->write,
			c->fetch,	   c->of[MINOR], c->of[MAJOR],
		};

		memcpy(row->values, values, sizeof(values));
	}
	table_sort(ret);
}

static const char *const recorded[] = {"minor-faults", "major-faults", NULL};

const struct report_analysis analysis_faults = {
	.events = events,
	.record = recorded,
	.begin = faults_begin,
	.feed = faults_feed,
	.finish = faults_finish,
	.release = faults_release,
};
