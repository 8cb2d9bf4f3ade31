/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out which BPF features the kernel has, by loading programs of a few instructions. Questions
 * that fit into one program are tried together first, so that a kernel with all features answers
 * few of them. Where instruction set version 4 exists (cpu_v4, 6.6), older features are not tested.
 */
#include <unistd.h>

#include "kernel/bpf/insn.h"
#include "kernel/kernel_internal.h"

struct trial {
	u32 type, attach_type;
	const struct bpf_insn *insns;
	u32 count;
	char *log; /* NULL: none wanted */
	u32 log_size;
};

static int load(const struct trial *t)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = t->type;
	attr.expected_attach_type = t->attach_type;
	attr.insns = (u64)(uintptr_t)t->insns;
	attr.insn_cnt = t->count;
	attr.license = (u64)(uintptr_t) "GPL";
	if (t->log) {
		t->log[0] = '\0';
		attr.log_buf = (u64)(uintptr_t)t->log;
		attr.log_size = t->log_size;
		attr.log_level = 1;
	}
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

int kernel_try_program(u32 type, u32 attach_type, const void *insns, u32 count, char *log,
		       u32 log_size)
{
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
						  {.code = BPF_JMP | BPF_EXIT}};
	const struct trial t = {.type = type,
				.attach_type = attach_type,
				.insns = insns ? insns : nothing,
				.count = insns ? count : ARRAY_SIZE(nothing),
				.log = log,
				.log_size = log_size};

	return load(&t);
}

static bool accepted(u32 type, const struct bpf_insn *insns, u32 count)
{
	const int fd = load(&(struct trial){.type = type, .insns = insns, .count = count});

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define ACCEPTED(type, ...)                                     \
	({                                                      \
		const struct bpf_insn insns_[] = {__VA_ARGS__}; \
		accepted((type), insns_, ARRAY_SIZE(insns_));   \
	})

/*
 * Does the helper exist? It is called without arguments: a helper that exists is then refused for
 * its arguments. any_type: also if only programs of other types may call it.
 */
static bool helper_exists(int function, bool any_type)
{
	const struct bpf_insn insns[] = {CALL(function), EXIT()};
	char log[512];
	const int fd = load(&(struct trial){.type = BPF_PROG_TYPE_KPROBE,
					    .insns = insns,
					    .count = ARRAY_SIZE(insns),
					    .log = log,
					    .log_size = sizeof(log)});

	if (fd >= 0) {
		close(fd);
		return true;
	}
	/* kernel/bpf/verifier.c, check_helper_call(). A log that is full is ENOSPC and as good. */
	if ((fd != -EINVAL && fd != -EACCES && fd != -ENOSPC) || !log[0] ||
	    strstr(log, "invalid func") || strstr(log, "unknown#"))
		return false;
	return any_type || (!strstr(log, "unknown func") && !strstr(log, "cannot use helper"));
}

/* Instructions that the kernel accepts if the answer is yes; r1 is the context. */
struct question {
	bool *ret;
	const struct bpf_insn *insns;
	u32 count;
};

#define QUESTION(answer, ...)                                                       \
	{                                                                           \
		.ret = (answer), .insns = (const struct bpf_insn[]){__VA_ARGS__},   \
		.count = (u32)ARRAY_SIZE(((const struct bpf_insn[]){__VA_ARGS__})), \
	}

enum { MAX_QUESTION = 8, MAX_TOGETHER = 16 };

/* All of them in one program, or else one by one. */
static void ask(const struct question *rows, u32 n)
{
	struct bpf_insn insns[1 + MAX_TOGETHER * (MAX_QUESTION + 1) + 2];
	bool together;
	u32 at = 0;

	insns[at++] = MOV_REG(BPF_REG_6, BPF_REG_1);
	for (u32 i = 0; i < n; i++) {
		insns[at++] = MOV_REG(BPF_REG_1, BPF_REG_6);
		memcpy(insns + at, rows[i].insns, rows[i].count * sizeof(*insns));
		at += rows[i].count;
	}
	insns[at++] = MOV_IMM(BPF_REG_0, 0);
	insns[at++] = EXIT();
	together = accepted(BPF_PROG_TYPE_KPROBE, insns, at);
	if (!together && n > 1) {
		for (u32 i = 0; i < n; i++)
			ask(&rows[i], 1);
		return;
	}
	for (u32 i = 0; i < n; i++)
		*rows[i].ret = together;
}

static void ask_instructions(struct kernel_features *f)
{
	bool has_task_btf;
	const struct question rows[] = {
		QUESTION(&f->loads, MOV_IMM(BPF_REG_0, 0)),
		QUESTION(&has_task_btf, CALL(FUNC_GET_CURRENT_TASK_BTF)),
		QUESTION(&f->ktime_tai, CALL(FUNC_KTIME_GET_TAI_NS)),
		QUESTION(&f->get_func_ip, CALL(FUNC_GET_FUNC_IP)),
		QUESTION(&f->attach_cookie, CALL(FUNC_GET_ATTACH_COOKIE)),
		QUESTION(&f->atomic_fetch, STORE_IMM(BPF_REG_10, -8), MOV_IMM(BPF_REG_0, 1),
			 INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_10, BPF_REG_0, -8,
			      BPF_ADD | BPF_FETCH)),
		/* Signed division is BPF_DIV with offset 1 since instruction set version 4. */
		QUESTION(&f->cpu_v4, MOV_IMM(BPF_REG_0, -8),
			 INSN(BPF_ALU64 | BPF_DIV | BPF_K, BPF_REG_0, 0, 1, 2)),
	};

	_Static_assert(ARRAY_SIZE(rows) <= MAX_TOGETHER, "more than one program holds");
	ask(rows, ARRAY_SIZE(rows));
	/* Tracing programs of another type had it before kprobes (6.2). */
	f->task_storage =
		has_task_btf && (f->cpu_v4 || helper_exists(FUNC_TASK_STORAGE_GET, false));
}

/*
 * Helpers whose arguments take more than a line. Their numbers are given out one after the other
 * (include/uapi/linux/bpf.h) and programs of all types may call these (bpf_base_func_proto()), so
 * that a kernel with a later one has them.
 */
static void ask_helpers(struct kernel_features *f)
{
	const struct {
		int function;
		bool any_type;
		bool *ret;
	} rows[] = {
		{FUNC_LOOP, false, &f->bpf_loop},
		{FUNC_FOR_EACH_MAP_ELEM, false, &f->for_each_map},
		{FUNC_MAP_LOOKUP_PERCPU_ELEM, false, &f->percpu_lookup},
		{FUNC_STRNCMP, false, &f->strncmp},
		{FUNC_D_PATH, true, &f->d_path},
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		*rows[i].ret = (f->ktime_tai && rows[i].function < FUNC_KTIME_GET_TAI_NS) ||
			       helper_exists(rows[i].function, rows[i].any_type);
}

/*
 * Before the memory allocator of BPF (6.1), a map that allocates as it grows could deadlock where
 * the kernel's allocator was interrupted, and programs of perf events, which run in NMIs, were
 * refused such maps.
 */
static bool ask_no_prealloc(void)
{
	union bpf_attr attr = {0};
	int map;
	bool yes;

	attr.map_type = BPF_MAP_TYPE_HASH;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	attr.map_flags = BPF_F_NO_PREALLOC;
	map = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (map < 0)
		return false;
	yes = ACCEPTED(BPF_PROG_TYPE_PERF_EVENT,
		       INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		       INSN(0, 0, 0, 0, 0), MOV_IMM(BPF_REG_0, 0), EXIT());
	close(map);
	return yes;
}

const struct kernel_features *kernel_features(struct kernel *k)
{
	struct kernel_features *f = &k->features;

	if (k->features_known)
		return f;
	k->features_known = true;
	ask_instructions(f);
	/* Without the right to load programs, every question has the same answer. */
	if (!f->loads)
		return f;
	ask_helpers(f);
	f->ktime_boot = true;
	f->no_prealloc_safe = f->cpu_v4 || ask_no_prealloc();
	return f;
}
