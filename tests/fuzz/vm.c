/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of hostile tools: what is accepted runs over a hostile record, within its memory and for
 * a bounded time; is what the standard has, instruction by instruction; and computes what it says.
 * The input: number of types (and whether the instructions are to be MENDED, so that more of them
 * are accepted), types, size of the record, record, instructions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "lib/aggregate.h"
#include "tests/lib/vm_reference.h"

#define MENDED 0x80

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small tables of each kind, which stay from one input to the next. */
static struct pt_tables *tables_get(void)
{
	static struct {
		struct pt_tables tables;
		struct pt_table room[PANTRACE_AGGREGATE_KINDS];
	} space;
	struct pt_map_spec specs[PANTRACE_AGGREGATE_KINDS];
	struct pantrace_aggregates header;
	void *shm;

	if (space.tables.shm)
		return &space.tables;
	for (uint32_t i = 0; i < PANTRACE_AGGREGATE_KINDS; i++)
		specs[i] = (struct pt_map_spec){i, 8 * i, 4};
	if (pt_tables_layout(specs, PANTRACE_AGGREGATE_KINDS, 2, &header))
		abort();
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (shm == MAP_FAILED)
		abort();
	pt_tables_place(&header, shm, &space.tables);
	space.tables.had = true;
	return &space.tables;
}

/*
 * Registers that there are, jumps to somewhere, nothing where nothing may be: all that can be had
 * without a choice.
 */
static void mend(struct bpf_insn *insns, uint32_t n)
{
	for (uint32_t at = 0; at < n; at++) {
		struct bpf_insn *const i = &insns[at];
		const uint8_t class = i->code & 7;

		if (at < 9 && at + 1 < n) { /* all but r1, which is the context */
			i->code = BPF_ALU64 | BPF_MOV | BPF_K;
			i->dst_reg = (uint8_t)(at ? at + 1 : 0);
		}
		i->dst_reg %= 11;
		i->src_reg %= 11;
		if (i->dst_reg == 10 && class != BPF_ST && class != BPF_STX)
			i->dst_reg = 0;
		if (class == BPF_JMP || class == BPF_JMP32)
			i->off = (int16_t)((uint16_t)i->off % n - at - 1);
		if (i->code == (BPF_JMP32 | BPF_JA))
			i->imm = (int32_t)((uint32_t)i->imm % n - at - 1);
		for (int way = 0; way < 8 && !reference_accepts(i, at + 1 < n ? i + 1 : NULL);
		     way++) {
			if (way & 1)
				i->off = 0;
			if (way & 2)
				i->imm = 0;
			if (way & 4)
				i->src_reg = 0;
		}
	}
	if (n)
		insns[n - 1] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
}

/*
 * Each instruction that may be run is one that the standard has, but for calls, which are a list of
 * their own.
 */
static void check_accepted(const struct bpf_insn *insns, uint32_t n)
{
	static bool seen[4096];
	static uint32_t todo[4096];
	uint32_t left = 1;

	memset(seen, 0, n);
	seen[0] = true;
	todo[0] = 0;
	while (left) {
		const uint32_t at = todo[--left];
		const struct bpf_insn *const i = &insns[at];
		const uint8_t class = i->code & 7;
		const bool jumps = (class == BPF_JMP || class == BPF_JMP32) && i->code != 0x85;
		const int64_t behind = at + (i->code == 0x18 ? 2 : 1);
		const int64_t target =
			jumps ? behind + (i->code == 0x06 ? i->imm : i->off) : behind;
		const int64_t next[2] = {i->code == 0x05 || i->code == 0x06 ? target : behind,
					 target};

		if (i->code != 0x85 && !reference_accepts(i, at + 1 < n ? i + 1 : NULL))
			abort();
		if (i->code == 0x95)
			continue;
		for (int k = 0; k < 2; k++) {
			if (next[k] < 0 || next[k] >= n)
				abort();
			if (!seen[next[k]])
				todo[left++] = (uint32_t)next[k];
			seen[next[k]] = true;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pt_vm_image head = {
		.magic = PT_VM_MAGIC, .version = PT_VM_VERSION, .scratch_size = 64};
	uint64_t context[PT_VM_SLOTS], expected;
	uint8_t types[40] = {0}, *record, *image;
	struct pt_vm_view view;
	size_t n, record_size;
	struct bpf_insn *insns;
	struct pt_vm *vm;
	bool mended;

	if (size < 2)
		return 0;
	n = data[0] % 32;
	mended = data[0] & MENDED;
	if (size < 2 + n)
		return 0;
	memcpy(types, data + 1, n);
	record_size = data[1 + n];
	data += 2 + n;
	size -= 2 + n;
	if (size < record_size)
		return 0;
	/* of their exact size, for the address sanitizer */
	record = malloc(12 + record_size);
	memset(record, 0, 12);
	memcpy(record + 12, data, record_size);
	data += record_size;
	size -= record_size;
	head.nr_insns = (uint32_t)(size / 8);
	image = malloc(sizeof(head) + size / 8 * 8);
	memcpy(image, &head, sizeof(head));
	insns = (struct bpf_insn *)(image + sizeof(head));
	memcpy(insns, data, size / 8 * 8);
	if (mended)
		mend(insns, head.nr_insns);
	pt_vm_view_make(types, &view);
	if (!pt_vm_load(image, sizeof(head) + size / 8 * 8, &vm, NULL)) {
		check_accepted(insns, head.nr_insns);
		pt_vm_context(&view, record, 12 + record_size, context);
		if (reference_run(insns, &view, context, &expected) &&
		    pt_vm_run(vm, &view, record, 12 + record_size) != expected)
			abort();
		pt_vm_run(vm, &view, record, 12 + record_size);
		pt_vm_count(vm, &view, record, 12 + record_size, tables_get());
		pt_vm_unload(vm);
	}
	free(record);
	free(image);
	return 0;
}
