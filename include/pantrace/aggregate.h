/* SPDX-License-Identifier: MIT */
/*
 * The tables of one traced process: what its events were counted into instead of being recorded. A
 * file that the process writes and a tool reads, at the same time or after the process is gone.
 * This header is the specification; all values little endian.
 *
 *   0            struct pantrace_aggregates	constants, written once, and counters of what was
 *						not counted
 *   slots_off    u64 a slot			of an open hash table: 0 is free, else tag << 32 |
 *						record + 1
 *   keys_off     keys				record r: keys_off + r * key_stride: struct
 *						pantrace_key
 *   values_off   values			record r, stripe s: values_off + (s * records + r) *
 *						value_size
 *
 * A table only grows: a record that a slot names keeps its key, and its place, for as long as the
 * file lives. A key is written before a compare-and-swap lets its slot name it; so whoever is
 * killed, at whatever moment, leaves whole keys only, and at most a record that nobody names.
 * Values are changed by one locked instruction each. The value of a key is the sum (the least, the
 * greatest) over its stripes, which spare threads on different CPUs from waiting for each other.
 *
 * Sums are never taken back. Who wants those of an interval subtracts what was there at its
 * beginning; so nothing is lost or counted twice, whatever the moment. Extremes cannot be
 * subtracted: they are of an epoch, a number that the tool counts up when an interval begins.
 */
#ifndef PANTRACE_AGGREGATE_H
#define PANTRACE_AGGREGATE_H

#include <pantrace/ring.h>
#include <stdint.h>

#define PANTRACE_AGGREGATE_MAGIC   0x5441474552474750ull /* "PGGREGAT" */
#define PANTRACE_AGGREGATE_VERSION 1
#define PANTRACE_AGGREGATE_MAPS	   32
#define PANTRACE_AGGREGATE_KEY	   4096 /* bytes of a key, at most */
#define PANTRACE_AGGREGATE_ENTRIES (1u << 20)
#define PANTRACE_AGGREGATE_STRIPES 64

enum pantrace_aggregate_kind {
	PANTRACE_AGGREGATE_COUNT, /* u64, the sum of what was added */
	PANTRACE_AGGREGATE_PAIR, /* u64 sum, u64 how many; 16 bytes change in one store */
	PANTRACE_AGGREGATE_MIN, /* two struct pantrace_extreme, those of even and of odd epochs */
	PANTRACE_AGGREGATE_MAX,
	PANTRACE_AGGREGATE_UMIN, /* of unsigned values */
	PANTRACE_AGGREGATE_UMAX,
	PANTRACE_AGGREGATE_KINDS,
};

struct pantrace_extreme {
	uint64_t value;
	uint64_t epoch; /* + 1; 0: none yet */
};

struct pantrace_key {
	/* of bytes; those up to the key size of the map, which are 0, are left out */
	uint32_t length;
	uint32_t hash;
	unsigned char bytes[];
};

struct pantrace_map {
	uint32_t kind;
	uint32_t key_size; /* bytes */
	uint32_t records; /* how many there is room for */
	uint32_t nr_slots; /* a power of two, more than records */
	uint32_t stripes; /* a power of two */
	uint32_t value_size; /* bytes */
	uint32_t key_stride;
	uint32_t reserved;
	uint64_t slots_off; /* bytes from the start of the file */
	uint64_t keys_off;
	uint64_t values_off;
	uint64_t epoch; /* the tool's */
	uint64_t used; /* records that were begun */
	uint64_t full; /* updates that found no room for their key */
};

struct pantrace_aggregates {
	uint64_t magic; /* written last */
	uint32_t version;
	uint32_t nr_maps;
	uint32_t pid;
	uint32_t parent; /* pid whose fork made these tables, or 0 */
	uint64_t pid_namespace; /* inode; 0: unknown */
	uint64_t file_size;
	/* what found no tables, in the first moment of a child, or no memory for a new key */
	uint64_t lost;
	uint64_t mismatched; /* events of the right name with other fields */
	uint8_t comm[16];
	char session[PANTRACE_SESSION_NAME];
	struct pantrace_map map[PANTRACE_AGGREGATE_MAPS];
};

#ifdef __cplusplus
static_assert(sizeof(struct pantrace_map) == 80, "layout");
#else
_Static_assert(sizeof(struct pantrace_map) == 80, "layout");
#endif

#endif
