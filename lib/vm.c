// SPDX-License-Identifier: MIT
/* Running a filter that vm_check.c has accepted. */
#include "vm_helpers.h"
#include "vm_internal.h"
#include "vm_run.h"
#include <pantrace/ring.h>
#include <string.h>

/* ---- fields ---- */

static uint64_t load_typed(const unsigned char *from, uint8_t type)
{
	union {
		int8_t i8;
		int16_t i16;
		int32_t i32;
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		float f32;
		double f64;
	} x;

	memset(&x, 0, sizeof(x));
	switch (type & PANTRACE_T_ELEMENT) {
	case PANTRACE_T_I8:
		x.i8 = (int8_t)*from;
		return (uint64_t)(int64_t)x.i8;
	case PANTRACE_T_U8:
	case PANTRACE_T_BOOL:
		return *from;
	case PANTRACE_T_I16:
		memcpy(&x, from, 2);
		return (uint64_t)(int64_t)x.i16;
	case PANTRACE_T_U16:
		memcpy(&x, from, 2);
		return x.u16;
	case PANTRACE_T_I32:
		memcpy(&x, from, 4);
		return (uint64_t)(int64_t)x.i32;
	case PANTRACE_T_U32:
		memcpy(&x, from, 4);
		return x.u32;
	case PANTRACE_T_F32:
		memcpy(&x, from, 4);
		x.f64 = (double)x.f32;
		return x.u64;
	default:
		memcpy(&x, from, 8);
		return x.u64;
	}
}

/* Finds the bytes of a field at FROM; its value and length. -1: it does not end in the record. */
static long field_at(const struct pt_vm_field *field, const unsigned char *from, size_t room,
		     uint64_t *ret_value, uint64_t *ret_length)
{
	const uint8_t kind = field->type & PANTRACE_T_KIND;
	size_t size = pt_vm_type_size(field->type);
	uint16_t n;

	*ret_length = 0;
	*ret_value = (uint64_t)(uintptr_t)from;
	if (kind == PANTRACE_T_ARRAY) {
		*ret_length = field->count;
		size *= field->count;
	} else if (kind == PANTRACE_T_SEQUENCE || field->type == PANTRACE_T_TEXT) {
		if (room < 2)
			return -1;
		memcpy(&n, from, 2);
		*ret_value += 2;
		*ret_length = n;
		size = 2 + n * (kind ? size : 1);
	} else if (field->type == PANTRACE_T_STRING) {
		const unsigned char *end = memchr(from, 0, room);

		if (!end)
			return -1;
		*ret_length = (uint64_t)(end - from);
		size = *ret_length + 1;
	} else {
		if (!size || size > room)
			return -1;
		*ret_value = load_typed(from, field->type);
	}
	return size <= room ? (long)size : -1;
}

void pt_vm_context(const struct pt_vm_view *view, const unsigned char *record, size_t size,
		   uint64_t context[PT_VM_SLOTS])
{
	size_t at = 12;

	memset(context, 0, PT_VM_SLOTS * sizeof(*context));
	for (uint32_t i = 0; i < view->nr && at <= size; i++) {
		const long n = field_at(&view->field[i], record + at, size - at, &context[i],
					&context[PT_VM_LENGTHS + i]);

		if (n < 0) {
			context[i] = context[PT_VM_LENGTHS + i] = 0;
			return;
		}
		at += (size_t)n;
	}
}

void pt_vm_end_texts(const struct pt_vm_view *view, uint64_t context[PT_VM_SLOTS],
		     char texts[PT_VM_TEXTS])
{
	size_t used = 0;

	texts[PT_VM_TEXTS - 1] = 0;
	for (uint32_t i = 0; i < view->nr; i++) {
		const size_t room = PT_VM_TEXTS - 1 - used, length = context[PT_VM_LENGTHS + i];
		const size_t n = length < room ? length : room;

		if (view->field[i].type != PANTRACE_T_TEXT || !context[i])
			continue;
		memcpy(texts + used, (const void *)(uintptr_t)context[i], n);
		texts[used + n] = 0;
		context[i] = (uint64_t)(uintptr_t)(texts + used);
		used += n + (n < room);
	}
}

static inline uint64_t cut(uint64_t value, uint8_t width)
{
	return width == BPF_DW	? value
	       : width == BPF_W ? (uint32_t)value
	       : width == BPF_H ? (uint16_t)value
				: (uint8_t)value;
}

/* Loads one field without the others, if its place is fixed. */
static inline uint64_t field_load(const struct pt_vm_view *view, const unsigned char *record,
				  size_t size, unsigned int slot, uint8_t width)
{
	const struct pt_vm_field *const field = &view->field[slot];
	uint64_t value, length;

	if (slot >= view->nr)
		return 0;
	if (field->offset != 0xffff) {
		if (field->offset > size || field_at(field, record + field->offset,
						     size - field->offset, &value, &length) < 0)
			return 0;
	} else {
		uint64_t context[PT_VM_SLOTS];

		pt_vm_context(view, record, size, context);
		value = context[slot];
	}
	return cut(value, width);
}

static void context_have(struct memory *m)
{
	if (m->has_context)
		return;
	pt_vm_context(m->view, m->record, m->record_size, m->context);
	pt_vm_end_texts(m->view, m->context, m->texts);
	m->has_context = true;
}

/*
 * The same for a program with memory: texts have an end in the context, and most fields need none
 * of it.
 */
static inline uint64_t field_of(struct memory *m, unsigned int slot, uint8_t width)
{
	const struct pt_vm_field *const field = &m->view->field[slot];
	uint64_t value, length;

	if (!m->has_context && slot < m->view->nr && field->offset != 0xffff &&
	    field->type != PANTRACE_T_TEXT && field->offset <= m->record_size) {
		if (field_at(field, m->record + field->offset, m->record_size - field->offset,
			     &value, &length) < 0)
			return 0;
		return cut(value, width);
	}
	context_have(m);
	return cut(m->context[slot], width);
}

/* ---- instructions ---- */

#define COMPARES(unused, op, condition) \
	case op:                        \
		return condition;
#define HOLDS(name, bits)                                                       \
	static inline bool name(uint8_t op, uint##bits##_t a, uint##bits##_t b) \
	{                                                                       \
		typedef int##bits##_t integer;                                  \
		switch (op) {                                                   \
			PT_VM_COMPARISONS(COMPARES, )                           \
		}                                                               \
		return false;                                                   \
	}
HOLDS(holds, 64)
HOLDS(holds_narrow, 32)

#define CALL_HELPER                                       \
	{                                                 \
		r[0] = m ? call(m, op->imm, r, &bad) : 0; \
		if (bad || !m)                            \
			return 1;                         \
	}
#define MEMORY(type, base, may)                  \
	const uint64_t where = WHERE(base);      \
	type value;                              \
	if (!m || !may(m, where, sizeof(value))) \
		return 1;
#define READ(type)                                                             \
	{                                                                      \
		MEMORY(type, SRC, may_read)                                    \
		memcpy(&value, (const void *)(uintptr_t)where, sizeof(value)); \
		r[op->dst] = (uint64_t)value;                                  \
	}
#define WRITE(type, operand)                                             \
	{                                                                \
		MEMORY(type, r[op->dst], may_write)                      \
		value = (type)(operand);                                 \
		memcpy((void *)(uintptr_t)where, &value, sizeof(value)); \
	}
#define ADD_TO(operand) /* the memory is this run's alone */                   \
	{                                                                      \
		MEMORY(uint64_t, r[op->dst], may_write)                        \
		memcpy(&value, (const void *)(uintptr_t)where, sizeof(value)); \
		value += operand;                                              \
		memcpy((void *)(uintptr_t)where, &value, sizeof(value));       \
	}
static uint64_t interpret(const struct pt_vm *vm, const struct pt_vm_view *view,
			  const unsigned char *record, size_t size, struct memory *m)
{
	uint64_t r[11] = {0};
	bool bad = false;
	uint32_t at = 0;

	r[1] = m ? (uint64_t)(uintptr_t)m->context : 0;
	r[10] = m ? (uint64_t)(uintptr_t)(m->stack + STACK) : 0;
	for (unsigned int steps = 0; steps < PT_VM_STEPS; steps++) {
		const struct pt_vm_op *const op = &vm->op[at++];

		switch (op->code) {
			PT_VM_INSTRUCTIONS(RUNS)
		case PT_VM_FIELD: {
			const unsigned int slot = (unsigned int)op->off / 8;

			r[op->dst] = extend(m ? field_of(m, slot, op->width)
					      : field_load(view, record, size, slot, op->width),
					    (unsigned int)op->imm);
			break;
		}
		default: /* no instruction that was accepted */
			return 1;
		}
	}
	return 1;
}

static __attribute__((noinline)) uint64_t run_with_memory(const struct pt_vm *vm,
							  const struct pt_vm_view *view,
							  const unsigned char *record, size_t size,
							  struct pt_tables *tables)
{
	struct memory m;

	m.tables = tables;
	m.record = record;
	m.record_size = size;
	m.view = view;
	m.scratch_size = vm->scratch_size;
	m.has_context = false;
	if (vm->needs_context)
		context_have(&m);
	return interpret(vm, view, record, size, &m);
}

uint64_t pt_vm_run(const struct pt_vm *vm, const struct pt_vm_view *view,
		   const unsigned char *record, size_t size)
{
	const struct pt_vm_quick *const q = &vm->quick;

	if (__builtin_expect(q->is_so, 1)) {
		const uint64_t value =
			extend(field_load(view, record, size, q->slot, q->width), q->extend);
		const bool yes =
			q->narrow ? holds_narrow(q->compare, (uint32_t)value, (uint32_t)q->with)
				  : holds(q->compare, value, (uint64_t)q->with);

		return yes ? q->yes : q->no;
	}
	if (vm->needs_context || vm->needs_memory)
		return run_with_memory(vm, view, record, size, NULL);
	return interpret(vm, view, record, size, NULL);
}

void pt_vm_count(const struct pt_vm *vm, const struct pt_vm_view *view, const unsigned char *record,
		 size_t size, struct pt_tables *tables)
{
	run_with_memory(vm, view, record, size, tables);
}
