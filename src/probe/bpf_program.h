/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fentry:bpf and fexit:bpf: running BPF programs and their subprograms as targets. Only for
 * src/probe.
 */
#ifndef PANTRACE_PROBE_BPF_PROGRAM_H
#define PANTRACE_PROBE_BPF_PROGRAM_H

#include "probe/provider.h"

/* PROVIDER:bpf:[ID:]NAME, wildcards in both. 0 or -errno with a diagnostic. */
int bpf_program_expand(struct probe_env *env, const struct probe_request *r,
		       const struct probe_provider *p, struct probe_targets *out);
/*
 * What differs from a kernel function's: the target is part of a program, and its arguments are not
 * known by name.
 */
void bpf_program_describe(const struct probe_target *t, struct probe_context *ret);
/* Those that match a glob "PROVIDER:bpf:...", as "PROVIDER:bpf:ID:NAME". */
int bpf_program_each(const struct probe_listing *l);

#endif
