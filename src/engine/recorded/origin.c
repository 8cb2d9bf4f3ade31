/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds reads of memory that no recording holds: of addresses that are values of the event on every
 * path to the read. Follows registers and stack words through the code. Uncertain reads are left to
 * the interpreter, which checks the address itself.
 */
#include "engine/recorded/machine.h"

#include <linux/bpf.h>

#include "lib/vm_ops.h"

enum origin { /* bits: what a value may be */
	      NUMBER = 1,
	      OURS = 2, /* an address in the script's own memory */
	      NOTHING = 4, /* 0 */
	      ANYTHING = NUMBER | OURS,
};

#define WORDS 64 /* stack words */

struct state {
	u8 registers[11];
	u8 words[WORDS]; /* below r10, the last one first */
	bool is_reached;
};

struct walk {
	const struct bpf_code *code;
	struct state *states; /* before each instruction */
	bool has_callbacks; /* memory may hold addresses */
	bool changed;
};

static int word_of(const struct bpf_insn *insn, u8 base)
{
	const int word = -insn->off / 8 - 1;

	return base == BPF_REG_10 && insn->off < 0 && insn->off % 8 == 0 && word < WORDS ? word
											 : -1;
}

static u8 sum(u8 a, u8 b)
{
	if (a == NOTHING || b == NOTHING)
		return a == NOTHING ? b : a;
	if (a == OURS || b == OURS)
		return OURS;
	return (a | b) & ANYTHING;
}

static u8 calculated(const struct bpf_insn *insn, const struct state *s)
{
	const bool is_wide = BPF_CLASS(insn->code) == BPF_ALU64;
	const bool is_immediate = BPF_SRC(insn->code) == BPF_K;
	const u8 old = s->registers[insn->dst_reg];
	const u8 operand =
		is_immediate ? insn->imm ? NUMBER : NOTHING : s->registers[insn->src_reg];

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return is_wide || is_immediate ? operand : NUMBER;
	case BPF_ADD:
	case BPF_SUB:
		return is_wide ? sum(old, operand) : NUMBER;
	default:
		return old == NUMBER || !is_wide ? NUMBER : ANYTHING;
	}
}

static u8 loaded(const struct walk *w, const struct bpf_insn *insn, const struct state *s)
{
	const int word = word_of(insn, insn->src_reg);

	if (insn->code != (BPF_LDX | BPF_MEM | BPF_DW))
		return NUMBER;
	if (word >= 0)
		return s->words[word];
	return w->has_callbacks ? ANYTHING : NUMBER;
}

static u8 returned(const struct bpf_insn *insn)
{
	if (insn->src_reg)
		return ANYTHING;
	switch (insn->imm) {
	case BPF_FUNC_map_lookup_elem:
	case BPF_FUNC_map_lookup_percpu_elem:
	case BPF_FUNC_ringbuf_reserve:
		return OURS;
	default:
		return NUMBER;
	}
}

/* The state after the instruction. */
static void apply(const struct walk *w, const struct bpf_insn *insn, struct state *s)
{
	int word;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		s->registers[insn->dst_reg] = calculated(insn, s);
		break;
	case BPF_LD:
		s->registers[insn->dst_reg] = insn->src_reg		 ? OURS
					      : insn->imm || insn[1].imm ? NUMBER
									 : NOTHING;
		break;
	case BPF_LDX:
		s->registers[insn->dst_reg] = loaded(w, insn, s);
		break;
	case BPF_ST:
	case BPF_STX:
		word = word_of(insn, insn->dst_reg);
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			s->registers[insn->src_reg] = NUMBER;
		else if (word >= 0 && BPF_SIZE(insn->code) == BPF_DW)
			s->words[word] = BPF_CLASS(insn->code) == BPF_STX
						 ? s->registers[insn->src_reg]
					 : insn->imm ? NUMBER
						     : ANYTHING; /* a helper may write there */
		break;
	case BPF_JMP:
		if (insn->code != PT_VM_CALL)
			break;
		s->registers[0] = returned(insn);
		memset(s->registers + 1, NUMBER, 5);
		break;
	}
}

static void reach(struct walk *w, s64 at, const struct state *s)
{
	struct state *to;

	if (at < 0 || at >= w->code->count)
		return;
	to = &w->states[at];
	if (!to->is_reached) {
		*to = *s;
		to->is_reached = w->changed = true;
		return;
	}
	for (u32 i = 0; i < ARRAY_SIZE(s->registers); i++) {
		w->changed |= (s->registers[i] & ~to->registers[i]) != 0;
		to->registers[i] |= s->registers[i];
	}
	for (u32 i = 0; i < WORDS; i++) {
		w->changed |= (s->words[i] & ~to->words[i]) != 0;
		to->words[i] |= s->words[i];
	}
}

static void enter(struct walk *w, s64 at, u8 argument)
{
	struct state s = {.is_reached = true};

	memset(s.registers, argument, sizeof(s.registers));
	memset(s.words, ANYTHING, sizeof(s.words));
	s.registers[10] = OURS;
	reach(w, at, &s);
}

static void step(struct walk *w, u32 at)
{
	const struct bpf_insn *const insn = &w->code->insns[at];
	const u8 class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	struct state s = w->states[at];

	apply(w, insn, &s);
	if (class == BPF_LD) {
		reach(w, (s64)at + 2, &s);
	} else if ((class != BPF_JMP && class != BPF_JMP32) || op == BPF_CALL) {
		reach(w, (s64)at + 1, &s);
	} else if (op == BPF_JA) {
		reach(w, (s64)at + 1 + (class == BPF_JMP32 ? insn->imm : insn->off), &s);
	} else if (op != BPF_EXIT) {
		reach(w, (s64)at + 1, &s);
		reach(w, (s64)at + 1 + insn->off, &s);
	}
}

static bool is_read(const struct bpf_insn *insn)
{
	return insn->code == PT_VM_CALL && !insn->src_reg &&
	       (insn->imm == BPF_FUNC_probe_read_kernel || insn->imm == BPF_FUNC_probe_read_user ||
		insn->imm == BPF_FUNC_probe_read_kernel_str ||
		insn->imm == BPF_FUNC_probe_read_user_str);
}

static void enter_functions(struct walk *w)
{
	for (u32 i = 0; i < w->code->count; i++) {
		const struct bpf_insn *const insn = &w->code->insns[i];
		const bool is_address =
			insn->code == PT_VM_CONSTANT && insn->src_reg == BPF_PSEUDO_FUNC;
		const bool is_call = insn->code == PT_VM_CALL && insn->src_reg == BPF_PSEUDO_CALL;

		if (is_address || is_call)
			enter(w, (s64)i + 1 + insn->imm, ANYTHING);
		w->has_callbacks |= is_address || is_call;
		i += insn->code == PT_VM_CONSTANT;
	}
}

int machine_check_reads(struct diag *d, const struct bpf_code *code)
{
	struct walk w = {.code = code, .states = xzalloc((code->count + 1) * sizeof(*w.states))};
	struct span last = NO_SPAN;
	int err = 0;

	enter(&w, 0, OURS);
	enter_functions(&w);
	while (w.changed) {
		w.changed = false;
		for (u32 i = 0; i < code->count; i++)
			if (w.states[i].is_reached)
				step(&w, i);
	}
	for (u32 i = 0; i < code->count; i++) {
		const struct span at = code->spans[i];

		if (!is_read(&code->insns[i]) || !w.states[i].is_reached ||
		    w.states[i].registers[3] != NUMBER)
			continue;
		err = -EINVAL;
		if (at.begin == last.begin && at.end == last.end)
			continue;
		last = at;
		diag_error(d, at, "the recording does not hold the memory that this reads");
		diag_hint(d, "it has the event's own fields; what a pointer among them led to is "
			     "gone");
	}
	free(w.states);
	return err;
}
