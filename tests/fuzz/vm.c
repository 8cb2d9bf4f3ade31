/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of hostile tools: what is accepted runs over a hostile record, within its memory and for a bounded
 * time. The input: number of types, types, size of the record, record, instructions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "../../lib/aggregate.h"
#include "../../lib/vm.h"

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
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shm == MAP_FAILED)
		abort();
	pt_tables_place(&header, shm, &space.tables);
	space.tables.had = true;
	return &space.tables;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t types[40] = {0}, *record, *image;
	struct pt_vm_image head = {.magic = PT_VM_MAGIC, .version = PT_VM_VERSION, .scratch_size = 64};
	struct pt_vm_view view;
	size_t n, record_size;
	struct pt_vm *vm;

	if (size < 2)
		return 0;
	n = data[0] % 32;
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
	memcpy(image + sizeof(head), data, size / 8 * 8);
	pt_vm_view_make(types, &view);
	if (!pt_vm_load(image, sizeof(head) + size / 8 * 8, &vm, NULL)) {
		pt_vm_run(vm, &view, record, 12 + record_size);
		pt_vm_count(vm, &view, record, 12 + record_size, tables_get());
		pt_vm_unload(vm);
	}
	free(record);
	free(image);
	return 0;
}
