/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's domains: the time of each virtual CPU in each state, from the events that change it, which
 * have both the old and the new state. The time between two changes is counted, unless events were
 * lost meanwhile, on any CPU. Not counted is the time before the first and after the last change.
 */
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "trace/xen/file.h"
#include "view/quantiles.h"

enum { STATE = ANALYSIS_ROLES, LOST, LOST_END, EXIT, HYPERCALL };

static const struct analysis_event events[] = {
	{"xen_sched:runstate_change", STATE, true},
	{"xen_gen:lost_records", LOST},
	{"xen_gen:lost_records_end", LOST_END},
	{"xen_hvm:vmexit", EXIT},
	{"xen_pv:hypercall", HYPERCALL},
	{0},
};

static const char *const domain_field[] = {"dom", NULL};
static const char *const vcpu_field[] = {"vcpu", NULL};
static const char *const old_field[] = {"old_state", NULL};
static const char *const new_field[] = {"new_state", NULL};

/* Of a virtual CPU, or the sum of a domain. */
struct times {
	s64 ns[XEN_STATES];
	s64 preempted_ns; /* runnable, as another one took the CPU */
	struct quantiles waits; /* each time that it was runnable */
	u64 exits, hypercalls;
};

struct vcpu {
	u32 domain, number;
	bool is_known; /* its state is */
	u32 state; /* enum xen_state */
	s64 since_ns;
	bool was_preempted;
	struct times times;
};

struct domains {
	struct arena arena;
	struct hashmap vcpus; /* u32 domain << 16 | number -> struct vcpu */
	u32 blind; /* number of CPUs that lose records now, which may have changes of state */
	u64 cut; /* not counted: events were lost, or the old state contradicts the known one */
};

static void *domains_begin(const struct analysis_request *q, struct diag *d)
{
	return xzalloc(sizeof(struct domains));
}

static void domains_release(void *state)
{
	struct domains *const s = state;

	hashmap_each (&s->vcpus, e)
		quantiles_release(&((struct vcpu *)e->value)->times.waits);
	hashmap_release(&s->vcpus);
	arena_release(&s->arena);
	free(s);
}

/* ---- events ---- */

static struct vcpu *vcpu_of(struct domains *s, u32 domain, u32 number)
{
	const u32 key = domain << 16 | (number & 0xffff);
	void **const at = hashmap_put(&s->vcpus, &key, sizeof(key), NULL);
	struct vcpu *v = *at;

	if (v)
		return v;
	v = *at = arena_new(&s->arena, struct vcpu);
	v->domain = domain;
	v->number = number;
	return v;
}

static void add_time(struct vcpu *v, s64 ns)
{
	v->times.ns[v->state] += ns;
	if (v->state != XEN_RUNNABLE)
		return;
	quantiles_add(&v->times.waits, ns);
	if (v->was_preempted)
		v->times.preempted_ns += ns;
}

static void changes(struct domains *s, struct recording *r)
{
	struct vcpu *const v = vcpu_of(s, (u32)analysis_number(r, domain_field),
				       (u32)analysis_number(r, vcpu_field));
	const u32 old = (u32)analysis_number(r, old_field);
	const u32 new = (u32)analysis_number(r, new_field);

	if (v->is_known && v->state == old)
		add_time(v, MAX(r->ns - v->since_ns, (s64)0));
	else
		s->cut += v->is_known;
	v->is_known = !s->blind && new < XEN_STATES;
	v->state = new;
	v->since_ns = r->ns;
	v->was_preempted = old == XEN_RUNNING;
}

static struct vcpu *running(struct domains *s, struct recording *r)
{
	const struct recorded_place place = recording_place(r);

	return place.tid <= 0 ? NULL : vcpu_of(s, (u32)place.pid, (u32)(place.tid - 1) & 0xffff);
}

/* All states become unknown. */
static void forget(struct domains *s)
{
	hashmap_each (&s->vcpus, e) {
		struct vcpu *const v = e->value;

		s->cut += v->is_known;
		v->is_known = false;
	}
}

static void domains_feed(void *state, struct recording *r, u8 role)
{
	struct domains *const s = state;
	struct vcpu *v;

	switch (role) {
	case STATE:
		changes(s, r);
		break;
	case LOST:
		s->blind++;
		forget(s);
		break;
	case LOST_END:
		s->blind -= s->blind > 0;
		break;
	default:
		v = running(s, r);
		if (v && role == EXIT)
			v->times.exits++;
		else if (v)
			v->times.hypercalls++;
	}
}

static void domains_lost(void *state)
{
	forget(state);
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"running_ns", "RUNNING(ms)", TABLE_MS, true},
	{"runnable_ns", "RUNNABLE(ms)", TABLE_MS, true},
	{"preempted_ns", "PREEMPTED(ms)", TABLE_MS, true},
	{"blocked_ns", "BLOCKED(ms)", TABLE_MS, true},
	{"offline_ns", "OFFLINE(ms)", TABLE_MS, true},
	{"waits", "WAITS", TABLE_COUNT, true},
	{"wait_p99_ns", "P99(us)", TABLE_US, false},
	{"wait_max_ns", "MAX(us)", TABLE_US, false},
	{"exits", "EXITS", TABLE_COUNT, true},
	{"hypercalls", "HYPERCALLS", TABLE_COUNT, true},
	{0},
};

static void fill(struct table_row *row, struct times *t)
{
	const u64 values[] = {
		(u64)t->ns[XEN_RUNNING],
		(u64)t->ns[XEN_RUNNABLE],
		(u64)t->preempted_ns,
		(u64)t->ns[XEN_BLOCKED],
		(u64)t->ns[XEN_OFFLINE],
		t->waits.count,
		(u64)quantiles_at(&t->waits, 0.99),
		(u64)t->waits.max,
		t->exits,
		t->hypercalls,
	};

	memcpy(row->values, values, sizeof(values));
}

static int by_number(const void *a, const void *b)
{
	const struct vcpu *x = *(struct vcpu *const *)a, *y = *(struct vcpu *const *)b;

	return x->domain != y->domain ? (x->domain < y->domain ? -1 : 1)
				      : (x->number > y->number) - (x->number < y->number);
}

static void domains_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct domains *const s = state;
	VECTOR(struct vcpu *) vcpus = {0};

	*ret = (struct report_table){
		.keys = {"domain", "vcpu"}, .nr_keys = 2, .columns = columns, .is_flat = true};
	hashmap_each (&s->vcpus, e)
		vector_push(&vcpus, (struct vcpu *)e->value);
	if (vcpus.len)
		qsort(vcpus.items, vcpus.len, sizeof(*vcpus.items), by_number);
	for (size_t i = 0; i < vcpus.len; i++) {
		struct vcpu *const v = vcpus.items[i];
		const char **const names = arena_new_array(&ret->arena, const char *, 2);

		names[0] = v->domain == XEN_IDLE_DOMAIN
				   ? "d[IDLE]"
				   : arena_printf(&ret->arena, "d%u", v->domain);
		names[1] = arena_printf(&ret->arena, "v%u", v->number);
		fill(table_add(ret, 1, names), &v->times);
	}
	vector_free(&vcpus);
}

static void domains_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct domains *const s = state;

	if (s->cut)
		strbuf_addf(out,
			    "\nnot in the times: %" PRIu64 " that began before events were lost\n",
			    s->cut);
}

const struct report_analysis analysis_domains = {
	.events = events,
	.record_command = "xentrace TRACE",
	.begin = domains_begin,
	.feed = domains_feed,
	.lost = domains_lost,
	.finish = domains_finish,
	.text = domains_text,
	.release = domains_release,
};
