/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/states.h"

#include "trace/xen/change.h"

struct thread {
	enum thread_state state;
	s64 cpu; /* that it runs on */
	u64 losses; /* states.losses when this was true */
};

/* Who came last on a CPU; 0 = it is idle. */
struct runner {
	u64 losses; /* states.losses + 1 when this was true; 0 = unknown */
	s64 tid;
};

static void *entry(struct states *s, struct hashmap *map, u32 host, s64 id, size_t size)
{
	const s64 key[2] = {host, id};
	void **at = hashmap_put(map, key, sizeof(key), NULL);

	if (!*at)
		*at = arena_alloc(&s->arena, size);
	return *at;
}

static struct thread *thread_of(struct states *s, u32 host, s64 tid)
{
	struct thread *const t = entry(s, &s->threads, host, tid, sizeof(*t));

	if (t->losses != s->losses)
		*t = (struct thread){.losses = s->losses};
	return t;
}

/* The kernel says pid, LTTng tid. */
static s64 number_of(struct recording *r, const char *name, const char *other)
{
	s64 v;

	return recorded_number(r, name, &v) || recorded_number(r, other, &v) ? v : -1;
}

static void add(struct state_change *c, struct thread *t, s64 tid, enum thread_state state,
		bool is_cut, struct recording *r, const char *comm)
{
	*c = (struct state_change){.tid = tid, .state = state, .is_cut = is_cut};
	if (comm && !recorded_text(r, comm, &c->comm, &c->comm_size))
		c->comm = NULL;
	t->state = state;
}

/*
 * prev_state: TASK_REPORT of include/linux/sched.h. From 0x100 on it says that the thread was
 * preempted and would run.
 */
static enum thread_state state_of(struct recording *r)
{
	static const struct {
		u32 bits;
		const char *letters; /* as prev_state is printed; "R+": preempted */
		enum thread_state state;
	} states[] = {{0x30, "XZ", THREAD_ENDED},
		      {0x0c, "Tt", THREAD_STOPPED},
		      {0x02, "D", THREAD_BLOCKED},
		      {0xff, "SPI", THREAD_SLEEPS}};
	const char *text = NULL;
	size_t len;
	s64 bits = 0;

	if (!recorded_number(r, "prev_state", &bits) &&
	    (!recorded_text(r, "prev_state", &text, &len) || !len))
		return THREAD_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (bits & states[i].bits || (text && *text && strchr(states[i].letters, *text)))
			return states[i].state;
	return THREAD_PREEMPTED;
}

static size_t switched(struct states *s, struct recording *r, u32 host, s64 cpu,
		       struct state_change *ret)
{
	const s64 prev = number_of(r, "prev_pid", "prev_tid");
	const s64 next = number_of(r, "next_pid", "next_tid");
	struct runner *on;
	struct thread *t;
	size_t n = 0;

	if (prev < 0 || next < 0 || cpu < 0)
		return 0;
	on = entry(s, &s->cpus, host, cpu, sizeof(*on));
	if (on->losses == s->losses + 1 && on->tid && on->tid != prev) {
		t = thread_of(s, host, on->tid);
		if (t->state == THREAD_RUNS && t->cpu == cpu)
			add(&ret[n++], t, on->tid, THREAD_UNKNOWN, true, r, NULL);
	}
	if (prev) {
		t = thread_of(s, host, prev);
		add(&ret[n++], t, prev, state_of(r), t->state != THREAD_RUNS || t->cpu != cpu, r,
		    "prev_comm");
	}
	if (next) {
		t = thread_of(s, host, next);
		add(&ret[n++], t, next, THREAD_RUNS, t->state == THREAD_RUNS, r, "next_comm");
		t->cpu = cpu;
	}
	*on = (struct runner){s->losses + 1, next};
	return n;
}

static size_t woken(struct states *s, struct recording *r, u32 host, struct state_change *ret,
		    s64 *ret_woken)
{
	const s64 tid = number_of(r, "pid", "tid");
	struct thread *t;

	if (tid <= 0)
		return 0;
	t = thread_of(s, host, tid);
	if (t->state == THREAD_RUNS || t->state == THREAD_WOKEN || t->state == THREAD_PREEMPTED)
		return 0;
	add(ret, t, tid, THREAD_WOKEN, false, r, "comm");
	*ret_woken = tid;
	return 1;
}

/* Both states are in the event; a loss may lie between it and the last one. */
static size_t xen_changed(struct states *s, struct recording *r, u32 host, s64 cpu,
			  struct state_change *ret)
{
	static const enum thread_state states[XEN_STATES] = {THREAD_RUNS, THREAD_WOKEN,
							     THREAD_SLEEPS, THREAD_STOPPED};
	struct xen_change c;
	struct thread *t;
	enum thread_state before, now;

	if (!xen_change_of(r, &c) || !c.tid)
		return 0;
	t = thread_of(s, host, c.tid);
	before = t->state == THREAD_PREEMPTED ? THREAD_WOKEN : t->state;
	now = c.now == XEN_RUNNABLE && c.before == XEN_RUNNING ? THREAD_PREEMPTED : states[c.now];
	xen_name(c.domain, c.vcpu, s->name, sizeof(s->name));
	*ret = (struct state_change){.tid = c.tid,
				     .state = now,
				     .is_cut = before != states[c.before],
				     .comm = s->name,
				     .comm_size = strlen(s->name)};
	*t = (struct thread){now, cpu, s->losses};
	return 1;
}

static bool is_switch(const struct recorded_kind *k)
{
	return str_eq(k->short_name ?: k->name, "sched_switch");
}

bool states_know(const struct recorded_kind *k)
{
	static const char *const wakeups[] = {"sched_waking", "sched_wakeup", "sched_wakeup_new"};

	for (size_t i = 0; i < ARRAY_SIZE(wakeups); i++)
		if (str_eq(k->short_name ?: k->name, wakeups[i]))
			return true;
	return is_switch(k) || xen_is_change(k);
}

size_t states_feed(struct states *s, struct recording *r, u32 host, s64 cpu,
		   struct state_change ret[STATE_CHANGES], s64 *ret_woken)
{
	*ret_woken = 0;
	return is_switch(r->kind)	? switched(s, r, host, cpu, ret)
	       : xen_is_change(r->kind) ? xen_changed(s, r, host, cpu, ret)
					: woken(s, r, host, ret, ret_woken);
}

void states_lost(struct states *s)
{
	s->losses++;
}

void states_release(struct states *s)
{
	hashmap_release(&s->threads);
	hashmap_release(&s->cpus);
	arena_release(&s->arena);
}
