/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains of recorded events as stacks of a flame graph. */
#include "base/vector.h"
#include "cmd/flame/flame.h"

/* Suffixes of names in flamegraph.pl's inputs: main_[k] */
static const struct {
	char letter;
	enum flame_kind kind;
} suffixes[] = {{'k', FLAME_KERNEL}, {'i', FLAME_INLINED}, {'j', FLAME_COMPILED}};

static enum flame_kind kind_of_suffix(const char *name, size_t *len)
{
	const char *end = name + *len;

	if (*len < 5 || end[-4] != '_' || end[-3] != '[' || end[-1] != ']')
		return FLAME_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (suffixes[i].letter == end[-2]) {
			*len -= 4;
			return suffixes[i].kind;
		}
	return FLAME_OTHER;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static enum flame_kind kind_of_object(const struct stack_frame *frame, const char *object)
{
	if (frame->is_inlined)
		return FLAME_INLINED;
	if (frame->is_kernel)
		return FLAME_KERNEL;
	if (!*object)
		return FLAME_OTHER;
	if (str_starts(object, "//anon") || str_starts(object, "/tmp/perf-"))
		return FLAME_COMPILED;
	return strstr(base_of(object), ".so") || *object == '[' ? FLAME_LIBRARY : FLAME_USER;
}

static struct flame_frame frame_of(const struct stack_feed *feed, const struct stack_frame *f)
{
	const struct stacks *const s = &feed->stacks;
	size_t len;
	const char *const name = stacks_text(s, f->name, &len);
	struct flame_frame out = {.kind = kind_of_suffix(name, &len)};

	out.name = flame_name_number(feed->flame, name, len);
	if (out.kind == FLAME_OTHER)
		out.kind = kind_of_object(f, stacks_text(s, f->object, &len));
	return out;
}

/* A chain as stacks_read() has it. */
static void add_chain(struct stack_feed *feed, const u32 *key, size_t n, u64 weight)
{
	const struct stacks *const s = &feed->stacks;
	const char *root;
	size_t len;

	for (size_t i = feed->known.len; i < s->frames.len; i++)
		vector_push(&feed->known, frame_of(feed, &s->frames.items[i]));
	feed->frames.len = 0;
	root = stacks_text(s, key[0], &len);
	if (len)
		vector_push(&feed->frames, (struct flame_frame){.name = flame_name_number(
									feed->flame, root, len)});
	for (size_t i = 1; i < n; i++)
		vector_push(&feed->frames, feed->known.items[key[i]]);
	feed->is_full |=
		!flame_add(feed->flame, feed->frames.items, feed->frames.len, weight, feed->side);
}

void stack_feed_add(struct stack_feed *feed, struct recording *r)
{
	struct stacks *const s = &feed->stacks;
	u64 weight;

	if (feed->skips_idle && recording_place(r).tid == 0) {
		feed->idle++;
		return;
	}
	if (stacks_read(s, r, &weight) && weight)
		add_chain(feed, s->key.items, s->key.len, weight);
}

void stack_feed_release(struct stack_feed *feed)
{
	stacks_release(&feed->stacks);
	vector_free(&feed->known);
	vector_free(&feed->frames);
}

/* ---- off-CPU time ---- */

/* A thread that has left its CPU. */
struct absence {
	bool is_open;
	s64 ns; /* when */
	VECTOR(u32) key; /* where: as in struct stacks */
};

void off_cpu_choose(struct off_cpu *o, s64 task)
{
	o->is_chosen = true;
	*hashmap_put(&o->tasks, &task, sizeof(task), NULL) = o;
}

static bool is_chosen(const struct off_cpu *o, s64 task)
{
	return hashmap_get(&o->tasks, &task, sizeof(task));
}

/* False: the event has no such number. */
static bool task_field(struct recording *r, const char *name, s64 *ret)
{
	const struct field_value v = r->reader->value(r, name, true);

	*ret = (s64)v.integer;
	return v.kind == FIELD_INTEGER;
}

static void follow(struct off_cpu *o, struct recording *r)
{
	s64 parent, child;

	if (o->is_chosen && task_field(r, "parent_pid", &parent) &&
	    task_field(r, "child_pid", &child) &&
	    (is_chosen(o, parent) || is_chosen(o, recording_place(r).pid)))
		off_cpu_choose(o, child);
}

static void came_back(struct off_cpu *o, s64 tid, s64 ns)
{
	struct absence *const a = hashmap_get(&o->away, &tid, sizeof(tid));

	if (!a || !a->is_open)
		return;
	a->is_open = false;
	o->open--;
	if (ns >= a->ns)
		add_chain(o->feed, a->key.items, a->key.len, (u64)(ns - a->ns));
}

static void went_away(struct off_cpu *o, struct recording *r, s64 tid)
{
	struct stacks *const s = &o->feed->stacks;
	struct absence *a;
	void **at;
	u64 weight;

	if (!stacks_read(s, r, &weight))
		return;
	at = hashmap_put(&o->away, &tid, sizeof(tid), NULL);
	if (!*at)
		*at = arena_new(&o->arena, struct absence);
	a = *at;
	o->open += !a->is_open;
	a->is_open = true;
	a->ns = r->ns;
	a->key.len = 0;
	for (size_t i = 0; i < s->key.len; i++)
		vector_push(&a->key, s->key.items[i]);
}

/* After a gap nobody knows which threads came back. */
static void forget(struct off_cpu *o)
{
	hashmap_each (&o->away, e)
		((struct absence *)e->value)->is_open = false;
	o->cut += o->open;
	o->open = 0;
}

void off_cpu_add(struct off_cpu *o, struct recording *r, bool wanted)
{
	const char *const name = r->kind->short_name ?: r->kind->name;
	struct recorded_place place;
	s64 next;

	if (r->lost)
		forget(o);
	if (str_eq(name, "sched_process_fork"))
		follow(o, r);
	if (!str_eq(name, "sched_switch") || !task_field(r, "next_pid", &next))
		return;
	o->switches++;
	came_back(o, next, r->ns);
	place = recording_place(r);
	if (wanted && place.tid > 0 &&
	    (!o->is_chosen || is_chosen(o, place.tid) || is_chosen(o, place.pid)))
		went_away(o, r, place.tid);
}

void off_cpu_release(struct off_cpu *o)
{
	hashmap_each (&o->away, e)
		vector_free(&((struct absence *)e->value)->key);
	hashmap_release(&o->away);
	hashmap_release(&o->tasks);
	arena_release(&o->arena);
}
