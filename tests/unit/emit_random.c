/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs: a small interpreter of the IR and the kernel that runs the emitted code must
 * agree. EMIT_SEED and EMIT_COUNT choose other ones.
 */
#include "tap.h"

#include <sys/syscall.h>

#include "emit_run.h"
#include "lang/ir/pass.h"

static struct run env;
static u64 random_state;

static u32 rnd(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)(random_state >> 33) % n;
}

/* ---- interpreter: addresses are those of this process ---- */

struct machine {
	const struct ir_function *f;
	u64 *regs;
	u8 **slots;
	u64 results[NRESULTS];
};

static u64 read_memory(u64 address, u32 size, bool is_signed)
{
	u64 v = 0;

	memcpy(&v, (void *)(uintptr_t)address, size);
	return (u64)ir_extend_value((s64)v, size, is_signed);
}

static void write_memory(u64 address, u64 v, u32 size)
{
	memcpy((void *)(uintptr_t)address, &v, size);
}

static void step(struct machine *m, const struct ir_insn *i)
{
	const u64 a = m->regs[i->a], b = i->b ? m->regs[i->b] : (u64)i->imm;
	u64 result = 0;

	if (ir_is_binary(i->op)) {
		m->regs[i->dst] = (u64)ir_evaluate(i->op, (s64)a, (s64)b);
		return;
	}
	switch (i->op) {
	case IR_CONST:
		result = (u64)i->imm;
		break;
	case IR_MOVE:
		result = a;
		break;
	case IR_NEG:
		result = 0 - a;
		break;
	case IR_BSWAP:
		result = __builtin_bswap64(a) >> (64 - i->size * 8);
		break;
	case IR_EXTEND:
		result = (u64)ir_extend_value((s64)a, i->size, i->is_signed);
		break;
	case IR_LOAD:
		result = read_memory(a + (u64)i->imm, i->size, i->is_signed);
		break;
	case IR_STORE:
		write_memory(a + (u64)i->imm, m->regs[i->b], i->size);
		break;
	case IR_STORE_IMM:
		write_memory(a + (u64)i->imm, (u64)i->imm2, i->size);
		break;
	case IR_ATOMIC_ADD:
		result = read_memory(a + (u64)i->imm, i->size, false);
		write_memory(a + (u64)i->imm, result + m->regs[i->b], i->size);
		break;
	case IR_ATOMIC_CMPXCHG:
		result = read_memory(a + (u64)i->imm, 8, false);
		if (result == m->regs[i->b])
			write_memory(a + (u64)i->imm, m->regs[i->c], 8);
		break;
	case IR_CALL: /* get_current_pid_tgid */
		result = (u64)getpid() << 32 | (u32)syscall(SYS_gettid);
		break;
	case IR_MAP_VALUE:
		result = (uintptr_t)m->results;
		break;
	case IR_SLOT:
		result = (uintptr_t)m->slots[i->imm];
		break;
	case IR_CONTEXT:
		result = (uintptr_t)run_args;
		break;
	default:
		break;
	}
	if (i->dst)
		m->regs[i->dst] = result;
}

static u32 interpret(struct machine *m)
{
	for (const struct ir_block *b = m->f->blocks.items;;) {
		const struct ir_insn *last = &vector_last(&b->insns);
		u32 target = last->then;

		for (size_t k = 0; k + 1 < b->insns.len; k++)
			step(m, &b->insns.items[k]);
		if (last->op == IR_RETURN)
			return last->a ? (u32)m->regs[last->a] : (u32)last->imm;
		if (last->op == IR_BRANCH &&
		    !ir_compare(last->cond, (s64)m->regs[last->a],
				last->b ? (s64)m->regs[last->b] : last->imm))
			target = last->otherwise;
		b = &m->f->blocks.items[target];
	}
}

/* ---- generator ---- */

/* The slots from the fifth on are too big for the stack. */
enum { MAX_VARIABLES = 24, NSLOTS = 6, FIRST_SCRATCH_SLOT = 4 };

struct generator {
	struct ir_function *f;
	ir_reg variables[MAX_VARIABLES];
	u32 nvariables, fuel;
	u32 slots[NSLOTS], slot_sizes[NSLOTS];
	u32 exit; /* block */
	bool in_loop;
};

static s64 random_constant(void)
{
	static const s64 interesting[] = {
		0,   1,	  -1,	     2,	    3,	       7,	   8,	      63,	 64,
		255, 256, INT32_MAX, -4096, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 1000};

	return rnd(3) ? interesting[rnd(ARRAY_SIZE(interesting))] : (s64)(s32)(rnd(2000)) - 1000;
}

static ir_reg random_value(struct generator *g, u32 depth);

static ir_reg slot_place(struct generator *g, u32 first, u32 size, s64 *offset)
{
	const u32 s = first + rnd(NSLOTS - first);
	ir_reg a = ir_slot_address(g->f, g->slots[s]);
	const s64 at = (s64)rnd(g->slot_sizes[s] / 8) * 8 + (s64)rnd(8 / size) * size;

	*offset = at;
	if (rnd(3) == 0) {
		a = ir_binary_imm(g->f, IR_ADD, a, at);
		*offset = 0;
	} else if (rnd(6) == 0) {
		a = ir_binary_imm(g->f, IR_SUB, a, 16);
		*offset = at + 16;
	}
	return a;
}

static ir_reg random_leaf(struct generator *g)
{
	const u32 size = 1u << rnd(4);
	s64 offset;
	ir_reg a;

	switch (rnd(8)) {
	case 0:
	case 1:
		return ir_const(g->f, random_constant());
	case 2:
		return ir_load(g->f, ir_context(g->f), rnd(8) * 8, 8, false);
	case 3:
		a = slot_place(g, 0, size, &offset);
		return ir_load(g->f, a, offset, size, rnd(2));
	case 4:
		if (rnd(3) == 0)
			return ir_call(g->f, BPF_FUNC_get_current_pid_tgid, 0, NULL);
		/* fallthrough */
	default:
		return g->variables[rnd(g->nvariables)];
	}
}

static ir_reg random_value(struct generator *g, u32 depth)
{
	const enum ir_op op = IR_ADD + rnd(IR_SAR - IR_ADD + 1);
	ir_reg a, b;

	if (!depth || !rnd(4))
		return random_leaf(g);
	a = random_value(g, depth - 1);
	switch (rnd(8)) {
	case 0:
		return ir_extend(g->f, a, 1u << rnd(3), rnd(2));
	case 1:
		b = ir_reg_new(g->f);
		if (rnd(2))
			ir_add(g->f, (struct ir_insn){.op = IR_NEG, .dst = b, .a = a});
		else
			ir_add(g->f,
			       (struct ir_insn){
				       .op = IR_BSWAP, .dst = b, .a = a, .size = 2u << rnd(3)});
		return b;
	case 2:
		return ir_move(g->f, a);
	case 3:
	case 4:
		return ir_binary_imm(g->f, op, a, random_constant());
	default:
		b = random_value(g, depth - 1);
		return ir_binary(g->f, op, a, b);
	}
}

static void random_block(struct generator *g, u32 statements, u32 depth);

static void random_atomic(struct generator *g)
{
	struct ir_insn insn = {.op = IR_ATOMIC_ADD, .size = rnd(2) ? 4 : 8};

	insn.b = random_value(g, 1);
	if (rnd(2)) {
		insn.op = IR_ATOMIC_CMPXCHG;
		insn.size = 8;
		insn.c = random_value(g, 1);
	}
	/*
	 * In scratch memory only: for the result of a fetch from the stack, backtrack_insn() of
	 * Linux 6.18's verifier does not make the stack slot precise; it prunes too much and
	 * removes branches that are taken.
	 */
	insn.a = slot_place(g, FIRST_SCRATCH_SLOT, insn.size, &insn.imm);
	if (rnd(2) || insn.op == IR_ATOMIC_CMPXCHG)
		insn.dst = g->variables[rnd(g->nvariables)];
	ir_add(g->f, insn);
}

static void random_if(struct generator *g, u32 depth)
{
	const u32 then = ir_block_new(g->f, "then"), otherwise = ir_block_new(g->f, "else"),
		  join = ir_block_new(g->f, "join");
	const enum ir_cond cond = rnd(IR_SET + 1);
	const ir_reg a = random_value(g, 1);

	if (rnd(2))
		ir_branch_imm(g->f, cond, a, random_constant(), then, otherwise);
	else
		ir_branch(g->f, cond, a, random_value(g, 1), then, otherwise);
	ir_switch_to(g->f, then);
	random_block(g, 1 + rnd(3), depth - 1);
	ir_jump(g->f, rnd(12) || g->in_loop ? join : g->exit);
	ir_switch_to(g->f, otherwise);
	if (rnd(2))
		random_block(g, 1 + rnd(3), depth - 1);
	ir_jump(g->f, join);
	ir_switch_to(g->f, join);
}

static void random_loop(struct generator *g, u32 depth)
{
	const u32 head = ir_block_new(g->f, "head"), body = ir_block_new(g->f, "body"),
		  end = ir_block_new(g->f, "end");
	const ir_reg i = ir_reg_new(g->f);
	const bool outer = g->in_loop;

	g->in_loop = true;
	ir_assign_const(g->f, i, 0);
	ir_jump(g->f, head);
	ir_switch_to(g->f, head);
	ir_branch_imm(g->f, IR_LT, i, 1 + rnd(3), body, end);
	ir_switch_to(g->f, body);
	random_block(g, 1 + rnd(3), depth - 1);
	ir_assign(g->f, i, ir_binary_imm(g->f, IR_ADD, i, 1));
	ir_jump(g->f, head);
	ir_switch_to(g->f, end);
	g->in_loop = outer;
}

static void random_statement(struct generator *g, u32 depth)
{
	const u32 size = 1u << rnd(4);
	s64 offset;
	ir_reg a, v;

	switch (rnd(depth ? 10 : 7)) {
	case 0:
		v = random_value(g, 2);
		a = slot_place(g, 0, size, &offset);
		ir_store(g->f, a, offset, size, v);
		break;
	case 1:
		a = slot_place(g, 0, size, &offset);
		ir_store_imm(g->f, a, offset, size, random_constant());
		break;
	case 2:
		random_atomic(g);
		break;
	case 7:
	case 8:
		random_if(g, depth);
		break;
	case 9:
		random_loop(g, depth);
		break;
	default:
		v = random_value(g, 3);
		if (rnd(5) == 0)
			ir_assign_const(g->f, g->variables[rnd(g->nvariables)], random_constant());
		else
			ir_assign(g->f, g->variables[rnd(g->nvariables)], v);
		break;
	}
}

static void random_block(struct generator *g, u32 statements, u32 depth)
{
	for (u32 i = 0; i < statements && g->fuel; i++, g->fuel--)
		random_statement(g, depth);
}

static void generate(struct generator *g)
{
	static const u32 sizes[NSLOTS] = {8, 16, 24, 64, 256, 4096};

	g->exit = ir_block_new(g->f, "exit");
	for (u32 i = 0; i < NSLOTS; i++) {
		g->slots[i] = ir_slot(g->f, sizes[i], 8, "slot");
		g->slot_sizes[i] = MIN(sizes[i], 64u);
		ir_zero(g->f, ir_slot_address(g->f, g->slots[i]), 0, g->slot_sizes[i]);
	}
	g->nvariables = 2 + rnd(MAX_VARIABLES - 1);
	for (u32 i = 0; i < g->nvariables; i++) {
		g->variables[i] = ir_reg_new(g->f);
		if (rnd(2))
			ir_assign_const(g->f, g->variables[i], random_constant());
		else
			ir_assign(g->f, g->variables[i],
				  ir_load(g->f, ir_context(g->f), rnd(8) * 8, 8, false));
	}
	g->fuel = 60;
	random_block(g, 4 + rnd(20), 2);
	ir_jump(g->f, g->exit);
	ir_switch_to(g->f, g->exit);
	for (u32 i = 0; i < g->nvariables; i++)
		emit_result(g->f, i, g->variables[i]);
	for (u32 i = 0; i < NSLOTS; i++)
		for (u32 k = 0; k < g->slot_sizes[i]; k += 8)
			emit_result(g->f, MAX_VARIABLES + i * 8 + k / 8,
				    ir_load(g->f, ir_slot_address(g->f, g->slots[i]), k, 8, false));
	ir_return(g->f, g->variables[0]);
}

/* 0 = agrees, 1 = does not, -1 = the kernel refused it for being too complex. */
static int try_seed(u64 seed)
{
	struct arena arena = ARENA_INIT;
	struct ir_program p = run_program(&arena);
	struct generator g = {0};
	struct machine m = {0};
	struct bpf_code code;
	const struct emit_options options = {.has_cpu_v4 = seed & 1};
	u32 want;
	s64 got;
	int bad = 0;

	random_state = seed * 0x9e3779b97f4a7c15 + 1;
	g.f = ir_function_new(&p, "random");
	generate(&g);
	m.f = g.f;
	m.regs = arena_new_array(&arena, u64, g.f->nregs + 1);
	m.slots = arena_new_array(&arena, u8 *, g.f->slots.len);
	for (size_t i = 0; i < g.f->slots.len; i++)
		m.slots[i] = arena_alloc(&arena, g.f->slots.items[i].size);
	want = interpret(&m);
	memset((void *)env.results, 0, NRESULTS * 8);
	got = run_ir(&env, &p, &options, &code);
	if (got < 0) {
		bad = got == -E2BIG && !errno ? -1 : 1;
	} else if ((u32)got != want) {
		printf("# returned %u, want %u\n", (u32)got, want);
		bad = 1;
	}
	for (u32 i = 0; i < NRESULTS && got >= 0; i++) {
		if (env.results[i] == m.results[i])
			continue;
		printf("# result %u: 0x%llx, want 0x%llx\n", i, (unsigned long long)env.results[i],
		       (unsigned long long)m.results[i]);
		bad = 1;
	}
	arena_release(&arena);
	return bad;
}

int main(void)
{
	const u64 first = getenv("EMIT_SEED") ? strtoull(getenv("EMIT_SEED"), NULL, 0) : 1;
	const u64 count = getenv("EMIT_COUNT") ? strtoull(getenv("EMIT_COUNT"), NULL, 0) : 500;
	const int error = run_open(&env);
	u32 wrong = 0;

	if (error) {
		tap_skip("random programs", strerror(-error));
		return tap_done();
	}
	for (u64 seed = first; seed < first + count && wrong < 5; seed++) {
		if (try_seed(seed) > 0) {
			printf("# seed %llu\n", (unsigned long long)seed);
			wrong++;
		}
	}
	is_int(wrong, 0, "the kernel and the interpreter agree on random programs");
	run_close(&env);
	return tap_done();
}
