// SPDX-License-Identifier: MIT
/* Running a filter that vm_check.c has accepted. */
#include "vm_helpers.h"
#include "vm_internal.h"
#include <linux/bpf_common.h>
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
	switch (type & 0x1f) {
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

/* The bytes of a field at FROM; its value and length. -1: it does not end in the record. */
static long field_at(const struct pt_vm_field *field, const unsigned char *from, size_t room,
		     uint64_t *ret_value, uint64_t *ret_length)
{
	const uint8_t kind = field->type & 0xe0;
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

/* One field without all the others, where its place is fixed. */
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

/* The same for a program with memory: texts have an end in the context, and most fields need none of it. */
static inline uint64_t field_of(struct memory *m, unsigned int slot, uint8_t width)
{
	const struct pt_vm_field *const field = &m->view->field[slot];
	uint64_t value, length;

	if (!m->has_context && slot < m->view->nr && field->offset != 0xffff &&
	    field->type != PANTRACE_T_TEXT && field->offset <= m->record_size) {
		if (field_at(field, m->record + field->offset, m->record_size - field->offset, &value,
			     &length) < 0)
			return 0;
		return cut(value, width);
	}
	context_have(m);
	return cut(m->context[slot], width);
}

/* ---- comparisons ---- */

static inline bool holds(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return (int64_t)a > (int64_t)b;
	case BPF_JSGE:
		return (int64_t)a >= (int64_t)b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	default:
		return (int64_t)a <= (int64_t)b;
	}
}

static inline bool holds_narrow(uint8_t op, uint64_t a, uint64_t b)
{
	if (op >= BPF_JSGT && op != BPF_JLT && op != BPF_JLE)
		return holds(op, (uint64_t)(int64_t)(int32_t)a, (uint64_t)(int64_t)(int32_t)b);
	return holds(op, (uint32_t)a, (uint32_t)b);
}

static inline uint64_t extend(uint64_t value, unsigned int bits)
{
	return bits ? (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits)) : value;
}

/* ---- instructions ---- */

static uint64_t swap(uint64_t value, int64_t bits, bool to_big)
{
	if (bits == 16)
		return to_big ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;
	if (bits == 32)
		return to_big ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
	return to_big ? __builtin_bswap64(value) : value;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool is_rest, bool wide)
{
	if (!wide && is_signed) {
		a = (uint64_t)(int64_t)(int32_t)a;
		b = (uint64_t)(int64_t)(int32_t)b;
	} else if (!wide) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	if (!b)
		return is_rest ? a : 0;
	if (!is_signed)
		return is_rest ? a % b : a / b;
	if (b == (uint64_t)-1) /* the least number has no opposite */
		return is_rest ? 0 : -a;
	return is_rest ? (uint64_t)((int64_t)a % (int64_t)b) : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t compute(const struct pt_vm_op *op, uint64_t a, uint64_t b, bool wide)
{
	const unsigned int mask = wide ? 63 : 31;

	switch (BPF_OP(op->code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return divide(a, b, op->off, false, wide);
	case BPF_MOD:
		return divide(a, b, op->off, true, wide);
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & mask);
	case BPF_RSH:
		return (wide ? a : (uint32_t)a) >> (b & mask);
	case BPF_ARSH:
		return wide ? (uint64_t)((int64_t)a >> (b & mask))
			    : (uint64_t)(int64_t)((int32_t)a >> (b & mask));
	case BPF_NEG:
		return -a;
	default: /* BPF_MOV; sign-extending with off */
		return op->off ? extend(b, (unsigned int)op->off) : b;
	}
}

static size_t access_size(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static bool memory_op(struct memory *m, const struct pt_vm_op *op, uint64_t *r)
{
	const size_t n = access_size(op->code);
	const bool loads = BPF_CLASS(op->code) == BPF_LDX;
	const uint64_t address = r[loads ? op->src : op->dst] + (uint64_t)(int64_t)op->off;
	uint64_t value = 0;

	if (loads) {
		if (!may_read(m, address, n))
			return false;
		memcpy(&value, (const void *)(uintptr_t)address, n);
		r[op->dst] =
			BPF_MODE(op->code) == BPF_MEM ? value : extend(value, (unsigned int)n * 8);
		return true;
	}
	if (!may_write(m, address, n))
		return false;
	value = BPF_CLASS(op->code) == BPF_ST ? (uint64_t)op->imm : r[op->src];
	if (BPF_CLASS(op->code) == BPF_STX && BPF_MODE(op->code) == BPF_ATOMIC) {
		uint64_t old; /* the memory is this run's alone */

		memcpy(&old, (const void *)(uintptr_t)address, 8);
		value += old;
	}
	memcpy((void *)(uintptr_t)address, &value, n);
	return true;
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
		const uint8_t class = op->code & 7;
		uint64_t b;

		/* what programs mostly consist of, by one jump */
		switch (op->code) {
		case BPF_ALU64 | BPF_MOV | BPF_K:
			r[op->dst] = (uint64_t)op->imm;
			continue;
		case BPF_ALU | BPF_MOV | BPF_K:
			r[op->dst] = (uint32_t)op->imm;
			continue;
		case BPF_ALU64 | BPF_MOV | BPF_X:
			r[op->dst] = op->off ? extend(r[op->src], (unsigned int)op->off) : r[op->src];
			continue;
		case BPF_ALU64 | BPF_ADD | BPF_K:
			r[op->dst] += (uint64_t)op->imm;
			continue;
		case BPF_LD | BPF_IMM | BPF_DW:
			r[op->dst] = (uint64_t)op->imm;
			at++;
			continue;
		case BPF_JMP | BPF_EXIT:
			return r[0];
		case BPF_JMP | BPF_CALL:
			r[0] = m ? call(m, op->imm, r, &bad) : 0;
			if (bad || !m)
				return 1;
			continue;
		default:
			break;
		}
		b = op->code & BPF_X ? r[op->src] : (uint64_t)op->imm;
		if (op->code == PT_VM_FIELD) {
			const unsigned int slot = (unsigned int)op->off / 8;

			r[op->dst] = extend(m ? field_of(m, slot, op->width)
					      : field_load(view, record, size, slot, op->width),
					    (unsigned int)op->imm);
			continue;
		}
		switch (class) {
		case BPF_ALU64:
			r[op->dst] = compute(op, r[op->dst], b, true);
			break;
		case BPF_ALU:
			r[op->dst] = BPF_OP(op->code) == BPF_END
					     ? swap(r[op->dst], op->imm, op->code & BPF_X)
					     : (uint32_t)compute(op, r[op->dst], b, false);
			break;
		case BPF_JMP:
			if (BPF_OP(op->code) == BPF_JA || holds(BPF_OP(op->code), r[op->dst], b))
				at = (uint32_t)((int64_t)at + op->off);
			break;
		case BPF_JMP32:
			if (BPF_OP(op->code) == BPF_JA)
				at = (uint32_t)((int64_t)at + op->imm);
			else if (holds_narrow(BPF_OP(op->code), r[op->dst], b))
				at = (uint32_t)((int64_t)at + op->off);
			break;
		default:
			if (!m || !memory_op(m, op, r))
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
		const bool yes = q->narrow ? holds_narrow(q->compare, value, (uint64_t)q->with)
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
