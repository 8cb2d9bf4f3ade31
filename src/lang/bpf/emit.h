/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IR -> eBPF: places slots on the stack or in scratch memory, allocates r0-r9 with spilling, cleans
 * up (peephole), and writes instructions with relocations and the BTF blob with function and line
 * info that lets a verifier complaint be shown at the line of the script.
 */
#ifndef PANTRACE_LANG_BPF_EMIT_H
#define PANTRACE_LANG_BPF_EMIT_H

#include <linux/bpf.h>

#include "lang/ir/ir.h"

struct bpf_relocation {
	u32 insn; /* index of a LD_IMM64 whose imm becomes the map's fd */
	u32 map; /* index into script.maps */
};

struct bpf_code {
	struct bpf_insn *insns;
	u32 count;
	struct bpf_relocation *relocations;
	u32 nrelocations;
	struct span *spans; /* per instruction: the script place it came from */
	/*
	 * For BPF_PROG_LOAD: a BTF blob (types, strings) and the two tables. Line info refers to
	 * script lines.
	 */
	void *btf;
	u32 btf_size;
	struct bpf_func_info *func_info;
	u32 nfunc_info;
	struct bpf_line_info *line_info;
	u32 nline_info;
};

struct emit_options {
	bool has_cpu_v4; /* signed division and sign-extending loads (6.6) */
};

/*
 * Everything is allocated in p->arena. Returns 0, or -E2BIG (stack beyond 512 bytes, more than a
 * million insns) with a diagnostic. Step 1 (ir_assign_slots) must come first for all programs,
 * because it fixes scratch_size.
 */
void ir_assign_slots(struct ir_program *p);
int emit_program(struct ir_program *p, const struct diag *sources, struct diag *diag,
		 const struct emit_options *options, struct bpf_code *ret);
/* Disassembly with labels, helper names and script lines (-d bpf). */
void emit_dump(struct strbuf *out, const struct ir_program *p, const struct bpf_code *code);
const char *bpf_helper_name(u32 helper); /* "map_lookup_elem" or NULL */

#endif
