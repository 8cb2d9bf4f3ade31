/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/evaluate.h"

enum { WORD = 8 };

/* ---- what is known ---- */

void known_register_set(struct known_thread *t, u16 offset, u64 value)
{
	const u32 i = offset / WORD;

	if (i >= THREAD_REGISTERS)
		return;
	t->registers[i] = value;
	t->known |= 1u << i;
}

void known_register_forget(struct known_thread *t, u16 offset)
{
	if (offset / WORD < THREAD_REGISTERS)
		t->known &= ~(1u << (offset / WORD));
}

bool known_register(const struct known_thread *t, u16 offset, u64 *ret)
{
	const u32 i = offset / WORD;

	if (i >= THREAD_REGISTERS || !(t->known >> i & 1))
		return false;
	*ret = t->registers[i];
	return true;
}

bool known_memory_read(const struct known_memory *m, u64 address, void *ret, u64 size)
{
	const u64 at = address - m->address;

	if (at >= m->size || size > m->size - at)
		return false;
	memcpy(ret, m->bytes + at, size);
	return true;
}

/* ---- steps ---- */

struct machine {
	const struct known_thread *thread;
	u64 stack[ACCESS_MAX_STACK];
	u32 depth;
};

static u64 extend(u64 v, u8 size, bool is_signed)
{
	const u32 shift = size && size < WORD ? 64 - 8u * size : 0;

	v <<= shift;
	return is_signed ? (u64)((s64)v >> shift) : v >> shift;
}

static u64 of_two(u8 op, u64 a, u64 b)
{
	const s64 x = (s64)a, y = (s64)b;

	switch (op) {
	case ACCESS_PLUS:
		return a + b;
	case ACCESS_MINUS:
		return a - b;
	case ACCESS_TIMES:
		return a * b;
	case ACCESS_AND:
		return a & b;
	case ACCESS_OR:
		return a | b;
	case ACCESS_XOR:
		return a ^ b;
	case ACCESS_SHIFT_LEFT:
		return b < 64 ? a << b : 0;
	case ACCESS_SHIFT_RIGHT:
		return b < 64 ? a >> b : 0;
	case ACCESS_SHIFT_SIGNED:
		return (u64)(x >> MIN(b, (u64)63));
	case ACCESS_EQUAL:
		return x == y;
	case ACCESS_NOT_EQUAL:
		return x != y;
	case ACCESS_LESS:
		return x < y;
	case ACCESS_LESS_EQUAL:
		return x <= y;
	case ACCESS_GREATER:
		return x > y;
	default:
		return x >= y;
	}
}

/* The number that a leaf pushes. */
static bool number_of(const struct known_thread *t, const struct access_step *s, u64 *ret)
{
	if (s->op == ACCESS_REGISTER)
		return known_register(t, s->offset, ret);
	if (s->op == ACCESS_ENTERED)
		return t->entered && t->entered(t->arg, s->offset, ret);
	*ret = (u64)s->value + (s->op == ACCESS_STATIC ? t->bias : 0);
	return true;
}

/* One step that works on the top of the stack. */
static bool change(const struct known_thread *t, const struct access_step *s, u64 *top)
{
	u64 v = 0;

	switch (s->op) {
	case ACCESS_ADD:
		*top += (u64)s->value;
		return true;
	case ACCESS_DEREF:
		if (s->size > WORD || !known_memory_read(&t->memory, *top, &v, s->size))
			return false;
		*top = v;
		return true;
	case ACCESS_EXTEND:
		*top = extend(*top, s->size, s->is_signed);
		return true;
	case ACCESS_NEGATE:
		*top = 0 - *top;
		return true;
	default: /* ACCESS_NOT */
		*top = ~*top;
		return true;
	}
}

static int step(struct machine *m, const struct access_step *s)
{
	if (s->op <= ACCESS_STATIC) {
		if (m->depth == ACCESS_MAX_STACK)
			return -EINVAL;
		return number_of(m->thread, s, &m->stack[m->depth++]) ? 0 : -ENODATA;
	}
	if (m->depth < (s->op >= ACCESS_PLUS ? 2u : 1u))
		return -EINVAL;
	if (s->op < ACCESS_PLUS)
		return change(m->thread, s, &m->stack[m->depth - 1]) ? 0 : -ENODATA;
	m->depth--;
	m->stack[m->depth - 1] = of_two(s->op, m->stack[m->depth - 1], m->stack[m->depth]);
	return 0;
}

int access_evaluate(const struct access *a, const struct known_thread *t, void *ret, u64 size)
{
	struct machine m = {.thread = t};
	int err = 0;

	for (u32 i = 0; i < a->count && !err; i++)
		err = step(&m, &a->steps[i]);
	if (err)
		return err;
	if (m.depth != 1)
		return -EINVAL;
	if (a->result == ACCESS_PLACE)
		return known_memory_read(&t->memory, m.stack[0], ret, size) ? 0 : -ENODATA;
	if (a->result != ACCESS_VALUE || size > WORD)
		return -EINVAL;
	memcpy(ret, m.stack, size);
	return 0;
}
