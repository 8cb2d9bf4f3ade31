/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a program that counts, with any bytes anywhere: some are changed before the tool
 * looks, some after it has checked them. The first byte says how many before; a change is u32
 * offset, u8 how many, u8 bytes of it: 6 bytes and more.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/aggregate.h"
#include "user/in_process_tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_MAPS 3

static const struct pt_map_spec specs[NR_MAPS] = {{PANTRACE_AGGREGATE_COUNT, 8, 4},
						  {PANTRACE_AGGREGATE_PAIR, 24, 4},
						  {PANTRACE_AGGREGATE_UMAX, 8, 4}};

static int file_make(void **ret, size_t *ret_size)
{
	struct {
		struct pt_tables tables;
		struct pt_table room[PANTRACE_AGGREGATE_MAPS];
	} space = {0};
	struct pantrace_aggregates header;
	const int fd = memfd_create("counting", MFD_CLOEXEC);
	u8 key[64] = {0};

	pt_tables_layout(specs, NR_MAPS, 2, &header);
	header.magic = PANTRACE_AGGREGATE_MAGIC;
	strcpy(header.session, "test");
	if (fd < 0 || ftruncate(fd, (off_t)header.file_size))
		abort();
	*ret = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret == MAP_FAILED)
		abort();
	memcpy(*ret, &header, sizeof(header));
	pt_tables_place(&header, *ret, &space.tables);
	space.tables.had = true;
	for (u32 map = 0; map < NR_MAPS; map++)
		for (*key = 1; *key < 4; ++*key)
			pt_tables_add(&space.tables, map, key, *key);
	*ret_size = header.file_size;
	return fd;
}

static size_t change(u8 *shm, size_t shm_size, const uint8_t *data, size_t size)
{
	u32 offset;
	size_t n;

	if (size < 6)
		return size;
	memcpy(&offset, data, 4);
	n = MIN((size_t)data[4], size - 5);
	offset %= (u32)shm_size;
	memcpy(shm + offset, data + 5, MIN(n, shm_size - offset));
	return 5 + n;
}

struct sum {
	u32 key_size;
	volatile u64 of; /* reads every byte: the sanitizer sees where they end */
};

static void add(void *arg, const void *key, const struct aggregates_element *element)
{
	struct sum *const sum = arg;

	for (u32 i = 0; i < sum->key_size; i++)
		sum->of += ((const u8 *)key)[i];
	sum->of += element->a + element->b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aggregates_map maps[NR_MAPS];
	struct aggregate_source *s = NULL;
	size_t shm_size, at = 1;
	void *shm;
	const int fd = file_make(&shm, &shm_size);

	for (u32 i = 0; i < NR_MAPS; i++)
		maps[i] =
			(struct aggregates_map){specs[i].kind, specs[i].key_size, specs[i].entries};
	for (u32 changes = size ? *data : 0; at < size; changes--) {
		if (!changes && aggregates_source_open(fd, maps, NR_MAPS, "test", &s))
			break;
		at += change(shm, shm_size, data + at, size - at);
	}
	if (s || !aggregates_source_open(fd, maps, NR_MAPS, "test", &s)) {
		for (u32 i = 0; i < 2 * NR_MAPS; i++) {
			struct sum sum = {maps[i % NR_MAPS].key_size, 0};
			const u64 key[3] = {1};

			aggregates_source_each(s, i % NR_MAPS, i < NR_MAPS, add, &sum);
			aggregates_source_forget(s, i % NR_MAPS, key);
		}
		aggregates_source_close(s);
	}
	munmap(shm, shm_size);
	close(fd);
	return 0;
}
