/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --locks: waiting for locks of the kernel (lock:contention_begin to contention_end) and for those
 * of programs (the system call futex, from entry to return), by lock and by who waits there.
 */
#include <errno.h>

#include "arch/arch.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "view/quantiles.h"

enum { BEGIN = ANALYSIS_ROLES, END, FUTEX_ENTER, FUTEX_EXIT, STACK, OTHER };

static const struct analysis_event events[] = {
	{"lock:contention_begin", BEGIN},
	{"lock:contention_end", END},
	{"syscalls:sys_enter_futex", FUTEX_ENTER},
	{"syscalls:sys_exit_futex", FUTEX_EXIT},
	{"raw_syscalls:sys_enter", FUTEX_ENTER},
	{"raw_syscalls:sys_exit", FUTEX_EXIT},
	{"syscall_entry_futex", FUTEX_ENTER},
	{"syscall_exit_futex", FUTEX_EXIT}, /* LTTng's */
	{"ftrace:kernel_stack", STACK}, /* of the event before it */
	{"*", OTHER},
	{0},
};

/* By LCB_F_ of include/trace/events/lock.h: all of these bits; the first that fits. */
static const struct {
	u32 flags;
	const char *name;
} kinds[] = {
	{0x20, "mutex"},    {0x12, "percpu-rwsem:R"}, {0x14, "percpu-rwsem:W"}, {0x0a, "rt-rw:R"},
	{0x0c, "rt-rw:W"},  {0x08, "rtmutex"},	      {0x03, "rwlock:R"},	{0x05, "rwlock:W"},
	{0x01, "spinlock"}, {0x02, "rwsem:R"},	      {0x04, "rwsem:W"},
};

/* The commands of futex(2) that wait, by linux/futex.h: those for PI locks and to requeue, too. */
#define FUTEX_COMMAND ~0x180u /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
#define FUTEX_WAITS   (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13)

/* Functions of locks themselves: who called them is the one that waits. */
static const char *const of_kernel[] = {
	"__traceiter_*",
	"trace_*",
	"*queued_*lock_slowpath",
	"*_raw_*lock*",
	"*_spin_*lock*",
	"*mutex_*lock*",
	"mutex_*",
	"rwsem_*",
	"down_*",
	"__down_*",
	"up_*",
	"__up_*",
	"*rt_mutex_*",
	"rwbase_*",
	"rt_*lock*",
	"percpu_*",
	"__percpu_*",
	"__schedule",
	"schedule*",
	NULL,
};
static const char *const of_programs[] = {
	"*futex*", "*lll_lock*", "*pthread_mutex_*", "*pthread_cond_*", "*pthread_rwlock_*",
	"syscall", NULL,
};

enum { TASK, KIND, LOCK, CALLER, NAMES };

struct waits { /* a row of the table */
	const char *names[NAMES];
	u64 failed;
	struct quantiles took;
};

struct wait {
	bool is_open;
	s64 ns;
	struct waits *row;
};

struct locks {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap rows; /* by names, each with its NUL */
	struct hashmap waits; /* struct wait_key -> struct wait */
	struct hashmap last; /* thread -> its wait, if its last event began that */
	struct recorded_stack stack;
	struct strbuf text[NAMES], key;
	bool is_recorded;
	u64 open, cut; /* cut: open when events were lost */
};

/* A thread may wait for several locks at once: an interrupt comes while it waits. */
struct wait_key {
	u64 thread, lock;
};

static const u64 any_futex = 0; /* which is no lock's address */
static const char *const ret_fields[] = {"ret", NULL};

static void *locks_begin(const struct analysis_request *q, struct diag *d)
{
	struct locks *l = xzalloc(sizeof(*l));

	l->request = q;
	l->key = (struct strbuf)STRBUF_INIT;
	for (u32 i = 0; i < NAMES; i++)
		l->text[i] = (struct strbuf)STRBUF_INIT;
	return l;
}

static void locks_release(void *state)
{
	struct locks *const l = state;

	hashmap_each (&l->rows, e)
		quantiles_release(&((struct waits *)e->value)->took);
	hashmap_release(&l->rows);
	hashmap_release(&l->waits);
	hashmap_release(&l->last);
	vector_free(&l->stack);
	for (u32 i = 0; i < NAMES; i++)
		strbuf_release(&l->text[i]);
	strbuf_release(&l->key);
	arena_release(&l->arena);
	free(l);
}

/* ---- rows ---- */

static bool is_of_lock(const struct recorded_frame *f)
{
	const char *const *glob = f->is_kernel ? of_kernel : of_programs;

	while (f->symbol && *glob && !glob_match(*glob, f->symbol))
		glob++;
	return f->symbol && *glob;
}

/* The function that asked for the lock, with -g all frames from there on; empty if unknown. */
static void add_caller(struct locks *l, struct recording *r)
{
	struct strbuf *const out = &l->text[CALLER];
	size_t first = 0;

	strbuf_reset(out);
	if (!recording_stack(r, &l->stack))
		return;
	while (first + 1 < l->stack.len && is_of_lock(&l->stack.items[first]))
		first++;
	for (size_t i = first; i < l->stack.len && (i == first || l->request->call_graph); i++) {
		const struct recorded_frame *const f = &l->stack.items[i];

		if (i > first)
			strbuf_addch(out, '\n');
		if (f->symbol)
			strbuf_addstr(out, f->symbol);
		else
			strbuf_addf(out, "0x%" PRIx64, f->in_file);
	}
}

/* The row with the names in l->text. */
static struct waits *row_of(struct locks *l)
{
	struct waits *row;
	void **at;

	strbuf_reset(&l->key);
	for (u32 i = 0; i < NAMES; i++)
		strbuf_add(&l->key, l->text[i].data, l->text[i].len + 1);
	at = hashmap_put(&l->rows, l->key.data, l->key.len, NULL);
	if (*at)
		return *at;
	row = *at = arena_new(&l->arena, struct waits);
	for (u32 i = 0; i < NAMES; i++)
		row->names[i] = arena_strdup(&l->arena, l->text[i].data);
	return row;
}

/* ---- waiting ---- */

static struct wait *wait_of(struct locks *l, u64 thread, u64 lock)
{
	const struct wait_key key = {thread, lock};
	void **const at = hashmap_put(&l->waits, &key, sizeof(key), NULL);

	if (!*at)
		*at = arena_new(&l->arena, struct wait);
	return *at;
}

/* Of the lock that l->text names. */
static void begin_wait(struct locks *l, struct recording *r, struct wait *w)
{
	strbuf_reset(&l->text[TASK]);
	if (l->request->per_task)
		analysis_task(r, l->request->by_comm, &l->text[TASK]);
	add_caller(l, r);
	l->open += !w->is_open;
	*w = (struct wait){.is_open = true, .ns = r->ns, .row = row_of(l)};
}

static void end_wait(struct locks *l, struct recording *r, struct wait *w, bool has_waited)
{
	if (!w->is_open)
		return;
	w->is_open = false;
	l->open--;
	if (!has_waited || r->ns < w->ns)
		return;
	quantiles_add(&w->row->took, r->ns - w->ns);
	w->row->failed += (s64)analysis_number(r, ret_fields) < 0;
}

/* A stack that is an event of its own: of the wait that this thread began just before. */
static void add_stack(struct locks *l, struct recording *r, struct wait *w)
{
	for (u32 i = 0; i < CALLER; i++) {
		strbuf_reset(&l->text[i]);
		strbuf_addstr(&l->text[i], w->row->names[i]);
	}
	add_caller(l, r);
	w->row = row_of(l);
}

/* ---- locks of the kernel ---- */

static const char *const address_field[] = {"lock_addr", NULL};
static const char *const flags_field[] = {"flags", NULL};

/* A mutex that spins first and sleeps then begins twice: it waits since the first. */
static struct wait *contended(struct locks *l, struct recording *r, u64 thread)
{
	const u64 address = analysis_number(r, address_field);
	const u32 flags = (u32)analysis_number(r, flags_field);
	struct wait *const w = wait_of(l, thread, address);
	const char *kind = NULL;

	if (w->is_open)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !kind; i++)
		if ((flags & kinds[i].flags) == kinds[i].flags)
			kind = kinds[i].name;
	strbuf_reset(&l->text[KIND]);
	strbuf_addstr(&l->text[KIND], kind ?: "other");
	strbuf_reset(&l->text[LOCK]);
	if (!l->request->by_comm)
		strbuf_addf(&l->text[LOCK], "0x%" PRIx64, address);
	begin_wait(l, r, w);
	return w;
}

/* ---- locks of programs ---- */

struct futex_call {
	u64 address, operation;
	bool is_known;
};

/* raw_syscalls:sys_enter has all arguments in one list. */
static void take_arguments(void *arg, const char *name, size_t name_size,
			   const struct field_value *v)
{
	struct futex_call *const f = arg;

	if (name_size != 4 || memcmp(name, "args", 4) || v->kind != FIELD_LIST || v->count < 2)
		return;
	*f = (struct futex_call){v->items[0], v->items[1], true};
}

static bool is_futex(struct recording *r)
{
	const struct field_value id = r->reader->value(r, "id", true);
	const char *const name = id.kind == FIELD_INTEGER ? arch_syscall_name(id.integer) : NULL;

	return id.kind != FIELD_INTEGER || (name && str_eq(name, "futex"));
}

static struct futex_call futex_call(struct recording *r)
{
	const struct field_value address = r->reader->value(r, "uaddr", true);
	const struct field_value operation = r->reader->value(r, "op", true);
	struct futex_call f = {address.integer, operation.integer, true};

	if (address.kind == FIELD_INTEGER && operation.kind == FIELD_INTEGER)
		return f;
	f.is_known = false;
	r->reader->values(r, take_arguments, &f);
	return f;
}

/* Its address means something in its process; where that is unknown, in this thread alone. */
static void name_futex(struct locks *l, struct recording *r, u64 address)
{
	const struct recorded_place place = recording_place(r);
	struct strbuf *const lock = &l->text[LOCK];

	strbuf_reset(&l->text[KIND]);
	strbuf_addstr(&l->text[KIND], "futex");
	strbuf_reset(lock);
	if (l->request->by_comm)
		strbuf_add(lock, place.comm ?: "?", place.comm ? place.comm_size : 1);
	else if (place.pid >= 0)
		strbuf_addf(lock, "0x%" PRIx64 " of %" PRId64, address, place.pid);
	else
		strbuf_addf(lock, "0x%" PRIx64 " in %" PRId64, address, place.tid);
}

static struct wait *futex_entered(struct locks *l, struct recording *r, u64 thread)
{
	const struct futex_call f = is_futex(r) ? futex_call(r) : (struct futex_call){0};
	const u32 command = (u32)f.operation & FUTEX_COMMAND;
	struct wait *w;

	if (!f.is_known || command >= 32 || !(FUTEX_WAITS & 1u << command))
		return NULL;
	w = wait_of(l, thread, any_futex);
	name_futex(l, r, f.address);
	begin_wait(l, r, w);
	return w;
}

/* With EAGAIN it did not wait: the lock was free by then. */
static void futex_returned(struct locks *l, struct recording *r, u64 thread)
{
	if (is_futex(r))
		end_wait(l, r, wait_of(l, thread, any_futex),
			 (s64)analysis_number(r, ret_fields) != -EAGAIN);
}

/* ---- events ---- */

static void locks_feed(void *state, struct recording *r, u8 role)
{
	struct locks *const l = state;
	const u64 thread = analysis_thread(r);
	struct wait *begun = NULL;
	void **const last = hashmap_put(&l->last, &thread, sizeof(thread), NULL);

	l->is_recorded |= role < STACK;
	switch (role) {
	case BEGIN:
		begun = contended(l, r, thread);
		break;
	case END:
		end_wait(l, r, wait_of(l, thread, analysis_number(r, address_field)), true);
		break;
	case FUTEX_ENTER:
		begun = futex_entered(l, r, thread);
		break;
	case FUTEX_EXIT:
		futex_returned(l, r, thread);
		break;
	case STACK:
		if (*last && !*((struct wait *)*last)->row->names[CALLER])
			add_stack(l, r, *last);
		break;
	}
	*last = begun;
}

static void locks_lost(void *state)
{
	struct locks *const l = state;

	hashmap_each (&l->waits, e)
		((struct wait *)e->value)->is_open = false;
	l->cut += l->open;
	l->open = 0;
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"total_ns", "WAITED(ms)", TABLE_MS, true}, {"waits", "WAITS", TABLE_COUNT, true},
	{"failed", "FAILED", TABLE_COUNT, true},    {"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},	    {"p99_ns", "P99(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},	    {0},
};

static void add_row(struct waits *w, bool per_task, struct report_table *to)
{
	const u32 first = per_task ? TASK : KIND;
	const char **const names = arena_new_array(&to->arena, const char *, NAMES);
	const u64 values[] = {
		(u64)(s64)w->took.sum,
		w->took.count,
		w->failed,
		(u64)quantiles_average(&w->took),
		(u64)quantiles_at(&w->took, 0.5),
		(u64)quantiles_at(&w->took, 0.99),
		(u64)w->took.max,
	};

	for (u32 i = first; i < NAMES; i++)
		names[i - first] = arena_strdup(&to->arena, w->names[i]);
	memcpy(table_add(to, NAMES - 1 - first, names)->values, values, sizeof(values));
}

static void locks_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct locks *const l = state;
	const bool per_task = l->request->per_task;
	const char *const caller = l->request->call_graph ? "stack" : "caller";

	if (!l->is_recorded) {
		diag_error(d, NO_SPAN,
			   "no event '%s' and no system call 'futex' was recorded, which this is "
			   "made of",
			   events[0].name);
		diag_hint(d, "`pantrace record -e 'lock:contention_*' -e 'syscalls:sys_*_futex'` "
			     "records them");
		return;
	}
	*ret = (struct report_table){.columns = columns, .is_flat = true};
	if (per_task)
		ret->keys[ret->nr_keys++] = "task";
	ret->keys[ret->nr_keys++] = "kind";
	ret->keys[ret->nr_keys++] = "lock";
	ret->keys[ret->nr_keys++] = caller;
	hashmap_each (&l->rows, e)
		if (((struct waits *)e->value)->took.count)
			add_row(e->value, per_task, ret);
	table_sort(ret);
}

static void locks_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct locks *const l = state;

	if (l->open + l->cut)
		strbuf_addf(out, "\nnot in it: %" PRIu64 " wait%s whose end was not recorded\n",
			    l->open + l->cut, plural(l->open + l->cut));
}

static const char *const recorded[] = {"lock:contention_*", "syscalls:sys_enter_futex",
				       "syscalls:sys_exit_futex", NULL};

const struct report_analysis analysis_locks = {
	.events = events,
	.record = recorded,
	.record_stacks = true,
	.begin = locks_begin,
	.feed = locks_feed,
	.lost = locks_lost,
	.finish = locks_finish,
	.text = locks_text,
	.release = locks_release,
};
