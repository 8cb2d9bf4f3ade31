/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of small programs that are written down by hand. */
#ifndef PANTRACE_KERNEL_BPF_INSN_H
#define PANTRACE_KERNEL_BPF_INSN_H

#include <linux/bpf.h>

#define INSN(op, d, s, offset, immediate)   \
	((struct bpf_insn){.code = (op),    \
			   .dst_reg = (d),  \
			   .src_reg = (s),  \
			   .off = (offset), \
			   .imm = (immediate)})
#define MOV_IMM(d, v)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, v)
#define MOV_REG(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD_IMM(d, v)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, v)
#define LOAD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, o, s)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE_IMM(d, o) INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, 0)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* include/uapi/linux/bpf.h; numbers, because build machines have older headers than the machines
 * that are traced. */
enum {
	FUNC_PROBE_READ_KERNEL = 113,
	FUNC_PROBE_READ_KERNEL_STR = 115,
	FUNC_SEQ_WRITE = 127,
	FUNC_D_PATH = 147,
	FUNC_TASK_STORAGE_GET = 156,
	FUNC_GET_CURRENT_TASK_BTF = 158,
	FUNC_FOR_EACH_MAP_ELEM = 164,
	FUNC_GET_FUNC_IP = 173,
	FUNC_GET_ATTACH_COOKIE = 174,
	FUNC_LOOP = 181,
	FUNC_STRNCMP = 182,
	FUNC_MAP_LOOKUP_PERCPU_ELEM = 195,
	FUNC_KTIME_GET_TAI_NS = 208,
};

#endif
