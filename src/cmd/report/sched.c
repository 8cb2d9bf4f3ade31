/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --sched: time of each thread on a CPU, waiting for one (since it was woken or preempted), and
 * asleep.
 */
#include "base/escape.h"
#include "base/hashmap.h"
#include "cmd/report/analysis.h"

#define CPUS_MAX 65536

enum { SWITCH = ANALYSIS_ROLES, WAKEUP, WAKING, MIGRATE };

static const struct analysis_event events[] = {
	{"sched:sched_switch", SWITCH, true},
	{"sched_switch", SWITCH, true}, /* LTTng's */
	{"sched:sched_wakeup", WAKEUP},
	{"sched:sched_wakeup_new", WAKEUP},
	{"sched_wakeup", WAKEUP},
	{"sched_wakeup_new", WAKEUP},
	{"sched:sched_waking", WAKING},
	{"sched_waking", WAKING},
	{"sched:sched_migrate_task", MIGRATE},
	{"sched_migrate_task", MIGRATE},
	{0},
};

/* LTTng says tid. */
static const char *const prev_pid[] = {"prev_pid", "prev_tid", NULL};
static const char *const next_pid[] = {"next_pid", "next_tid", NULL};
static const char *const woken_pid[] = {"pid", "tid", NULL};
static const char *const prev_state[] = {"prev_state", NULL};

enum doing { UNKNOWN, RUNS, READY, SLEEPS };

struct thread {
	u32 tid;
	const char *comm;
	enum doing doing;
	s64 since_ns; /* the current state began */
	u32 cpu; /* CPU that it last ran on */
	bool has_run;
	u64 switches, waits, wakeups, wakings, migrations, moves, preempted;
	s64 on_ns, wait_ns, wait_max_ns, wait_max_at, sleep_ns;
};

struct cpu {
	bool is_known;
	s64 last_ns, span_ns, idle_ns;
};

/* Numbers of threads and CPUs are those of one host. */
struct host {
	u64 key; /* analysis_host() */
	const char *name;
	VECTOR(struct cpu) cpus;
};

struct sched {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap threads; /* by u64: host and tid */
	VECTOR(struct host) hosts;
	bool has_wakeups, has_migrations;
};

static void *sched_begin(const struct analysis_request *q, struct diag *d)
{
	struct sched *s = xzalloc(sizeof(*s));

	s->request = q;
	return s;
}

static void sched_release(void *state)
{
	struct sched *const s = state;

	hashmap_release(&s->threads);
	for (size_t i = 0; i < s->hosts.len; i++)
		vector_free(&s->hosts.items[i].cpus);
	vector_free(&s->hosts);
	arena_release(&s->arena);
	free(s);
}

static struct thread *thread_of(struct sched *s, u64 host, u32 tid)
{
	const u64 key = host | tid;
	void **at = hashmap_put(&s->threads, &key, sizeof(key), NULL);

	if (!*at) {
		struct thread *t = *at = arena_new(&s->arena, struct thread);

		t->tid = tid;
	}
	return *at;
}

static void name(struct sched *s, struct thread *t, struct recording *r, const char *field)
{
	const struct field_value v = r->reader->value(r, field, true);

	if (v.kind == FIELD_TEXT &&
	    (!t->comm || strlen(t->comm) != v.size || memcmp(t->comm, v.text, v.size)))
		t->comm = arena_strndup(&s->arena, v.text, v.size);
}

/* ---- events ---- */

/* Bits below 0x100 of prev_state say why it sleeps; higher ones that it was preempted. */
static void goes(struct thread *t, struct recording *r)
{
	const struct field_value state = r->reader->value(r, *prev_state, true);
	const bool is_ready = state.kind == FIELD_INTEGER && !(state.integer & 0xff);

	t->doing = state.kind != FIELD_INTEGER ? UNKNOWN : is_ready ? READY : SLEEPS;
	t->since_ns = r->ns;
	t->preempted += is_ready;
}

static void waited(struct thread *t, s64 ns)
{
	const s64 took = ns - t->since_ns;

	t->waits++;
	t->wait_ns += took;
	if (took <= t->wait_max_ns)
		return;
	t->wait_max_ns = took;
	t->wait_max_at = ns;
}

static void comes(struct thread *t, s64 ns, u32 cpu)
{
	if (t->doing == READY && ns >= t->since_ns)
		waited(t, ns);
	else if (t->doing == SLEEPS) /* its wakeup was not recorded */
		t->sleep_ns += ns - t->since_ns;
	t->moves += t->has_run && t->cpu != cpu;
	t->has_run = true;
	t->cpu = cpu;
	t->doing = RUNS;
	t->since_ns = ns;
	t->switches++;
}

static struct host *host_of(struct sched *s, struct recording *r, u64 key)
{
	const char *name;

	for (size_t i = 0; i < s->hosts.len; i++)
		if (s->hosts.items[i].key == key)
			return &s->hosts.items[i];
	name = recording_place(r).host;
	vector_push(&s->hosts,
		    (struct host){.key = key, .name = arena_strdup(&s->arena, name ?: "?")});
	return &s->hosts.items[s->hosts.len - 1];
}

static struct cpu *cpu_of(struct host *h, u32 number)
{
	while (h->cpus.len <= number)
		vector_push(&h->cpus, (struct cpu){0});
	return &h->cpus.items[number];
}

static void switched(struct sched *s, struct recording *r)
{
	const u32 number = (u32)analysis_cpu(r);
	const u32 from = (u32)analysis_number(r, prev_pid), to = (u32)analysis_number(r, next_pid);
	const u64 host = analysis_host(r);
	struct thread *t;
	struct cpu *c;

	if (number >= CPUS_MAX)
		return;
	c = cpu_of(host_of(s, r, host), number);
	if (!c->is_known)
		c->last_ns = r->ns;
	c->is_known = true;
	c->span_ns += r->ns - c->last_ns;
	if (from) {
		t = thread_of(s, host, from);
		name(s, t, r, "prev_comm");
		t->on_ns += r->ns - c->last_ns;
		goes(t, r);
	} else {
		c->idle_ns += r->ns - c->last_ns;
	}
	c->last_ns = r->ns;
	if (to) {
		t = thread_of(s, host, to);
		name(s, t, r, "next_comm");
		comes(t, r->ns, number);
	}
}

/* Takes the first of sched_waking and sched_wakeup. */
static void woken(struct sched *s, struct recording *r, bool is_waking)
{
	struct thread *const t = thread_of(s, analysis_host(r), (u32)analysis_number(r, woken_pid));

	s->has_wakeups |= !is_waking;
	*(is_waking ? &t->wakings : &t->wakeups) += 1;
	name(s, t, r, "comm");
	if (t->doing != SLEEPS && t->doing != UNKNOWN)
		return;
	if (t->doing == SLEEPS)
		t->sleep_ns += r->ns - t->since_ns;
	t->doing = READY;
	t->since_ns = r->ns;
}

static void sched_feed(void *state, struct recording *r, u8 role)
{
	struct sched *const s = state;

	switch (role) {
	case SWITCH:
		switched(s, r);
		break;
	case MIGRATE:
		s->has_migrations = true;
		thread_of(s, analysis_host(r), (u32)analysis_number(r, woken_pid))->migrations++;
		break;
	default:
		woken(s, r, role == WAKING);
	}
}

static void sched_lost(void *state)
{
	struct sched *const s = state;

	hashmap_each (&s->threads, e)
		((struct thread *)e->value)->doing = UNKNOWN;
	for (size_t i = 0; i < s->hosts.len; i++)
		for (size_t k = 0; k < s->hosts.items[i].cpus.len; k++)
			s->hosts.items[i].cpus.items[k].is_known = false;
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"wait_ns", "WAITED(ms)", TABLE_MS, true},
	{"waits", "WAITS", TABLE_COUNT, true},
	{"wait_average_ns", "AVERAGE(ms)", TABLE_MS, false},
	{"wait_max_ns", "MAX(ms)", TABLE_MS, false},
	{"wait_max_time_ns", "MAX AT", TABLE_TIME, false},
	{"on_ns", "ON-CPU(ms)", TABLE_MS, true},
	{"sleep_ns", "ASLEEP(ms)", TABLE_MS, true},
	{"switches", "SWITCHES", TABLE_COUNT, true},
	{"wakeups", "WAKEUPS", TABLE_COUNT, true},
	{"preempted", "PREEMPTED", TABLE_COUNT, true},
	{"migrations", "MIGRATIONS", TABLE_COUNT, true},
	{0},
};

static void merge(struct thread *to, const struct thread *from)
{
	to->switches += from->switches;
	to->waits += from->waits;
	to->wakeups += from->wakeups;
	to->wakings += from->wakings;
	to->migrations += from->migrations;
	to->moves += from->moves;
	to->preempted += from->preempted;
	to->on_ns += from->on_ns;
	to->wait_ns += from->wait_ns;
	to->sleep_ns += from->sleep_ns;
	if (from->wait_max_ns <= to->wait_max_ns)
		return;
	to->wait_max_ns = from->wait_max_ns;
	to->wait_max_at = from->wait_max_at;
}

static void add_row(const struct sched *s, const struct thread *t, const char *name,
		    struct report_table *to)
{
	struct table_row *const row = table_add_flat(to, name);
	const u64 values[] = {
		(u64)t->wait_ns,
		t->waits,
		t->waits ? (u64)t->wait_ns / t->waits : 0,
		(u64)t->wait_max_ns,
		(u64)t->wait_max_at,
		(u64)t->on_ns,
		(u64)t->sleep_ns,
		t->switches,
		s->has_wakeups ? t->wakeups : t->wakings,
		t->preempted,
		s->has_migrations ? t->migrations : t->moves,
	};

	memcpy(row->values, values, sizeof(values));
}

static void sched_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct sched *const s = state;
	struct hashmap merged = {0};

	*ret = (struct report_table){
		.keys = {s->request->by_comm ? "comm" : "task"}, .nr_keys = 1, .columns = columns};
	hashmap_each (&s->threads, e) {
		const struct thread *const t = e->value;
		const char *const comm = t->comm ?: "?";
		char *const name =
			s->request->by_comm ? xstrdup(comm) : xasprintf("%s-%u", comm, t->tid);
		struct thread *sum = hashmap_gets(&merged, name);

		if (!sum)
			hashmap_puts(&merged, name, sum = arena_new(&s->arena, struct thread));
		merge(sum, t);
		free(name);
	}
	hashmap_each (&merged, e)
		add_row(s, e->value, e->key, ret);
	hashmap_release(&merged);
	table_sort(ret);
}

static void add_cpus(const struct host *h, bool is_named, struct strbuf *out)
{
	for (size_t i = 0; i < h->cpus.len; i++) {
		const struct cpu *const c = &h->cpus.items[i];
		const double idle = (double)c->idle_ns, span = (double)c->span_ns;

		if (!c->span_ns)
			continue;
		if (is_named) {
			escape_line(out, h->name, strlen(h->name));
			strbuf_addch(out, ' ');
		}
		strbuf_addf(out, "CPU %zu: %.3f of %.3f ms idle (%.1f%%)\n", i, idle / 1e6,
			    span / 1e6, 100 * idle / span);
	}
}

static void sched_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct sched *const s = state;

	strbuf_addch(out, '\n');
	for (size_t i = 0; i < s->hosts.len; i++)
		add_cpus(&s->hosts.items[i], s->hosts.len > 1, out);
}

static const char *const recorded[] = {"sched:sched_switch", "sched:sched_wakeup*",
				       "sched:sched_migrate_task", NULL};

const struct report_analysis analysis_sched = {
	.events = events,
	.record = recorded,
	.record_machine = true,
	.begin = sched_begin,
	.feed = sched_feed,
	.lost = sched_lost,
	.finish = sched_finish,
	.text = sched_text,
	.release = sched_release,
};
