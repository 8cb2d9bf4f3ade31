/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --syscalls: a summary like that of strace -c. Times are wall clock, from entry to return. */
#include <math.h>

#include "arch/arch.h"
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "view/quantiles.h"

enum { ENTER = ANALYSIS_ROLES, EXIT };

static const struct analysis_event events[] = {
	{"raw_syscalls:sys_enter", ENTER, true},
	{"raw_syscalls:sys_exit", EXIT, true},
	{"syscalls:sys_enter_*", ENTER, true},
	{"syscalls:sys_exit_*", EXIT, true},
	{"syscall_entry_*", ENTER, true},
	{"syscall_exit_*", EXIT, true}, /* LTTng's */
	{0},
};

static const char *const id_fields[] = {"id", "__syscall_nr", NULL};
static const char *const ret_fields[] = {"ret", NULL};

struct entered {
	s64 ns;
	const char *name; /* NULL = not in a system call */
};

struct call {
	const char *task, *name; /* task: NULL = all tasks */
	u64 calls, errors;
	struct quantiles took; /* over the calls whose entry was recorded */
};

struct syscalls {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap threads; /* by analysis_thread() -> struct entered */
	struct hashmap calls; /* key: "TASK\0NAME" */
	struct hashmap names; /* each once */
	struct strbuf key;
	u64 open, cut; /* cut: open when events were lost */
};

static void *syscalls_begin(const struct analysis_request *q, struct diag *d)
{
	struct syscalls *s = xzalloc(sizeof(*s));

	s->request = q;
	s->key = (struct strbuf)STRBUF_INIT;
	return s;
}

static void syscalls_release(void *state)
{
	struct syscalls *const s = state;

	hashmap_each (&s->calls, e)
		quantiles_release(&((struct call *)e->value)->took);
	hashmap_release(&s->threads);
	hashmap_release(&s->calls);
	hashmap_release(&s->names);
	strbuf_release(&s->key);
	arena_release(&s->arena);
	free(s);
}

/* The part after the second '_' of "syscalls:sys_enter_openat" or "syscall_exit_openat". */
static const char *name_of(struct syscalls *s, struct recording *r)
{
	const char *const full = r->kind->name;
	const char *name = NULL;
	char number[32];
	void **at;

	if (str_starts(full, "raw_syscalls:")) {
		const u64 id = analysis_number(r, id_fields);

		name = arch_syscall_name(id);
		snprintf(number, sizeof(number), "syscall_%" PRId64, (s64)id);
	} else {
		const char *const first = strchr(full, '_');

		name = first && strchr(first + 1, '_') ? strchr(first + 1, '_') + 1 : full;
	}
	name = name ?: number;
	at = hashmap_put(&s->names, name, strlen(name) + 1, NULL);
	if (!*at)
		*at = arena_strdup(&s->arena, name);
	return *at;
}

static struct call *call_of(struct syscalls *s, struct recording *r, const char *name)
{
	struct call *c;
	size_t task_len;
	void **at;

	strbuf_reset(&s->key);
	if (s->request->per_task)
		analysis_task(r, s->request->by_comm, &s->key);
	strbuf_addch(&s->key, '\0');
	task_len = s->key.len;
	strbuf_addstr(&s->key, name);
	at = hashmap_put(&s->calls, s->key.data, s->key.len, NULL);
	if (*at)
		return *at;
	c = *at = arena_new(&s->arena, struct call);
	c->task = arena_strndup(&s->arena, s->key.data, task_len - 1);
	c->name = name;
	return c;
}

static void syscalls_feed(void *state, struct recording *r, u8 role)
{
	struct syscalls *const s = state;
	const u64 thread = analysis_thread(r);
	const char *const name = name_of(s, r);
	void **at = hashmap_put(&s->threads, &thread, sizeof(thread), NULL);
	struct entered *e = *at;
	struct call *c;
	s64 ret;

	if (!e)
		e = *at = arena_new(&s->arena, struct entered);
	if (role == ENTER) {
		s->open += !e->name;
		*e = (struct entered){r->ns, name};
		return;
	}
	c = call_of(s, r, name);
	ret = (s64)analysis_number(r, ret_fields);
	c->calls++;
	c->errors += ret < 0 && ret >= -4095;
	s->open -= e->name != NULL;
	if (e->name == name && r->ns >= e->ns)
		quantiles_add(&c->took, r->ns - e->ns);
	e->name = NULL;
}

static void syscalls_lost(void *state)
{
	struct syscalls *const s = state;

	hashmap_each (&s->threads, e)
		((struct entered *)e->value)->name = NULL;
	s->cut += s->open;
	s->open = 0;
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false},
	{"total_ns", "TIME(ms)", TABLE_MS, true},
	{"calls", "CALLS", TABLE_COUNT, true},
	{"errors", "ERRORS", TABLE_COUNT, true},
	{"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},
	{0},
};

static void fill(struct table_row *row, struct call *c, s64 all_ns)
{
	const s64 sum = (s64)c->took.sum;

	row->values[0] = all_ns ? (u64)llround(1e4 * (double)sum / (double)all_ns) : 0;
	row->values[1] = (u64)sum;
	row->values[2] = c->calls;
	row->values[3] = c->errors;
	row->values[4] = (u64)quantiles_average(&c->took);
	row->values[5] = (u64)quantiles_at(&c->took, 0.5);
	row->values[6] = (u64)quantiles_at(&c->took, 0.99);
	row->values[7] = (u64)c->took.max;
}

static int by_time(const void *a, const void *b)
{
	const struct call *x = *(struct call *const *)a, *y = *(struct call *const *)b;

	if (x->took.sum != y->took.sum)
		return x->took.sum < y->took.sum ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void syscalls_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct syscalls *const s = state;
	const bool per_task = s->request->per_task;
	VECTOR(struct call *) calls = {0};
	s64 all_ns = 0;

	*ret = (struct report_table){.keys = {per_task ? "task" : "syscall", "syscall"},
				     .nr_keys = per_task ? 2 : 1,
				     .columns = columns,
				     .is_flat = true,
				     .main = 1};
	hashmap_each (&s->calls, e) {
		struct call *const c = e->value;

		all_ns += (s64)c->took.sum;
		vector_push(&calls, c);
	}
	if (calls.len)
		qsort(calls.items, calls.len, sizeof(*calls.items), by_time);
	for (size_t i = 0; i < calls.len; i++) {
		const char **names = arena_new_array(&ret->arena, const char *, 2);
		u32 n = 0;

		if (per_task)
			names[n++] = arena_strdup(&ret->arena, calls.items[i]->task);
		names[n] = arena_strdup(&ret->arena, calls.items[i]->name);
		fill(table_add(ret, n, names), calls.items[i], all_ns);
	}
	vector_free(&calls);
}

static void syscalls_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct syscalls *const s = state;

	if (s->open + s->cut)
		strbuf_addf(out, "\nnot in it: %" PRIu64 " call%s whose return was not recorded\n",
			    s->open + s->cut, plural(s->open + s->cut));
}

static const char *const recorded[] = {"raw_syscalls:*", NULL};

const struct report_analysis analysis_syscalls = {
	.events = events,
	.record = recorded,
	.begin = syscalls_begin,
	.feed = syscalls_feed,
	.lost = syscalls_lost,
	.finish = syscalls_finish,
	.text = syscalls_text,
	.release = syscalls_release,
};
