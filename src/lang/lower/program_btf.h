/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BTF blob of a program (Documentation/bpf/btf.rst): a FUNC per function and, as strings, the
 * script's lines, so that the verifier's log and bpftool show which line an instruction came from.
 */
#ifndef PANTRACE_LANG_LOWER_PROGRAM_BTF_H
#define PANTRACE_LANG_LOWER_PROGRAM_BTF_H

#include "lang/bpf/emit.h"

struct program_btf_function {
	const char *name;
	u32 insn; /* its first */
	u32 nparams;
};

/* Fills in btf, func_info and line_info of code, whose insns and spans are there. functions[0] is
 * the main one. */
void program_btf_build(struct arena *a, const struct program_btf_function *functions,
		       u32 nfunctions, const struct diag *sources, struct bpf_code *code);

#endif
