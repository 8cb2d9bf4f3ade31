/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the IR of a program to its instructions: drives the passes, lays blocks out, resolves jumps
 * and calls. */
#include "lang/bpf/emit.h"

#include "lang/ir/pass.h"
#include "lang/bpf/machine.h"
#include "lang/lower/program_btf.h"
#include "lang/ir/regalloc.h"

/* BPF_COMPLEXITY_LIMIT_INSNS and MAX_BPF_STACK of the kernel; frames are rounded up to 32 bytes
 * when it interprets. */
enum { MAX_INSNS = 1000000, MAX_STACK = 512, FRAME_ALIGN = 32, MAX_FRAMES = 8 };

struct function_place {
	u32 insn; /* its first; UINT32_MAX = not part of the program */
	u32 stack; /* bytes */
	u8 *depth; /* of loops around each block */
	bool is_used;
};

struct call_site {
	u32 insn, function;
};

struct emitter {
	struct ir_program *p;
	struct diag *diag;
	const struct emit_options *options;
	struct arena scratch;
	struct function_place *places; /* per function of the program */
	VECTOR(struct bpf_insn) insns;
	VECTOR(struct span) spans;
	VECTOR(struct bpf_relocation) relocations;
	VECTOR(struct call_site) calls;
	VECTOR(struct program_btf_function) functions;
};

static int too_big(struct emitter *e, const char *what, u32 have, u32 limit, const char *hint)
{
	diag_error(e->diag, NO_SPAN, "program '%s' is too big for the kernel: %s: %u, limit %u",
		   e->p->name ? e->p->name : "", what, have, limit);
	diag_hint(e->diag, "%s", hint);
	return -E2BIG;
}

/* Functions that are called or passed to helpers; the verifier refuses others as unreachable. */
static void mark_used(struct emitter *e)
{
	VECTOR(u32) todo = {0};

	vector_push(&todo, 0);
	e->places[0].is_used = true;
	while (todo.len) {
		const struct ir_function *f = e->p->functions.items[todo.items[--todo.len]];

		for (size_t b = 0; b < f->blocks.len; b++)
			for (size_t k = 0; k < f->blocks.items[b].insns.len; k++) {
				const struct ir_insn *insn = &f->blocks.items[b].insns.items[k];

				if ((insn->op != IR_CALL_FUNCTION && insn->op != IR_FUNCTION) ||
				    e->places[insn->imm].is_used)
					continue;
				e->places[insn->imm].is_used = true;
				vector_push(&todo, (u32)insn->imm);
			}
	}
	vector_free(&todo);
}

/* Deepest stack of f and what it calls; functions of a recursion are cut off after MAX_FRAMES (the
 * verifier refuses them). */
static u32 stack_depth(const struct emitter *e, u32 function, u32 frames)
{
	const struct ir_function *f = e->p->functions.items[function];
	u32 deepest = 0;

	for (size_t b = 0; b < f->blocks.len && frames < MAX_FRAMES; b++)
		for (size_t k = 0; k < f->blocks.items[b].insns.len; k++) {
			const struct ir_insn *insn = &f->blocks.items[b].insns.items[k];

			if (insn->op != IR_CALL_FUNCTION && insn->op != IR_FUNCTION)
				continue;
			deepest = MAX(deepest, stack_depth(e, (u32)insn->imm, frames + 1));
		}
	return deepest + ALIGN_UP(MAX(e->places[function].stack, 1u), (u32)FRAME_ALIGN);
}

/* ---- layout ---- */

enum jump_form { FALLS_THROUGH, JUMPS, NEEDS_BOTH, IS_FAR };

struct layout {
	const struct mfunction *m;
	u32 *start; /* per block: its first instruction in the function */
	u32 *size; /* per block: instructions */
	u32 *next; /* per block: the one that follows it in the code */
	u8 *form; /* per block: enum jump_form */
	bool *inverted;
};

static u32 insn_slots(const struct minsn *insn)
{
	return BPF_CLASS(insn->code) == BPF_LD ? 2 : 1;
}

/* The opcode of the opposite condition; 0 = there is none. */
static u8 invert(u8 code)
{
	static const u8 opposite[16] = {
		[BPF_JEQ >> 4] = BPF_JNE,   [BPF_JNE >> 4] = BPF_JEQ,	[BPF_JLT >> 4] = BPF_JGE,
		[BPF_JGE >> 4] = BPF_JLT,   [BPF_JGT >> 4] = BPF_JLE,	[BPF_JLE >> 4] = BPF_JGT,
		[BPF_JSLT >> 4] = BPF_JSGE, [BPF_JSGE >> 4] = BPF_JSLT, [BPF_JSGT >> 4] = BPF_JSLE,
		[BPF_JSLE >> 4] = BPF_JSGT,
	};

	return opposite[code >> 4] ? (u8)((code & 0x0f) | opposite[code >> 4]) : 0;
}

static const u8 form_slots[] = {[FALLS_THROUGH] = 0, [JUMPS] = 1, [NEEDS_BOTH] = 2, [IS_FAR] = 3};

static void choose_form(struct layout *l, u32 b)
{
	const struct mblock *block = &l->m->blocks.items[b];
	const struct minsn *last = &vector_last(&block->insns);

	if (BPF_OP(last->code) == BPF_EXIT) {
		l->form[b] = JUMPS;
	} else if (!minsn_is_conditional(last)) {
		l->form[b] = last->then == l->next[b] ? FALLS_THROUGH : JUMPS;
	} else if (last->otherwise == l->next[b]) {
		l->form[b] = JUMPS;
	} else if (last->then == l->next[b] && invert(last->code)) {
		l->form[b] = JUMPS;
		l->inverted[b] = true;
	} else {
		l->form[b] = NEEDS_BOTH;
	}
}

static bool is_far(s64 distance)
{
	return distance != (s16)distance;
}

/*
 * Conditional jumps whose target is out of reach become three instructions. Returns whether there
 * were any.
 */
static bool widen(struct layout *l)
{
	bool any = false;

	for (u32 b = 0; b < l->m->blocks.len; b++) {
		const struct mblock *block = &l->m->blocks.items[b];
		const struct minsn *last;
		u32 from;

		if (!block->insns.len || l->form[b] == FALLS_THROUGH || l->form[b] == IS_FAR)
			continue;
		last = &vector_last(&block->insns);
		if (!minsn_is_conditional(last))
			continue;
		from = l->start[b] + l->size[b] - form_slots[l->form[b]] + 1;
		if (is_far((s64)l->start[l->inverted[b] ? last->otherwise : last->then] - from)) {
			l->size[b] += form_slots[IS_FAR] - form_slots[l->form[b]];
			l->form[b] = IS_FAR;
			l->inverted[b] = false;
			any = true;
		}
	}
	return any;
}

static void lay_out(struct emitter *e, const struct mfunction *m, struct layout *l)
{
	const size_t n = m->blocks.len;
	u32 next = UINT32_MAX, at;

	l->m = m;
	l->start = arena_new_array(&e->scratch, u32, n + 1);
	l->size = arena_new_array(&e->scratch, u32, n + 1);
	l->next = arena_new_array(&e->scratch, u32, n + 1);
	l->form = arena_new_array(&e->scratch, u8, n + 1);
	l->inverted = arena_new_array(&e->scratch, bool, n + 1);
	for (size_t b = n; b-- > 0;) {
		const struct mblock *block = &m->blocks.items[b];

		if (!block->insns.len)
			continue;
		l->next[b] = next;
		next = (u32)b;
		choose_form(l, (u32)b);
		for (size_t k = 0; k + 1 < block->insns.len; k++)
			l->size[b] += insn_slots(&block->insns.items[k]);
		l->size[b] += form_slots[l->form[b]];
	}
	do {
		at = 0;
		for (size_t b = 0; b < n; b++) {
			l->start[b] = at;
			at += l->size[b];
		}
	} while (widen(l));
}

/* ---- encoding ---- */

static void write_insn(struct emitter *e, struct bpf_insn insn, struct span span)
{
	vector_push(&e->insns, insn);
	vector_push(&e->spans, span);
}

static void encode(struct emitter *e, const struct minsn *insn)
{
	struct bpf_insn out = {
		.code = insn->code,
		.dst_reg = (u8)insn->dst & 0xf,
		.src_reg = (u8)insn->src & 0xf,
		.off = insn->off,
		.imm = (s32)insn->imm,
	};
	const u32 index = (u32)e->insns.len;

	if (insn->code == (BPF_JMP | BPF_CALL)) {
		out.dst_reg = 0;
		out.src_reg = insn->pseudo & 0xf;
		if (insn->pseudo == BPF_PSEUDO_CALL)
			vector_push(&e->calls, (struct call_site){index, (u32)insn->imm});
	}
	if (BPF_CLASS(insn->code) != BPF_LD) {
		write_insn(e, out, insn->span);
		return;
	}
	out.src_reg = insn->pseudo & 0xf;
	if (insn->pseudo == BPF_PSEUDO_FUNC)
		vector_push(&e->calls, (struct call_site){index, (u32)insn->imm});
	else if (insn->pseudo)
		vector_push(&e->relocations, (struct bpf_relocation){index, (u32)insn->imm});
	write_insn(e, out, insn->span);
	write_insn(
		e,
		(struct bpf_insn){.imm = insn->pseudo ? insn->imm2 : (s32)((u64)insn->imm >> 32)},
		insn->span);
}

static int write_jump(struct emitter *e, const struct layout *l, u32 base, u32 target,
		      struct span span)
{
	const s64 distance = (s64)base + l->start[target] - (s64)e->insns.len - 1;
	struct bpf_insn jump = {.code = BPF_JMP | BPF_JA, .off = (s16)distance};

	if (is_far(distance) && !e->options->has_cpu_v4)
		return too_big(
			e, "instructions to jump over", (u32)(distance < 0 ? -distance : distance),
			INT16_MAX,
			"split the probe, or use a kernel that has long jumps (6.6 and later)");
	if (is_far(distance)) { /* gotol of cpu v4 */
		jump.code = BPF_JMP32 | BPF_JA;
		jump.off = 0;
		jump.imm = (s32)distance;
	}
	write_insn(e, jump, span);
	return 0;
}

static int write_terminator(struct emitter *e, const struct layout *l, u32 b, u32 base)
{
	const struct minsn *last = &vector_last(&l->m->blocks.items[b].insns);
	struct bpf_insn jump = {
		.code = last->code,
		.dst_reg = (u8)last->dst & 0xf,
		.src_reg = BPF_SRC(last->code) == BPF_X ? (u8)last->src & 0xf : 0,
		.imm = (s32)last->imm,
	};
	u32 target = last->then;
	int r;

	if (l->form[b] == FALLS_THROUGH)
		return 0;
	if (BPF_OP(last->code) == BPF_EXIT) {
		write_insn(e, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT}, last->span);
		return 0;
	}
	if (!minsn_is_conditional(last))
		return write_jump(e, l, base, last->then, last->span);
	if (l->form[b] == IS_FAR) {
		jump.off = 1;
		write_insn(e, jump, last->span);
		r = write_jump(e, l, base, last->otherwise, last->span);
		return r ? r : write_jump(e, l, base, last->then, last->span);
	}
	if (l->inverted[b]) {
		jump.code = invert(last->code);
		target = last->otherwise;
	}
	jump.off = (s16)((s64)base + l->start[target] - (s64)e->insns.len - 1);
	write_insn(e, jump, last->span);
	return l->form[b] == NEEDS_BOTH ? write_jump(e, l, base, last->otherwise, last->span) : 0;
}

static int write_function(struct emitter *e, const struct mfunction *m)
{
	const u32 base = (u32)e->insns.len;
	struct layout l;
	int r = 0;

	lay_out(e, m, &l);
	for (u32 b = 0; b < m->blocks.len && !r; b++) {
		const struct mblock *block = &m->blocks.items[b];

		if (!block->insns.len)
			continue;
		for (size_t k = 0; k + 1 < block->insns.len; k++)
			encode(e, &block->insns.items[k]);
		r = write_terminator(e, &l, b, base);
	}
	return r;
}

static const char *main_name(const struct ir_program *p, const struct ir_function *f)
{
	if (p->full_name)
		return p->full_name;
	return p->name ? p->name : f->name;
}

static int emit_function(struct emitter *e, u32 index)
{
	struct ir_function *f = e->p->functions.items[index];
	struct mfunction m = {.arena = &e->scratch};
	int r;

	select_instructions(e->p, f, e->places[index].depth, e->options, &m);
	r = regalloc(&m);
	e->places[index].stack = m.stack_size;
	if (r)
		return too_big(e, "bytes of stack", m.stack_size, MAX_STACK,
			       "use fewer variables at the same time, or keep them in a map");
	peephole(&m);
	e->places[index].insn = (u32)e->insns.len;
	vector_push(&e->functions,
		    (struct program_btf_function){index ? f->name : main_name(e->p, f),
						  (u32)e->insns.len, f->nparams});
	return write_function(e, &m);
}

/* Calls and addresses of functions are relative to the next instruction (add_subprog_and_kfunc() of
 * the verifier). */
static void resolve_calls(struct emitter *e)
{
	for (size_t i = 0; i < e->calls.len; i++) {
		const struct call_site *c = &e->calls.items[i];

		e->insns.items[c->insn].imm = (s32)(e->places[c->function].insn - c->insn - 1);
	}
}

static void hand_over(struct emitter *e, const struct diag *sources, struct bpf_code *ret)
{
	struct arena *a = e->p->arena;

	memset(ret, 0, sizeof(*ret));
	ret->count = (u32)e->insns.len;
	ret->insns = arena_memdup(a, e->insns.items, e->insns.len * sizeof(*e->insns.items));
	ret->spans = arena_memdup(a, e->spans.items, e->spans.len * sizeof(*e->spans.items));
	ret->nrelocations = (u32)e->relocations.len;
	ret->relocations = arena_memdup(a, e->relocations.items,
					e->relocations.len * sizeof(*e->relocations.items));
	program_btf_build(a, e->functions.items, (u32)e->functions.len, sources, ret);
}

int emit_program(struct ir_program *p, const struct diag *sources, struct diag *diag,
		 const struct emit_options *options, struct bpf_code *ret)
{
	struct emitter e = {.p = p, .diag = diag, .options = options};
	const char *problem = ir_verify(p->arena, p);
	int r = 0;

	if (problem) {
		diag_error(diag, NO_SPAN, "internal error: program '%s': %s",
			   p->name ? p->name : "", problem);
		return -EINVAL;
	}
	e.places = arena_new_array(&e.scratch, struct function_place, p->functions.len);
	for (u32 i = 0; i < p->functions.len; i++) {
		/* The order of lowering, if ir_assign_slots() was not called. */
		ir_order_blocks(p->functions.items[i], &e.places[i].depth, &e.scratch);
		ir_add_prologue(p, p->functions.items[i]);
		ir_optimise(p->functions.items[i], options);
		ir_order_blocks(p->functions.items[i], &e.places[i].depth, &e.scratch);
	}
	mark_used(&e);
	for (u32 i = 0; i < p->functions.len && !r; i++)
		if (e.places[i].is_used)
			r = emit_function(&e, i);
	if (!r && e.insns.len > MAX_INSNS)
		r = too_big(&e, "instructions", (u32)e.insns.len, MAX_INSNS, "split the probe");
	if (!r && stack_depth(&e, 0, 0) > MAX_STACK)
		r = too_big(&e, "bytes of stack", stack_depth(&e, 0, 0), MAX_STACK,
			    "use fewer variables at the same time, or keep them in a map");
	if (!r) {
		resolve_calls(&e);
		hand_over(&e, sources, ret);
	}
	vector_free(&e.insns);
	vector_free(&e.spans);
	vector_free(&e.relocations);
	vector_free(&e.calls);
	vector_free(&e.functions);
	arena_release(&e.scratch);
	return r;
}
