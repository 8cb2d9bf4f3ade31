/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers are spilled only to the stack, because anywhere else pointers lose their type. A
 * function with too many values that live across calls therefore moves some of them to slots of
 * their own: only values that are certainly no pointers, the least used first.
 */
#include <linux/bpf.h>

#include "lang/ir/pass.h"

/* Registers that survive calls; bytes of stack reserved for what the estimate does not know. */
enum { SURVIVING = 4, RESERVE = 32 };

enum kind { SCALAR, MEMORY /* pointer; what is loaded from it is a scalar */, POINTER };

struct pressure {
	struct ir_function *f;
	struct arena *arena;
	struct ir_stretches stretches;
	struct ir_stretch *live; /* per register */
	u32 *uses, *ndefs;
	const struct ir_insn **def;
	u8 *kind;
	bool *is_checked; /* a comparison may have taught the verifier its bounds: a load would lose
			     them */
	bool stores_pointers; /* somewhere: then loads from memory may give pointers */
	u32 *calls_before; /* per position */
};

static bool gives_scalar(s64 helper)
{
	static const u16 scalars[] = {
		BPF_FUNC_ktime_get_ns,
		BPF_FUNC_ktime_get_boot_ns,
		BPF_FUNC_get_current_pid_tgid,
		BPF_FUNC_get_current_uid_gid,
		BPF_FUNC_get_smp_processor_id,
		BPF_FUNC_get_prandom_u32,
		BPF_FUNC_get_current_task,
		BPF_FUNC_get_stackid,
		BPF_FUNC_get_stack,
		BPF_FUNC_probe_read_kernel,
		BPF_FUNC_probe_read_user,
		BPF_FUNC_probe_read_kernel_str,
		BPF_FUNC_probe_read_user_str,
		BPF_FUNC_get_current_cgroup_id,
		BPF_FUNC_map_update_elem,
		BPF_FUNC_map_delete_elem,
		BPF_FUNC_get_current_comm,
		BPF_FUNC_get_func_ip,
		BPF_FUNC_get_attach_cookie,
		BPF_FUNC_strncmp,
		BPF_FUNC_jiffies64,
		BPF_FUNC_get_numa_node_id,
		BPF_FUNC_get_ns_current_pid_tgid,
	};

	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		if (scalars[i] == helper)
			return true;
	return false;
}

static u8 result_kind(const struct pressure *p, const struct ir_insn *insn)
{
	switch (insn->op) {
	case IR_SLOT:
	case IR_MAP_VALUE:
		return MEMORY;
	case IR_MAP:
	case IR_FUNCTION:
	case IR_CONTEXT:
	case IR_PARAM:
	case IR_CALL_FUNCTION:
		return POINTER;
	case IR_CALL:
		if (insn->imm == BPF_FUNC_map_lookup_elem ||
		    insn->imm == BPF_FUNC_map_lookup_percpu_elem ||
		    insn->imm == BPF_FUNC_ringbuf_reserve)
			return MEMORY;
		return !insn->is_kernel && gives_scalar(insn->imm) ? SCALAR : POINTER;
	case IR_MOVE:
	case IR_ADD:
	case IR_SUB:
		return MAX(p->kind[insn->a], p->kind[insn->b]);
	case IR_LOAD:
		if (insn->size < 8 || (p->kind[insn->a] == MEMORY && !p->stores_pointers))
			return SCALAR;
		return POINTER;
	default:
		return SCALAR;
	}
}

/* Upwards from "all scalars" until nothing changes. */
static void find_kinds(struct pressure *p)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t b = 0; b < p->f->blocks.len; b++)
			for (size_t k = 0; k < p->f->blocks.items[b].insns.len; k++) {
				const struct ir_insn *insn = &p->f->blocks.items[b].insns.items[k];
				u8 kind;

				if (insn->op == IR_STORE && p->kind[insn->b] && !p->stores_pointers)
					changed = p->stores_pointers = true;
				if (!insn->dst)
					continue;
				kind = result_kind(p, insn);
				if (kind > p->kind[insn->dst]) {
					p->kind[insn->dst] = kind;
					changed = true;
				}
			}
	}
}

/* Does the result depend on an operand in a way that the verifier tracks? */
static bool passes_bounds(const struct ir_insn *insn)
{
	return insn->dst && insn->op != IR_LOAD && insn->op != IR_CALL &&
	       insn->op != IR_CALL_FUNCTION;
}

/*
 * The verifier accepts an addition to a pointer only with bounds that it knows from a register, and
 * a loop only if it can track the counter through all rounds.
 */
static void find_bounded(struct pressure *p)
{
	ir_reg *operands[IR_MAX_OPERANDS];
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t b = 0; b < p->f->blocks.len; b++)
			for (size_t k = 0; k < p->f->blocks.items[b].insns.len; k++) {
				struct ir_insn *insn = &p->f->blocks.items[b].insns.items[k];
				const bool moves_pointer =
					(insn->op == IR_ADD || insn->op == IR_SUB) &&
					(p->kind[insn->a] || p->kind[insn->b]);

				if (!moves_pointer &&
				    !(passes_bounds(insn) && p->is_checked[insn->dst]))
					continue;
				for (u32 i = ir_operands(insn, operands); i-- > 0;) {
					changed |= !p->is_checked[*operands[i]];
					p->is_checked[*operands[i]] = true;
				}
			}
	}
}

static bool is_remade(const struct pressure *p, ir_reg r)
{
	if (p->ndefs[r] != 1)
		return false;
	switch (p->def[r]->op) {
	case IR_CONST:
	case IR_SLOT:
	case IR_MAP:
	case IR_MAP_VALUE:
	case IR_FUNCTION:
		return true;
	default:
		return false;
	}
}

/* Where a register occurs: in one block only (else UINT32_MAX), and is its definition first? */
struct meeting {
	u32 block, first, last;
	bool begins;
};

static void meet(struct meeting *m, u32 block, u32 at, bool is_definition)
{
	if (!m->last) {
		*m = (struct meeting){block, at, at + 1, is_definition};
		return;
	}
	if (m->block != block)
		m->block = UINT32_MAX;
	m->last = at + 1;
}

/* A value that is defined and used within one block is not live outside of it, loop or not. */
static void shorten(struct pressure *p, const struct meeting *met)
{
	for (ir_reg r = 1; r <= p->f->nregs; r++)
		if (p->ndefs[r] == 1 && met[r].begins && met[r].block != UINT32_MAX)
			p->live[r] = (struct ir_stretch){met[r].first, met[r].last};
}

static void measure(struct pressure *p)
{
	const u32 n = p->f->nregs + 1;
	ir_reg *operands[IR_MAX_OPERANDS];
	struct meeting *met = arena_new_array(p->arena, struct meeting, n);
	u32 calls = 0;

	ir_stretches_begin(&p->stretches, p->f, p->arena);
	p->live = arena_new_array(p->arena, struct ir_stretch, n);
	p->uses = arena_new_array(p->arena, u32, n);
	p->ndefs = arena_new_array(p->arena, u32, n);
	p->def = arena_new_array(p->arena, const struct ir_insn *, n);
	p->is_checked = arena_new_array(p->arena, bool, n);
	p->calls_before = arena_new_array(p->arena, u32, p->stretches.first[p->f->blocks.len] + 2);
	for (u32 b = 0; b < p->f->blocks.len; b++)
		for (u32 k = 0; k < p->f->blocks.items[b].insns.len; k++) {
			struct ir_insn *insn = &p->f->blocks.items[b].insns.items[k];
			const u32 at = p->stretches.first[b] + k;

			p->calls_before[at] = calls;
			calls += insn->op == IR_CALL || insn->op == IR_CALL_FUNCTION;
			for (u32 i = ir_operands(insn, operands); i-- > 0;) {
				ir_stretch_use(&p->stretches, &p->live[*operands[i]], b, at);
				meet(&met[*operands[i]], b, at, false);
				p->uses[*operands[i]]++;
			}
			if (insn->op == IR_BRANCH && insn->cond != IR_EQ && insn->cond != IR_NE)
				p->is_checked[insn->a] = p->is_checked[insn->b] = true;
			if (!insn->dst)
				continue;
			ir_stretch_use(&p->stretches, &p->live[insn->dst], b, at);
			meet(&met[insn->dst], b, at, true);
			p->uses[insn->dst]++;
			p->ndefs[insn->dst]++;
			p->def[insn->dst] = insn;
		}
	p->calls_before[p->stretches.first[p->f->blocks.len]] = calls;
	shorten(p, met);
}

/* The call with the most values living across it; returns how many, and its position. */
static u32 highest(const struct pressure *p, const bool *demoted, u32 *ret_at)
{
	const u32 n = p->stretches.first[p->f->blocks.len];
	s32 *change = arena_new_array(p->arena, s32, n + 2), sum = 0, most = 0;

	for (ir_reg r = 1; r <= p->f->nregs; r++) {
		const struct ir_stretch *l = &p->live[r];

		if (demoted[r] || is_remade(p, r) || l->end <= l->start + 1 ||
		    p->calls_before[l->start] == p->calls_before[l->end - 1])
			continue;
		change[l->start]++;
		change[l->end]--;
	}
	*ret_at = 0;
	for (u32 i = 0; i < n; i++) {
		sum += change[i];
		if (sum > most && p->calls_before[i + 1] != p->calls_before[i]) {
			most = sum;
			*ret_at = i;
		}
	}
	return (u32)most;
}

struct victim {
	float cost;
	ir_reg reg;
};

static int compare_victims(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->reg < y->reg ? -1 : x->reg > y->reg;
}

/* Marks up to `count` scalars that live at a position. */
static u32 choose_victims(const struct pressure *p, bool *demoted, u32 at, u32 count)
{
	struct victim *victims = arena_new_array(p->arena, struct victim, p->f->nregs);
	u32 n = 0;

	for (ir_reg r = 1; r <= p->f->nregs; r++) {
		const struct ir_stretch *l = &p->live[r];

		if (demoted[r] || p->kind[r] != SCALAR || p->is_checked[r] || is_remade(p, r) ||
		    at < l->start || at >= l->end || l->end <= l->start + 1)
			continue;
		victims[n++] = (struct victim){(float)p->uses[r] / (float)(l->end - l->start), r};
	}
	qsort(victims, n, sizeof(*victims), compare_victims);
	n = MIN(n, count);
	for (u32 i = 0; i < n; i++)
		demoted[victims[i].reg] = true;
	return n;
}

/* Every use loads, every definition stores. */
static void rewrite(struct pressure *p, const bool *demoted)
{
	struct ir_function *f = p->f;
	const u32 nregs = f->nregs;
	u32 *slots = arena_new_array(p->arena, u32, nregs + 1);

	for (ir_reg r = 1; r <= nregs; r++)
		if (demoted[r])
			slots[r] = ir_slot(f, 8, 8, "spilled");
	for (size_t b = 0; b < f->blocks.len; b++) {
		const struct ir_block old = f->blocks.items[b];

		f->blocks.items[b].insns.items = NULL;
		f->blocks.items[b].insns.len = f->blocks.items[b].insns.cap = 0;
		ir_switch_to(f, (u32)b);
		for (size_t k = 0; k < old.insns.len; k++) {
			struct ir_insn insn = old.insns.items[k];
			ir_reg *operands[IR_MAX_OPERANDS];
			const ir_reg dst = insn.dst;

			f->span = insn.span;
			for (u32 i = ir_operands(&insn, operands); i-- > 0;)
				if (demoted[*operands[i]])
					*operands[i] =
						ir_load(f, ir_slot_address(f, slots[*operands[i]]),
							0, 8, false);
			if (demoted[dst])
				insn.dst = ir_reg_new(f);
			ir_add(f, insn);
			if (demoted[dst])
				ir_store(f, ir_slot_address(f, slots[dst]), 0, 8, insn.dst);
		}
	}
}

u32 ir_relieve_pressure(struct ir_function *f, u32 share, u32 budget, struct arena *a)
{
	struct pressure p = {.f = f, .arena = a};
	const u32 room = (share - RESERVE - MIN(budget, share / 4)) / 8 + SURVIVING;
	bool *demoted = arena_new_array(a, bool, f->nregs + 1), any = false;
	u32 most, at;

	measure(&p);
	most = highest(&p, demoted, &at);
	if (most > room) {
		p.kind = arena_new_array(a, u8, f->nregs + 1);
		find_kinds(&p);
		find_bounded(&p);
		for (u32 round = 0; most > room && round < 32; round++) {
			if (!choose_victims(&p, demoted, at, most - room))
				break;
			any = true;
			most = highest(&p, demoted, &at);
		}
		if (any)
			rewrite(&p, demoted);
	}
	most = most > SURVIVING ? most - SURVIVING : 0;
	return 8 * most + RESERVE >= share ? 0 : MIN(budget, share - RESERVE - 8 * most);
}
