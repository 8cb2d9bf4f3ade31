/* SPDX-License-Identifier: MIT */
/*
 * Counting events in the process: tables in shared memory (pantrace/aggregate.h), updated by
 * programs of vm.h. An update takes no lock that somebody could hold: it may come from signal
 * handlers, from any number of threads, and be cut off at any instruction. It makes no system call:
 * the memory of records is had before (aggregate_session.c), and an update that comes before it is
 * counted as lost.
 *
 * What is read of the shared memory is only trusted to be memory: whoever writes to it can make the
 * counts wrong, and nothing else.
 */
#ifndef PANTRACE_LIB_AGGREGATE_H
#define PANTRACE_LIB_AGGREGATE_H

#include <pantrace/aggregate.h>
#include <stdbool.h>

struct pt_map_spec {
	uint32_t kind, key_size, entries; /* pantrace/aggregate.h */
};

/* A map as the process knows it; constant but for `reserved`. */
struct pt_table {
	uint32_t kind, key_size, records, slot_mask;
	uint32_t stripe_mask, value_size, key_stride;
	uint32_t reserved; /* records whose memory is had, the first ones */
	uint64_t *slots;
	unsigned char *keys, *values;
	struct pantrace_map *shared; /* counters only */
};

struct pt_tables {
	struct pantrace_aggregates *shm;
	uint64_t size;
	uint32_t nr;
	uint32_t pid;
	bool had; /* all of the memory is had */
	struct pt_table table[PANTRACE_AGGREGATE_MAPS];
};

/* The header of a file for these maps; -EINVAL, -E2BIG. */
int pt_tables_layout(const struct pt_map_spec *maps, uint32_t nr, uint32_t cpus,
		     struct pantrace_aggregates *ret);
/* HEADER, which is not shared, describes what is mapped at SHM. */
void pt_tables_place(const struct pantrace_aggregates *header, void *shm, struct pt_tables *ret);
/*
 * Adds VALUE to the element of KEY, of the map's key size. False: there is no such map.
 */
bool pt_tables_add(struct pt_tables *tables, uint64_t map, const void *key, uint64_t value);
uint32_t pt_tables_key_size(const struct pt_tables *tables, uint64_t map);

#endif
