/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The intermediate representation: functions of basic blocks of three-address instructions over
 * virtual registers (64-bit, numbered from 1; 0 = none). Not SSA: a register may be assigned in
 * several blocks (loops, ternaries). Lowering builds it through ir_*(); regalloc.c maps it to r0-r9
 * with spilling to the BPF stack; emit.c writes struct bpf_insn.
 *
 * Memory that lowering needs (strings, keys, tuples, records) is a *slot*: a piece of the 512-byte
 * BPF stack if small and if it fits, else of the program's entry of the per-CPU scratch map.
 * Lowering asks for ir_slot() and its address, and never cares which.
 */
#ifndef PANTRACE_LANG_IR_IR_H
#define PANTRACE_LANG_IR_IR_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vector.h"

typedef u32 ir_reg; /* 0 = none */

enum ir_op {
	IR_NOP,
	IR_CONST, /* dst = imm (64 bits) */
	IR_MOVE, /* dst = a */
	/*
	 * dst = a op b, or a op imm if b == 0 (imm must fit s32, else lowering uses IR_CONST).
	 * 64-bit. Division by zero gives 0, modulo by zero the dividend (BPF semantics). DIV, MOD,
	 * unsigned; SDIV/SMOD are signed and are emitted by sign juggling on kernels before 6.6
	 * (cpu v4).
	 */
	IR_ADD,
	IR_SUB,
	IR_MUL,
	IR_DIV,
	IR_MOD,
	IR_SDIV,
	IR_SMOD,
	IR_AND,
	IR_OR,
	IR_XOR,
	IR_SHL,
	IR_SHR,
	IR_SAR,
	IR_NEG, /* dst = -a */
	/* dst = byte-swapped low `size` bytes of a, zero-extended (size 2, 4, 8) */
	IR_BSWAP,
	IR_EXTEND, /* dst = low `size` bytes of a, sign- (is_signed) or zero-extended */
	IR_LOAD, /* dst = *(size *)(a + imm), zero-extended; sign-extended if is_signed */
	IR_STORE, /* *(size *)(a + imm) = b */
	IR_STORE_IMM, /* *(size *)(a + imm) = imm2 (s32, sign-extended for size 8) */
	IR_ATOMIC_ADD, /* lock *(size *)(a + imm) += b; dst (if not 0) = old value. size 4 or 8 */
	IR_ATOMIC_CMPXCHG, /* dst = old value of *(u64 *)(a + imm); stored c if old == b */
	IR_CALL, /* dst = helper imm (args[0..nargs)); dst may be 0 */
	IR_CALL_FUNCTION, /* dst = functions[imm](args...) : a BPF-to-BPF call */
	/* dst = address of the map with index imm (for helpers): LD_IMM64 PSEUDO_MAP_FD */
	IR_MAP,
	/* dst = address of byte imm2 of the value of array map imm (PSEUDO_MAP_VALUE, 5.2) */
	IR_MAP_VALUE,
	/* dst = address of functions[imm] (callbacks of bpf_loop, for_each_map_elem) */
	IR_FUNCTION,
	IR_SLOT, /* dst = address of slot imm */
	IR_CONTEXT, /* dst = the program's context (first argument) */
	/* dst = argument imm of a subprogram (0-based); entry block only, before anything else */
	IR_PARAM,
	IR_JUMP, /* goto then */
	IR_BRANCH, /* if (a cond b, or a cond imm if b == 0) goto then; else goto otherwise */
	IR_RETURN, /* return a (or imm if a == 0) */
};

enum ir_cond {
	IR_EQ,
	IR_NE,
	IR_LT,
	IR_LE,
	IR_GT,
	IR_GE,
	IR_SLT,
	IR_SLE,
	IR_SGT,
	IR_SGE,
	IR_SET /* a & b */
};

struct ir_insn {
	enum ir_op op;
	enum ir_cond cond;
	u8 size, nargs;
	bool is_signed;
	bool is_kernel; /* IR_CALL: a function of the kernel by its BTF id, not a helper */
	ir_reg dst, a, b, c;
	ir_reg args[5];
	s64 imm, imm2;
	u32 then, otherwise; /* block indexes */
	struct span span; /* for line info and verifier complaints */
};

struct ir_block {
	VECTOR(struct ir_insn) insns; /* ends with JUMP, BRANCH or RETURN */
	const char *label; /* for dumps */
};

struct ir_slot_info {
	u32 size, align;
	bool force_stack; /* must be on the stack (small, e.g. 8 bytes for a callback context) */
	bool force_scratch;
	const char *label;
	/* Filled in by ir_assign_slots(): */
	bool in_scratch;
	s32 offset; /* from r10 (negative), or from the program's scratch entry */
};

struct ir_function {
	const char *name;
	/* static subprogram called by bpf_loop/for_each (params are typed by the verifier) */
	bool is_callback;
	u32 nparams;
	VECTOR(struct ir_block) blocks; /* [0] is the entry */
	VECTOR(struct ir_slot_info) slots;
	u32 nregs; /* registers 1 .. nregs */
	u32 current; /* block being built */
	struct span span; /* of the instructions being built */
	struct arena *arena; /* the program's; the vectors above grow in it */
	/* The back end's own: */
	u32 stack_slots; /* bytes of stack taken by slots */
	/* holds the address of the program's scratch entry; 0 = not needed */
	ir_reg scratch;
	u32 scratch_key; /* slot of the key to look it up */
};

/* One BPF program: functions[0] is the main one. */
struct ir_program {
	struct arena *arena;
	const char *name; /* kernel-visible, at most 15 characters: "do_sys_openat2" */
	/* in its BTF, as the target is written and a number: "kprobe:vfs_read_1"; NULL = name */
	const char *full_name;
	VECTOR(struct ir_function *) functions;
	/* index of the per-CPU scratch map (array; key = scratch_index) or IR_NO_MAP */
	u32 scratch_map;
	u32 scratch_index; /* this program's entry */
	/*
	 * 0 = scratch_map is per CPU; else it is a plain array with this many entries for each CPU
	 */
	u32 scratch_stride;
	bool scratch_of_task; /* scratch_map is task storage: one entry per task instead */
	/* where a run that gets no scratch memory is counted; IR_NO_MAP = nowhere */
	u32 lost_map, lost_index;
	/* out: bytes of scratch that the program needs, 0 = none. Filled in by ir_assign_slots() */
	u32 scratch_size;
	bool is_sleepable;
	u32 result; /* of a run that could not begin */
	const char *const *map_names; /* by map index, for dumps; may be NULL */
	u32 nmap_names;
};
#define IR_NO_MAP UINT32_MAX

/* Building. Registers come from ir_reg_new(); instructions go to the current block. */
struct ir_function *ir_function_new(struct ir_program *p, const char *name);
/* long callback(u32 step, void *state), as bpf_loop() calls it. Of the step 32 bits count. */
struct ir_function *ir_step_new(struct ir_program *p, const char *name, struct span span,
				ir_reg *ret_step, ir_reg *ret_state);
u32 ir_function_index(const struct ir_program *p, const struct ir_function *f);
ir_reg ir_reg_new(struct ir_function *f);
u32 ir_block_new(struct ir_function *f, const char *label); /* does not switch to it */
void ir_switch_to(struct ir_function *f, u32 block);
/* the current block already ends in a jump or return */
bool ir_terminated(const struct ir_function *f);
/* valid until the next ir_add */
struct ir_insn *ir_add(struct ir_function *f, struct ir_insn insn);

ir_reg ir_const(struct ir_function *f, s64 value);
ir_reg ir_move(struct ir_function *f, ir_reg a);
/* dst = a, for registers with several definitions */
void ir_assign(struct ir_function *f, ir_reg dst, ir_reg a);
void ir_assign_const(struct ir_function *f, ir_reg dst, s64 value);
ir_reg ir_binary(struct ir_function *f, enum ir_op op, ir_reg a, ir_reg b);
ir_reg ir_binary_imm(struct ir_function *f, enum ir_op op, ir_reg a, s64 imm); /* any imm */
ir_reg ir_extend(struct ir_function *f, ir_reg a, u32 size, bool is_signed);
ir_reg ir_load(struct ir_function *f, ir_reg base, s64 offset, u32 size, bool is_signed);
void ir_store(struct ir_function *f, ir_reg base, s64 offset, u32 size, ir_reg value);
void ir_store_imm(struct ir_function *f, ir_reg base, s64 offset, u32 size, s64 value);
/* Zeroes size bytes with stores (8, 4, 2, 1). */
void ir_zero(struct ir_function *f, ir_reg base, s64 offset, u32 size);
/* Copies size bytes with loads and stores between directly addressable places. */
void ir_copy(struct ir_function *f, ir_reg dst, s64 dst_offset, ir_reg src, s64 src_offset,
	     u32 size);
ir_reg ir_call(struct ir_function *f, u32 helper, u32 nargs, const ir_reg *args);
#define ir_call_n(f, helper, ...)                                                \
	ir_call((f), (helper), sizeof((ir_reg[]){__VA_ARGS__}) / sizeof(ir_reg), \
		(ir_reg[]){__VA_ARGS__})
/* A function of the kernel itself (kfunc) by its id in the BTF of vmlinux. */
ir_reg ir_call_kernel(struct ir_function *f, u32 btf_id, u32 nargs, const ir_reg *args);
ir_reg ir_map(struct ir_function *f, u32 map);
u32 ir_slot(struct ir_function *f, u32 size, u32 align, const char *label);
ir_reg ir_slot_address(struct ir_function *f, u32 slot);
ir_reg ir_context(struct ir_function *f);
void ir_jump(struct ir_function *f, u32 block);
void ir_branch(struct ir_function *f, enum ir_cond cond, ir_reg a, ir_reg b, u32 then,
	       u32 otherwise);
void ir_branch_imm(struct ir_function *f, enum ir_cond cond, ir_reg a, s64 imm, u32 then,
		   u32 otherwise);
void ir_return(struct ir_function *f, ir_reg value); /* 0 = return 0 */

void ir_dump(struct strbuf *out, const struct ir_program *p);
/*
 * Checks what the back end relies on (blocks end, targets exist, registers defined somewhere). NULL
 * or what is wrong.
 */
const char *ir_verify(struct arena *a, const struct ir_program *p);

#endif
