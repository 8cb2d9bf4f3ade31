/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from byte strings to pointers: open addressing, linear probing, load at most 2/3. Keys
 * are copied, unless they are said to stay. Zero-initialised is empty. Iteration order is the order
 * of insertion (entries are kept in an array), so that everything printed from a map is
 * reproducible.
 */
#ifndef PANTRACE_BASE_HASHMAP_H
#define PANTRACE_BASE_HASHMAP_H

#include "base/arena.h"

struct hashmap_entry {
	void *key;
	u32 key_len;
	u32 hash;
	void *value;
};

struct hashmap_slot {
	u32 hash;
	u32 entry; /* index + 1 into entries; 0 = free */
};

struct hashmap {
	struct hashmap_entry *entries; /* in order of insertion */
	size_t len, cap;
	struct hashmap_slot *slots;
	size_t nslots;
	struct arena keys;
	/* set before the first insertion: keys are not copied and must outlive the map */
	bool keys_stay;
};

/* NULL when absent. */
void *hashmap_get(const struct hashmap *m, const void *key, size_t key_len);
void *hashmap_gets(const struct hashmap *m, const char *key);
/*
 * Returns the place of the value; *ret_new says whether it was just made (value NULL). ret_new may
 * be NULL.
 */
void **hashmap_put(struct hashmap *m, const void *key, size_t key_len, bool *ret_new);
void hashmap_puts(struct hashmap *m, const char *key, void *value);
/* Frees keys and tables, not the values. */
void hashmap_release(struct hashmap *m);
u32 hash_bytes(const void *p, size_t n);

#define hashmap_each(m, e) \
	for (struct hashmap_entry *e = (m)->entries; e && e < (m)->entries + (m)->len; e++)

#endif
