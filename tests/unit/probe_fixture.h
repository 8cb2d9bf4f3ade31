/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of providers have in common: an environment, targets by their text, a program that
 * counts its runs.
 */
#ifndef PANTRACE_TESTS_PROBE_FIXTURE_H
#define PANTRACE_TESTS_PROBE_FIXTURE_H

#include "probe/provider.h"
#include "tap.h"

struct fixture {
	struct arena arena;
	struct type_store types;
	struct diag diag;
	struct probe_env env;
	struct probe_targets targets;
	struct probe_context context;
	struct probe_attachments attachments;
	int map, program;
};

__attribute__((unused)) static void setup(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	type_store_init(&f->types);
	f->diag = (struct diag)DIAG_INIT;
	f->env = (struct probe_env){.types = &f->types, .arena = &f->arena, .diag = &f->diag};
	f->env.btf = btf_attach(&f->types, NULL);
	f->env.kernel = kernel_new();
	f->map = f->program = -1;
}

__attribute__((unused)) static void teardown(struct fixture *f)
{
	vector_free(&f->targets.list);
	probe_env_release(&f->env);
	kernel_release(f->env.kernel);
	btf_release(f->env.btf);
	type_store_release(&f->types);
	diag_release(&f->diag);
	arena_release(&f->arena);
}

/* Expands "a:b:c"; the error text, "" = none. */
__attribute__((unused)) static const char *expand_pid(struct fixture *f, const char *text,
						      pid_t pid)
{
	const char *parts[8];
	struct probe_request r = {.span = NO_SPAN, .text = text, .parts = parts, .pid = pid};
	char *rest = arena_strdup(&f->arena, text), *part;

	while (r.count < 8 && (part = strsep(&rest, ":")))
		parts[r.count++] = part;
	f->targets.list.len = 0;
	f->targets.skipped = 0;
	f->diag.messages.len = 0;
	f->diag.errors = 0;
	f->diag.code = EXIT_OK;
	if (!probe_expand(&f->env, &r, &f->targets))
		return "";
	return f->diag.messages.len ? f->diag.messages.items[0].text : "(an error without a word)";
}

__attribute__((unused)) static const char *expand(struct fixture *f, const char *text)
{
	return expand_pid(f, text, 0);
}

__attribute__((unused)) static const char *hint(const struct fixture *f)
{
	for (size_t i = 0; i < f->diag.messages.len; i++)
		if (f->diag.messages.items[i].level == DIAG_HINT)
			return f->diag.messages.items[i].text;
	return "";
}

__attribute__((unused)) static int new_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* map[0] += 1 if `filter` is negative, or if the 64-bit word of the context at that offset equals
 * `value`. */
__attribute__((unused)) static int new_program(const struct probe_context *c, int map, int filter,
					       s32 value)
{
	struct bpf_insn insns[16];
	union bpf_attr attr;
	u32 n = 0;

	if (filter >= 0) {
		insns[n++] = (struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_DW,
					       .dst_reg = 3,
					       .src_reg = 1,
					       .off = (s16)filter};
		insns[n++] = (struct bpf_insn){
			.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 3, .imm = value, .off = 9};
	}
	insns[n++] = (struct bpf_insn){
		.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0};
	insns[n++] =
		(struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10};
	insns[n++] =
		(struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4};
	insns[n++] = (struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
				       .dst_reg = 1,
				       .src_reg = BPF_PSEUDO_MAP_FD,
				       .imm = map};
	insns[n++] = (struct bpf_insn){.code = 0};
	insns[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem};
	insns[n++] = (struct bpf_insn){
		.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .imm = 0, .off = 2};
	insns[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1};
	insns[n++] = (struct bpf_insn){
		.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD};
	insns[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0};
	insns[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = c->program_type;
	attr.expected_attach_type = c->expected_attach_type;
	attr.attach_btf_id = c->attach_btf_id;
	attr.insns = (u64)(uintptr_t)insns;
	attr.insn_cnt = n;
	attr.license = (u64)(uintptr_t) "GPL";
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

__attribute__((unused)) static u64 counted(const struct fixture *f)
{
	union bpf_attr attr;
	u64 value = 0;
	u32 key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (u32)f->map;
	attr.key = (u64)(uintptr_t)&key;
	attr.value = (u64)(uintptr_t)&value;
	sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
	return value;
}

#endif
