/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables. A scalar lives in a virtual register, an aggregate in a slot of the function that
 * assigns it first. What a callback shares with the code around it, and what has its address taken,
 * lives in memory that the frame leads to.
 */
#include "lang/lower/internal.h"

/* v->annotation is the function that v->reg or v->slot belong to. */
static bool has_place(const struct lower *l, const struct variable_symbol *v)
{
	return v->annotation == l->f;
}

static void make_place(struct lower *l, struct variable_symbol *v)
{
	v->annotation = l->f;
	v->slot = 0;
	v->reg = 0;
	if (type_is_scalar(v->type))
		v->reg = ir_reg_new(l->f);
	else
		v->slot = ir_slot(l->f, ALIGN_UP(MAX(v->type->size, 1u), 8u), 8, v->name) + 1;
}

static s64 field_offset(const struct variable_symbol *v)
{
	return FRAME_VARIABLES + 8 * (s64)(v->slot - 1);
}

ir_reg lower_variable_address(struct lower *l, struct variable_symbol *v)
{
	const ir_reg frame = lower_private(l)->frame;

	if (!v->is_captured) {
		if (!has_place(l, v))
			make_place(l, v);
		return ir_slot_address(l->f, v->slot - 1);
	}
	if (type_is_scalar(v->type))
		return lower_address(l, frame, field_offset(v));
	return ir_load(l->f, frame, field_offset(v), 8, false);
}

void lower_variable_read(struct lower *l, struct variable_symbol *v, struct value *ret)
{
	if (type_is_scalar(v->type)) {
		ir_reg r;

		if (v->is_captured) {
			r = ir_load(l->f, lower_private(l)->frame, field_offset(v), 8, false);
		} else {
			if (!has_place(l, v)) {
				make_place(l, v);
				ir_assign_const(l->f, v->reg, 0);
			}
			r = v->reg;
		}
		*ret = value_register(v->type, r);
		return;
	}
	if (!v->is_captured && !has_place(l, v)) {
		make_place(l, v);
		lower_variable_zero(l, v);
	}
	*ret = value_memory(v->type, lower_variable_address(l, v), 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

void lower_variable_write(struct lower *l, struct variable_symbol *v, const struct value *value,
			  struct span at)
{
	if (!type_is_scalar(v->type)) {
		lower_store_value(l, lower_variable_address(l, v), 0, v->type, value, at);
		return;
	}
	if (!v->is_captured && !has_place(l, v))
		make_place(l, v);
	if (value->kind == VALUE_CONSTANT && !v->is_captured) {
		ir_assign_const(l->f, v->reg, fold_convert(value->constant, v->type));
		return;
	}
	if (v->is_captured)
		ir_store(l->f, lower_private(l)->frame, field_offset(v), 8,
			 lower_convert(l, lower_to_register(l, value), value->type, v->type));
	else
		ir_assign(l->f, v->reg,
			  lower_convert(l, lower_to_register(l, value), value->type, v->type));
}

void lower_variable_zero(struct lower *l, struct variable_symbol *v)
{
	const struct value zero = value_constant(v->type, 0);

	if (type_is(v->type, TYPE_NONE))
		return;
	if (type_is_scalar(v->type))
		lower_variable_write(l, v, &zero, v->span);
	else
		lower_zero(l, lower_variable_address(l, v), 0, v->type->size);
}

/* At the entry of the main function: the frame, with the memory of all aggregates that it leads to.
 */
void lower_frame_begin(struct lower *l)
{
	struct lower_private *p = lower_private(l);
	struct ir_function *f = l->f;
	u32 fields = 0, slot;

	p->frame = 0;
	for (size_t i = 0; i < l->unit->variables.len; i++) {
		struct variable_symbol *v = l->unit->variables.items[i];

		if (v->is_captured && !type_is(v->type, TYPE_NONE))
			v->slot = ++fields;
	}
	lower_speculation_begin(l);
	if (!fields && !l->unit->has_callbacks)
		return;
	if (fields > FRAME_MAX_FIELDS) {
		lower_error(l, l->unit->probe ? l->unit->probe->span : NO_SPAN,
			    "More than %d variables are shared with the bodies of loops",
			    FRAME_MAX_FIELDS);
		return;
	}
	slot = ir_slot(f, FRAME_VARIABLES + 8 * fields, 8, "frame");
	f->slots.items[slot].force_stack = true;
	p->frame = ir_slot_address(f, slot);
	ir_store(f, p->frame, FRAME_CONTEXT, 8, ir_context(f));
	ir_store_imm(f, p->frame, FRAME_CONTROL, 8, 0);
	if (l->unit->speculates)
		ir_store_imm(f, p->frame, FRAME_SPECULATION, 8, 0);
	for (size_t i = 0; i < l->unit->variables.len; i++) {
		struct variable_symbol *v = l->unit->variables.items[i];
		ir_reg address;

		if (!v->is_captured || type_is(v->type, TYPE_NONE))
			continue;
		if (type_is_scalar(v->type)) {
			ir_store_imm(f, p->frame, field_offset(v), 8, 0);
			continue;
		}
		address = ir_slot_address(f, ir_slot(f, ALIGN_UP(v->type->size, 8u), 8, v->name));
		ir_store(f, p->frame, field_offset(v), 8, address);
		lower_zero(l, address, 0, v->type->size);
	}
}

void lower_variables_begin(struct lower *l, const struct block *body)
{
	const u32 depth = lower_private(l)->depth;

	for (size_t i = 0; i < l->unit->variables.len; i++) {
		struct variable_symbol *v = l->unit->variables.items[i];

		if (v->is_leaked && !v->is_captured && v->callback_depth == depth &&
		    v->span.begin >= body->span.begin && v->span.end <= body->span.end)
			lower_variable_zero(l, v);
	}
}
