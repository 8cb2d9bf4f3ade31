/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/spans.h"

#include "arch/arch.h"
#include "trace/xen/change.h"

/* ---- which events are slices ---- */

struct slice_events {
	/* short names; '*' at the end stands for the slice's name */
	const char *begin, *end;
	bool is_of_cpu; /* on the track of interrupts; else of the thread */
	bool nests;
	bool is_checked; /* the end has this field, too, with the same value */
	const char *field; /* that has the name; NULL: the event's */
	const char *what; /* stands before a number */
};

static const struct slice_events slices[] = {
	{"sys_enter", "sys_exit", .is_checked = true, .field = "id", .what = "syscall"},
	{"sys_enter_*", "sys_exit_*"},
	{"syscall_entry_*", "syscall_exit_*"},
	{"irq_handler_entry", "irq_handler_exit", .is_of_cpu = true, .field = "name",
	 .what = "irq"},
	{"softirq_entry", "softirq_exit", .is_of_cpu = true, .is_checked = true, .field = "vec",
	 .what = "softirq"},
	{"irq_softirq_entry", "irq_softirq_exit", .is_of_cpu = true, .is_checked = true,
	 .field = "vec", .what = "softirq"},
	{"local_timer_entry", "local_timer_exit", .is_of_cpu = true},
	{"reschedule_entry", "reschedule_exit", .is_of_cpu = true},
	{"call_function_entry", "call_function_exit", .is_of_cpu = true},
	{"call_function_single_entry", "call_function_single_exit", .is_of_cpu = true},
	{"irq_work_entry", "irq_work_exit", .is_of_cpu = true},
	{"workqueue_execute_start", "workqueue_execute_end", .field = "function", .what = "work"},
	{"initcall_start", "initcall_finish", .is_checked = true, .field = "func",
	 .what = "initcall"},
	{"vmexit", "vmentry", .field = "exit_reason", .what = "exit"},
	{"func_entry", "func_exit", .nests = true, .field = "addr", .what = "function"},
	{"funcgraph_entry", "funcgraph_exit", .nests = true, .is_checked = true, .field = "func",
	 .what = "function"},
};

/* Numbers that go up and down. */
static const struct {
	const char *event, *value, *index;
	const char *of; /* a further field that tells one from another; NULL = none */
} counters[] = {
	{"cpu_frequency", "state", "cpu_id"},
	{"cpu_idle", "state", "cpu_id"},
	{"rss_stat", "size", "member", "mm_id"},
};

/* *ret_rest: what stands for the '*'; NULL where there is none. Set if it matches. */
static bool matches(const char *pattern, const char *name, const char **ret_rest)
{
	const size_t n = strlen(pattern) - 1;
	const bool is_open = pattern[n] == '*';

	if (is_open ? strncmp(pattern, name, n) || !name[n] : !str_eq(pattern, name))
		return false;
	*ret_rest = is_open ? name + n : NULL;
	return true;
}

static const char *short_name(const struct recorded_kind *k)
{
	return k->short_name ?: k->name;
}

/* ---- state ---- */

u32 spans_host(struct spans *t, const char *host)
{
	void **at = hashmap_put(&t->hosts, host, strlen(host), NULL);

	if (!*at)
		*at = (void *)(uintptr_t)t->hosts.len;
	return (u32)(uintptr_t)*at - 1;
}

struct slot_key {
	u64 host, what;
	s64 id;
};

#define RUNNING 0 /* what: or 1 + the index in the table */

/* What has begun on a track, the outermost first. */
struct slot {
	struct span_track track;
	bool is_running;
	VECTOR(struct span_held) held;
};

static struct slot *slot_of(struct spans *t, u64 what, struct span_track track)
{
	const struct slot_key key = {track.host, what << 8 | track.kind, track.id};
	void **at = hashmap_put(&t->slots, &key, sizeof(key), NULL);
	struct slot *s = *at;

	if (!s) {
		*at = s = xzalloc(sizeof(*s));
		s->track = track;
		s->is_running = what == RUNNING;
	}
	return s;
}

static uintptr_t *flow_to(struct spans *t, u32 host, s64 tid)
{
	const s64 key[2] = {host, tid};

	return (uintptr_t *)hashmap_put(&t->flows, key, sizeof(key), NULL);
}

static void release(struct span_held *h)
{
	free(h->name);
	free(h->fields);
	free(h->comm);
	*h = (struct span_held){0};
}

/* The name is copied; so are the event's fields: they are needed if no end comes. */
static void hold(struct spans *t, struct slot *s, struct recording *r,
		 const struct recorded_place *p, const char *name, size_t n, s64 check, u64 flow)
{
	struct strbuf fields = STRBUF_INIT;
	struct json j = JSON_INIT(&fields);

	if (!t->without_fields)
		r->reader->fields(r, &j);
	vector_push(&s->held,
		    (struct span_held){.ns = r->ns,
				       .check = check,
				       .begun = t->event,
				       .losses = t->losses,
				       .category = r->kind->name,
				       .name = xstrndup(name, n),
				       .fields = t->without_fields ? NULL : strbuf_detach(&fields),
				       .comm = xstrndup(p->comm ?: "", p->comm_size),
				       .flow_to = flow});
}

/* ---- items ---- */

static struct span_track thread_track(const struct recorded_place *p, u32 host)
{
	const s64 tid = p->tid >= 0 ? p->tid : p->pid;

	if (tid > 0)
		return (struct span_track){TRACK_THREAD, host, tid, p->pid >= 0 ? p->pid : tid};
	return (struct span_track){p->cpu >= 0 ? TRACK_CPU : TRACK_NONE, host, p->cpu, 0};
}

static struct span_item instant(const struct recording *r, struct span_track track)
{
	return (struct span_item){.kind = ITEM_INSTANT,
				  .track = track,
				  .ns = r->ns,
				  .name = r->kind->name,
				  .name_size = strlen(r->kind->name),
				  .category = r->kind->name};
}

/* The last one that began; it stays until the next. */
static struct span_item taken(struct spans *t, struct slot *s, enum item_kind kind)
{
	struct span_held *const h = &t->done;

	release(h);
	*h = s->held.items[--s->held.len];
	return (struct span_item){
		.kind = kind,
		.track = s->track,
		.ns = h->ns,
		.begun = h->begun,
		.name = kind == ITEM_INSTANT ? h->category : h->name,
		.name_size = strlen(kind == ITEM_INSTANT ? h->category : h->name),
		.category = h->category,
		.fields = h->fields,
		.comm = h->comm,
		.flow_to = kind == ITEM_INSTANT ? 0 : h->flow_to,
	};
}

/* The last one ends here, if it is the one that CHECK says, and time has not gone backwards. */
static bool ends(struct spans *t, struct slot *s, const struct recording *r, s64 check,
		 struct span_item *ret)
{
	const struct span_held *const last = &s->held.items[s->held.len - 1];
	const bool is_it = last->check == check && last->ns <= r->ns && last->losses == t->losses;

	*ret = taken(t, s, is_it ? ITEM_SLICE : ITEM_INSTANT);
	ret->end_ns = r->ns;
	return is_it;
}

static bool number_of(struct recording *r, const char *name, const char *other, s64 *ret)
{
	return recorded_number(r, name, ret) || recorded_number(r, other, ret);
}

/* Who ran ends, who runs next begins; idle CPUs are empty. */
static size_t switched(struct spans *t, struct recording *r, const struct recorded_place *p,
		       u32 host, struct span_item *ret)
{
	struct slot *s;
	bool is_carried = false;
	const char *name;
	size_t n = 0, size;
	s64 next, previous;

	if (p->cpu < 0 || !number_of(r, "next_pid", "next_tid", &next) ||
	    !number_of(r, "prev_pid", "prev_tid", &previous)) {
		*ret = instant(r, thread_track(p, host));
		return 1;
	}
	s = slot_of(t, RUNNING, (struct span_track){TRACK_CPU, host, p->cpu, 0});
	if (s->held.len) {
		is_carried = ends(t, s, r, previous, ret);
		if (is_carried)
			ret->fields = NULL; /* the end has all that is said of the thread */
		n++;
	}
	if (next) {
		uintptr_t *const flow = flow_to(t, host, next);

		recorded_text(r, "next_comm", &name, &size);
		hold(t, s, r, p, name, size, next, *flow);
		*flow = 0;
	} else if (!is_carried) {
		ret[n++] = instant(r, s->track);
	}
	return n;
}

/* The same by what Xen tells of a virtual CPU, in two events. */
static size_t xen_changed(struct spans *t, struct recording *r, const struct recorded_place *p,
			  u32 host, struct span_item *ret)
{
	struct xen_change c;
	struct slot *s;
	char name[32];

	*ret = instant(r, thread_track(p, host));
	if (!xen_change_of(r, &c) || !c.tid || p->cpu < 0)
		return 1;
	s = slot_of(t, RUNNING, (struct span_track){TRACK_CPU, host, p->cpu, 0});
	if (c.now == XEN_RUNNING) {
		xen_name(c.domain, c.vcpu, name, sizeof(name));
		hold(t, s, r, p, name, strlen(name), c.tid, 0);
		return 0;
	}
	if (c.before == XEN_RUNNING && s->held.len)
		ends(t, s, r, c.tid, ret);
	return 1;
}

/* From who wakes to where the woken thread runs. */
static size_t woken(struct spans *t, struct recording *r, const struct recorded_place *p, u32 host,
		    struct span_item *ret)
{
	uintptr_t *flow;
	s64 tid;

	*ret = instant(r, thread_track(p, host));
	if (!number_of(r, "pid", "tid", &tid))
		return 1;
	flow = flow_to(t, host, tid);
	if (!*flow)
		*flow = ret->flow_from = ++t->last_flow;
	return 1;
}

/* What tells one slice of its kind from another: a number or text that both ends have. */
static s64 check_of(struct recording *r, const struct slice_events *s, const char *rest)
{
	const struct field_value v =
		s->is_checked ? r->reader->value(r, s->field, true) : (struct field_value){0};

	if (v.kind == FIELD_INTEGER)
		return (s64)v.integer;
	return rest ? hash_bytes(rest, strlen(rest)) : 0;
}

static void empty_name(struct spans *t)
{
	if (!t->name.data)
		t->name = (struct strbuf)STRBUF_INIT;
	strbuf_reset(&t->name);
}

/* What a number stands for; NULL = nobody knows. */
static const char *known_name(struct recording *r, const char *what, u64 number)
{
	/* include/linux/interrupt.h */
	static const char *const softirqs[] = {
		"softirq HI",	   "softirq TIMER",    "softirq NET_TX",  "softirq NET_RX",
		"softirq BLOCK",   "softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED",
		"softirq HRTIMER", "softirq RCU"};

	if (str_eq(what, "syscall"))
		return arch_syscall_name(number);
	if (str_eq(what, "softirq"))
		return number < ARRAY_SIZE(softirqs) ? softirqs[number] : NULL;
	return r->reader->function ? r->reader->function(r, number) : NULL;
}

static void name_slice(struct spans *t, struct recording *r, const struct slice_events *s,
		       const char *rest)
{
	struct field_value v = {0};
	const char *known;

	empty_name(t);
	if (s->field)
		v = r->reader->value(r, s->field, true);
	known = v.kind == FIELD_INTEGER && s->what ? known_name(r, s->what, v.integer) : NULL;
	if (v.kind == FIELD_TEXT || (v.kind == FIELD_INTEGER && v.text))
		strbuf_add(&t->name, v.text, v.size);
	else if (known)
		strbuf_addstr(&t->name, known);
	else if (v.kind == FIELD_INTEGER)
		strbuf_addf(&t->name, v.integer > UINT32_MAX ? "%s 0x%" PRIx64 : "%s %" PRIu64,
			    s->what, v.integer);
	else
		strbuf_addstr(&t->name, rest ?: r->kind->name);
}

static size_t sliced(struct spans *t, struct recording *r, const struct recorded_place *p, u32 host,
		     const struct slice_events *e, const char *rest, bool begins,
		     struct span_item *ret)
{
	const struct span_track track =
		e->is_of_cpu && p->cpu >= 0 ? (struct span_track){TRACK_INTERRUPTS, host, p->cpu, 0}
					    : thread_track(p, host);
	struct slot *const s = slot_of(t, 1 + (u64)(e - slices), track);
	const s64 check = check_of(r, e, rest);
	size_t n = 0;

	if (begins) {
		if (s->held.len && !e->nests) /* its end was not recorded */
			ret[n++] = taken(t, s, ITEM_INSTANT);
		name_slice(t, r, e, rest);
		hold(t, s, r, p, t->name.data, t->name.len, check, 0);
		return n;
	}
	if (!s->held.len || !ends(t, s, r, check, &ret[n++]))
		ret[n++] = instant(r, track);
	return n;
}

static bool counted(struct spans *t, struct recording *r, u32 host, struct span_item *ret)
{
	const char *const name = short_name(r->kind);
	s64 value, index, of;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (!str_eq(counters[i].event, name) ||
		    !recorded_number(r, counters[i].value, &value))
			continue;
		if (!recorded_number(r, counters[i].index, &index))
			index = -1;
		*ret = instant(r, (struct span_track){TRACK_COUNTER, host, index, 0});
		ret->kind = ITEM_COUNTER;
		empty_name(t);
		strbuf_addstr(&t->name, counters[i].event);
		if (counters[i].of && recorded_number(r, counters[i].of, &of))
			strbuf_addf(&t->name, " %s %" PRId64, counters[i].of, of);
		ret->name = t->name.data;
		ret->name_size = t->name.len;
		/* of idleness: no state, it has ended */
		ret->value = value == UINT32_MAX ? -1 : value;
		return true;
	}
	return false;
}

bool spans_know(const struct recorded_kind *k)
{
	const char *const name = short_name(k), *rest;

	for (size_t i = 0; i < ARRAY_SIZE(slices); i++)
		if (matches(slices[i].begin, name, &rest) || matches(slices[i].end, name, &rest))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (str_eq(counters[i].event, name))
			return true;
	return false;
}

void spans_lost(struct spans *t)
{
	t->losses++;
}

size_t spans_items(struct spans *t, struct recording *r, const struct recorded_place *place,
		   struct span_item *ret)
{
	const char *const name = short_name(r->kind), *rest = NULL;
	const u32 host = spans_host(t, place->host ?: "");

	if (r->lost)
		spans_lost(t);
	if (str_eq(name, "sched_switch"))
		return switched(t, r, place, host, ret);
	if (xen_is_change(r->kind))
		return xen_changed(t, r, place, host, ret);
	if (str_eq(name, "sched_waking") || str_eq(name, "sched_wakeup"))
		return woken(t, r, place, host, ret);
	for (size_t i = 0; i < ARRAY_SIZE(slices); i++) {
		const bool begins = matches(slices[i].begin, name, &rest);

		if (begins || matches(slices[i].end, name, &rest))
			return sliced(t, r, place, host, &slices[i], rest, begins, ret);
	}
	if (!counted(t, r, host, ret))
		*ret = instant(r, thread_track(place, host));
	return 1;
}

/* Who ran at the end may have stopped since: of one process only its own switches are recorded. */
bool spans_rest(struct spans *t, struct span_item *ret)
{
	for (; t->rest < t->slots.len; t->rest++) {
		struct slot *const s = t->slots.entries[t->rest].value;

		if (!s->held.len)
			continue;
		*ret = taken(t, s,
			     s->is_running || vector_last(&s->held).losses != t->losses
				     ? ITEM_INSTANT
				     : ITEM_UNFINISHED);
		return true;
	}
	return false;
}

void spans_release(struct spans *t)
{
	hashmap_each (&t->slots, e) {
		struct slot *const s = e->value;

		for (size_t i = 0; i < s->held.len; i++)
			release(&s->held.items[i]);
		vector_free(&s->held);
		free(s);
	}
	release(&t->done);
	hashmap_release(&t->slots);
	hashmap_release(&t->hosts);
	hashmap_release(&t->flows);
	strbuf_release(&t->name);
}
