/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/recorded/memory_map.h"

#include <linux/bpf.h>

#define LIVE	    0x80000000u /* in a slot's hash: the slot is in use */
#define FIRST_SLOTS 64u
#define NO_SLOT	    UINT32_MAX

struct order { /* in which an LRU map's slots were used */
	u32 newer, older;
};

struct memory_map {
	const struct script_map *info;
	u8 *values;
	u32 stride; /* of values */
	bool is_array, is_lru;
	u32 index; /* arrays: the key that memory_map_each() returned */
	/* ---- hash maps: slots, in chains ---- */
	u32 slots, used; /* allocated; ever in use */
	u32 count;
	u32 free; /* the first removed slot; NO_SLOT = none */
	u8 *keys;
	u32 *hashes, *next;
	u32 *chains; /* first slot by hash */
	u32 mask;
	struct order *order;
	u32 newest, oldest;
};

static bool is_array(u32 type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_lru(u32 type)
{
	return type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_hash(u32 type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH || is_lru(type);
}

static u32 stride_of(const struct script_map *info)
{
	return ALIGN_UP(info->value_size, 8u);
}

u64 memory_map_room(const struct script_map *info)
{
	if (!is_array(info->bpf_type) && !is_hash(info->bpf_type))
		return 0;
	return (u64)stride_of(info) * MAX(info->max_entries, 1u);
}

/* ---- slots ---- */

static void chain(struct memory_map *m, u32 slot)
{
	u32 *const first = &m->chains[m->hashes[slot] & m->mask];

	m->next[slot] = *first;
	*first = slot;
}

/* Doubles the slots and rebuilds the chains. */
static void grow(struct memory_map *m)
{
	const u32 most = MAX(m->info->max_entries, 1u);
	u32 n = m->slots ? m->slots * 2 : FIRST_SLOTS, chains = 1;

	n = m->slots > most / 2 ? most : MIN(n, most);
	m->keys = xreallocarray(m->keys, n, m->info->key_size);
	m->hashes = xreallocarray(m->hashes, n, sizeof(*m->hashes));
	m->next = xreallocarray(m->next, n, sizeof(*m->next));
	if (m->is_lru)
		m->order = xreallocarray(m->order, n, sizeof(*m->order));
	m->slots = n;
	while (chains < n)
		chains *= 2;
	m->chains = xreallocarray(m->chains, chains, sizeof(*m->chains));
	memset(m->chains, 0xff, chains * sizeof(*m->chains));
	m->mask = chains - 1;
	for (u32 i = 0; i < m->used; i++)
		if (m->hashes[i])
			chain(m, i);
}

struct memory_map *memory_map_new(const struct script_map *info, u8 *values)
{
	struct memory_map *m = xzalloc(sizeof(*m));

	*m = (struct memory_map){.info = info,
				 .values = values,
				 .stride = stride_of(info),
				 .is_array = is_array(info->bpf_type),
				 .is_lru = is_lru(info->bpf_type),
				 .free = NO_SLOT,
				 .newest = NO_SLOT,
				 .oldest = NO_SLOT};
	if (!m->is_array)
		grow(m);
	return m;
}

void memory_map_free(struct memory_map *m)
{
	if (!m)
		return;
	free(m->keys);
	free(m->hashes);
	free(m->next);
	free(m->chains);
	free(m->order);
	free(m);
}

static u32 hash_of(const struct memory_map *m, const u8 *key)
{
	u32 n = m->info->key_size;
	u64 h = n, word;

	for (; n >= 8; n -= 8, key += 8) {
		memcpy(&word, key, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, key, n);
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return (u32)(h >> 32 ^ h) | LIVE;
}

static u32 find(const struct memory_map *m, const u8 *key, u32 hash)
{
	const u32 n = m->info->key_size;
	u32 slot = m->chains[hash & m->mask];

	while (slot != NO_SLOT &&
	       (m->hashes[slot] != hash || memcmp(m->keys + (size_t)slot * n, key, n)))
		slot = m->next[slot];
	return slot;
}

static u8 *value_of(const struct memory_map *m, u32 slot)
{
	return m->values + (size_t)slot * m->stride;
}

/* ---- the order of use ---- */

static void leave_order(struct memory_map *m, u32 slot)
{
	const struct order o = m->order[slot];

	*(o.newer == NO_SLOT ? &m->newest : &m->order[o.newer].older) = o.older;
	*(o.older == NO_SLOT ? &m->oldest : &m->order[o.older].newer) = o.newer;
}

static void enter_order(struct memory_map *m, u32 slot)
{
	m->order[slot] = (struct order){.newer = NO_SLOT, .older = m->newest};
	*(m->newest == NO_SLOT ? &m->oldest : &m->order[m->newest].newer) = slot;
	m->newest = slot;
}

static void use(struct memory_map *m, u32 slot)
{
	if (!m->is_lru || m->newest == slot)
		return;
	leave_order(m, slot);
	enter_order(m, slot);
}

/* ---- elements ---- */

static void remove_slot(struct memory_map *m, u32 slot)
{
	u32 *at = &m->chains[m->hashes[slot] & m->mask];

	while (*at != slot)
		at = &m->next[*at];
	*at = m->next[slot];
	if (m->is_lru)
		leave_order(m, slot);
	m->hashes[slot] = 0;
	m->next[slot] = m->free;
	m->free = slot;
	m->count--;
}

static u32 take_slot(struct memory_map *m)
{
	u32 slot;

	if (m->count >= MAX(m->info->max_entries, 1u)) {
		if (!m->is_lru)
			return NO_SLOT;
		remove_slot(m, m->oldest);
	}
	slot = m->free;
	if (slot != NO_SLOT) {
		m->free = m->next[slot];
	} else {
		if (m->used == m->slots)
			grow(m);
		slot = m->used++;
	}
	m->count++;
	return slot;
}

const struct script_map *memory_map_info(const struct memory_map *m)
{
	return m->info;
}

u32 memory_map_key_size(const struct memory_map *m)
{
	return m->info->key_size;
}

static u8 *array_element(const struct memory_map *m, const void *key)
{
	u32 index;

	memcpy(&index, key, sizeof(index));
	return index < MAX(m->info->max_entries, 1u) ? value_of(m, index) : NULL;
}

u8 *memory_map_lookup(struct memory_map *m, const void *key)
{
	u32 slot;

	if (m->is_array)
		return array_element(m, key);
	slot = find(m, key, hash_of(m, key));
	if (slot == NO_SLOT)
		return NULL;
	use(m, slot);
	return value_of(m, slot);
}

u8 *memory_map_direct(struct memory_map *m, u32 offset)
{
	return m->is_array && offset < m->info->value_size ? m->values + offset : NULL;
}

int memory_map_update(struct memory_map *m, const void *key, const void *value, u64 flags)
{
	u8 *at = memory_map_lookup(m, key);
	u32 slot;

	if (at && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!at && flags == BPF_EXIST)
		return -ENOENT;
	if (!at && m->is_array)
		return -E2BIG;
	if (!at) {
		slot = take_slot(m);
		if (slot == NO_SLOT)
			return -E2BIG;
		memcpy(m->keys + (size_t)slot * m->info->key_size, key, m->info->key_size);
		m->hashes[slot] = hash_of(m, key);
		chain(m, slot);
		if (m->is_lru)
			enter_order(m, slot);
		at = value_of(m, slot);
	}
	memcpy(at, value, m->info->value_size);
	return 0;
}

int memory_map_remove(struct memory_map *m, const void *key)
{
	u32 slot;

	if (m->is_array)
		return -EINVAL;
	slot = find(m, key, hash_of(m, key));
	if (slot == NO_SLOT)
		return -ENOENT;
	remove_slot(m, slot);
	return 0;
}

bool memory_map_each(struct memory_map *m, u32 *cursor, const u8 **ret_key, u8 **ret_value)
{
	while (!m->is_array && *cursor < m->used && !m->hashes[*cursor])
		++*cursor;
	if (*cursor >= (m->is_array ? MAX(m->info->max_entries, 1u) : m->used))
		return false;
	m->index = *cursor;
	*ret_key =
		m->is_array ? (const u8 *)&m->index : m->keys + (size_t)*cursor * m->info->key_size;
	*ret_value = value_of(m, *cursor);
	++*cursor;
	return true;
}

/* ---- for the engine ---- */

static int storage_lookup(const struct open_map *m, const void *key, void *value)
{
	const u8 *from = memory_map_lookup(m->memory, key);

	if (!from)
		return -ENOENT;
	memset(value, 0, m->stride);
	memcpy(value, from, m->info->value_size);
	return 0;
}

static int storage_update(const struct open_map *m, const void *key, const void *value, u64 flags)
{
	return memory_map_update(m->memory, key, value, flags);
}

static int storage_remove(const struct open_map *m, const void *key)
{
	return memory_map_remove(m->memory, key);
}

static int storage_read(const struct open_map *m, bool removes, struct map_elements *e)
{
	struct memory_map *const memory = m->memory;
	u32 cursor = 0;
	const u8 *key;
	u8 *value;

	map_elements_reserve(m, e,
			     MAX(memory->is_array ? memory->info->max_entries : memory->count, 1u));
	while (memory_map_each(memory, &cursor, &key, &value)) {
		map_elements_reserve(m, e, e->count + 1);
		memcpy(e->keys + e->count * m->info->key_size, key, m->info->key_size);
		memset(e->values + e->count * m->stride, 0, m->stride);
		memcpy(e->values + e->count * m->stride, value, m->info->value_size);
		e->count++;
	}
	for (size_t i = 0; removes && i < e->count; i++)
		memory_map_remove(memory, e->keys + i * m->info->key_size);
	return 0;
}

static int storage_update_all(const struct open_map *m, const struct map_elements *e)
{
	for (size_t i = 0; i < e->count; i++)
		memory_map_update(m->memory, e->keys + i * m->info->key_size,
				  e->values + i * m->stride, BPF_ANY);
	return 0;
}

const struct map_storage memory_storage = {
	.lookup = storage_lookup,
	.update = storage_update,
	.remove = storage_remove,
	.read = storage_read,
	.update_all = storage_update_all,
};
