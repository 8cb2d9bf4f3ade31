/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction selection. Constants and the addresses of slots, maps and functions are computed
 * again wherever they are used, which is cheaper than spilling them; address arithmetic goes into
 * the offsets of loads and stores; arguments go straight to r1-r5.
 */
#include "lang/ir/pass.h"
#include "lang/bpf/machine.h"

struct selector {
	struct ir_program *p;
	struct ir_function *f;
	struct mfunction *m;
	const struct emit_options *options;
	struct mblock *block;
	struct span span;
	u32 *ndefs;
	const struct ir_insn **def;
};

static mreg virtual(ir_reg r)
{
	return MREG_FIRST - 1 + r;
}

static mreg temporary(struct selector *s)
{
	return s->m->nregs++;
}

static struct minsn *put(struct selector *s, struct minsn insn)
{
	insn.span = s->span;
	ir_push(s->m->arena, &s->block->insns, insn);
	return &vector_last(&s->block->insns);
}

static void put_copy(struct selector *s, mreg dst, mreg src)
{
	if (dst != src)
		put(s, (struct minsn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst = dst, .src = src});
}

static void put_imm(struct selector *s, u8 op, mreg dst, s64 imm)
{
	put(s, (struct minsn){.code = BPF_ALU64 | op | BPF_K, .dst = dst, .imm = imm});
}

static void put_const(struct selector *s, mreg dst, s64 imm)
{
	if (imm == (s32)imm)
		put_imm(s, BPF_MOV, dst, imm);
	else if (imm == (s64)(u32)imm) /* 32-bit moves clear the upper half */
		put(s,
		    (struct minsn){.code = BPF_ALU | BPF_MOV | BPF_K, .dst = dst, .imm = (s32)imm});
	else
		put(s, (struct minsn){.code = BPF_LD | BPF_DW | BPF_IMM, .dst = dst, .imm = imm});
}

static void put_address(struct selector *s, mreg dst, u8 pseudo, s64 imm, s64 offset)
{
	put(s, (struct minsn){.code = BPF_LD | BPF_DW | BPF_IMM,
			      .pseudo = pseudo,
			      .dst = dst,
			      .imm = imm,
			      .imm2 = (s32)offset});
}

/* The definition of r if it is the only one and its value can be computed again anywhere. */
static const struct ir_insn *remakable(const struct selector *s, ir_reg r)
{
	const struct ir_insn *d = s->ndefs[r] == 1 ? s->def[r] : NULL;

	if (!d)
		return NULL;
	switch (d->op) {
	case IR_CONST:
	case IR_SLOT:
	case IR_MAP:
	case IR_MAP_VALUE:
	case IR_FUNCTION:
		return d;
	default:
		return NULL;
	}
}

static void make(struct selector *s, mreg dst, const struct ir_insn *d, s64 offset)
{
	const struct ir_slot_info *slot;

	switch (d->op) {
	case IR_CONST:
		put_const(s, dst, d->imm + offset);
		break;
	case IR_SLOT:
		slot = &s->f->slots.items[d->imm];
		put_copy(s, dst, slot->in_scratch ? virtual(s->f->scratch) : (mreg)MREG_FRAME);
		offset += slot->offset;
		if (offset)
			put_imm(s, BPF_ADD, dst, offset);
		break;
	case IR_MAP:
		put_address(s, dst, BPF_PSEUDO_MAP_FD, d->imm, 0);
		break;
	case IR_MAP_VALUE:
		put_address(s, dst, BPF_PSEUDO_MAP_VALUE, d->imm, d->imm2 + offset);
		break;
	default:
		put_address(s, dst, BPF_PSEUDO_FUNC, d->imm, 0);
		break;
	}
}

/* Follows r = base + constant to an address that can be computed again; NULL if there is none. */
static const struct ir_insn *remakable_sum(const struct selector *s, ir_reg r, s64 *offset)
{
	*offset = 0;
	for (u32 i = 0; i < 8; i++) {
		const struct ir_insn *d = remakable(s, r);

		if (d && (d->op == IR_SLOT || d->op == IR_MAP_VALUE || (d->op == IR_CONST && !i)))
			return *offset == (s32)*offset ? d : NULL;
		if (d && !i)
			return d;
		d = s->ndefs[r] == 1 ? s->def[r] : NULL;
		if (!d || d->op != IR_ADD || d->b)
			return NULL;
		*offset += d->imm;
		r = d->a;
	}
	return NULL;
}

/* The value of r goes to dst. */
static void put_value(struct selector *s, mreg dst, ir_reg r)
{
	s64 offset;
	const struct ir_insn *d = remakable_sum(s, r, &offset);

	if (d)
		make(s, dst, d, offset);
	else
		put_copy(s, dst, virtual(r));
}

/* A register that holds the value of r. */
static mreg value(struct selector *s, ir_reg r)
{
	s64 offset;
	const struct ir_insn *d = remakable_sum(s, r, &offset);
	mreg t;

	if (!d)
		return virtual(r);
	t = temporary(s);
	make(s, t, d, offset);
	return t;
}

struct address {
	mreg base;
	s16 off;
};

/* Base register and offset for an access at a + offset. */
static struct address address(struct selector *s, ir_reg a, s64 offset)
{
	struct address ret = {.base = MREG_NONE};
	const struct ir_insn *d = NULL;
	mreg t;

	for (u32 i = 0; i < 16; i++) {
		const struct ir_insn *sum;

		d = remakable(s, a);
		sum = s->ndefs[a] == 1 ? s->def[a] : NULL;
		if (d || !sum || sum->op != IR_ADD || sum->b || s->ndefs[sum->a] != 1)
			break;
		offset += sum->imm;
		a = sum->a;
	}
	if (d && d->op == IR_SLOT) {
		const struct ir_slot_info *slot = &s->f->slots.items[d->imm];

		offset += slot->offset;
		ret.base = slot->in_scratch ? virtual(s->f->scratch) : (mreg)MREG_FRAME;
	} else if (d) {
		ret.base = value(s, a);
	} else {
		ret.base = virtual(a);
	}
	if (offset != (s16)offset) {
		t = temporary(s);
		put_copy(s, t, ret.base);
		if (offset == (s32)offset) {
			put_imm(s, BPF_ADD, t, offset);
		} else {
			mreg far = temporary(s);

			put_const(s, far, offset);
			put(s, (struct minsn){
				       .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst = t, .src = far});
		}
		ret.base = t;
		offset = 0;
	}
	ret.off = (s16)offset;
	return ret;
}

static u8 size_code(u32 size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static const u8 alu_ops[] = {
	[IR_ADD] = BPF_ADD,  [IR_SUB] = BPF_SUB,  [IR_MUL] = BPF_MUL,  [IR_DIV] = BPF_DIV,
	[IR_MOD] = BPF_MOD,  [IR_SDIV] = BPF_DIV, [IR_SMOD] = BPF_MOD, [IR_AND] = BPF_AND,
	[IR_OR] = BPF_OR,    [IR_XOR] = BPF_XOR,  [IR_SHL] = BPF_LSH,  [IR_SHR] = BPF_RSH,
	[IR_SAR] = BPF_ARSH,
};

static bool is_commutative(enum ir_op op)
{
	return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR;
}

static void select_binary(struct selector *s, const struct ir_insn *insn)
{
	const u8 op = alu_ops[insn->op];
	/* cpu v4 (6.6): off = 1 makes division signed. */
	const s16 off = insn->op == IR_SDIV || insn->op == IR_SMOD;
	mreg dst = virtual(insn->dst), b;
	ir_reg left = insn->a, right = insn->b;

	if (!right) {
		put_value(s, dst, left);
		put(s, (struct minsn){.code = BPF_ALU64 | op | BPF_K,
				      .off = off,
				      .dst = dst,
				      .imm = insn->imm});
		return;
	}
	if (right == insn->dst && left != insn->dst && is_commutative(insn->op)) {
		right = left;
		left = insn->dst;
	}
	b = value(s, right);
	if (b == dst && left != insn->dst)
		dst = temporary(s);
	put_value(s, dst, left);
	put(s, (struct minsn){.code = BPF_ALU64 | op | BPF_X, .off = off, .dst = dst, .src = b});
	put_copy(s, virtual(insn->dst), dst);
}

/* dst = its low `size` bytes, sign- or zero-extended. */
static void extend_in_place(struct selector *s, mreg dst, u32 size, bool is_signed)
{
	if (is_signed) {
		put_imm(s, BPF_LSH, dst, 64 - size * 8);
		put_imm(s, BPF_ARSH, dst, 64 - size * 8);
	} else {
		put_imm(s, BPF_AND, dst, size == 1 ? 0xff : 0xffff);
	}
}

static void select_extend(struct selector *s, const struct ir_insn *insn)
{
	const mreg dst = virtual(insn->dst);

	if (insn->size == 8) {
		put_value(s, dst, insn->a);
	} else if (!insn->is_signed && insn->size == 4) {
		put(s, (struct minsn){.code = BPF_ALU | BPF_MOV | BPF_X,
				      .dst = dst,
				      .src = value(s, insn->a)});
	} else if (insn->is_signed && s->options->has_cpu_v4) {
		put(s, (struct minsn){.code = BPF_ALU64 | BPF_MOV | BPF_X,
				      .off = (s16)(insn->size * 8),
				      .dst = dst,
				      .src = value(s, insn->a)});
	} else {
		put_value(s, dst, insn->a);
		extend_in_place(s, dst, insn->size, insn->is_signed);
	}
}

static void select_load(struct selector *s, const struct ir_insn *insn)
{
	const mreg dst = virtual(insn->dst);
	const bool sign = insn->is_signed && insn->size < 8;
	const struct address a = address(s, insn->a, insn->imm);
	const u8 mode = sign && s->options->has_cpu_v4 ? 0x80 /* BPF_MEMSX, 6.6 */ : BPF_MEM;

	put(s, (struct minsn){.code = BPF_LDX | size_code(insn->size) | mode,
			      .dst = dst,
			      .src = a.base,
			      .off = a.off});
	if (sign && mode == BPF_MEM)
		extend_in_place(s, dst, insn->size, true);
}

static void select_store(struct selector *s, const struct ir_insn *insn)
{
	const u8 size = size_code(insn->size);
	struct address a;
	mreg b;

	if (insn->op == IR_STORE_IMM) {
		a = address(s, insn->a, insn->imm);
		put(s, (struct minsn){.code = BPF_ST | size | BPF_MEM,
				      .dst = a.base,
				      .off = a.off,
				      .imm = (s32)insn->imm2});
		return;
	}
	b = value(s, insn->b);
	a = address(s, insn->a, insn->imm);
	put(s, (struct minsn){
		       .code = BPF_STX | size | BPF_MEM, .dst = a.base, .src = b, .off = a.off});
}

static void select_atomic(struct selector *s, const struct ir_insn *insn)
{
	const bool exchange = insn->op == IR_ATOMIC_CMPXCHG;
	const u8 code = BPF_STX | BPF_ATOMIC | (exchange ? BPF_DW : size_code(insn->size));
	mreg src = exchange ? value(s, insn->c) : value(s, insn->b);
	const struct address a = address(s, insn->a, insn->imm);

	if (exchange) {
		put_value(s, BPF_REG_0, insn->b);
		put(s, (struct minsn){.code = code,
				      .dst = a.base,
				      .src = src,
				      .off = a.off,
				      .imm = BPF_CMPXCHG});
		if (insn->dst)
			put_copy(s, virtual(insn->dst), BPF_REG_0);
		return;
	}
	if (insn->dst) { /* the old value replaces the operand */
		const mreg t = temporary(s);

		put_copy(s, t, src);
		src = t;
	}
	put(s, (struct minsn){.code = code,
			      .dst = a.base,
			      .src = src,
			      .off = a.off,
			      .imm = insn->dst ? BPF_ADD | BPF_FETCH : BPF_ADD});
	if (insn->dst)
		put_copy(s, virtual(insn->dst), src);
}

static void select_call(struct selector *s, const struct ir_insn *insn)
{
	for (u32 i = 0; i < insn->nargs; i++)
		put_value(s, BPF_REG_1 + i, insn->args[i]);
	put(s, (struct minsn){.code = BPF_JMP | BPF_CALL,
			      .pseudo = insn->op == IR_CALL_FUNCTION ? BPF_PSEUDO_CALL
					: insn->is_kernel	     ? BPF_PSEUDO_KFUNC_CALL
								     : 0,
			      .nargs = insn->nargs,
			      .imm = insn->imm});
	if (insn->dst)
		put_copy(s, virtual(insn->dst), BPF_REG_0);
}

static void select_branch(struct selector *s, const struct ir_insn *insn)
{
	static const u8 jumps[] = {
		[IR_EQ] = BPF_JEQ,   [IR_NE] = BPF_JNE,	  [IR_LT] = BPF_JLT,   [IR_LE] = BPF_JLE,
		[IR_GT] = BPF_JGT,   [IR_GE] = BPF_JGE,	  [IR_SLT] = BPF_JSLT, [IR_SLE] = BPF_JSLE,
		[IR_SGT] = BPF_JSGT, [IR_SGE] = BPF_JSGE, [IR_SET] = BPF_JSET,
	};
	struct minsn jump = {.code = BPF_JMP | jumps[insn->cond] | (insn->b ? BPF_X : BPF_K),
			     .then = insn->then,
			     .otherwise = insn->otherwise,
			     .imm = insn->imm};

	jump.dst = value(s, insn->a);
	if (insn->b)
		jump.src = value(s, insn->b);
	put(s, jump);
}

static void select_insn(struct selector *s, const struct ir_insn *insn)
{
	s->span = insn->span;
	if (ir_is_binary(insn->op)) {
		s64 offset;

		/* Sums with such addresses are folded into their uses. */
		if (s->ndefs[insn->dst] != 1 || !remakable_sum(s, insn->dst, &offset))
			select_binary(s, insn);
		return;
	}
	switch (insn->op) {
	case IR_CONST:
	case IR_SLOT:
	case IR_MAP:
	case IR_MAP_VALUE:
	case IR_FUNCTION:
		if (s->ndefs[insn->dst] != 1)
			make(s, virtual(insn->dst), insn, 0);
		break;
	case IR_MOVE:
		put_value(s, virtual(insn->dst), insn->a);
		break;
	case IR_NEG:
		put_value(s, virtual(insn->dst), insn->a);
		put_imm(s, BPF_NEG, virtual(insn->dst), 0);
		break;
	case IR_BSWAP:
		put_value(s, virtual(insn->dst), insn->a);
		put(s,
		    (struct minsn){.code = BPF_ALU | BPF_END |
					   (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? BPF_TO_BE
										      : BPF_TO_LE),
				   .dst = virtual(insn->dst),
				   .imm = insn->size * 8});
		break;
	case IR_EXTEND:
		select_extend(s, insn);
		break;
	case IR_LOAD:
		select_load(s, insn);
		break;
	case IR_STORE:
	case IR_STORE_IMM:
		select_store(s, insn);
		break;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_CMPXCHG:
		select_atomic(s, insn);
		break;
	case IR_CALL:
	case IR_CALL_FUNCTION:
		select_call(s, insn);
		break;
	case IR_PARAM:
		put_copy(s, virtual(insn->dst), BPF_REG_1 + (mreg)insn->imm);
		break;
	case IR_JUMP:
		put(s, (struct minsn){.code = BPF_JMP | BPF_JA, .then = insn->then});
		break;
	case IR_BRANCH:
		select_branch(s, insn);
		break;
	case IR_RETURN:
		if (insn->a)
			put_value(s, BPF_REG_0, insn->a);
		else
			put_const(s, BPF_REG_0, insn->imm);
		put(s, (struct minsn){.code = BPF_JMP | BPF_EXIT});
		break;
	default:
		break;
	}
}

static void find_definitions(struct selector *s)
{
	for (size_t b = 0; b < s->f->blocks.len; b++)
		for (size_t k = 0; k < s->f->blocks.items[b].insns.len; k++) {
			const struct ir_insn *insn = &s->f->blocks.items[b].insns.items[k];

			s->ndefs[insn->dst]++;
			s->def[insn->dst] = insn;
		}
}

void select_instructions(struct ir_program *p, struct ir_function *f, const u8 *depth,
			 const struct emit_options *options, struct mfunction *ret)
{
	struct selector s = {
		.p = p,
		.f = f,
		.m = ret,
		.options = options,
		.ndefs = xzalloc(((size_t)f->nregs + 1) * sizeof(*s.ndefs)),
		.def = xzalloc(((size_t)f->nregs + 1) * sizeof(const struct ir_insn *)),
	};

	find_definitions(&s);
	ret->name = f->name;
	ret->nregs = MREG_FIRST + f->nregs;
	ret->stack_size = f->stack_slots;
	for (size_t b = 0; b < f->blocks.len; b++)
		ir_push(ret->arena, &ret->blocks,
			(struct mblock){.depth = depth[b], .label = f->blocks.items[b].label});
	for (size_t b = 0; b < f->blocks.len; b++) {
		s.block = &ret->blocks.items[b];
		for (size_t k = 0; k < f->blocks.items[b].insns.len; k++)
			select_insn(&s, &f->blocks.items[b].insns.items[k]);
	}
	free(s.ndefs);
	free(s.def);
}
