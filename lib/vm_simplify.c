// SPDX-License-Identifier: MIT
/*
 * Programs that are one comparison of one field: found when a program is loaded (struct
 * pt_vm_quick), and where the field is at a fixed place told as a range of its values.
 */
#include "vm_internal.h"
#include "vm_ops.h"
#include <pantrace/ring.h>

/* Registers that hold constants, while a program is followed without running it. */
struct constants {
	uint16_t known;
	uint64_t value[11];
};

/* Follows OP if it does nothing but move constants. */
static bool constants_step(struct constants *c, const struct pt_vm_op *op)
{
	const uint16_t bit = (uint16_t)(1u << op->dst);
	const bool is_copy = op->code == PT_VM_COPY && !op->off;

	if (is_copy && !(c->known & 1u << op->src)) {
		c->known &= (uint16_t)~bit;
		return true;
	}
	if (is_copy)
		c->value[op->dst] = c->value[op->src];
	else if (op->code == (BPF_ALU64 | BPF_MOV | BPF_K))
		c->value[op->dst] = (uint64_t)op->imm;
	else if (op->code == (BPF_ALU | BPF_MOV | BPF_K))
		c->value[op->dst] = (uint32_t)op->imm;
	else
		return false;
	c->known |= bit;
	return true;
}

/* Whether from AT on the result is a constant. */
static bool constant_end(const struct pt_vm *vm, int64_t at, struct constants c, uint64_t *ret)
{
	for (int i = 0; i < 16 && at >= 0 && at < (int64_t)vm->nr; i++) {
		const struct pt_vm_op *const op = &vm->op[at];

		if (op->code == PT_VM_EXIT) {
			*ret = c.value[0];
			return c.known & 1;
		}
		if (op->code == (BPF_JMP | BPF_JA)) {
			at += 1 + op->off;
			continue;
		}
		if (!constants_step(&c, op))
			return false;
		at++;
	}
	return false;
}

#define COMPARES(unused, op, condition) \
	case BPF_JMP | (op) | BPF_K:    \
	case BPF_JMP32 | (op) | BPF_K:  \
		return true;

static bool compares_constant(uint8_t code)
{
	switch (code) {
		PT_VM_COMPARISONS(COMPARES, )
	}
	return false;
}

/* Constants and copies; r = field; [r <<= n; r >>= n with the sign]; if r OP constant; constants
 * both ways. */
void pt_vm_simplify(struct pt_vm *vm)
{
	struct pt_vm_quick q = {0};
	struct constants c = {0};
	const struct pt_vm_op *op = vm->op, *const end = vm->op + vm->nr;
	uint8_t reg;

	while (op < end && op->code != PT_VM_FIELD)
		if (!constants_step(&c, op++))
			return;
	if (end - op < 3)
		return;
	reg = op->dst;
	q.slot = (uint8_t)(op->off / 8);
	q.width = op->width;
	q.extend = (uint8_t)op->imm;
	c.known &= (uint16_t) ~(1u << reg);
	op++;
	if (end - op > 2 && op[0].code == (BPF_ALU64 | BPF_LSH | BPF_K) &&
	    op[1].code == (BPF_ALU64 | BPF_ARSH | BPF_K) && op[0].dst == reg && op[1].dst == reg &&
	    op[0].imm == op[1].imm && op[0].imm && !q.extend) {
		q.extend = (uint8_t)(64 - op[0].imm);
		op += 2;
	}
	if (!compares_constant(op->code) || op->dst != reg)
		return;
	q.compare = BPF_OP(op->code);
	q.narrow = BPF_CLASS(op->code) == BPF_JMP32;
	q.with = op->imm;
	q.is_so = constant_end(vm, op - vm->op + 1 + op->off, c, &q.yes) &&
		  constant_end(vm, op - vm->op + 1, c, &q.no);
	vm->quick = q;
}

struct pt_vm_range pt_vm_range_of(const struct pt_vm *vm, const struct pt_vm_view *view)
{
	static const uint8_t widths[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};
	const struct pt_vm_quick *const q = &vm->quick;
	const struct pt_vm_field *const field = &view->field[q->slot];
	const uint64_t with = (uint64_t)q->with, least = (uint64_t)INT64_MIN;
	struct pt_vm_range r = {.offset = field->offset, .size = widths[q->width >> 3]};

	/* the load takes the field as it is stored; anything else goes the long way */
	if (!q->is_so || q->narrow || q->slot >= view->nr || field->offset == 0xffff ||
	    (field->type & PANTRACE_T_SEQUENCE) ||
	    (field->type & PANTRACE_T_ELEMENT) > PANTRACE_T_U64 ||
	    pt_vm_type_size(field->type) < r.size || (q->extend && q->extend != 8 * r.size) ||
	    !q->yes == !q->no || (q->yes && q->no))
		return r;
	/* a narrower field would have been extended by its own sign */
	if (r.size < 8 && pt_vm_type_size(field->type) != r.size)
		return r;
	r.is_signed = q->extend;
	r.invert = !q->yes;
	switch (q->compare) {
	case BPF_JNE:
		r.invert = !r.invert;
		/* fall through */
	case BPF_JEQ:
		r.low = with;
		break;
	case BPF_JGT: /* above: not up to */
		r.invert = !r.invert;
		/* fall through */
	case BPF_JLE:
		r.span = with;
		break;
	case BPF_JLT: /* below: not from on */
		r.invert = !r.invert;
		/* fall through */
	case BPF_JGE:
		r.low = with;
		r.span = UINT64_MAX - with;
		break;
	case BPF_JSGT:
		r.invert = !r.invert;
		/* fall through */
	case BPF_JSLE:
		r.low = least;
		r.span = with - least;
		break;
	case BPF_JSLT:
		r.invert = !r.invert;
		/* fall through */
	case BPF_JSGE:
		r.low = with;
		r.span = (uint64_t)INT64_MAX - with;
		break;
	default:
		return r;
	}
	r.is_so = true;
	return r;
}
