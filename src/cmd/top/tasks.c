/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/tasks.h"

#include "base/clock.h"
#include "engine/engine.h"

/* Members of the script's SNAPSHOT. */
enum member { PROCESS, PARENT, COMM, STATE, EXIT_STATE, AT, GROUP, FIRST_COUNT };

#define EXIT_DEAD   16 /* include/linux/sched.h */
#define EXIT_ZOMBIE 32

/* Bits of task_struct.__state, with the letters of fs/proc/array.c; 0 is R. */
static const struct {
	u32 bits;
	char letter;
} states[] = {
	{0x402, 'I'}, /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD: idle */
	{0x001, 'S'}, {0x002, 'D'},  {0x004, 'T'},  {0x008, 't'}, {0x080, 'X'},
	{0x040, 'P'}, {0x1000, 'D'}, {0x8000, 'D'}, /* waits for a lock of RT; frozen */
};

static char state_letter(u64 state, u64 exit_state)
{
	if (exit_state)
		return exit_state & EXIT_ZOMBIE ? 'Z' : 'X';
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if ((state & states[i].bits) == states[i].bits)
			return states[i].letter;
	return 'R';
}

static u64 number(const struct type *tuple, const u8 *data, u32 member)
{
	return (u64)value_integer(tuple->members[member].type,
				  data + tuple->members[member].offset);
}

static struct task decode(const struct map_view *v, const struct map_row *r)
{
	const struct type_member *const comm = &v->value->members[COMM];
	struct task t = {
		.tid = (u32)number(v->key, r->key, 0),
		.start_ns = number(v->key, r->key, 1),
		.process = (u32)number(v->value, r->value, PROCESS),
		.parent = (u32)number(v->value, r->value, PARENT),
		.at_ns = number(v->value, r->value, AT),
		.group_ns = number(v->value, r->value, GROUP),
		.state = state_letter(number(v->value, r->value, STATE),
				      number(v->value, r->value, EXIT_STATE)),
		.is_released = number(v->value, r->value, EXIT_STATE) & EXIT_DEAD,
	};

	memcpy(t.comm, r->value + comm->offset, MIN(sizeof(t.comm) - 1, comm->type->size));
	for (u32 i = 0; i < KERNEL_COUNTS; i++)
		t.totals[i] = number(v->value, r->value, FIRST_COUNT + i);
	return t;
}

/* After execve() a thread has the first one's number, and maybe smaller totals. */
static u64 since(u64 now, u64 before)
{
	return now > before ? now - before : 0;
}

static void count(struct task *t, const struct task *before, u64 from_ns)
{
	const u64 span = since(t->at_ns, MAX(from_ns, t->start_ns));

	for (u32 i = 0; i < KERNEL_COUNTS; i++)
		t->counts[i] = since(t->totals[i], before ? before->totals[i] : 0);
	if (t->state != 'Z')
		t->counts[COUNT_OFF] = since(span, t->counts[COUNT_CPU] + t->counts[COUNT_RUNQ]);
}

static const struct task *find(const struct tasks *t, const void *key, size_t size)
{
	const size_t index = (size_t)(uintptr_t)hashmap_get(&t->index, key, size);

	return index ? &t->items.items[index - 1] : NULL;
}

static int add_map(struct engine *e, const char *name, bool have_ended, const struct tasks *before,
		   struct tasks *ret)
{
	const struct open_map *const m = engine_find_map(e, name);
	struct map_view v = {0};
	const int err = m ? map_view_read(m, true, &v) : -ENOENT;

	for (size_t i = 0; i < v.nrows && !err; i++) {
		const u8 *const key = v.rows[i].key;
		struct task t = decode(&v, &v.rows[i]);
		bool is_new;
		void **at;

		if (have_ended)
			t.state = 'X';
		if (before->to_ns)
			count(&t, find(before, key, v.key->size), before->to_ns);
		at = hashmap_put(&ret->index, key, v.key->size, &is_new);
		if (!is_new) { /* it ended after the walk over living tasks */
			ret->items.items[(size_t)(uintptr_t)*at - 1] = t;
			continue;
		}
		vector_push(&ret->items, t);
		*at = (void *)(uintptr_t)ret->items.len;
	}
	if (!err)
		map_view_release(&v);
	return err;
}

int tasks_read(struct engine *e, const struct tasks *before, struct tasks *ret)
{
	int err;

	*ret = (struct tasks){.from_ns = before->to_ns};
	err = engine_walk(e);
	ret->to_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (!err)
		err = add_map(e, "living", false, before, ret);
	if (!err)
		err = add_map(e, "dead", true, before, ret);
	return err;
}

void tasks_release(struct tasks *t)
{
	vector_free(&t->items);
	hashmap_release(&t->index);
	*t = (struct tasks){0};
}
