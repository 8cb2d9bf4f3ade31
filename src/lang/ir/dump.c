/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The IR as text (-d ir), and the checks that the back end relies on. */
#include "lang/bpf/emit.h"
#include "lang/ir/pass.h"

static const char *const op_names[] = {
	[IR_NOP] = "nop",
	[IR_CONST] = "const",
	[IR_MOVE] = "move",
	[IR_ADD] = "add",
	[IR_SUB] = "sub",
	[IR_MUL] = "mul",
	[IR_DIV] = "div",
	[IR_MOD] = "mod",
	[IR_SDIV] = "sdiv",
	[IR_SMOD] = "smod",
	[IR_AND] = "and",
	[IR_OR] = "or",
	[IR_XOR] = "xor",
	[IR_SHL] = "shl",
	[IR_SHR] = "shr",
	[IR_SAR] = "sar",
	[IR_NEG] = "neg",
	[IR_BSWAP] = "bswap",
	[IR_EXTEND] = "extend",
	[IR_LOAD] = "load",
	[IR_STORE] = "store",
	[IR_STORE_IMM] = "store",
	[IR_ATOMIC_ADD] = "atomic_add",
	[IR_ATOMIC_CMPXCHG] = "cmpxchg",
	[IR_CALL] = "call",
	[IR_CALL_FUNCTION] = "call",
	[IR_MAP] = "map",
	[IR_MAP_VALUE] = "map_value",
	[IR_FUNCTION] = "function",
	[IR_SLOT] = "slot",
	[IR_CONTEXT] = "context",
	[IR_PARAM] = "param",
	[IR_JUMP] = "jump",
	[IR_BRANCH] = "if",
	[IR_RETURN] = "return",
};

static const char *const cond_names[] = {
	[IR_EQ] = "==",	 [IR_NE] = "!=",   [IR_LT] = "<",   [IR_LE] = "<=",
	[IR_GT] = ">",	 [IR_GE] = ">=",   [IR_SLT] = "s<", [IR_SLE] = "s<=",
	[IR_SGT] = "s>", [IR_SGE] = "s>=", [IR_SET] = "&",
};

static void dump_block_name(struct strbuf *out, const struct ir_function *f, u32 b)
{
	strbuf_addf(out, "b%u", b);
	if (b < f->blocks.len && f->blocks.items[b].label)
		strbuf_addf(out, "_%s", f->blocks.items[b].label);
}

static void dump_call(struct strbuf *out, const struct ir_program *p, const struct ir_insn *insn)
{
	const bool is_helper = insn->op == IR_CALL && !insn->is_kernel;
	const char *name = is_helper ? bpf_helper_name((u32)insn->imm) : NULL;

	if (insn->op == IR_CALL_FUNCTION && (u64)insn->imm < p->functions.len)
		name = p->functions.items[insn->imm]->name;
	if (name)
		strbuf_addf(out, "%s(", name);
	else
		strbuf_addf(out, "%s#%" PRId64 "(", insn->is_kernel ? "kernel" : "", insn->imm);
	for (u32 i = 0; i < insn->nargs; i++)
		strbuf_addf(out, "%s%%%u", i ? ", " : "", insn->args[i]);
	strbuf_addch(out, ')');
}

static void dump_second(struct strbuf *out, const struct ir_insn *insn)
{
	if (insn->b)
		strbuf_addf(out, "%%%u", insn->b);
	else
		strbuf_addf(out, "%" PRId64, insn->imm);
}

static void dump_insn(struct strbuf *out, const struct ir_program *p, const struct ir_function *f,
		      const struct ir_insn *insn)
{
	strbuf_addstr(out, "\t");
	if (insn->dst)
		strbuf_addf(out, "%%%u = ", insn->dst);
	strbuf_addstr(out, op_names[insn->op]);
	if (insn->size)
		strbuf_addf(out, ".%c%u", insn->is_signed ? 's' : 'u', insn->size * 8);
	strbuf_addch(out, ' ');
	switch (insn->op) {
	case IR_NOP:
	case IR_CONTEXT:
		break;
	case IR_CONST:
	case IR_PARAM:
	case IR_MAP:
		strbuf_addf(out, "%" PRId64, insn->imm);
		break;
	case IR_MAP_VALUE:
		strbuf_addf(out, "%" PRId64 " + %" PRId64, insn->imm, insn->imm2);
		break;
	case IR_FUNCTION:
		strbuf_addstr(out, (u64)insn->imm < p->functions.len
					   ? p->functions.items[insn->imm]->name
					   : "?");
		break;
	case IR_SLOT:
		strbuf_addf(out, "%" PRId64, insn->imm);
		if ((u64)insn->imm < f->slots.len && f->slots.items[insn->imm].label)
			strbuf_addf(out, " ; %s", f->slots.items[insn->imm].label);
		break;
	case IR_MOVE:
	case IR_NEG:
	case IR_BSWAP:
	case IR_EXTEND:
		strbuf_addf(out, "%%%u", insn->a);
		break;
	case IR_LOAD:
		strbuf_addf(out, "[%%%u + %" PRId64 "]", insn->a, insn->imm);
		break;
	case IR_STORE:
	case IR_ATOMIC_ADD:
		strbuf_addf(out, "[%%%u + %" PRId64 "], %%%u", insn->a, insn->imm, insn->b);
		break;
	case IR_STORE_IMM:
		strbuf_addf(out, "[%%%u + %" PRId64 "], %" PRId64, insn->a, insn->imm, insn->imm2);
		break;
	case IR_ATOMIC_CMPXCHG:
		strbuf_addf(out, "[%%%u + %" PRId64 "], %%%u, %%%u", insn->a, insn->imm, insn->b,
			    insn->c);
		break;
	case IR_CALL:
	case IR_CALL_FUNCTION:
		dump_call(out, p, insn);
		break;
	case IR_JUMP:
		dump_block_name(out, f, insn->then);
		break;
	case IR_BRANCH:
		strbuf_addf(out, "%%%u %s ", insn->a, cond_names[insn->cond]);
		dump_second(out, insn);
		strbuf_addstr(out, " goto ");
		dump_block_name(out, f, insn->then);
		strbuf_addstr(out, " else ");
		dump_block_name(out, f, insn->otherwise);
		break;
	case IR_RETURN:
		if (insn->a)
			strbuf_addf(out, "%%%u", insn->a);
		else
			strbuf_addf(out, "%" PRId64, insn->imm);
		break;
	default:
		strbuf_addf(out, "%%%u, ", insn->a);
		dump_second(out, insn);
		break;
	}
	strbuf_addch(out, '\n');
}

void ir_dump(struct strbuf *out, const struct ir_program *p)
{
	strbuf_addf(out, "program %s\n", p->name ? p->name : "");
	for (size_t i = 0; i < p->functions.len; i++) {
		const struct ir_function *f = p->functions.items[i];

		strbuf_addf(out, "function %s(%u)%s\n", f->name, f->nparams,
			    f->is_callback ? " callback" : "");
		for (size_t s = 0; s < f->slots.len; s++)
			strbuf_addf(out, "    slot %zu: %u bytes%s%s\n", s, f->slots.items[s].size,
				    f->slots.items[s].label ? ", " : "",
				    f->slots.items[s].label ? f->slots.items[s].label : "");
		for (u32 b = 0; b < f->blocks.len; b++) {
			strbuf_addstr(out, "    ");
			dump_block_name(out, f, b);
			strbuf_addstr(out, ":\n");
			for (size_t k = 0; k < f->blocks.items[b].insns.len; k++)
				dump_insn(out, p, f, &f->blocks.items[b].insns.items[k]);
		}
	}
}

static bool size_ok(u32 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* What is wrong with one instruction, or NULL. */
static const char *insn_problem(const struct ir_program *p, const struct ir_function *f,
				struct ir_insn *insn)
{
	ir_reg *operands[IR_MAX_OPERANDS];
	u32 n;

	if ((size_t)insn->op >= ARRAY_SIZE(op_names) || insn->nargs > ARRAY_SIZE(insn->args))
		return "bad opcode or number of arguments";
	n = ir_operands(insn, operands);
	for (u32 i = 0; i < n; i++)
		if (!*operands[i] || *operands[i] > f->nregs)
			return "an operand is not a register";
	if (insn->dst > f->nregs)
		return "the result is not a register";
	if (ir_is_binary(insn->op) && (!insn->a || !insn->dst))
		return "arithmetic without operand or result";
	if (ir_is_binary(insn->op) && !insn->b && insn->imm != (s32)insn->imm)
		return "an immediate does not fit 32 bits";
	switch (insn->op) {
	case IR_MOVE:
	case IR_NEG:
		return insn->a && insn->dst ? NULL : "operand or result missing";
	case IR_BSWAP:
	case IR_EXTEND:
	case IR_LOAD:
		return insn->a && insn->dst && size_ok(insn->size) ? NULL
								   : "operand or size missing";
	case IR_STORE_IMM:
		return insn->a && size_ok(insn->size) ? NULL : "operand or size missing";
	case IR_STORE:
		return insn->a && insn->b && size_ok(insn->size) ? NULL : "operand or size missing";
	case IR_ATOMIC_ADD:
		return insn->a && insn->b && (insn->size == 4 || insn->size == 8)
			       ? NULL
			       : "operand or size missing";
	case IR_ATOMIC_CMPXCHG:
		return insn->a && insn->b && insn->c ? NULL : "operand missing";
	case IR_CALL_FUNCTION:
	case IR_FUNCTION:
		return insn->imm > 0 && (u64)insn->imm < p->functions.len ? NULL
									  : "no such function";
	case IR_SLOT:
		return (u64)insn->imm < f->slots.len ? NULL : "no such slot";
	case IR_CONTEXT:
		return f == p->functions.items[0] ? NULL : "context outside the main function";
	case IR_PARAM:
		return (u64)insn->imm < f->nparams && f->nparams <= 5 ? NULL : "no such parameter";
	case IR_BRANCH:
		if (!insn->a || (size_t)insn->cond >= ARRAY_SIZE(cond_names))
			return "branch without operand";
		if (!insn->b && insn->imm != (s32)insn->imm)
			return "an immediate does not fit 32 bits";
		if (insn->otherwise >= f->blocks.len)
			return "branch to a block that does not exist";
		/* fallthrough */
	case IR_JUMP:
		return insn->then < f->blocks.len ? NULL : "jump to a block that does not exist";
	default:
		return NULL;
	}
}

/* Code after a return or break need not end in a jump: it never runs. */
static void mark_reachable(const struct ir_function *f, u8 *reachable)
{
	u32 *stack = xmalloc((f->blocks.len + 1) * sizeof(*stack)), n = 0, succ[2];

	stack[n++] = 0;
	reachable[0] = 1;
	while (n) {
		const struct ir_block *b = &f->blocks.items[stack[--n]];

		for (u32 i = b->insns.len ? ir_successors(b, succ) : 0; i-- > 0;) {
			if (succ[i] < f->blocks.len && !reachable[succ[i]]) {
				reachable[succ[i]] = 1;
				stack[n++] = succ[i];
			}
		}
	}
	free(stack);
}

static const char *block_problem(const struct ir_program *p, const struct ir_function *f, u32 b,
				 const u8 *defined, size_t *ret_insn)
{
	const struct ir_block *block = &f->blocks.items[b];
	const char *problem;

	*ret_insn = block->insns.len;
	if (!block->insns.len || !ir_is_terminator(vector_last(&block->insns).op))
		return "the block does not end in a jump or return";
	for (size_t k = 0; k < block->insns.len; k++) {
		struct ir_insn *insn = &block->insns.items[k];
		ir_reg *operands[IR_MAX_OPERANDS];

		*ret_insn = k;
		problem = insn_problem(p, f, insn);
		if (problem)
			return problem;
		if (ir_is_terminator(insn->op) && k + 1 != block->insns.len)
			return "a jump in the middle of a block";
		if (insn->op == IR_PARAM && b)
			return "a parameter outside the entry block";
		for (u32 i = ir_operands(insn, operands); i-- > 0;)
			if (!defined[*operands[i]])
				return "a register is used but never assigned";
	}
	return NULL;
}

static const char *function_problem(struct arena *a, const struct ir_program *p,
				    const struct ir_function *f)
{
	u8 *defined = xzalloc((size_t)f->nregs + 1);
	u8 *reachable = xzalloc(f->blocks.len + 1);
	const char *problem = NULL;
	size_t k = 0;
	u32 b;

	mark_reachable(f, reachable);
	for (b = 0; b < f->blocks.len; b++)
		for (k = 0; k < f->blocks.items[b].insns.len; k++)
			if (f->blocks.items[b].insns.items[k].dst <= f->nregs)
				defined[f->blocks.items[b].insns.items[k].dst] = 1;
	for (b = 0; b < f->blocks.len && !problem; b++)
		if (reachable[b])
			problem = block_problem(p, f, b, defined, &k);
	free(reachable);
	free(defined);
	if (!problem)
		return NULL;
	return arena_printf(a, "%s: block %u, instruction %zu: %s", f->name, b - 1, k, problem);
}

const char *ir_verify(struct arena *a, const struct ir_program *p)
{
	if (!p->functions.len)
		return "a program without function";
	for (size_t i = 0; i < p->functions.len; i++) {
		const char *problem = function_problem(a, p, p->functions.items[i]);

		if (problem)
			return problem;
	}
	return NULL;
}
