/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual machines, seen from the host. A virtual CPU of KVM is a thread that enters the guest
 * (kvm_entry) and leaves it (kvm_exit); for Xen the events are vmentry and vmexit:
 *
 *	kvm_entry ... guest ... kvm_exit ... host, on its behalf ... kvm_entry
 *
 * A guest may itself have guests. Where one of these is left, the host has it first, and says so
 * behind kvm_exit: kvm_nested_vmexit; and kvm_nested_vmexit_inject if it hands the exit on to the
 * guest, which is their hypervisor.
 *
 * --exits	exits by reason: how many, and the time from each exit to the next entry, as
 *		`perf kvm stat` counts it, with the time asleep or waiting for a CPU
 * --vcpus	the time of each virtual CPU in the guest, and in the host. sched_switch divides the
 *		time without a CPU: halted, asleep, or waiting for a CPU, and who had that
 */
#include <math.h>

#include "arch/arch.h"
#include "base/escape.h"
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "trace/xen/file.h"
#include "view/quantiles.h"

enum {
	ENTRY = ANALYSIS_ROLES,
	EXIT,
	NESTED_EXIT,
	HANDED_ON,
	SWITCH,
	WAKING,
	INTERRUPT,
	FAULT,
	XEN_STATE,
};

static const struct analysis_event exit_events[] = {
	{"kvm:kvm_entry", ENTRY, true},		  {"kvm:kvm_exit", EXIT, true},
	{"kvm:kvm_nested_vmexit", NESTED_EXIT},	  {"kvm:kvm_nested_vmexit_inject", HANDED_ON},
	{"xen_hvm:vmentry", ENTRY, true},	  {"xen_hvm:vmexit", EXIT, true},
	{"xen_sched:runstate_change", XEN_STATE}, {0},
};

static const struct analysis_event vcpu_events[] = {
	{"kvm:kvm_entry", ENTRY, true},		{"kvm:kvm_exit", EXIT, true},
	{"kvm:kvm_nested_vmexit", NESTED_EXIT}, {"kvm:kvm_inj_virq", INTERRUPT},
	{"kvm:kvm_page_fault", FAULT},		{"sched:sched_switch", SWITCH},
	{"sched:sched_waking", WAKING},		{0},
};

static const char *const isa_field[] = {"isa", NULL};
static const char *const reason_field[] = {"exit_reason", NULL};
static const char *const vcpu_field[] = {"vcpu_id", NULL};
static const char *const prev_pid[] = {"prev_pid", NULL};
static const char *const next_pid[] = {"next_pid", NULL};
static const char *const prev_state[] = {"prev_state", NULL};
static const char *const woken_pid[] = {"pid", NULL};
static const char *const xen_domain[] = {"dom", NULL};
static const char *const xen_vcpu[] = {"vcpu", NULL};
static const char *const xen_old_state[] = {"old_state", NULL};

/* What a virtual CPU is doing. */
enum doing { GUEST, NESTED, HOST, HALTED, ASLEEP, WAITING, DOINGS, UNKNOWN = DOINGS };

struct reason {
	const char *vcpu, *name; /* vcpu: "" = all */
	struct quantiles took; /* exits whose next entry was recorded */
	u64 exits;
};

/* The task that had the CPU a virtual CPU waited for. */
struct rival {
	const char *name;
	s64 ns;
};

struct vcpu {
	const char *name;
	u32 tid; /* of its thread */
	s64 number; /* in its machine; -1 = not known */
	enum doing doing;
	s64 since_ns;
	struct reason *exit; /* the exit being handled; NULL = none */
	u32 exit_isa, exit_reason;
	s64 exit_ns, guest_ns; /* guest_ns: in the guest before it */
	bool is_halting; /* by that exit */
	s64 ns[DOINGS];
	u64 exits, interrupts, faults;
	struct hashmap rivals; /* name -> struct rival */
	struct rival *rival; /* NULL: not known, as it was woken, not preempted */
};

struct kvm {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap vcpus; /* by analysis_thread() -> struct vcpu */
	struct hashmap reasons; /* key: "VCPU\0REASON" */
	struct strbuf key;
	u64 open; /* exits whose next entry was not recorded */
	bool has_switches;
	VECTOR(struct clock_relation *) machines; /* guests that were recorded, too */
	VECTOR(struct vcpu *) sorted; /* for the table of virtual CPUs */
};

static void *kvm_begin(const struct analysis_request *q, struct diag *d)
{
	struct kvm *k = xzalloc(sizeof(*k));

	k->request = q;
	k->key = (struct strbuf)STRBUF_INIT;
	return k;
}

static void kvm_machine(void *state, struct clock_relation *m)
{
	vector_push(&((struct kvm *)state)->machines, m);
}

static void kvm_release(void *state)
{
	struct kvm *const k = state;

	hashmap_each (&k->reasons, e)
		quantiles_release(&((struct reason *)e->value)->took);
	hashmap_each (&k->vcpus, e)
		hashmap_release(&((struct vcpu *)e->value)->rivals);
	hashmap_release(&k->vcpus);
	hashmap_release(&k->reasons);
	vector_free(&k->sorted);
	vector_free(&k->machines);
	strbuf_release(&k->key);
	arena_release(&k->arena);
	free(k);
}

/* ---- virtual CPUs ---- */

static struct vcpu *vcpu_find(const struct kvm *k, struct recording *r, u64 tid)
{
	const u64 key = analysis_host(r) | (u32)tid;

	return hashmap_get(&k->vcpus, &key, sizeof(key));
}

/* The virtual CPU of the event's thread. */
static struct vcpu *vcpu_of(struct kvm *k, struct recording *r)
{
	const u64 thread = analysis_thread(r);
	const struct field_value id = r->reader->value(r, *vcpu_field, true);
	void **at = hashmap_put(&k->vcpus, &thread, sizeof(thread), NULL);
	struct vcpu *v = *at;

	if (v)
		return v;
	v = *at = arena_new(&k->arena, struct vcpu);
	v->doing = UNKNOWN;
	v->tid = (u32)thread;
	v->number = id.kind == FIELD_INTEGER ? (s64)id.integer : -1;
	strbuf_reset(&k->key);
	analysis_task(r, k->request->by_comm, &k->key);
	if (id.kind == FIELD_INTEGER)
		strbuf_addf(&k->key, " vcpu %" PRIu64, id.integer);
	v->name = arena_strndup(&k->arena, k->key.data, k->key.len);
	return v;
}

/* From now on it does something else. */
static void turn(struct vcpu *v, enum doing next, s64 ns)
{
	const s64 took = MAX(ns - v->since_ns, (s64)0);

	if (v->doing != UNKNOWN)
		v->ns[v->doing] += took;
	if (v->doing == WAITING && v->rival)
		v->rival->ns += took;
	v->doing = next;
	v->since_ns = ns;
	v->rival = NULL;
}

/* Of its last exit; whose: "" = the guest's own. */
static struct reason *reason_of(struct kvm *k, const struct vcpu *v, const char *whose)
{
	const char *const name = arch_kvm_exit_name(v->exit_isa, v->exit_reason);
	struct reason *found;
	void **at;

	strbuf_reset(&k->key);
	if (k->request->per_task)
		strbuf_addstr(&k->key, v->name);
	strbuf_addch(&k->key, '\0');
	if (name)
		strbuf_addstr(&k->key, name);
	else
		strbuf_addf(&k->key, "reason 0x%x", v->exit_reason);
	strbuf_addstr(&k->key, whose);
	at = hashmap_put(&k->reasons, k->key.data, k->key.len, NULL);
	if (*at)
		return *at;
	found = *at = arena_new(&k->arena, struct reason);
	found->vcpu = k->request->per_task ? v->name : "";
	found->name = arena_strdup(&k->arena, k->key.data + strlen(k->key.data) + 1);
	return found;
}

static struct rival *rival_of(struct kvm *k, struct vcpu *v, struct recording *r, u64 tid)
{
	const struct field_value comm = r->reader->value(r, "next_comm", true);
	struct rival *found;
	void **at;

	strbuf_reset(&k->key);
	if (comm.kind == FIELD_TEXT)
		strbuf_add(&k->key, comm.text, comm.size);
	if (!k->request->by_comm)
		strbuf_addf(&k->key, "-%" PRIu64, tid);
	at = hashmap_put(&v->rivals, k->key.data, k->key.len, NULL);
	if (*at)
		return *at;
	found = *at = arena_new(&k->arena, struct rival);
	found->name = arena_strndup(&k->arena, k->key.data, k->key.len);
	return found;
}

/* ---- events ---- */

/* The exit being handled, if one is known, ends here. */
static void handled(struct kvm *k, struct vcpu *v, s64 ns)
{
	if (v->exit && ns >= v->exit_ns) {
		quantiles_add(&v->exit->took, ns - v->exit_ns);
		k->open--;
	}
	v->exit = NULL;
}

static void enters(struct kvm *k, struct recording *r)
{
	struct vcpu *const v = vcpu_of(k, r);

	handled(k, v, r->ns);
	turn(v, GUEST, r->ns);
}

/*
 * Xen records when a virtual CPU stops running. As in xenalyze, the time after that does not belong
 * to the exit.
 */
static void xen_state_changes(struct kvm *k, struct recording *r)
{
	const u32 domain = (u32)analysis_number(r, xen_domain);
	const u32 number = (u32)analysis_number(r, xen_vcpu);
	struct vcpu *const v = vcpu_find(k, r, (u64)xen_tid(domain, number));

	if (v && analysis_number(r, xen_old_state) == XEN_RUNNING)
		handled(k, v, r->ns);
}

static void leaves(struct kvm *k, struct recording *r)
{
	struct vcpu *const v = vcpu_of(k, r);

	k->open++; /* an earlier exit without an entry stays counted */
	v->exit_isa = (u32)analysis_number(r, isa_field);
	v->exit_reason = (u32)analysis_number(r, reason_field);
	v->exit = reason_of(k, v, "");
	v->exit->exits++;
	v->exits++;
	v->exit_ns = r->ns;
	v->guest_ns = v->doing == GUEST ? MAX(r->ns - v->since_ns, (s64)0) : 0;
	v->is_halting = arch_kvm_exit_is_halt(v->exit_isa, v->exit_reason);
	turn(v, HOST, r->ns);
}

/* The exit before was somebody else's, and so was the time before it. */
static void belongs_to(struct kvm *k, struct recording *r, const char *whose)
{
	struct vcpu *const v = vcpu_of(k, r);

	if (!v->exit)
		return;
	v->exit->exits--;
	v->exit = reason_of(k, v, whose);
	v->exit->exits++;
	v->ns[GUEST] -= v->guest_ns;
	v->ns[NESTED] += v->guest_ns;
	v->guest_ns = 0;
}

/* Bits below 0x100 of prev_state say why a thread sleeps; higher ones that it was preempted. */
static void switched(struct kvm *k, struct recording *r)
{
	const u64 next = analysis_number(r, next_pid);
	struct vcpu *const from = vcpu_find(k, r, analysis_number(r, prev_pid));
	struct vcpu *const to = vcpu_find(k, r, next);

	k->has_switches = true;
	if (from && analysis_number(r, prev_state) & 0xff) {
		turn(from, from->is_halting ? HALTED : ASLEEP, r->ns);
	} else if (from) {
		turn(from, WAITING, r->ns);
		from->rival = rival_of(k, from, r, next);
	}
	if (to)
		turn(to, HOST, r->ns);
}

static void kvm_feed(void *state, struct recording *r, u8 role)
{
	struct kvm *const k = state;
	struct vcpu *v;

	switch (role) {
	case ENTRY:
		enters(k, r);
		break;
	case EXIT:
		leaves(k, r);
		break;
	case NESTED_EXIT:
		belongs_to(k, r, " (nested)");
		break;
	case HANDED_ON:
		belongs_to(k, r, " (nested, for its hypervisor)");
		break;
	case SWITCH:
		switched(k, r);
		break;
	case WAKING:
		v = vcpu_find(k, r, analysis_number(r, woken_pid));
		if (v && (v->doing == HALTED || v->doing == ASLEEP))
			turn(v, WAITING, r->ns);
		break;
	case XEN_STATE:
		xen_state_changes(k, r);
		break;
	case INTERRUPT:
		vcpu_of(k, r)->interrupts++;
		break;
	default:
		vcpu_of(k, r)->faults++;
	}
}

static void kvm_lost(void *state)
{
	struct kvm *const k = state;

	hashmap_each (&k->vcpus, e) {
		struct vcpu *const v = e->value;

		v->doing = UNKNOWN;
		v->exit = NULL;
		v->rival = NULL;
	}
}

/* ---- the table of exits ---- */

static const struct table_column exit_columns[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false},
	{"total_ns", "TIME(ms)", TABLE_MS, true},
	{"exits", "EXITS", TABLE_COUNT, true},
	{"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},
	{0},
};

static void fill_exits(struct table_row *row, struct reason *e, double all_ns)
{
	const u64 values[] = {
		all_ns > 0 ? (u64)llround(1e4 * (double)e->took.sum / all_ns) : 0,
		(u64)e->took.sum,
		e->exits,
		(u64)quantiles_average(&e->took),
		(u64)quantiles_at(&e->took, 0.5),
		(u64)quantiles_at(&e->took, 0.99),
		(u64)e->took.max,
	};

	memcpy(row->values, values, sizeof(values));
}

static int by_time(const void *a, const void *b)
{
	const struct reason *x = *(struct reason *const *)a, *y = *(struct reason *const *)b;

	if (x->took.sum != y->took.sum)
		return x->took.sum < y->took.sum ? 1 : -1;
	return strcmp(x->name, y->name) ?: strcmp(x->vcpu, y->vcpu);
}

static void exits_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct kvm *const k = state;
	const bool per_task = k->request->per_task;
	VECTOR(struct reason *) reasons = {0};
	double all_ns = 0;

	*ret = (struct report_table){.keys = {per_task ? "vcpu" : "exit", "exit"},
				     .nr_keys = per_task ? 2 : 1,
				     .columns = exit_columns,
				     .is_flat = true,
				     .main = 1};
	hashmap_each (&k->reasons, e) {
		struct reason *const found = e->value;

		if (found->exits) /* else they turned out to be nested guests' */
			vector_push(&reasons, found);
		all_ns += (double)found->took.sum;
	}
	if (reasons.len)
		qsort(reasons.items, reasons.len, sizeof(*reasons.items), by_time);
	for (size_t i = 0; i < reasons.len; i++) {
		const char **names = arena_new_array(&ret->arena, const char *, 2);
		u32 n = 0;

		if (per_task)
			names[n++] = arena_strdup(&ret->arena, reasons.items[i]->vcpu);
		names[n] = arena_strdup(&ret->arena, reasons.items[i]->name);
		fill_exits(table_add(ret, n, names), reasons.items[i], all_ns);
	}
	vector_free(&reasons);
}

static void exits_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct kvm *const k = state;

	if (k->open)
		strbuf_addf(out,
			    "\nnot in the times: %" PRIu64
			    " exits whose next entry was not recorded\n",
			    k->open);
}

/* ---- the table of virtual CPUs ---- */

static const struct table_column vcpu_columns[] = {
	{"guest_ns", "GUEST(ms)", TABLE_MS, true},
	{"nested_ns", "NESTED(ms)", TABLE_MS, true},
	{"host_ns", "HOST(ms)", TABLE_MS, true},
	{"halted_ns", "HALTED(ms)", TABLE_MS, true},
	{"asleep_ns", "ASLEEP(ms)", TABLE_MS, true},
	{"waited_ns", "WAITED(ms)", TABLE_MS, true},
	{"exits", "EXITS", TABLE_COUNT, true},
	{"interrupts", "INTERRUPTS", TABLE_COUNT, true},
	{"faults", "FAULTS", TABLE_COUNT, true},
	{0},
};

static int by_guest(const void *a, const void *b)
{
	const struct vcpu *x = *(struct vcpu *const *)a, *y = *(struct vcpu *const *)b;

	if (x->ns[GUEST] != y->ns[GUEST])
		return x->ns[GUEST] < y->ns[GUEST] ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_wait(const void *a, const void *b)
{
	const struct rival *x = *(struct rival *const *)a, *y = *(struct rival *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void add_vcpu(struct report_table *t, const struct vcpu *v)
{
	u64 *value = table_add_flat(t, v->name)->values;

	for (u32 i = 0; i < DOINGS; i++)
		*value++ = (u64)v->ns[i];
	*value++ = v->exits;
	*value++ = v->interrupts;
	*value++ = v->faults;
}

static void vcpus_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct kvm *const k = state;

	*ret = (struct report_table){.keys = {"vcpu"}, .nr_keys = 1, .columns = vcpu_columns};
	hashmap_each (&k->vcpus, e)
		vector_push(&k->sorted, (struct vcpu *)e->value);
	if (k->sorted.len)
		qsort(k->sorted.items, k->sorted.len, sizeof(*k->sorted.items), by_guest);
	for (size_t i = 0; i < k->sorted.len; i++)
		add_vcpu(ret, k->sorted.items[i]);
	if (!k->has_switches) {
		diag_warning(d, NO_SPAN,
			     "no sched:sched_switch was recorded: HOST has the time without a CPU");
		analysis_hint_record(&analysis_vcpus, d);
	}
}

static void rivals_text(const struct vcpu *v, u64 limit, struct strbuf *out)
{
	VECTOR(struct rival *) rivals = {0};

	hashmap_each (&v->rivals, e)
		vector_push(&rivals, (struct rival *)e->value);
	if (rivals.len)
		qsort(rivals.items, rivals.len, sizeof(*rivals.items), by_wait);
	for (size_t i = 0; i < rivals.len && (!limit || i < limit); i++)
		strbuf_addf(out, "%s waited %.3f ms for %s\n", v->name,
			    (double)rivals.items[i]->ns / 1e6, rivals.items[i]->name);
	vector_free(&rivals);
}

static bool is_thread_of(const struct clock_relation *machine, u32 tid)
{
	for (size_t i = 0; i < machine->threads.len; i++)
		if (machine->threads.items[i] == tid)
			return true;
	return false;
}

static void add_steal(const char *machine, const struct vcpu *v, u64 ns, struct strbuf *out)
{
	strbuf_addf(out, "%s waited %.3f ms in all; inside, ", v->name,
		    (double)v->ns[WAITING] / 1e6);
	escape_line(out, machine, strlen(machine));
	strbuf_addf(out, " counted %.3f ms of steal\n", (double)ns / 1e6);
}

/* What its machine says of the same time. */
static void steal_text(const struct kvm *k, const struct vcpu *v, struct strbuf *out)
{
	for (size_t i = 0; i < k->machines.len; i++) {
		const struct clock_relation *const m = k->machines.items[i];

		for (size_t j = 0; j < m->steal.len && is_thread_of(m, v->tid); j++)
			if (m->steal.items[j].cpu == v->number)
				add_steal(m->machine, v, m->steal.items[j].ns, out);
	}
}

/* For whom the virtual CPUs waited. */
static void vcpus_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct kvm *const k = state;

	strbuf_addch(out, '\n');
	for (size_t i = 0; i < k->sorted.len; i++) {
		rivals_text(k->sorted.items[i], style->limit, out);
		steal_text(k, k->sorted.items[i], out);
	}
}

static const char *const recorded_exits[] = {"kvm:kvm_entry", "kvm:kvm_exit",
					     "kvm:kvm_nested_vmexit",
					     "kvm:kvm_nested_vmexit_inject", NULL};
static const char *const recorded_vcpus[] = {
	"kvm:kvm_entry",      "kvm:kvm_exit",	    "kvm:kvm_nested_vmexit", "kvm:kvm_inj_virq",
	"kvm:kvm_page_fault", "sched:sched_switch", "sched:sched_waking",    NULL};

const struct report_analysis analysis_exits = {
	.events = exit_events,
	.record = recorded_exits,
	.begin = kvm_begin,
	.feed = kvm_feed,
	.lost = kvm_lost,
	.finish = exits_finish,
	.text = exits_text,
	.release = kvm_release,
};

const struct report_analysis analysis_vcpus = {
	.events = vcpu_events,
	.record = recorded_vcpus,
	.record_machine = true,
	.begin = kvm_begin,
	.machine = kvm_machine,
	.feed = kvm_feed,
	.lost = kvm_lost,
	.finish = vcpus_finish,
	.text = vcpus_text,
	.release = kvm_release,
};
