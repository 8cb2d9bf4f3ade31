/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the intermediate representation. All memory comes from the program's arena. */
#include "lang/ir/ir.h"

#include "lang/ir/pass.h"

void *ir_grow(struct arena *a, void *items, size_t len, size_t *cap, size_t size)
{
	void *bigger;

	if (len < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 8;
	bigger = arena_alloc(a, *cap * size);
	if (len)
		memcpy(bigger, items, len * size);
	return bigger;
}

struct ir_function *ir_function_new(struct ir_program *p, const char *name)
{
	struct ir_function *f = arena_new(p->arena, struct ir_function);

	f->name = arena_strdup(p->arena, name ? name : "function");
	f->arena = p->arena;
	f->span = NO_SPAN;
	ir_push(p->arena, &p->functions, f);
	ir_block_new(f, "entry");
	return f;
}

struct ir_function *ir_step_new(struct ir_program *p, const char *name, struct span span,
				ir_reg *ret_step, ir_reg *ret_state)
{
	struct ir_function *f = ir_function_new(p, name);

	f->is_callback = true;
	f->nparams = 2;
	f->span = span;
	*ret_step = ir_reg_new(f);
	*ret_state = ir_reg_new(f);
	ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = *ret_step, .imm = 0});
	ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = *ret_state, .imm = 1});
	return f;
}

u32 ir_function_index(const struct ir_program *p, const struct ir_function *f)
{
	for (size_t i = 0; i < p->functions.len; i++)
		if (p->functions.items[i] == f)
			return (u32)i;
	return UINT32_MAX;
}

ir_reg ir_reg_new(struct ir_function *f)
{
	return ++f->nregs;
}

u32 ir_block_new(struct ir_function *f, const char *label)
{
	struct ir_block b = {.label = label};

	ir_push(f->arena, &f->blocks, b);
	return (u32)f->blocks.len - 1;
}

void ir_switch_to(struct ir_function *f, u32 block)
{
	f->current = block;
}

bool ir_is_terminator(enum ir_op op)
{
	return op == IR_JUMP || op == IR_BRANCH || op == IR_RETURN;
}

bool ir_terminated(const struct ir_function *f)
{
	const struct ir_block *b = &f->blocks.items[f->current];

	return b->insns.len && ir_is_terminator(vector_last(&b->insns).op);
}

/*
 * What follows a jump or return in the same block can never run. It goes to a fresh block without
 * predecessors, so that whoever builds code after `return` or `break` needs no special case; the
 * back end drops it.
 */
struct ir_insn *ir_add(struct ir_function *f, struct ir_insn insn)
{
	struct ir_block *b;

	if (ir_terminated(f))
		ir_switch_to(f, ir_block_new(f, "dead"));
	b = &f->blocks.items[f->current];
	insn.span = f->span;
	ir_push(f->arena, &b->insns, insn);
	return &vector_last(&b->insns);
}

static ir_reg add_value(struct ir_function *f, struct ir_insn insn)
{
	insn.dst = ir_reg_new(f);
	ir_add(f, insn);
	return insn.dst;
}

ir_reg ir_const(struct ir_function *f, s64 value)
{
	return add_value(f, (struct ir_insn){.op = IR_CONST, .imm = value});
}

ir_reg ir_move(struct ir_function *f, ir_reg a)
{
	return add_value(f, (struct ir_insn){.op = IR_MOVE, .a = a});
}

void ir_assign(struct ir_function *f, ir_reg dst, ir_reg a)
{
	ir_add(f, (struct ir_insn){.op = IR_MOVE, .dst = dst, .a = a});
}

void ir_assign_const(struct ir_function *f, ir_reg dst, s64 value)
{
	ir_add(f, (struct ir_insn){.op = IR_CONST, .dst = dst, .imm = value});
}

ir_reg ir_binary(struct ir_function *f, enum ir_op op, ir_reg a, ir_reg b)
{
	return add_value(f, (struct ir_insn){.op = op, .a = a, .b = b});
}

ir_reg ir_binary_imm(struct ir_function *f, enum ir_op op, ir_reg a, s64 imm)
{
	if (imm != (s32)imm)
		return ir_binary(f, op, a, ir_const(f, imm));
	return add_value(f, (struct ir_insn){.op = op, .a = a, .imm = imm});
}

ir_reg ir_extend(struct ir_function *f, ir_reg a, u32 size, bool is_signed)
{
	if (size >= 8)
		return a;
	return add_value(
		f, (struct ir_insn){
			   .op = IR_EXTEND, .a = a, .size = (u8)size, .is_signed = is_signed});
}

ir_reg ir_load(struct ir_function *f, ir_reg base, s64 offset, u32 size, bool is_signed)
{
	return add_value(f, (struct ir_insn){.op = IR_LOAD,
					     .a = base,
					     .imm = offset,
					     .size = (u8)size,
					     .is_signed = is_signed && size < 8});
}

void ir_store(struct ir_function *f, ir_reg base, s64 offset, u32 size, ir_reg value)
{
	ir_add(f, (struct ir_insn){
			  .op = IR_STORE, .a = base, .b = value, .imm = offset, .size = (u8)size});
}

void ir_store_imm(struct ir_function *f, ir_reg base, s64 offset, u32 size, s64 value)
{
	if (size == 8 && value != (s32)value) {
		ir_store(f, base, offset, size, ir_const(f, value));
		return;
	}
	ir_add(f, (struct ir_insn){.op = IR_STORE_IMM,
				   .a = base,
				   .imm = offset,
				   .size = (u8)size,
				   .imm2 = (s32)value});
}

/* The widest access that keeps offset aligned; the verifier is strict about alignment on the stack
 * and in maps. */
static u32 chunk(s64 offset, u32 left)
{
	u32 size = 8;

	while (size > left || (offset & (size - 1)))
		size /= 2;
	return size;
}

void ir_zero(struct ir_function *f, ir_reg base, s64 offset, u32 size)
{
	for (u32 done = 0, n; done < size; done += n) {
		n = chunk(offset + done, size - done);
		ir_store_imm(f, base, offset + done, n, 0);
	}
}

void ir_copy(struct ir_function *f, ir_reg dst, s64 dst_offset, ir_reg src, s64 src_offset,
	     u32 size)
{
	for (u32 done = 0, n; done < size; done += n) {
		n = MIN(chunk(dst_offset + done, size - done),
			chunk(src_offset + done, size - done));
		ir_store(f, dst, dst_offset + done, n,
			 ir_load(f, src, src_offset + done, n, false));
	}
}

ir_reg ir_call(struct ir_function *f, u32 helper, u32 nargs, const ir_reg *args)
{
	struct ir_insn insn = {.op = IR_CALL, .imm = helper, .nargs = (u8)nargs};

	for (u32 i = 0; i < nargs && i < ARRAY_SIZE(insn.args); i++)
		insn.args[i] = args[i];
	return add_value(f, insn);
}

ir_reg ir_call_kernel(struct ir_function *f, u32 btf_id, u32 nargs, const ir_reg *args)
{
	struct ir_insn insn = {.op = IR_CALL, .is_kernel = true, .imm = btf_id, .nargs = (u8)nargs};

	for (u32 i = 0; i < nargs && i < ARRAY_SIZE(insn.args); i++)
		insn.args[i] = args[i];
	return add_value(f, insn);
}

ir_reg ir_map(struct ir_function *f, u32 map)
{
	return add_value(f, (struct ir_insn){.op = IR_MAP, .imm = map});
}

u32 ir_slot(struct ir_function *f, u32 size, u32 align, const char *label)
{
	struct ir_slot_info slot = {.size = size, .align = align, .label = label};

	ir_push(f->arena, &f->slots, slot);
	return (u32)f->slots.len - 1;
}

ir_reg ir_slot_address(struct ir_function *f, u32 slot)
{
	return add_value(f, (struct ir_insn){.op = IR_SLOT, .imm = slot});
}

ir_reg ir_context(struct ir_function *f)
{
	return add_value(f, (struct ir_insn){.op = IR_CONTEXT});
}

void ir_jump(struct ir_function *f, u32 block)
{
	ir_add(f, (struct ir_insn){.op = IR_JUMP, .then = block});
}

void ir_branch(struct ir_function *f, enum ir_cond cond, ir_reg a, ir_reg b, u32 then,
	       u32 otherwise)
{
	ir_add(f, (struct ir_insn){.op = IR_BRANCH,
				   .cond = cond,
				   .a = a,
				   .b = b,
				   .then = then,
				   .otherwise = otherwise});
}

void ir_branch_imm(struct ir_function *f, enum ir_cond cond, ir_reg a, s64 imm, u32 then,
		   u32 otherwise)
{
	if (imm != (s32)imm) {
		ir_branch(f, cond, a, ir_const(f, imm), then, otherwise);
		return;
	}
	ir_add(f, (struct ir_insn){.op = IR_BRANCH,
				   .cond = cond,
				   .a = a,
				   .imm = imm,
				   .then = then,
				   .otherwise = otherwise});
}

void ir_return(struct ir_function *f, ir_reg value)
{
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .a = value});
}

u32 ir_operands(struct ir_insn *insn, ir_reg *ret[IR_MAX_OPERANDS])
{
	u32 n = 0;

	if (insn->a)
		ret[n++] = &insn->a;
	if (insn->b)
		ret[n++] = &insn->b;
	if (insn->c)
		ret[n++] = &insn->c;
	for (u32 i = 0; i < insn->nargs; i++)
		ret[n++] = &insn->args[i];
	return n;
}

u32 ir_successors(const struct ir_block *b, u32 ret[2])
{
	const struct ir_insn *last = &vector_last(&b->insns);

	ret[0] = last->then;
	ret[1] = last->otherwise;
	switch (last->op) {
	case IR_JUMP:
		return 1;
	case IR_BRANCH:
		return 2;
	default:
		return 0;
	}
}
