/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User stacks without frame pointers: a callback of bpf_loop() makes one step from frame to frame
 * by the table that the engine has made of the process's call frame information
 * (binary/debug/unwind.h). Frames are as bpf_get_stack() gives them: the instruction pointer, then
 * return addresses.
 */
#include "arch/arch.h"
#include "binary/debug/unwind.h"
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

/* The walk's state, on the caller's stack. */
#define STATE_IP     0
#define STATE_SP     8
#define STATE_BP     16
#define STATE_RETURN 24 /* 1: ip is a return address; the call is before it */
#define STATE_FRAMES 32 /* address of the first frame's place */
#define STATE_TABLE  40 /* index of the first row << 32 | rows */
#define STATE_SIZE   48
/*
 * The number of frames so far stands before the first one, in a map: on the stack the verifier
 * would know it, and follow every round of the loop instead of any.
 */
#define COUNT (-8)

#define SEARCH_STEPS 24 /* 16 million rows */
#define USER_MODE    3 /* the low bits of cs */
/* struct ucontext (arch/x86/include/uapi/asm/sigcontext.h): registers of the interrupted code. */
#define UCONTEXT_BP 120
#define UCONTEXT_SP 160
#define UCONTEXT_IP 168

struct step {
	struct ir_function *f;
	ir_reg state, row, key, word;
	u32 stop; /* block that ends the walk */
};

static ir_reg small_slot(struct ir_function *f, u32 size, const char *label)
{
	const u32 slot = ir_slot(f, size, 8, label);

	f->slots.items[slot].force_stack = true;
	return ir_slot_address(f, slot);
}

/* *(u64 *)(base + offset) of user memory; the walk ends where there is none. */
static ir_reg read_word(struct step *s, ir_reg base, s64 offset)
{
	struct ir_function *f = s->f;
	const u32 good = ir_block_new(f, "read");
	ir_reg r;

	r = ir_call_n(f, BPF_FUNC_probe_read_user, s->word, ir_const(f, 8),
		      ir_binary_imm(f, IR_ADD, base, offset));
	ir_branch_imm(f, IR_EQ, r, 0, good, s->stop);
	ir_switch_to(f, good);
	return ir_load(f, s->word, 0, 8, false);
}

static ir_reg row_at(struct step *s, u32 map, ir_reg index)
{
	struct ir_function *f = s->f;
	const u32 there = ir_block_new(f, "row");
	ir_reg row;

	ir_store(f, s->key, 0, 4, index);
	row = ir_call_n(f, BPF_FUNC_map_lookup_elem, ir_map(f, map), s->key);
	ir_branch_imm(f, IR_NE, row, 0, there, s->stop);
	ir_switch_to(f, there);
	return row;
}

/* The last row whose address is not above pc. */
static ir_reg find_row(struct step *s, u32 map, ir_reg pc)
{
	struct ir_function *f = s->f;
	const u32 head = ir_block_new(f, "search"), look = ir_block_new(f, "search.look"),
		  body = ir_block_new(f, "search.body"), right = ir_block_new(f, "search.right"),
		  left = ir_block_new(f, "search.left"), next = ir_block_new(f, "search.next"),
		  done = ir_block_new(f, "search.done"), found = ir_block_new(f, "search.found");
	const ir_reg table = ir_load(f, s->state, STATE_TABLE, 8, false);
	const ir_reg first = ir_binary_imm(f, IR_SHR, table, 32), low = ir_move(f, first);
	const ir_reg high = ir_binary(f, IR_ADD, first, ir_extend(f, table, 4, false));
	ir_reg i = ir_reg_new(f), middle, address;

	ir_assign_const(f, i, 0);
	ir_jump(f, head);
	ir_switch_to(f, head);
	ir_branch_imm(f, IR_LT, i, SEARCH_STEPS, look, done);
	ir_switch_to(f, look);
	ir_branch(f, IR_LT, low, high, body, done);
	ir_switch_to(f, body);
	middle = ir_binary_imm(f, IR_SHR, ir_binary(f, IR_ADD, low, high), 1);
	address =
		ir_load(f, row_at(s, map, middle), offsetof(struct unwind_row, address), 8, false);
	ir_branch(f, IR_LE, address, pc, right, left);
	ir_switch_to(f, right);
	ir_assign(f, low, ir_binary_imm(f, IR_ADD, middle, 1));
	ir_jump(f, next);
	ir_switch_to(f, left);
	ir_assign(f, high, middle);
	ir_jump(f, next);
	ir_switch_to(f, next);
	ir_assign(f, i, ir_binary_imm(f, IR_ADD, i, 1));
	ir_jump(f, head);
	ir_switch_to(f, done);
	ir_branch(f, IR_GT, low, first, found, s->stop);
	ir_switch_to(f, found);
	return row_at(s, map, ir_binary_imm(f, IR_ADD, low, -1));
}

static void store_registers(struct step *s, ir_reg ip, ir_reg sp, ir_reg bp, u32 is_return)
{
	struct ir_function *f = s->f;
	const u32 on = ir_block_new(f, "step.on");

	ir_store(f, s->state, STATE_IP, 8, ip);
	ir_store(f, s->state, STATE_SP, 8, sp);
	ir_store(f, s->state, STATE_BP, 8, bp);
	ir_store_imm(f, s->state, STATE_RETURN, 8, is_return);
	ir_branch_imm(f, IR_NE, ip, 0, on, s->stop);
	ir_switch_to(f, on);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = 0});
}

/* Through the frame that the kernel builds for a signal handler: all registers are in it. */
static void step_signal(struct step *s, ir_reg sp)
{
	const ir_reg ip = read_word(s, sp, UCONTEXT_IP), bp = read_word(s, sp, UCONTEXT_BP);

	store_registers(s, ip, read_word(s, sp, UCONTEXT_SP), bp, 0);
}

/* The canonical frame address by the row's rule; signal frames do not come back. */
static ir_reg frame_address(struct step *s, ir_reg row, ir_reg ip, ir_reg sp, ir_reg bp)
{
	struct ir_function *f = s->f;
	const ir_reg offset = ir_load(f, row, offsetof(struct unwind_row, cfa_offset), 4, true),
		     kind = ir_load(f, row, offsetof(struct unwind_row, kind), 1, false),
		     cfa = ir_reg_new(f);
	const u32 done = ir_block_new(f, "cfa"), by_sp = ir_block_new(f, "cfa.sp"),
		  not_sp = ir_block_new(f, "cfa.not_sp"), by_bp = ir_block_new(f, "cfa.bp"),
		  not_bp = ir_block_new(f, "cfa.not_bp"), deref = ir_block_new(f, "cfa.deref"),
		  not_deref = ir_block_new(f, "cfa.not_deref"), plt = ir_block_new(f, "cfa.plt"),
		  plt_late = ir_block_new(f, "cfa.plt_late"),
		  not_plt = ir_block_new(f, "cfa.not_plt"), signal = ir_block_new(f, "signal");

	ir_branch_imm(f, IR_EQ, kind, UNWIND_SP, by_sp, not_sp);
	ir_switch_to(f, by_sp);
	ir_assign(f, cfa, ir_binary(f, IR_ADD, sp, offset));
	ir_jump(f, done);
	ir_switch_to(f, not_sp);
	ir_branch_imm(f, IR_EQ, kind, UNWIND_BP, by_bp, not_bp);
	ir_switch_to(f, by_bp);
	ir_assign(f, cfa, ir_binary(f, IR_ADD, bp, offset));
	ir_jump(f, done);
	ir_switch_to(f, not_bp);
	ir_branch_imm(f, IR_EQ, kind, UNWIND_BP_DEREF, deref, not_deref);
	ir_switch_to(f, deref);
	ir_assign(f, cfa, read_word(s, ir_binary(f, IR_ADD, bp, offset), 0));
	ir_jump(f, done);
	ir_switch_to(f, not_deref);
	ir_branch_imm(f, IR_EQ, kind, UNWIND_PLT, plt, not_plt);
	ir_switch_to(f, plt);
	ir_assign(f, cfa, ir_binary_imm(f, IR_ADD, sp, 8));
	ir_branch_imm(f, IR_GE, ir_binary_imm(f, IR_AND, ip, 15), 11, plt_late, done);
	ir_switch_to(f, plt_late);
	ir_assign(f, cfa, ir_binary_imm(f, IR_ADD, sp, 16));
	ir_jump(f, done);
	ir_switch_to(f, not_plt);
	ir_branch_imm(f, IR_EQ, kind, UNWIND_SIGNAL, signal, s->stop);
	ir_switch_to(f, signal);
	step_signal(s, sp);
	ir_switch_to(f, done);
	return cfa;
}

/* bp as the caller had it. */
static void restore_bp(struct step *s, ir_reg row, ir_reg cfa, ir_reg bp)
{
	struct ir_function *f = s->f;
	const ir_reg offset = ir_load(f, row, offsetof(struct unwind_row, bp_offset), 2, true),
		     at_bp = ir_load(f, row, offsetof(struct unwind_row, bp_at_bp), 1, false);
	const u32 saved = ir_block_new(f, "bp.saved"), kept = ir_block_new(f, "bp.kept"),
		  there = ir_block_new(f, "bp.there"), done = ir_block_new(f, "bp");

	ir_branch_imm(f, IR_NE, offset, 0, saved, kept);
	ir_switch_to(f, saved);
	ir_assign(f, bp, read_word(s, ir_binary(f, IR_ADD, cfa, offset), 0));
	ir_jump(f, done);
	ir_switch_to(f, kept);
	ir_branch_imm(f, IR_NE, at_bp, 0, there, done);
	ir_switch_to(f, there);
	ir_assign(f, bp, read_word(s, bp, 0));
	ir_jump(f, done);
	ir_switch_to(f, done);
}

static struct ir_function *make_step(struct lower *l, u32 map, u32 depth)
{
	struct ir_function *f = ir_function_new(
		l->ir, arena_printf(l->arena, "unwind_%u", (u32)l->ir->functions.len));
	struct step s = {.f = f};
	u32 room, higher;
	ir_reg count, frames, place, ip, sp, bp, cfa, row;

	f->is_callback = true;
	f->nparams = 2;
	f->span = l->f->span;
	s.state = ir_reg_new(f);
	ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = s.state, .imm = 1});
	s.stop = ir_block_new(f, "stop");
	room = ir_block_new(f, "room");
	higher = ir_block_new(f, "higher");
	s.key = small_slot(f, 8, "row index");
	s.word = small_slot(f, 8, "word");
	frames = ir_load(f, s.state, STATE_FRAMES, 8, false);
	count = ir_load(f, frames, COUNT, 8, false);
	ir_branch_imm(f, IR_LT, count, depth, room, s.stop);
	ir_switch_to(f, room);
	ip = ir_load(f, s.state, STATE_IP, 8, false);
	place = ir_binary(f, IR_ADD, frames, ir_binary_imm(f, IR_SHL, count, 3));
	ir_store(f, place, 0, 8, ip);
	ir_store(f, frames, COUNT, 8, ir_binary_imm(f, IR_ADD, count, 1));
	row = find_row(&s, map,
		       ir_binary(f, IR_SUB, ip, ir_load(f, s.state, STATE_RETURN, 8, false)));
	sp = ir_load(f, s.state, STATE_SP, 8, false);
	bp = ir_load(f, s.state, STATE_BP, 8, false);
	cfa = frame_address(&s, row, ip, sp, bp);
	/* The stack grows down: a frame that is not above its callee is no frame. */
	ir_branch(f, IR_GT, cfa, sp, higher, s.stop);
	ir_switch_to(f, higher);
	ip = read_word(&s, cfa, -8);
	restore_bp(&s, row, cfa, bp);
	store_registers(&s, ip, cfa, bp, 1);
	ir_switch_to(f, s.stop);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = 1});
	return f;
}

/* A register of the task when it was last in user mode; 0 if it has no such mode. */
static void first_registers(struct lower *l, ir_reg state, u32 none)
{
	const struct probe_context *x = &l->unit->context;
	const struct {
		u32 offset, to;
	} rows[] = {{arch_ip_offset(), STATE_IP},
		    {arch_sp_offset(), STATE_SP},
		    {arch_register_find("bp")->offset, STATE_BP}};
	struct ir_function *f = l->f;
	const u32 user = ir_block_new(f, "user");
	ir_reg regs, cs;

	if (x->kind == CONTEXT_REGISTERS && x->space == SPACE_USER) {
		for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
			ir_store(f, state, rows[i].to, 8,
				 ir_load(f, lower_context(l), rows[i].offset, 8, false));
		ir_jump(f, user);
		ir_switch_to(f, user);
		return;
	}
	regs = ir_call_n(f, BPF_FUNC_task_pt_regs,
			 ir_call(f, BPF_FUNC_get_current_task_btf, 0, NULL));
	cs = ir_load(f, regs, arch_register_find("cs")->offset, 8, false);
	ir_branch_imm(f, IR_EQ, ir_binary_imm(f, IR_AND, cs, USER_MODE), USER_MODE, user, none);
	ir_switch_to(f, user);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		ir_store(f, state, rows[i].to, 8, ir_load(f, regs, rows[i].offset, 8, false));
}

static const char no_data[] = "No DWARF unwind data available for this process.";

ir_reg lower_unwind(struct lower *l, ir_reg frames, u32 depth, u32 none, struct span at)
{
	const u32 map = builtin_map(l->script, MAP_UNWIND);
	struct ir_function *f = l->f, *step;
	const u32 known = ir_block_new(f, "unwind"), unknown = ir_block_new(f, "unwind.unknown");
	const ir_reg state = small_slot(f, STATE_SIZE, "unwind state");
	const ir_reg pid = ir_binary_imm(f, IR_SHR, builtin_current_ids(l), 32);
	ir_reg target, callback = ir_reg_new(f);

	target = builtin_global(l, offsetof(struct script_globals, unwind_pid));
	ir_branch(f, IR_EQ, pid, target, known, unknown);
	ir_switch_to(f, unknown);
	lower_runtime_error(l, no_data, at);
	ir_jump(f, none);
	ir_switch_to(f, known);
	ir_zero(f, state, 0, STATE_SIZE);
	ir_store(f, state, STATE_TABLE, 8,
		 builtin_global(l, offsetof(struct script_globals, unwind_table)));
	ir_store(f, state, STATE_FRAMES, 8, frames);
	ir_store_imm(f, frames, COUNT, 8, 0);
	first_registers(l, state, none);
	step = make_step(l, map, depth);
	ir_add(f, (struct ir_insn){.op = IR_FUNCTION,
				   .dst = callback,
				   .imm = ir_function_index(l->ir, step)});
	ir_call_n(f, BPF_FUNC_loop, ir_const(f, depth), callback, state, ir_const(f, 0));
	return ir_load(f, frames, COUNT, 8, false);
}
