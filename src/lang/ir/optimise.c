/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copy propagation and folding.
 *
 * A register with a single definition behaves like an SSA value: the definition dominates every
 * use, so copies and constants may be propagated without looking at the flow of control. Registers
 * with several definitions are left alone.
 *
 * What the verifier knows about a value is bound to the register that was checked. So arithmetic is
 * never re-associated: a use always reads the very value that a check looked at.
 */
#include "lang/bpf/emit.h"
#include "lang/ir/pass.h"

struct optimiser {
	struct ir_function *f;
	u32 *ndefs;
	struct ir_insn **def; /* the definition if there is only one */
};

s64 ir_extend_value(s64 v, u32 size, bool is_signed)
{
	const u32 shift = size < 8 ? 64 - size * 8 : 0;

	return is_signed ? (s64)((u64)v << shift) >> shift : (s64)((u64)v << shift >> shift);
}

s64 ir_evaluate(enum ir_op op, s64 a, s64 b)
{
	const u64 ua = (u64)a, ub = (u64)b;

	switch (op) {
	case IR_ADD:
		return (s64)(ua + ub);
	case IR_SUB:
		return (s64)(ua - ub);
	case IR_MUL:
		return (s64)(ua * ub);
	case IR_DIV:
		return ub ? (s64)(ua / ub) : 0;
	case IR_MOD:
		return ub ? (s64)(ua % ub) : a;
	case IR_SDIV:
		return b == -1 ? (s64)(0 - ua) : b ? a / b : 0;
	case IR_SMOD:
		return b == -1 ? 0 : b ? a % b : a;
	case IR_AND:
		return a & b;
	case IR_OR:
		return a | b;
	case IR_XOR:
		return a ^ b;
	case IR_SHL:
		return (s64)(ua << (ub & 63));
	case IR_SHR:
		return (s64)(ua >> (ub & 63));
	case IR_SAR:
		return a >> (ub & 63);
	default:
		return 0;
	}
}

bool ir_compare(enum ir_cond cond, s64 a, s64 b)
{
	const u64 ua = (u64)a, ub = (u64)b;

	switch (cond) {
	case IR_EQ:
		return a == b;
	case IR_NE:
		return a != b;
	case IR_LT:
		return ua < ub;
	case IR_LE:
		return ua <= ub;
	case IR_GT:
		return ua > ub;
	case IR_GE:
		return ua >= ub;
	case IR_SLT:
		return a < b;
	case IR_SLE:
		return a <= b;
	case IR_SGT:
		return a > b;
	case IR_SGE:
		return a >= b;
	default:
		return (a & b) != 0;
	}
}

static void analyse(struct optimiser *o)
{
	memset(o->ndefs, 0, (o->f->nregs + 1) * sizeof(*o->ndefs));
	for (size_t b = 0; b < o->f->blocks.len; b++) {
		struct ir_block *block = &o->f->blocks.items[b];

		for (size_t k = 0; k < block->insns.len; k++) {
			struct ir_insn *insn = &block->insns.items[k];

			o->ndefs[insn->dst]++;
			o->def[insn->dst] = insn;
		}
	}
}

static struct ir_insn *only_def(const struct optimiser *o, ir_reg r)
{
	return r && o->ndefs[r] == 1 ? o->def[r] : NULL;
}

static bool is_const(const struct optimiser *o, ir_reg r, s64 *ret)
{
	const struct ir_insn *d = only_def(o, r);

	if (!d || d->op != IR_CONST)
		return false;
	*ret = d->imm;
	return true;
}

/* The value of which r is a copy. Only blocks in unusual orders leave chains; 16 steps are plenty.
 */
static ir_reg copy_root(const struct optimiser *o, ir_reg r)
{
	for (u32 i = 0; i < 16; i++) {
		const struct ir_insn *d = only_def(o, r);

		if (!d || d->op != IR_MOVE || o->ndefs[d->a] != 1)
			break;
		r = d->a;
	}
	return r;
}

static void make_const(struct ir_insn *insn, s64 value)
{
	*insn = (struct ir_insn){
		.op = IR_CONST, .dst = insn->dst, .imm = value, .span = insn->span};
}

static void make_move(struct ir_insn *insn, ir_reg a)
{
	*insn = (struct ir_insn){.op = IR_MOVE, .dst = insn->dst, .a = a, .span = insn->span};
}

/*
 * a op constant that needs no or a cheaper operation. Powers of two and constants on the left are
 * left alone: they would change less than one instruction in a hundred.
 */
static void reduce_strength(struct ir_insn *insn)
{
	const s64 c = insn->imm;

	switch (insn->op) {
	case IR_SHL:
	case IR_SHR:
	case IR_SAR:
		insn->imm = c & 63;
		if (!insn->imm)
			make_move(insn, insn->a);
		break;
	case IR_SUB:
		if (c != INT32_MIN) {
			insn->op = IR_ADD;
			insn->imm = -c;
		}
		/* fallthrough */
	case IR_ADD:
	case IR_OR:
	case IR_XOR:
		if (!c)
			make_move(insn, insn->a);
		break;
	case IR_AND:
		if (!c)
			make_const(insn, 0);
		else if (c == -1)
			make_move(insn, insn->a);
		break;
	/* The verifier refuses a division by the constant 0. */
	case IR_DIV:
	case IR_SDIV:
		if (!c)
			make_const(insn, 0);
		break;
	case IR_MOD:
	case IR_SMOD:
		if (!c)
			make_move(insn, insn->a);
		break;
	default:
		break;
	}
}

static void fold_binary(const struct optimiser *o, struct ir_insn *insn)
{
	s64 a = 0, b = insn->imm;
	const bool a_known = is_const(o, insn->a, &a);
	const bool b_known = !insn->b || is_const(o, insn->b, &b);

	if (a_known && b_known) {
		make_const(insn, ir_evaluate(insn->op, a, b));
		return;
	}
	if (b_known && b == (s32)b) {
		insn->b = 0;
		insn->imm = b;
		reduce_strength(insn);
	}
}

static void fold_branch(const struct optimiser *o, struct ir_insn *insn)
{
	s64 a = 0, b = insn->imm;
	bool a_known = is_const(o, insn->a, &a), b_known = !insn->b || is_const(o, insn->b, &b);

	if (a_known && b_known) {
		const u32 target = ir_compare(insn->cond, a, b) ? insn->then : insn->otherwise;

		*insn = (struct ir_insn){.op = IR_JUMP, .then = target, .span = insn->span};
		return;
	}
	if (insn->b && b_known && b == (s32)b) {
		insn->b = 0;
		insn->imm = b;
	}
}

static u64 swap_bytes(u64 v, u32 size)
{
	return __builtin_bswap64(v) >> (64 - size * 8);
}

static void fold(const struct optimiser *o, struct ir_insn *insn)
{
	ir_reg *operands[IR_MAX_OPERANDS];
	s64 a;

	for (u32 i = ir_operands(insn, operands); i-- > 0;)
		*operands[i] = copy_root(o, *operands[i]);
	if (ir_is_binary(insn->op)) {
		fold_binary(o, insn);
		return;
	}
	switch (insn->op) {
	case IR_MOVE:
		if (is_const(o, insn->a, &a))
			make_const(insn, a);
		else if (insn->a == insn->dst)
			insn->op = IR_NOP, insn->dst = insn->a = 0;
		break;
	case IR_NEG:
		if (is_const(o, insn->a, &a))
			make_const(insn, (s64)(0 - (u64)a));
		break;
	case IR_BSWAP:
		if (is_const(o, insn->a, &a))
			make_const(insn, (s64)swap_bytes((u64)a, insn->size));
		break;
	case IR_EXTEND:
		if (is_const(o, insn->a, &a))
			make_const(insn, ir_extend_value(a, insn->size, insn->is_signed));
		else if (insn->size >= 8)
			make_move(insn, insn->a);
		break;
	case IR_STORE:
		if (is_const(o, insn->b, &a) && (insn->size < 8 || a == (s32)a)) {
			insn->op = IR_STORE_IMM;
			insn->imm2 = (s32)a;
			insn->b = 0;
		}
		break;
	case IR_BRANCH:
		fold_branch(o, insn);
		break;
	default:
		break;
	}
}

/* In one pass: a second one would find more only for blocks in an unusual order. */
static void fold_all(struct optimiser *o)
{
	analyse(o);
	for (size_t b = 0; b < o->f->blocks.len; b++)
		for (size_t k = 0; k < o->f->blocks.items[b].insns.len; k++)
			fold(o, &o->f->blocks.items[b].insns.items[k]);
}

/* Emits what expand_division() needs, into the block being rebuilt. */
static ir_reg expand_op(struct ir_function *f, struct ir_block *out, enum ir_op op, ir_reg a,
			ir_reg b, s64 imm, struct span span)
{
	const ir_reg dst = ir_reg_new(f);

	ir_push(f->arena, &out->insns,
		(struct ir_insn){.op = op, .dst = dst, .a = a, .b = b, .imm = imm, .span = span});
	return dst;
}

/*
 * Signed division before cpu v4: with s(x) = x >> 63, |x| = (x ^ s) - s. The quotient's sign is
 * s(a) ^ s(b), the remainder's s(a). Division by zero comes out as the machine defines it, because
 * (0 ^ s) - s = 0.
 */
static void expand_division(struct ir_function *f, struct ir_block *out, const struct ir_insn *d)
{
	const bool is_div = d->op == IR_SDIV;
	const struct span at = d->span;
	const enum ir_op op = is_div ? IR_DIV : IR_MOD;
	const ir_reg sa = expand_op(f, out, IR_SAR, d->a, 0, 63, at);
	const ir_reg xa = expand_op(f, out, IR_XOR, d->a, sa, 0, at);
	const ir_reg ua = expand_op(f, out, IR_SUB, xa, sa, 0, at);
	ir_reg sign = sa, result;

	if (d->b) {
		const ir_reg sb = expand_op(f, out, IR_SAR, d->b, 0, 63, at);
		const ir_reg xb = expand_op(f, out, IR_XOR, d->b, sb, 0, at);
		const ir_reg ub = expand_op(f, out, IR_SUB, xb, sb, 0, at);

		result = expand_op(f, out, op, ua, ub, 0, at);
		if (is_div)
			sign = expand_op(f, out, IR_XOR, sa, sb, 0, at);
	} else if (d->imm == INT32_MIN) { /* its absolute value fits no immediate */
		const ir_reg ub = ir_reg_new(f);

		ir_push(f->arena, &out->insns,
			(struct ir_insn){
				.op = IR_CONST, .dst = ub, .imm = -(s64)INT32_MIN, .span = at});
		result = expand_op(f, out, op, ua, ub, 0, at);
	} else {
		result = expand_op(f, out, op, ua, 0, d->imm < 0 ? -d->imm : d->imm, at);
	}
	if (is_div && !d->b && d->imm < 0)
		sign = expand_op(f, out, IR_XOR, sa, 0, -1, at);
	result = expand_op(f, out, IR_XOR, result, sign, 0, at);
	ir_push(f->arena, &out->insns,
		(struct ir_insn){.op = IR_SUB, .dst = d->dst, .a = result, .b = sign, .span = at});
}

static bool expand_all(struct ir_function *f)
{
	bool any = false;

	for (size_t b = 0; b < f->blocks.len; b++) {
		struct ir_block *block = &f->blocks.items[b], rebuilt = {.label = block->label};
		size_t n = 0;

		for (size_t k = 0; k < block->insns.len; k++)
			n += block->insns.items[k].op == IR_SDIV ||
			     block->insns.items[k].op == IR_SMOD;
		if (!n)
			continue;
		for (size_t k = 0; k < block->insns.len; k++) {
			const struct ir_insn *insn = &block->insns.items[k];

			if (insn->op == IR_SDIV || insn->op == IR_SMOD)
				expand_division(f, &rebuilt, insn);
			else
				ir_push(f->arena, &rebuilt.insns, *insn);
		}
		*block = rebuilt;
		any = true;
	}
	return any;
}

static void resize(struct optimiser *o)
{
	const size_t n = (size_t)o->f->nregs + 1;

	o->ndefs = xreallocarray(o->ndefs, n, sizeof(*o->ndefs));
	o->def = xreallocarray(o->def, n, sizeof(*o->def));
}

void ir_optimise(struct ir_function *f, const struct emit_options *options)
{
	struct optimiser o = {.f = f};

	resize(&o);
	fold_all(&o);
	if (!options->has_cpu_v4 && expand_all(f)) {
		resize(&o);
		fold_all(&o);
	}
	free(o.ndefs);
	free(o.def);
}
