// SPDX-License-Identifier: MIT
/*
 * Checks a filter. What a run could not notice is refused here: unknown instructions, jumps to
 * nowhere, registers that are read before they are written, writes to r10, calls of helpers that
 * are not offered. What is known of a register before an instruction is the intersection of what is
 * known after all its predecessors.
 */
#include "clock.h"
#include "vm_internal.h"
#include "vm_ops.h"
#include <errno.h>
#include <pantrace/ring.h>
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

enum {
	READS_DST = 1,
	READS_SRC = 2,
	WRITES_DST = 4,
	HAS_MEMORY = 8,
	BRANCHES = 16, /* to the next instruction, or by off */
};

/* What may be in off and imm. */
enum values {
	ZERO,
	ANY,
	NOT_ZERO,
	FLAG, /* 0, 1 */
	BELOW_WIDTH, /* of the operation: 64 or 32 bits */
	EXTENSION, /* 0; 8, 16 bits, if the operation is wider 32 */
	SWAPPABLE, /* 16, 32, 64 bits */
	ADDITION, /* BPF_ADD */
};

/*
 * How an instruction is encoded. A register that it neither reads nor writes has to be 0, except
 * src of CONSTANT, which is a kind. The kernel used by the tests says the same of each
 * (tests/lib/vm.c).
 */
enum form {
	REFUSED,
	ALU_K,
	ALU_X,
	SHIFT_K,
	SHIFT_X,
	DIVIDE_K,
	DIVIDE_X,
	MOVE_K,
	MOVE_X,
	NEGATE,
	SWAP,
	JUMP_K,
	JUMP_X,
	JUMP,
	JUMP_BY_IMM,
	CALL,
	EXIT,
	CONSTANT,
	LOAD,
	STORE_K,
	STORE_X,
	ATOMIC_ADD,
};

static const struct {
	uint8_t does;
	uint8_t off, imm; /* enum values */
} forms[] = {
	[ALU_K] = {READS_DST | WRITES_DST, ZERO, ANY},
	[ALU_X] = {READS_DST | READS_SRC | WRITES_DST, ZERO, ZERO},
	[SHIFT_K] = {READS_DST | WRITES_DST, ZERO, BELOW_WIDTH},
	[SHIFT_X] = {READS_DST | READS_SRC | WRITES_DST, ZERO, ZERO},
	[DIVIDE_K] = {READS_DST | WRITES_DST, FLAG, NOT_ZERO},
	[DIVIDE_X] = {READS_DST | READS_SRC | WRITES_DST, FLAG, ZERO},
	[MOVE_K] = {WRITES_DST, ZERO, ANY},
	[MOVE_X] = {READS_SRC | WRITES_DST, EXTENSION, ZERO},
	[NEGATE] = {READS_DST | WRITES_DST, ZERO, ZERO},
	[SWAP] = {READS_DST | WRITES_DST, ZERO, SWAPPABLE},
	[JUMP_K] = {READS_DST | BRANCHES, ANY, ANY},
	[JUMP_X] = {READS_DST | READS_SRC | BRANCHES, ANY, ZERO},
	[JUMP] = {0, ANY, ZERO},
	[JUMP_BY_IMM] = {0, ZERO, ANY},
	[CALL] = {0, ZERO, ANY},
	[EXIT] = {0, ZERO, ZERO},
	[CONSTANT] = {WRITES_DST, ZERO, ANY},
	[LOAD] = {READS_SRC | WRITES_DST | HAS_MEMORY, ANY, ZERO},
	[STORE_K] = {READS_DST | HAS_MEMORY, ANY, ANY},
	[STORE_X] = {READS_DST | READS_SRC | HAS_MEMORY, ANY, ZERO},
	[ATOMIC_ADD] = {READS_DST | READS_SRC | HAS_MEMORY, ANY, ADDITION},
};

#define FORM_OF(code, form, action) [code] = form,
static const uint8_t form_of[256] = {PT_VM_INSTRUCTIONS(FORM_OF)};

#define NOWHERE INT64_MIN

struct effect {
	uint32_t reads, writes; /* bits of registers */
	int64_t then, otherwise; /* next instructions; NOWHERE: none */
};

static bool is_among(enum values values, int64_t value, bool wide)
{
	switch (values) {
	case ZERO:
		return !value;
	case ANY:
		return true;
	case NOT_ZERO:
		return value;
	case FLAG:
		return value == 0 || value == 1;
	case BELOW_WIDTH:
		return value >= 0 && value < (wide ? 64 : 32);
	case EXTENSION:
		return value == 0 || value == 8 || value == 16 || (wide && value == 32);
	case SWAPPABLE:
		return value == 16 || value == 32 || value == 64;
	case ADDITION:
		return value == BPF_ADD;
	}
	return false;
}

static int effect_call(const struct bpf_insn *insn, struct effect *e)
{
	const int arguments = helper_arguments(insn->imm);

	if (arguments < 0)
		return -EPERM;
	e->reads = ((1u << arguments) - 1) << 1;
	e->writes = 0x3f;
	return 0;
}

/* A number, or the address of the map. */
static int effect_constant(const struct bpf_insn *insn, bool is_last, struct effect *e)
{
	const struct bpf_insn *const second = insn + 1;

	if (is_last || second->code || second->dst_reg || second->src_reg || second->off)
		return -EINVAL;
	if (insn->src_reg > BPF_PSEUDO_MAP_FD ||
	    (insn->src_reg == BPF_PSEUDO_MAP_FD && (insn->imm || second->imm)))
		return -EPERM;
	e->then++;
	return 0;
}

static int effect_of(const struct bpf_insn *insns, uint32_t n, uint32_t at, struct effect *e)
{
	const struct bpf_insn *const insn = &insns[at];
	const uint8_t class = BPF_CLASS(insn->code), form = form_of[insn->code];
	const uint8_t does = forms[form].does;

	if (form == REFUSED || insn->dst_reg > 10 || insn->src_reg > 10 ||
	    (insn->dst_reg && !(does & (READS_DST | WRITES_DST))) ||
	    (insn->src_reg && !(does & READS_SRC) && form != CONSTANT) ||
	    !is_among(forms[form].off, insn->off, class == BPF_ALU64) ||
	    !is_among(forms[form].imm, insn->imm, class == BPF_ALU64))
		return -EINVAL;
	*e = (struct effect){.reads = (does & READS_DST ? 1u << insn->dst_reg : 0) |
				      (does & READS_SRC ? 1u << insn->src_reg : 0),
			     .writes = does & WRITES_DST ? 1u << insn->dst_reg : 0,
			     .then = (int64_t)at + 1,
			     .otherwise = NOWHERE};
	if (does & BRANCHES)
		e->otherwise = e->then + insn->off;
	switch (form) {
	case JUMP:
		e->then += insn->off;
		return 0;
	case JUMP_BY_IMM:
		e->then += insn->imm;
		return 0;
	case CALL:
		return effect_call(insn, e);
	case EXIT:
		e->reads = 1;
		e->then = NOWHERE;
		return 0;
	case CONSTANT:
		return effect_constant(insn, at + 1 == n, e);
	default:
		return 0;
	}
}

/* ---- the whole ---- */

struct known {
	uint16_t has_value; /* bits of registers */
	uint16_t context; /* those that are the context's address, */
	uint16_t maybe; /* or are it on some way here */
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
	into->maybe |= from->maybe;
	return into->has_value != old.has_value || into->context != old.context ||
	       into->maybe != old.maybe;
}

static bool is_copy(const struct bpf_insn *insn)
{
	return insn->code == PT_VM_COPY && !insn->off;
}

/* The set of copies of the context after the instruction: only plain moves copy it. */
static uint16_t copied(const struct bpf_insn *insn, const struct effect *e, uint16_t set)
{
	const bool copies = is_copy(insn) && set & 1u << insn->src_reg;

	return (uint16_t)((set & ~e->writes) | (copies ? 1u << insn->dst_reg : 0));
}

static void apply(const struct bpf_insn *insn, const struct effect *e, struct known *k)
{
	k->has_value |= (uint16_t)e->writes;
	k->context = copied(insn, e, k->context);
	k->maybe = copied(insn, e, k->maybe);
	if (insn->code == PT_VM_CALL)
		k->has_value &= (uint16_t)~0x3e;
}

static int check_all(const struct bpf_insn *insns, uint32_t n, struct known *known, uint8_t *second,
		     uint32_t *ret_at)
{
	bool changed = true;

	for (uint32_t i = 0; i < n; i++)
		if (insns[i].code == PT_VM_CONSTANT && i + 1 < n)
			second[++i] = 1;
	known[0] = (struct known){
		.has_value = 1 << 1 | 1 << 10, .context = 1 << 1, .maybe = 1 << 1, .reached = true};
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

/*
 * A load of a field whose place in the context is known: such fields are read from the record,
 * without building the context.
 */
static bool field_make(const struct bpf_insn *insn, struct pt_vm_op *op)
{
	const uint8_t size = BPF_SIZE(insn->code);

	if (insn->off < 0 || insn->off >= PT_VM_LENGTHS * 8 || insn->off & 7)
		return false;
	op->code = PT_VM_FIELD;
	op->width = size;
	op->imm = BPF_MODE(insn->code) == BPF_MEM ? 0 : size == BPF_W ? 32 : size == BPF_H ? 16 : 8;
	return true;
}

/*
 * Translates the instructions into the form that pt_vm_run() executes, and finds out what it has to
 * prepare for them.
 */
static void translate(struct pt_vm *vm, const struct bpf_insn *insns, const struct known *known)
{
	for (uint32_t i = 0; i < vm->nr; i++) {
		const struct bpf_insn *const insn = &insns[i];
		const uint8_t form = form_of[insn->code];
		struct pt_vm_op *const op = &vm->op[i];
		struct effect e;

		if (!known[i].reached) /* and never run */
			continue;
		*op = (struct pt_vm_op){.code = insn->code,
					.dst = insn->dst_reg,
					.src = insn->src_reg,
					.off = insn->off,
					.imm = insn->imm};
		effect_of(insns, vm->nr, i, &e);
		if (form == LOAD && known[i].context & e.reads && field_make(insn, op))
			continue;
		/* a copy is checked where it is used */
		vm->needs_context |= !is_copy(insn) && known[i].maybe & e.reads;
		vm->needs_memory |=
			form == CALL || forms[form].does & HAS_MEMORY || e.reads & 1u << 10;
		vm->aggregates |= form == CALL && insn->imm == PT_VM_COUNT;
		if (form == CONSTANT) {
			vm->needs_memory |= insn->src_reg == BPF_PSEUDO_MAP_FD;
			op->imm = (int64_t)((uint64_t)(uint32_t)insn->imm |
					    (uint64_t)(uint32_t)insns[i + 1].imm << 32);
		}
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
	/* an event makes no system call */
	for (uint32_t i = 0; i < vm->nr && !rc; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) ||
		    insns[i].imm != BPF_FUNC_ktime_get_ns || pt_clock_is_free())
			continue;
		at = i;
		rc = -EOPNOTSUPP;
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
	return (type & PANTRACE_T_ELEMENT) < PANTRACE_T_STRING ? sizes[type & PANTRACE_T_ELEMENT]
							       : 0;
}

void pt_vm_view_make(const unsigned char *types, struct pt_vm_view *ret)
{
	uint32_t offset = 12;

	memset(ret, 0, sizeof(*ret));
	for (; types && *types && ret->nr < PT_VM_LENGTHS; types++) {
		struct pt_vm_field *const field = &ret->field[ret->nr];
		const uint8_t kind = *types & PANTRACE_T_KIND;

		if (*types == PANTRACE_T_STRUCT || *types == PANTRACE_T_STRUCT_END)
			continue;
		field->type = *types & (uint8_t)~PANTRACE_T_HEX;
		field->offset = (uint16_t)offset;
		ret->nr++;
		if (kind == PANTRACE_T_ARRAY) {
			field->count = (uint16_t)(types[1] | types[2] << 8);
			types += 2;
		}
		/* of varying size, or no type that there is */
		if (kind == PANTRACE_T_SEQUENCE || !pt_vm_type_size(field->type) ||
		    offset == 0xffff)
			offset = 0xffff;
		else
			offset += (uint32_t)pt_vm_type_size(field->type) *
				  (kind == PANTRACE_T_ARRAY ? field->count : 1);
		if (offset > 0xfff0)
			offset = 0xffff;
	}
}
