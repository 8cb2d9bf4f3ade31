/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members, indexes, pointers, and the arguments of the probe. */
#include "arch/arch.h"
#include "lang/lower/internal.h"
#include "probe/variables.h"

/* The memory at an address; zeros if it cannot be read. */
static ir_reg read_at(struct lower *l, ir_reg address, s64 offset, u8 size, bool is_signed)
{
	const enum address_space space = l->unit->context.space;
	ir_reg slot;

	lower_slot(l, type_int(8, false), "argument", &slot);
	lower_helper_error(
		l, space == SPACE_USER ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel,
		lower_read(l, slot, 0, size, address, offset, space), l->f->span);
	return ir_load(l->f, slot, 0, size, is_signed);
}

/*
 * Where a static variable is in memory: of the kernel that is known; in this process it is at the
 * same distance from the probed instruction as in the file.
 */
static ir_reg static_address(struct lower *l, const struct location *loc, s64 address)
{
	const s64 distance = (s64)((u64)address - loc->address);
	const struct probe_place *place = l->unit->context.place;

	if (place && place->kernel)
		return ir_const(l->f, address);
	return lower_address(l, ir_load(l->f, lower_context(l), arch_ip_offset(), 8, false),
			     distance);
}

/* 1 or 0. */
static ir_reg lower_test(struct lower *l, enum ir_cond cond, ir_reg a, ir_reg b)
{
	const u32 no = ir_block_new(l->f, "no"), end = ir_block_new(l->f, "tested");
	const ir_reg r = ir_move(l->f, ir_const(l->f, 1));

	ir_branch(l->f, cond, a, b, end, no);
	ir_switch_to(l->f, no);
	ir_assign_const(l->f, r, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return r;
}

static ir_reg lower_step_of_two(struct lower *l, u8 op, ir_reg a, ir_reg b)
{
	static const enum ir_op operations[] = {
		[ACCESS_PLUS] = IR_ADD,
		[ACCESS_MINUS] = IR_SUB,
		[ACCESS_TIMES] = IR_MUL,
		[ACCESS_AND] = IR_AND,
		[ACCESS_OR] = IR_OR,
		[ACCESS_XOR] = IR_XOR,
		[ACCESS_SHIFT_LEFT] = IR_SHL,
		[ACCESS_SHIFT_RIGHT] = IR_SHR,
		[ACCESS_SHIFT_SIGNED] = IR_SAR,
	};
	static const enum ir_cond conditions[] = {
		[ACCESS_EQUAL - ACCESS_EQUAL] = IR_EQ,
		[ACCESS_NOT_EQUAL - ACCESS_EQUAL] = IR_NE,
		[ACCESS_LESS - ACCESS_EQUAL] = IR_SLT,
		[ACCESS_LESS_EQUAL - ACCESS_EQUAL] = IR_SLE,
		[ACCESS_GREATER - ACCESS_EQUAL] = IR_SGT,
		[ACCESS_GREATER_EQUAL - ACCESS_EQUAL] = IR_SGE,
	};

	return op >= ACCESS_EQUAL ? lower_test(l, conditions[op - ACCESS_EQUAL], a, b)
				  : ir_binary(l->f, operations[op], a, b);
}

static ir_reg lower_access(struct lower *l, const struct location *loc)
{
	const struct access *a = loc->access;
	ir_reg stack[ACCESS_MAX_STACK];
	struct ir_function *f = l->f;
	u32 n = 0;

	for (u32 i = 0; i < a->count; i++) {
		const struct access_step *s = &a->steps[i];
		ir_reg *top = n ? &stack[n - 1] : NULL;

		switch (s->op) {
		case ACCESS_REGISTER:
			stack[n++] = ir_load(f, lower_context(l), s->offset, 8, false);
			break;
		case ACCESS_CONSTANT:
			stack[n++] = ir_const(f, s->value);
			break;
		case ACCESS_STATIC:
			stack[n++] = static_address(l, loc, s->value);
			break;
		case ACCESS_ADD:
			*top = lower_address(l, *top, s->value);
			break;
		case ACCESS_DEREF:
			*top = read_at(l, *top, 0, s->size, false);
			break;
		case ACCESS_EXTEND:
			*top = ir_extend(f, *top, s->size, s->is_signed);
			break;
		case ACCESS_NEGATE:
			*top = ir_binary(f, IR_SUB, ir_const(f, 0), *top);
			break;
		case ACCESS_NOT:
			*top = ir_binary(f, IR_XOR, *top, ir_const(f, -1));
			break;
		default:
			n--;
			stack[n - 1] = lower_step_of_two(l, s->op, stack[n - 1], stack[n]);
		}
	}
	if (!loc->size)
		return stack[0];
	if (a->result == ACCESS_VALUE)
		return ir_extend(f, stack[0], loc->size, loc->is_signed);
	return read_at(l, stack[0], 0, loc->size, loc->is_signed);
}

ir_reg lower_location(struct lower *l, const struct location *loc)
{
	struct ir_function *f = l->f;
	ir_reg base, address;

	switch (loc->kind) {
	case LOCATION_CONTEXT:
		return ir_load(f, lower_context(l), loc->offset, loc->size, loc->is_signed);
	case LOCATION_REGISTER:
		base = ir_load(f, lower_context(l), loc->offset, 8, false);
		return ir_extend(f, base, loc->size, loc->is_signed);
	case LOCATION_CONSTANT:
		return ir_const(f, loc->value);
	case LOCATION_SYSCALL:
		base = ir_load(f, lower_context(l), 0, 8, false);
		return ir_load(f, base, loc->offset, loc->size, loc->is_signed);
	case LOCATION_MEMORY:
		address = ir_load(f, lower_context(l), loc->base, 8, false);
		if (loc->index != 0xffff) {
			ir_reg index = ir_load(f, lower_context(l), loc->index, 8, false);

			if (loc->scale > 1)
				index = ir_binary_imm(f, IR_MUL, index, loc->scale);
			address = ir_binary(f, IR_ADD, address, index);
		}
		if (!loc->size) /* a struct is represented by its address */
			return lower_address(l, address, loc->value);
		return read_at(l, address, loc->value, loc->size, loc->is_signed);
	case LOCATION_ACCESS:
		return lower_access(l, loc);
	default:
		return ir_const(f, 0);
	}
}

struct value lower_located(struct lower *l, const struct location *loc, const struct type *t)
{
	const ir_reg r = lower_location(l, loc);
	ir_reg slot;

	if (type_is_scalar(t))
		return value_register(t, r);
	if (!location_is_in_register(loc))
		return value_memory(t, r, 0, l->unit->context.space);
	lower_slot(l, type_int(8, false), "register", &slot);
	ir_store(l->f, slot, 0, 8, r);
	return value_memory(t, slot, 0, SPACE_BPF);
}

/*
 * The verifier knows the type of pointers from the context of BTF-typed programs, and allows no
 * offset on one that may be NULL. After the test it is either a pointer or the number 0.
 */
static struct value checked_pointer(struct lower *l, struct value v)
{
	const struct probe_context *context = &l->unit->context;
	u32 null, end;
	ir_reg r;

	if (v.kind != VALUE_REGISTER || !type_is(v.type, TYPE_POINTER) ||
	    (context->kind != CONTEXT_ITERATOR && !context->attach_btf_id))
		return v;
	null = ir_block_new(l->f, "null");
	end = ir_block_new(l->f, "checked");
	r = ir_move(l->f, v.reg);
	ir_branch_imm(l->f, IR_EQ, r, 0, null, end);
	ir_switch_to(l->f, null);
	ir_assign_const(l->f, r, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	v.reg = r;
	return v;
}

/* A field that lies elsewhere in the record: u32 (length << 16 | offset). */
static ir_reg data_location(struct lower *l, const struct expr *e)
{
	const ir_reg context = lower_context(l);
	const ir_reg word = ir_load(l->f, context, e->member_offset, 4, false);
	ir_reg offset = ir_binary_imm(l->f, IR_AND, word, 0xffff);

	if (e->member->is_rel_loc) /* from the end of the word itself */
		offset = ir_binary_imm(l->f, IR_ADD, offset, e->member_offset + 4);
	return ir_binary(l->f, IR_ADD, context, offset);
}

static void lower_args_member(struct lower *l, struct expr *e, struct value *ret)
{
	const struct probe_context *context = &l->unit->context;
	struct value v;

	if (e->location) {
		*ret = lower_located(l, e->location, e->type);
		return;
	}
	if (context->locations) {
		*ret = value_register(e->type, ir_const(l->f, 0));
		return;
	}
	if (e->member->is_data_loc || e->member->is_rel_loc) {
		*ret = value_register(e->type, data_location(l, e));
		return;
	}
	v = value_memory(e->type, lower_context(l), e->member_offset, SPACE_CONTEXT);
	v.bit_offset = e->member->bit_offset;
	v.bit_size = e->member->bit_size;
	*ret = checked_pointer(l, lower_fetch(l, &v));
}

/* The place in memory of an expression of pointer or aggregate type. */
static struct value place_of(struct lower *l, struct expr *e)
{
	struct value v;

	lower_expr(l, e, &v);
	if (v.kind == VALUE_MEMORY && !type_is_scalar(v.type))
		return v;
	if (type_is(e->type, TYPE_POINTER))
		return value_memory(e->type->element, lower_to_register(l, &v), 0, e->type->space);
	return lower_materialise(l, &v, e->span);
}

/* p->q with p a pointer to pointers: follows all but the last. */
static struct value follow(struct lower *l, struct value v)
{
	while (type_is(v.type, TYPE_POINTER)) {
		const struct type *t = check_field_type(l->check, v.type, v.space, false);

		v = value_memory(t->element, lower_to_register(l, &v), 0, t->space);
	}
	return v;
}

void lower_member(struct lower *l, struct expr *e, struct value *ret)
{
	struct value v;

	if (check_is_args(e->left) || check_is_vars(e->left)) {
		lower_args_member(l, e, ret);
		return;
	}
	v = follow(l, place_of(l, e->left));
	v.type = e->type;
	v.constant += e->member_offset;
	v.length = 0;
	v.bit_offset = e->member->bit_offset;
	v.bit_size = e->member->bit_size;
	/*
	 * Members of our own tuples are padded when they are stored; those of copied C structs are
	 * not.
	 */
	v.is_zero_padded = v.space == SPACE_BPF && !type_is(e->member->type, TYPE_ARRAY);
	*ret = lower_fetch(l, &v);
	if (v.space == SPACE_CONTEXT)
		*ret = checked_pointer(l, *ret);
}

/* Element `index` (a register) of an array: zeroes outside its bounds. */
static void bounded_element(struct lower *l, const struct value *base, ir_reg index, u32 count,
			    const struct type *element, struct value *ret)
{
	const u32 inside = ir_block_new(l->f, "inside"), outside = ir_block_new(l->f, "outside"),
		  end = ir_block_new(l->f, "element");
	struct value v;
	ir_reg result, address;
	u32 slot = 0;

	if (type_is_scalar(element))
		result = ir_reg_new(l->f);
	else
		slot = lower_slot(l, element, "element", &result);
	ir_branch_imm(l->f, IR_LT, index, count, inside, outside);
	ir_switch_to(l->f, inside);
	address = ir_binary(l->f, IR_ADD, base->reg,
			    ir_binary_imm(l->f, IR_MUL, index, element->size));
	v = value_memory(element, address, base->constant, base->space);
	v.is_zero_padded = type_is(base->type, TYPE_TUPLE);
	if (type_is_scalar(element))
		ir_assign(l->f, result, lower_to_register(l, &v));
	else
		lower_store_value(l, ir_slot_address(l->f, slot), 0, element, &v, l->f->span);
	ir_jump(l->f, end);
	ir_switch_to(l->f, outside);
	lower_runtime_error(l, "Array access out of bounds. This can lead to unexpected results.",
			    l->f->span);
	if (type_is_scalar(element))
		ir_assign_const(l->f, result, 0);
	else
		lower_zero(l, ir_slot_address(l->f, slot), 0, element->size);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	if (type_is_scalar(element)) {
		*ret = value_register(element, result);
		return;
	}
	*ret = value_memory(element, ir_slot_address(l->f, slot), 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

void lower_index(struct lower *l, struct expr *e, struct value *ret)
{
	struct value base = place_of(l, e->left), index, v;
	const struct type *t = base.type, *element = e->type;
	const bool is_pointer = type_is(e->left->type, TYPE_POINTER);
	u32 count = type_is(t, TYPE_STRING) ? t->size : t->count;

	if (type_is(t, TYPE_TUPLE) && !is_pointer && e->member) {
		v = base;
		v.type = element;
		v.constant += e->member_offset;
		v.is_zero_padded = true;
		v.length = 0;
		*ret = lower_fetch(l, &v);
		return;
	}
	lower_expr(l, e->args[0], &index);
	if (type_is(t, TYPE_STRING) && base.space == SPACE_BPF)
		base = lower_materialise(l, &base, e->span);
	if (index.kind == VALUE_CONSTANT) {
		if (!is_pointer && base.space == SPACE_BPF && (u64)index.constant >= count) {
			*ret = value_constant(element, 0);
			return;
		}
		v = value_memory(element, base.reg,
				 base.constant + index.constant * (s64)element->size, base.space);
		*ret = lower_fetch(l, &v);
		return;
	}
	if (base.space == SPACE_CONTEXT || base.space == SPACE_TRUSTED)
		base.space = SPACE_KERNEL; /* no direct loads at variable offsets */
	if (!is_pointer && count) {
		bounded_element(l, &base, lower_to_register(l, &index), count, element, ret);
		return;
	}
	v = base;
	v.type = element;
	v.reg = ir_binary(l->f, IR_ADD, base.reg,
			  ir_binary_imm(l->f, IR_MUL, lower_to_register(l, &index), element->size));
	v.length = 0;
	v.is_zero_padded = false;
	*ret = lower_fetch(l, &v);
}

void lower_deref(struct lower *l, struct expr *e, struct value *ret)
{
	const struct type *t = e->left->type;
	const struct value v = value_memory(e->type, lower_scalar(l, e->left), 0,
					    type_is(t, TYPE_POINTER) ? t->space : e->left->space);

	*ret = lower_fetch(l, &v);
}

void lower_address_of(struct lower *l, struct expr *e, struct value *ret)
{
	struct expr *of = e->left;
	struct value v;

	if (of->kind == EXPR_VARIABLE) {
		*ret = value_register(e->type, lower_variable_address(l, of->variable));
		return;
	}
	if (of->kind == EXPR_MAP) {
		*ret = value_register(e->type, lower_map_pointer(l, of->map));
		return;
	}
	if (of->kind == EXPR_UNARY) {
		*ret = value_register(e->type, lower_scalar(l, of->left));
		return;
	}
	v = place_of(l, of->left);
	if (of->kind == EXPR_MEMBER) {
		v = follow(l, v);
		v.constant += of->member_offset;
	} else {
		const ir_reg index = lower_scalar(l, of->args[0]);

		v.reg = ir_binary(l->f, IR_ADD, v.reg,
				  ir_binary_imm(l->f, IR_MUL, index, of->type->size));
	}
	*ret = value_register(e->type, lower_address(l, v.reg, v.constant));
}
