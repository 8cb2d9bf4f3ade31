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

#define ACCEPTED(...)                                                       \
	({                                                                  \
		const struct bpf_insn insns_[] = {__VA_ARGS__};             \
		accepted(BPF_PROG_TYPE_KPROBE, insns_, ARRAY_SIZE(insns_)); \
	})

/*
 * A helper whose arguments are hard to forge: called without them, it is refused for another reason
 * than for not being there. any_type: also where programs of other types only may call it.
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

/* Instructions that are accepted where the answer is yes; they find the context in r1. */
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
		QUESTION(&f->current_task, CALL(FUNC_GET_CURRENT_TASK)),
		QUESTION(&has_task_btf, CALL(FUNC_GET_CURRENT_TASK_BTF)),
		QUESTION(&f->current_cgroup_id, CALL(FUNC_GET_CURRENT_CGROUP_ID)),
		QUESTION(&f->jiffies64, CALL(FUNC_JIFFIES64)),
		QUESTION(&f->ktime_boot, CALL(FUNC_KTIME_GET_BOOT_NS)),
		QUESTION(&f->ktime_tai, CALL(FUNC_KTIME_GET_TAI_NS)),
		QUESTION(&f->get_func_ip, CALL(FUNC_GET_FUNC_IP)),
		QUESTION(&f->attach_cookie, CALL(FUNC_GET_ATTACH_COOKIE)),
		QUESTION(&f->atomic_fetch, STORE_IMM(BPF_REG_10, -8), MOV_IMM(BPF_REG_0, 1),
			 INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_10, BPF_REG_0, -8,
			      BPF_ADD | BPF_FETCH)),
		/* Signed division is BPF_DIV with offset 1 since instruction set version 4. */
		QUESTION(&f->cpu_v4, MOV_IMM(BPF_REG_0, -8),
			 INSN(BPF_ALU64 | BPF_DIV | BPF_K, BPF_REG_0, 0, 1, 2)),
		QUESTION(&f->bounded_loops, MOV_IMM(BPF_REG_0, 0), ADD_IMM(BPF_REG_0, 1),
			 INSN(BPF_JMP | BPF_JLT | BPF_K, BPF_REG_0, 0, -2, 3)),
		QUESTION(&f->probe_read_kernel, STORE_IMM(BPF_REG_10, -8),
			 MOV_REG(BPF_REG_1, BPF_REG_10), ADD_IMM(BPF_REG_1, -8),
			 MOV_IMM(BPF_REG_2, 8), MOV_IMM(BPF_REG_3, 0),
			 CALL(FUNC_PROBE_READ_KERNEL)),
		QUESTION(&f->get_ns_current_pid_tgid, STORE_IMM(BPF_REG_10, -8),
			 MOV_IMM(BPF_REG_1, 0), MOV_IMM(BPF_REG_2, 0),
			 MOV_REG(BPF_REG_3, BPF_REG_10), ADD_IMM(BPF_REG_3, -8),
			 MOV_IMM(BPF_REG_4, 8), CALL(FUNC_GET_NS_CURRENT_PID_TGID)),
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

/* ---- maps ---- */

static int create_map(u32 type, u32 key_size, u32 value_size, u32 entries, u32 flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key_size;
	attr.value_size = value_size;
	attr.max_entries = entries;
	attr.map_flags = flags;
	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static bool ask_ring_buffer(void)
{
	const int fd = create_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (u32)sysconf(_SC_PAGESIZE), 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * map_value_address: is an address inside of an array's value an operand? no_prealloc_safe: before
 * the memory allocator of BPF (6.1), a map that allocates as it grows could deadlock where the
 * kernel's allocator was interrupted, and programs of perf events, which run in NMIs, were refused
 * such maps.
 */
static void ask_maps(struct kernel_features *f)
{
	const int array = create_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	const int hash = create_map(BPF_MAP_TYPE_HASH, 4, 8, 1, BPF_F_NO_PREALLOC);
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, array),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, hash),
		INSN(0, 0, 0, 0, 0),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	const u32 type = BPF_PROG_TYPE_PERF_EVENT;
	const struct bpf_insn value[] = {insns[0], insns[1], insns[4], insns[5]};
	const struct bpf_insn grows[] = {insns[2], insns[3], insns[4], insns[5]};
	const bool both = array >= 0 && hash >= 0 && accepted(type, insns, ARRAY_SIZE(insns));

	f->map_value_address = both || (array >= 0 && accepted(type, value, ARRAY_SIZE(value)));
	f->no_prealloc_safe = both || (hash >= 0 && accepted(type, grows, ARRAY_SIZE(grows)));
	if (array >= 0)
		close(array);
	if (hash >= 0)
		close(hash);
}

const struct kernel_features *kernel_features(struct kernel *k)
{
	struct kernel_features *f = &k->features;

	if (k->features_known)
		return f;
	k->features_known = true;
	ask_instructions(f);
	/* Without the right to load programs, every question has the same answer. */
	if (!f->current_task && !ACCEPTED(MOV_IMM(BPF_REG_0, 0), EXIT()))
		return f;
	ask_helpers(f);
	f->ring_buffer = ask_ring_buffer();
	if (f->cpu_v4)
		f->map_value_address = f->no_prealloc_safe = true;
	else
		ask_maps(f);
	return f;
}
