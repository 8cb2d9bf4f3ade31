/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hashmap.h"

/* FNV-1a: keys are short, and nobody attacks them. */
u32 hash_bytes(const void *p, size_t n)
{
	const u8 *b = p;
	u32 h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 16777619u;
	return h;
}

/* Of a map of its own process: eight bytes at a time, each mixed in by a wide multiplication. */
static u64 mix(u64 h, u64 word)
{
	const unsigned __int128 product = (unsigned __int128)(h ^ word) * 0x9e3779b97f4a7c15;

	return (u64)product ^ (u64)(product >> 64);
}

static u32 hash_key(const u8 *p, size_t n)
{
	u64 h = n + 1, word;

	for (; n > 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		h = mix(h, word);
	}
	for (word = 0; n; n--)
		word = word << 8 | p[n - 1];
	h = mix(h, word);
	return (u32)(h ^ h >> 32);
}

/* The slot that holds the key, or the free slot where it would go. */
static struct hashmap_slot *find_slot(const struct hashmap *m, const void *key, size_t key_len,
				      u32 hash)
{
	size_t i = hash & (m->nslots - 1);

	for (; m->slots[i].entry; i = (i + 1) & (m->nslots - 1)) {
		const struct hashmap_entry *e = &m->entries[m->slots[i].entry - 1];

		if (m->slots[i].hash == hash && e->key_len == key_len &&
		    !memcmp(e->key, key, key_len))
			break;
	}
	return &m->slots[i];
}

static void grow(struct hashmap *m)
{
	free(m->slots);
	m->nslots = m->nslots ? m->nslots * 2 : 16;
	m->slots = xzalloc(m->nslots * sizeof(*m->slots));
	for (size_t i = 0; i < m->len; i++) {
		const struct hashmap_entry *e = &m->entries[i];

		*find_slot(m, e->key, e->key_len, e->hash) =
			(struct hashmap_slot){e->hash, (u32)i + 1};
	}
}

void *hashmap_get(const struct hashmap *m, const void *key, size_t key_len)
{
	u32 entry;

	if (!m->nslots)
		return NULL;
	entry = find_slot(m, key, key_len, hash_key(key, key_len))->entry;
	return entry ? m->entries[entry - 1].value : NULL;
}

void *hashmap_gets(const struct hashmap *m, const char *key)
{
	return hashmap_get(m, key, strlen(key));
}

/* With a NUL after it: most keys are strings. */
static void *copy_key(struct hashmap *m, const void *key, size_t len)
{
	void *copy = arena_alloc(&m->keys, len + 1);

	return memcpy(copy, key, len);
}

void **hashmap_put(struct hashmap *m, const void *key, size_t key_len, bool *ret_new)
{
	const u32 hash = hash_key(key, key_len);
	struct hashmap_entry *e;
	struct hashmap_slot *slot;

	if (3 * (m->len + 1) > 2 * m->nslots)
		grow(m);
	slot = find_slot(m, key, key_len, hash);
	if (ret_new)
		*ret_new = !slot->entry;
	if (slot->entry)
		return &m->entries[slot->entry - 1].value;
	if (m->len == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 16;
		m->entries = xreallocarray(m->entries, m->cap, sizeof(*m->entries));
	}
	e = &m->entries[m->len++];
	*slot = (struct hashmap_slot){hash, (u32)m->len};
	*e = (struct hashmap_entry){.key = m->keys_stay ? (void *)key : copy_key(m, key, key_len),
				    .key_len = (u32)key_len,
				    .hash = hash};
	return &e->value;
}

void hashmap_puts(struct hashmap *m, const char *key, void *value)
{
	*hashmap_put(m, key, strlen(key), NULL) = value;
}

void hashmap_release(struct hashmap *m)
{
	arena_release(&m->keys);
	free(m->entries);
	free(m->slots);
	*m = (struct hashmap){0};
}
