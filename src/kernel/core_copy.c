/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program is one that nothing runs but we (BPF_PROG_TYPE_SYSCALL, kernel/bpf/syscall.c, BPF_PROG_TEST_RUN), its memory the
 * value of an array that can be mapped. Without a length it copies the spots, one after the other and without a loop, which
 * the verifier would have to walk as well.
 */
#include "kernel/core_copy.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/bpf_insn.h"
#include "kernel/kernel.h"

struct core_shared {
	u64 address, len; /* len 0: the spots */
	u64 slot; /* to copy to */
	u64 task; /* told by each run: our own task_struct */
	u64 spots[CORE_SPOTS];
	u8 at_spots[CORE_SPOTS][CORE_SPOT];
	u8 slots[CORE_SLOTS][CORE_SLOT];
};

enum { PROG_TYPE_SYSCALL = 31, PROG_SLEEPABLE = 1 << 4, MAP_MMAPABLE = 1 << 10 };

static int create_map(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = sizeof(u32),
			       .value_size = sizeof(struct core_shared),
			       .max_entries = 1,
			       .map_flags = MAP_MMAPABLE};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

#define SHARED(field) ((int)offsetof(struct core_shared, field))
#define TO_LAST(at)   ((short)(COUNT - 2 - ((at)-insns)))

static int load_program(int map)
{
	enum { SLOT = 15, SPOT = 5, COUNT = 2 + SLOT + CORE_SPOTS * SPOT + 2 };
	struct bpf_insn insns[COUNT], *at = insns;
	union bpf_attr attr = {.prog_type = PROG_TYPE_SYSCALL,
			       .insns = (u64)(uintptr_t)insns,
			       .insn_cnt = COUNT,
			       .license = (u64)(uintptr_t) "GPL",
			       .prog_flags = PROG_SLEEPABLE};

	*at++ = INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_6, BPF_PSEUDO_MAP_VALUE, 0, map);
	*at++ = INSN(0, 0, 0, 0, 0); /* where in the value */
	*at++ = CALL(FUNC_GET_CURRENT_TASK);
	*at++ = STORE(BPF_REG_6, SHARED(task), BPF_REG_0);
	*at++ = MOV_IMM(BPF_REG_0, 1); /* what it returns where these are not as they should be */
	*at++ = LOAD(BPF_REG_2, BPF_REG_6, SHARED(len));
	*at++ = LOAD(BPF_REG_4, BPF_REG_6, SHARED(slot));
	*at++ = INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 9, 0);
	*at = INSN(BPF_JMP | BPF_JGT | BPF_K, BPF_REG_2, 0, TO_LAST(at), CORE_SLOT), at++;
	*at = INSN(BPF_JMP | BPF_JGE | BPF_K, BPF_REG_4, 0, TO_LAST(at), CORE_SLOTS), at++;
	*at++ = INSN(BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_4, 0, 0, CORE_SLOT);
	*at++ = LOAD(BPF_REG_3, BPF_REG_6, SHARED(address));
	*at++ = MOV_REG(BPF_REG_1, BPF_REG_6);
	*at++ = ADD_IMM(BPF_REG_1, SHARED(slots));
	*at++ = INSN(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_1, BPF_REG_4, 0, 0);
	*at++ = CALL(FUNC_PROBE_READ_KERNEL);
	*at++ = EXIT();
	for (int i = 0; i < CORE_SPOTS; i++) {
		*at++ = LOAD(BPF_REG_3, BPF_REG_6, SHARED(spots) + i * (int)sizeof(u64));
		*at++ = MOV_IMM(BPF_REG_2, CORE_SPOT);
		*at++ = MOV_REG(BPF_REG_1, BPF_REG_6);
		*at++ = ADD_IMM(BPF_REG_1, SHARED(at_spots) + i * CORE_SPOT);
		*at++ = CALL(FUNC_PROBE_READ_KERNEL);
	}
	*at++ = MOV_IMM(BPF_REG_0, 0);
	*at++ = EXIT();
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

int core_copy_open(struct core_copy *c)
{
	void *shared;

	*c = (struct core_copy){.tried = true, .program = -1, .map = create_map()};
	if (c->map < 0)
		return c->map;
	c->program = load_program(c->map);
	if (c->program < 0)
		return c->program;
	shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE, MAP_SHARED, c->map, 0);
	if (shared == MAP_FAILED)
		return -errno;
	c->shared = shared;
	return 0;
}

void core_copy_close(struct core_copy *c)
{
	if (c->shared)
		munmap(c->shared, sizeof(*c->shared));
	if (c->tried && c->program >= 0)
		close(c->program);
	if (c->tried && c->map >= 0)
		close(c->map);
	*c = (struct core_copy){.tried = false};
}

static bool run(struct core_copy *c)
{
	union bpf_attr attr = {.test.prog_fd = (u32)c->program};

	return !sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)) && !attr.test.retval;
}

u8 *core_copy_take(struct core_copy *c)
{
	for (u32 i = 0; c->shared && i < CORE_SLOTS; i++) {
		if (c->taken >> i & 1)
			continue;
		c->taken |= 1u << i;
		return c->shared->slots[i];
	}
	return NULL;
}

static u32 slot_number(const struct core_copy *c, const u8 *slot)
{
	return (u32)((size_t)(slot - c->shared->slots[0]) / CORE_SLOT);
}

void core_copy_give(struct core_copy *c, const u8 *slot)
{
	c->taken &= ~(1u << slot_number(c, slot));
}

bool core_copy_fill(struct core_copy *c, const u8 *slot, u64 address, size_t len)
{
	if (!len || len > CORE_SLOT)
		return false;
	c->shared->address = address;
	c->shared->len = len;
	c->shared->slot = slot_number(c, slot);
	return run(c);
}

const u8 *core_copy_spots(struct core_copy *c, const u64 *addresses, u32 n)
{
	if (!c->shared || n > CORE_SPOTS)
		return NULL;
	c->shared->len = 0;
	if (n)
		memcpy(c->shared->spots, addresses, n * sizeof(*addresses));
	memset(c->shared->spots + n, 0, (CORE_SPOTS - n) * sizeof(*addresses));
	return run(c) ? c->shared->at_spots[0] : NULL;
}

u64 core_copy_task(struct core_copy *c)
{
	return core_copy_spots(c, NULL, 0) ? c->shared->task : 0;
}
