/* SPDX-License-Identifier: MIT */
/*
 * The instructions of filters (RFC 9669): one table, of which vm_check.c makes what it accepts and
 * vm.c what it runs. What has no row is refused.
 */
#ifndef PANTRACE_LIB_VM_OPS_H
#define PANTRACE_LIB_VM_OPS_H

#include <linux/bpf.h>
#include <linux/bpf_common.h>

#define PT_VM_MEMSX	  0x80 /* loads that extend the sign: Linux 6.6's headers name them first */
#define PT_VM_CONSTANT	  (BPF_LD | BPF_IMM | BPF_DW) /* two instructions long */
#define PT_VM_COPY	  (BPF_ALU64 | BPF_MOV | BPF_X)
#define PT_VM_CALL	  (BPF_JMP | BPF_CALL)
#define PT_VM_EXIT	  (BPF_JMP | BPF_EXIT)
#define PT_VM_JUMP_BY_IMM (BPF_JMP32 | BPF_JA)

/*
 * ROW(X, operation, condition) of `a` and `b`. These are each a `word` of 64 or 32 bits, here and
 * below; an `integer` is one with a sign.
 */
#define PT_VM_COMPARISONS(ROW, X)                  \
	ROW(X, BPF_JEQ, a == b)                    \
	ROW(X, BPF_JNE, a != b)                    \
	ROW(X, BPF_JGT, a > b)                     \
	ROW(X, BPF_JGE, a >= b)                    \
	ROW(X, BPF_JLT, a < b)                     \
	ROW(X, BPF_JLE, a <= b)                    \
	ROW(X, BPF_JSET, (a & b) != 0)             \
	ROW(X, BPF_JSGT, (integer)a > (integer)b)  \
	ROW(X, BPF_JSGE, (integer)a >= (integer)b) \
	ROW(X, BPF_JSLT, (integer)a < (integer)b)  \
	ROW(X, BPF_JSLE, (integer)a <= (integer)b)

/* A row for each width and second operand. */
#define PT_VM_JUMP(ROW, op, condition)                               \
	ROW(BPF_JMP | (op) | BPF_K, JUMP_K, IF_64(IMM, condition))   \
	ROW(BPF_JMP | (op) | BPF_X, JUMP_X, IF_64(SRC, condition))   \
	ROW(BPF_JMP32 | (op) | BPF_K, JUMP_K, IF_32(IMM, condition)) \
	ROW(BPF_JMP32 | (op) | BPF_X, JUMP_X, IF_32(SRC, condition))

#define PT_VM_ALU(ROW, op, form, value)                             \
	ROW(BPF_ALU64 | (op) | BPF_K, form##_K, SET_64(IMM, value)) \
	ROW(BPF_ALU64 | (op) | BPF_X, form##_X, SET_64(SRC, value)) \
	ROW(BPF_ALU | (op) | BPF_K, form##_K, SET_32(IMM, value))   \
	ROW(BPF_ALU | (op) | BPF_X, form##_X, SET_32(SRC, value))

/* A division by 0 gives 0, its rest is the dividend; the least number has no opposite. */
#define PT_VM_QUOTIENT \
	(!b ? 0 : !op->off ? a / b : b == (word)-1 ? -a : (word)((integer)a / (integer)b))
#define PT_VM_REST (!b ? a : !op->off ? a % b : b == (word)-1 ? 0 : (word)((integer)a % (integer)b))
#define PT_VM_BITS (8 * sizeof(word))

/* ROW(code, form, action): vm_check.c has the forms, actions are made of macros of vm.c. */
/* clang-format off */
#define PT_VM_INSTRUCTIONS(ROW)                                                                 \
	PT_VM_ALU(ROW, BPF_ADD, ALU, a + b)                                                     \
	PT_VM_ALU(ROW, BPF_SUB, ALU, a - b)                                                     \
	PT_VM_ALU(ROW, BPF_MUL, ALU, a * b)                                                      \
	PT_VM_ALU(ROW, BPF_DIV, DIVIDE, PT_VM_QUOTIENT)                                         \
	PT_VM_ALU(ROW, BPF_MOD, DIVIDE, PT_VM_REST)                                             \
	PT_VM_ALU(ROW, BPF_OR, ALU, a | b)                                                      \
	PT_VM_ALU(ROW, BPF_AND, ALU, a & b)                                                      \
	PT_VM_ALU(ROW, BPF_XOR, ALU, a ^ b)                                                     \
	PT_VM_ALU(ROW, BPF_LSH, SHIFT, a << (b & (PT_VM_BITS - 1)))                             \
	PT_VM_ALU(ROW, BPF_RSH, SHIFT, a >> (b & (PT_VM_BITS - 1)))                             \
	PT_VM_ALU(ROW, BPF_ARSH, SHIFT, (integer)a >> (b & (PT_VM_BITS - 1)))                   \
	ROW(BPF_ALU64 | BPF_MOV | BPF_K, MOVE_K, SET_64(IMM, b))                                \
	ROW(BPF_ALU64 | BPF_MOV | BPF_X, MOVE_X, SET_64(SRC, extend(b, (unsigned int)op->off))) \
	ROW(BPF_ALU | BPF_MOV | BPF_K, MOVE_K, SET_32(IMM, b))                                  \
	ROW(BPF_ALU | BPF_MOV | BPF_X, MOVE_X, SET_32(SRC, extend(b, (unsigned int)op->off)))   \
	ROW(BPF_ALU64 | BPF_NEG, NEGATE, SET_64(IMM, -a))                                       \
	ROW(BPF_ALU | BPF_NEG, NEGATE, SET_32(IMM, -a))                                         \
	ROW(BPF_ALU | BPF_END | BPF_TO_LE, SWAP, SET_64(IMM, low(a, b)))                        \
	ROW(BPF_ALU | BPF_END | BPF_TO_BE, SWAP, SET_64(IMM, swap(a, b)))                       \
	ROW(BPF_ALU64 | BPF_END, SWAP, SET_64(IMM, swap(a, b)))                                 \
	PT_VM_COMPARISONS(PT_VM_JUMP, ROW)                                                      \
	ROW(BPF_JMP | BPF_JA, JUMP, GO(op->off))                                                \
	ROW(PT_VM_JUMP_BY_IMM, JUMP_BY_IMM, GO(op->imm))                                        \
	ROW(PT_VM_CALL, CALL, CALL_HELPER)                                                      \
	ROW(PT_VM_EXIT, EXIT, return r[0])                                                      \
	ROW(PT_VM_CONSTANT, CONSTANT, r[op->dst] = IMM; GO(1))                                  \
	ROW(BPF_LDX | BPF_MEM | BPF_DW, LOAD, READ(uint64_t))                                   \
	ROW(BPF_LDX | BPF_MEM | BPF_W, LOAD, READ(uint32_t))                                    \
	ROW(BPF_LDX | BPF_MEM | BPF_H, LOAD, READ(uint16_t))                                    \
	ROW(BPF_LDX | BPF_MEM | BPF_B, LOAD, READ(uint8_t))                                     \
	ROW(BPF_LDX | PT_VM_MEMSX | BPF_W, LOAD, READ(int32_t))                                 \
	ROW(BPF_LDX | PT_VM_MEMSX | BPF_H, LOAD, READ(int16_t))                                 \
	ROW(BPF_LDX | PT_VM_MEMSX | BPF_B, LOAD, READ(int8_t))                                  \
	ROW(BPF_ST | BPF_MEM | BPF_DW, STORE_K, WRITE(uint64_t, IMM))                           \
	ROW(BPF_ST | BPF_MEM | BPF_W, STORE_K, WRITE(uint32_t, IMM))                            \
	ROW(BPF_ST | BPF_MEM | BPF_H, STORE_K, WRITE(uint16_t, IMM))                            \
	ROW(BPF_ST | BPF_MEM | BPF_B, STORE_K, WRITE(uint8_t, IMM))                             \
	ROW(BPF_STX | BPF_MEM | BPF_DW, STORE_X, WRITE(uint64_t, SRC))                          \
	ROW(BPF_STX | BPF_MEM | BPF_W, STORE_X, WRITE(uint32_t, SRC))                           \
	ROW(BPF_STX | BPF_MEM | BPF_H, STORE_X, WRITE(uint16_t, SRC))                           \
	ROW(BPF_STX | BPF_MEM | BPF_B, STORE_X, WRITE(uint8_t, SRC))                            \
	ROW(BPF_STX | BPF_ATOMIC | BPF_DW, ATOMIC_ADD, ADD_TO(SRC))
/* clang-format on */

#endif
