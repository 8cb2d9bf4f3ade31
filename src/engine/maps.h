/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF maps of a running script: read whole, summed over the CPUs, emptied.
 */
#ifndef PANTRACE_ENGINE_MAPS_H
#define PANTRACE_ENGINE_MAPS_H

#include "lang/script.h"
#include "view/map_view.h"

struct open_map;
struct map_elements;
struct memory_map; /* engine/recorded/memory_map.h */

/* Where the elements are: in the kernel, or in our memory. */
struct map_storage {
	/* 0 or -errno; value holds stride bytes. */
	int (*lookup)(const struct open_map *m, const void *key, void *value);
	int (*update)(const struct open_map *m, const void *key, const void *value, u64 flags);
	int (*remove)(const struct open_map *m, const void *key);
	/* All of them, behind those of *e; removes: of hash maps, in the same step. */
	int (*read)(const struct open_map *m, bool removes, struct map_elements *e);
	/* Keys that are there get these values. */
	int (*update_all)(const struct open_map *m, const struct map_elements *e);
};

/* A map that is open. */
struct open_map {
	const struct script_map *info;
	const struct map_storage *storage;
	struct memory_map *memory; /* in our memory; NULL = in the kernel */
	int fd; /* -1 = none */
	int spare_fd; /* with a switch: the generation not in use; -1 = not yet created */
	u32 ncpus; /* possible CPUs if info->is_percpu, else 1 */
	/* bytes of one element as bpf(2) hands it out: all CPUs' values, each rounded up to 8 */
	u32 stride;
	bool is_array; /* elements always exist */
	bool zeroed; /* zero() was called on it: print its zeros */
	bool cleared; /* clear() was: zeros mean "not there" */
	/* CLOCK_MONOTONIC ns: no change to the spare map before; see map_switch.c */
	u64 switch_after;
	/* ring_produced() when the last change was done: what was sent before is answered by it */
	u64 taken_until;
	u64 normal; /* normalize(): what values are divided by when they are printed; 0 = 1 */
	enum map_order order; /* sort() */
	bool is_descending;
	/* engine/in_process_maps.h; NULL: no program counts into it */
	struct aggregates *aggregates;
	u32 aggregates_map;
	struct aggregates_elements *frozen;
};

/* fd: of the kernel's map; -1 = there is none. */
void open_map_init(struct open_map *m, const struct script_map *info, int fd, u32 possible_cpus);

/* Elements as they stand: count keys of key_size and values of stride bytes. */
struct map_elements {
	u8 *keys, *values;
	size_t count, cap;
};

/*
 * Reads all elements. remove: take them out of the map in the same step where the kernel can (hash
 * maps, 5.6), so that what is added meanwhile is neither lost nor seen twice. Returns 0 or -errno.
 */
int map_read(const struct open_map *m, bool remove, struct map_elements *ret);
void map_elements_release(struct map_elements *e);
/* Room for n elements of m. */
void map_elements_reserve(const struct open_map *m, struct map_elements *e, size_t n);
/* One element; value holds stride bytes. 0 or -errno (-ENOENT). */
int map_lookup(const struct open_map *m, const void *key, void *value);
/* Only if the key is not there. */
int map_insert(const struct open_map *m, const void *key, const void *value);
int map_delete(const struct open_map *m, const void *key);
int map_update(const struct open_map *m, const void *key, const void *value);

/* Read, sum and sort for printing. */
int map_view_read(const struct open_map *m, bool remove, struct map_view *ret);
/* One element of an aggregation map; row->value points into `value` (stride bytes). */
int map_row_read(const struct open_map *m, const void *key, void *value, struct map_row *ret);
int map_clear(struct open_map *m);
int map_zero(struct open_map *m);
/* Sum over CPUs of the u64 at `offset` of element 0..: for the lost counters. */
u64 map_sum_u64(const struct open_map *m, u32 index);

#endif
