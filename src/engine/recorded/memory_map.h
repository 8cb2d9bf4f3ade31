/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A script's map in our own memory. Its values lie side by side where programs may access them; the
 * keys and the hash table lie elsewhere, where no program can damage them.
 */
#ifndef PANTRACE_ENGINE_RECORDED_MEMORY_MAP_H
#define PANTRACE_ENGINE_RECORDED_MEMORY_MAP_H

#include "engine/maps.h"

/* Size of its values in the programs' memory, which starts as zeros. 0: not such a map. */
u64 memory_map_room(const struct script_map *info);
struct memory_map *memory_map_new(const struct script_map *info, u8 *values);
void memory_map_free(struct memory_map *m);

const struct script_map *memory_map_info(const struct memory_map *m);
/* Size of a key, as passed to helpers. */
u32 memory_map_key_size(const struct memory_map *m);
/* The value, or NULL. */
u8 *memory_map_lookup(struct memory_map *m, const void *key);
/* The byte at `offset` of an array map's first value; NULL if it is not an array or smaller. */
u8 *memory_map_direct(struct memory_map *m, u32 offset);
/* flags: BPF_ANY, BPF_NOEXIST, BPF_EXIST. 0, -EEXIST, -ENOENT, -E2BIG (full). */
int memory_map_update(struct memory_map *m, const void *key, const void *value, u64 flags);
int memory_map_remove(struct memory_map *m, const void *key); /* 0 or -ENOENT */
/* Iterates over elements; *cursor starts as 0. False: the end. The current one may be removed. */
bool memory_map_each(struct memory_map *m, u32 *cursor, const u8 **ret_key, u8 **ret_value);

/* For open_map.memory. */
extern const struct map_storage memory_storage;

#endif
