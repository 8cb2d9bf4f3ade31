// SPDX-License-Identifier: MIT
/*
 * Checking a filter. What a run could not notice is refused here: unknown instructions, jumps to
 * nowhere, registers that are read before they have a value, writes to r10, calls of what is not
 * offered. What is known of a register where an instruction begins is the intersection of what is
 * known at the ends of all that lead there.
 */
#include "vm_internal.h"
#include <errno.h>
#include <pantrace/ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- helpers ---- */

static const struct {
	int32_t helper;
	uint8_t arguments;
} helpers[] = {
	{BPF_FUNC_map_lookup_elem, 2},
	{BPF_FUNC_ktime_get_ns, 0},
	{BPF_FUNC_get_smp_processor_id, 0},
	{BPF_FUNC_get_current_pid_tgid, 0},
	{BPF_FUNC_get_current_uid_gid, 0},
	{BPF_FUNC_get_current_comm, 2},
	{BPF_FUNC_probe_read, 3},
	{BPF_FUNC_probe_read_user, 3},
	{BPF_FUNC_probe_read_kernel, 3},
	{BPF_FUNC_probe_read_str, 3},
	{BPF_FUNC_probe_read_user_str, 3},
	{BPF_FUNC_probe_read_kernel_str, 3},
	{BPF_FUNC_strncmp, 3},
	{PT_VM_COUNT, 3},
	{PT_VM_BUCKET, 2},
};

static int helper_arguments(int32_t helper)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		if (helpers[i].helper == helper)
			return helpers[i].arguments;
	return -1;
}

/* ---- one instruction ---- */

#define NOWHERE INT64_MIN

struct effect {
	uint32_t reads, writes; /* bits of registers */
	int64_t then, otherwise; /* next instructions; NOWHERE: none */
};

static bool alu_good(const struct bpf_insn *insn, bool wide)
{
	switch (BPF_OP(insn->code)) {
	case BPF_END:
		return !wide && (insn->imm == 16 || insn->imm == 32 || insn->imm == 64);
	case BPF_NEG:
		return BPF_SRC(insn->code) == BPF_K;
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return BPF_SRC(insn->code) == BPF_X ||
		       (insn->imm >= 0 && insn->imm < (wide ? 64 : 32));
	case BPF_DIV:
	case BPF_MOD: /* by a register of 0: 0 and the dividend, as the kernel has it */
		return (BPF_SRC(insn->code) == BPF_X || insn->imm) &&
		       (insn->off == 0 || insn->off == 1);
	case BPF_MOV:
		return BPF_SRC(insn->code) == BPF_X
			       ? insn->off == 0 || insn->off == 8 || insn->off == 16 ||
					 (wide && insn->off == 32)
			       : insn->off == 0;
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
		return insn->off == 0;
	}
	return false;
}

static int effect_alu(const struct bpf_insn *insn, bool wide, struct effect *e)
{
	const uint8_t op = BPF_OP(insn->code);

	if (!alu_good(insn, wide))
		return -EINVAL;
	e->writes = 1u << insn->dst_reg;
	if (op != BPF_MOV)
		e->reads |= 1u << insn->dst_reg;
	if (op != BPF_END && op != BPF_NEG && BPF_SRC(insn->code) == BPF_X)
		e->reads |= 1u << insn->src_reg;
	return 0;
}

static int effect_jump(const struct bpf_insn *insn, uint32_t at, bool wide, struct effect *e)
{
	const uint8_t op = BPF_OP(insn->code);
	int arguments;

	if (op == BPF_EXIT) {
		if (!wide)
			return -EINVAL;
		e->reads = 1;
		e->then = NOWHERE;
		return 0;
	}
	if (op == BPF_CALL) {
		arguments = wide && !insn->src_reg ? helper_arguments(insn->imm) : -1;
		if (arguments < 0)
			return -EPERM;
		e->reads = ((1u << arguments) - 1) << 1;
		e->writes = 0x3f;
		return 0;
	}
	if (op == BPF_JA) {
		e->then = (int64_t)at + 1 + (wide ? insn->off : insn->imm);
		return 0;
	}
	if (op > BPF_JSLE)
		return -EINVAL;
	e->reads = 1u << insn->dst_reg;
	if (BPF_SRC(insn->code) == BPF_X)
		e->reads |= 1u << insn->src_reg;
	e->otherwise = (int64_t)at + 1 + insn->off;
	return 0;
}

static int effect_of(const struct bpf_insn *insns, uint32_t n, uint32_t at, struct effect *e)
{
	const struct bpf_insn *const insn = &insns[at];
	const uint8_t class = BPF_CLASS(insn->code);

	*e = (struct effect){.then = (int64_t)at + 1, .otherwise = NOWHERE};
	if (insn->dst_reg > 10 || insn->src_reg > 10)
		return -EINVAL;
	switch (class) {
	case BPF_ALU:
	case BPF_ALU64:
		return effect_alu(insn, class == BPF_ALU64, e);
	case BPF_JMP:
	case BPF_JMP32:
		return effect_jump(insn, at, class == BPF_JMP, e);
	case BPF_LD:
		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW) || at + 1 >= n || insns[at + 1].code)
			return -EINVAL;
		if (insn->src_reg > 1 || (insn->src_reg && insn->imm))
			return -EPERM;
		e->writes = 1u << insn->dst_reg;
		e->then = (int64_t)at + 2;
		return 0;
	case BPF_LDX:
		if (BPF_MODE(insn->code) != BPF_MEM &&
		    (BPF_MODE(insn->code) != 0x80 || BPF_SIZE(insn->code) == BPF_DW))
			return -EINVAL;
		e->reads = 1u << insn->src_reg;
		e->writes = 1u << insn->dst_reg;
		return 0;
	case BPF_ST:
		e->reads = 1u << insn->dst_reg;
		return BPF_MODE(insn->code) == BPF_MEM ? 0 : -EINVAL;
	default: /* BPF_STX */
		e->reads = 1u << insn->dst_reg | 1u << insn->src_reg;
		if (BPF_MODE(insn->code) == BPF_MEM)
			return 0;
		/* an addition, the one atomic operation that filters may have */
		return insn->code == (BPF_STX | BPF_ATOMIC | BPF_DW) && insn->imm == BPF_ADD
			       ? 0
			       : -EPERM;
	}
}

/* ---- the whole ---- */

struct known {
	uint16_t has_value; /* bits of registers */
	uint16_t context; /* those that are the context's address */
	bool reached;
};

static bool meet(struct known *into, const struct known *from)
{
	const struct known old = *into;

	if (!into->reached) {
		*into = *from;
		into->reached = true;
		return true;
	}
	into->has_value &= from->has_value;
	into->context &= from->context;
	return into->has_value != old.has_value || into->context != old.context;
}

/* The context goes on as itself only by a plain copy. */
static void apply(const struct bpf_insn *insn, const struct effect *e, struct known *k)
{
	const bool copies = insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !insn->off &&
			    k->context & 1u << insn->src_reg;

	k->has_value |= (uint16_t)e->writes;
	k->context &= (uint16_t)~e->writes;
	if (copies)
		k->context |= (uint16_t)(1u << insn->dst_reg);
	if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) == BPF_CALL)
		k->has_value &= (uint16_t)~0x3e;
}

static int check_all(const struct bpf_insn *insns, uint32_t n, struct known *known, uint8_t *second,
		     uint32_t *ret_at)
{
	bool changed = true;

	for (uint32_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && i + 1 < n)
			second[++i] = 1;
	known[0] =
		(struct known){.has_value = 1 << 1 | 1 << 10, .context = 1 << 1, .reached = true};
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < n; i++) {
			struct known after = known[i];
			struct effect e;
			int rc;

			if (!known[i].reached || second[i])
				continue;
			*ret_at = i;
			rc = effect_of(insns, n, i, &e);
			if (rc)
				return rc;
			if (e.writes & 1u << 10 || (e.reads & ~(uint32_t)known[i].has_value))
				return -EPERM;
			apply(&insns[i], &e, &after);
			for (int way = 0; way < 2; way++) {
				const int64_t next = way ? e.otherwise : e.then;

				if (next == NOWHERE)
					continue;
				if (next < 0 || next >= (int64_t)n || second[next])
					return -EINVAL;
				changed |= meet(&known[next], &after);
			}
		}
	}
	return 0;
}

static bool is_exit_jump(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) == BPF_EXIT;
}

/* The instructions as pt_vm_run() has them: fields are read where they are, without the context. */
static void translate(struct pt_vm *vm, const struct bpf_insn *insns, const struct known *known)
{
	for (uint32_t i = 0; i < vm->nr; i++) {
		const struct bpf_insn *const insn = &insns[i];
		struct pt_vm_op *const op = &vm->op[i];
		const uint16_t context = known[i].context;

		*op = (struct pt_vm_op){.code = insn->code,
					.dst = insn->dst_reg,
					.src = insn->src_reg,
					.off = insn->off,
					.imm = insn->imm};
		if (!known[i].reached)
			continue;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			op->imm = insn->src_reg
					  ? 0
					  : (int64_t)((uint64_t)(uint32_t)insn->imm |
						      (uint64_t)(uint32_t)insns[i + 1].imm << 32);
		if (BPF_CLASS(insn->code) == BPF_LDX && context & 1u << insn->src_reg &&
		    insn->off >= 0 && insn->off < PT_VM_LENGTHS * 8) {
			const bool extends = BPF_MODE(insn->code) != BPF_MEM;

			if (!(insn->off & 7)) {
				op->code = PT_VM_FIELD;
				op->width = BPF_SIZE(insn->code);
				op->imm = !extends	       ? 0
					  : op->width == BPF_W ? 32
					  : op->width == BPF_H ? 16
							       : 8;
			}
		}
		if (op->code != PT_VM_FIELD && !is_exit_jump(insn) &&
		    insn->code != (BPF_ALU64 | BPF_MOV | BPF_X)) {
			struct effect e;

			effect_of(insns, vm->nr, i, &e);
			if (e.reads & context)
				vm->needs_context = true;
		}
		if (insn->code == (BPF_JMP | BPF_CALL)) {
			vm->needs_memory = true;
			vm->aggregates |= insn->imm == PT_VM_COUNT;
		}
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg)
			vm->needs_memory = true;
		if (op->code != PT_VM_FIELD &&
		    (BPF_CLASS(insn->code) == BPF_LDX || BPF_CLASS(insn->code) == BPF_ST ||
		     BPF_CLASS(insn->code) == BPF_STX))
			vm->needs_memory = true;
	}
	pt_vm_simplify(vm);
}

int pt_vm_load(const void *image, size_t size, struct pt_vm **ret, uint32_t *ret_at)
{
	struct known *known = NULL;
	struct bpf_insn *insns;
	struct pt_vm_image head;
	uint32_t at = 0;
	struct pt_vm *vm;
	uint8_t *second;
	size_t room;
	int rc;

	if (size < sizeof(head))
		return -EINVAL;
	memcpy(&head, image, sizeof(head));
	if (head.magic != PT_VM_MAGIC || head.version != PT_VM_VERSION || !head.nr_insns ||
	    head.nr_insns > PT_VM_INSNS || head.scratch_size > PT_VM_SCRATCH ||
	    size != sizeof(head) + head.nr_insns * sizeof(*insns))
		return -EINVAL;
	/* mapped, not allocated: the program may be in malloc() */
	room = (sizeof(*vm) + head.nr_insns * sizeof(vm->op[0]) + size + 4095) & ~4095ul;
	vm = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm == MAP_FAILED)
		return -ENOMEM;
	vm->mapped = room;
	vm->nr = head.nr_insns;
	vm->scratch_size = head.scratch_size;
	vm->image = (unsigned char *)&vm->op[vm->nr];
	vm->image_size = size;
	memcpy(vm->image, image, size);
	insns = (struct bpf_insn *)(vm->image + sizeof(head));
	room = (vm->nr * (sizeof(*known) + 1) + 4095) & ~4095ul;
	known = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rc = known == MAP_FAILED ? -ENOMEM : 0;
	if (!rc) {
		second = (uint8_t *)&known[vm->nr];
		rc = check_all(insns, vm->nr, known, second, &at);
		if (!rc)
			translate(vm, insns, known);
		munmap(known, room);
	}
	if (ret_at)
		*ret_at = at;
	if (rc) {
		pt_vm_unload(vm);
		return rc;
	}
	mprotect(vm, vm->mapped, PROT_READ);
	*ret = vm;
	return 0;
}

void pt_vm_unload(struct pt_vm *vm)
{
	if (vm)
		munmap(vm, vm->mapped);
}

bool pt_vm_aggregates(const struct pt_vm *vm)
{
	return vm->aggregates;
}

bool pt_vm_same(const struct pt_vm *vm, const void *image, size_t size)
{
	return vm->image_size == size && !memcmp(vm->image, image, size);
}

/* ---- views ---- */

static const uint8_t sizes[PANTRACE_T_STRING] = {
	[PANTRACE_T_I8] = 1,  [PANTRACE_T_U8] = 1,  [PANTRACE_T_I16] = 2, [PANTRACE_T_U16] = 2,
	[PANTRACE_T_I32] = 4, [PANTRACE_T_U32] = 4, [PANTRACE_T_I64] = 8, [PANTRACE_T_U64] = 8,
	[PANTRACE_T_F32] = 4, [PANTRACE_T_F64] = 8, [PANTRACE_T_PTR] = 8, [PANTRACE_T_BOOL] = 1,
};

size_t pt_vm_type_size(uint8_t type)
{
	return (type & 0x1f) < PANTRACE_T_STRING ? sizes[type & 0x1f] : 0;
}

void pt_vm_view_make(const unsigned char *types, struct pt_vm_view *ret)
{
	uint32_t offset = 12;

	memset(ret, 0, sizeof(*ret));
	for (; types && *types && ret->nr < PT_VM_LENGTHS; types++) {
		struct pt_vm_field *const field = &ret->field[ret->nr];
		const uint8_t kind = *types & 0xe0;

		if (*types == PANTRACE_T_STRUCT || *types == PANTRACE_T_STRUCT_END)
			continue;
		field->type = *types;
		field->offset = (uint16_t)offset;
		ret->nr++;
		if (kind == PANTRACE_T_ARRAY) {
			field->count = (uint16_t)(types[1] | types[2] << 8);
			types += 2;
		}
		if (kind == PANTRACE_T_SEQUENCE || (!kind && *types >= PANTRACE_T_STRING) ||
		    offset == 0xffff)
			offset = 0xffff;
		else
			offset += (uint32_t)pt_vm_type_size(field->type) *
				  (kind == PANTRACE_T_ARRAY ? field->count : 1);
		if (offset > 0xfff0)
			offset = 0xffff;
	}
}
