// SPDX-License-Identifier: MIT
/* The tables of pantrace/aggregate.h: finding the element of a key, and changing it. */
#include "aggregate.h"
#include <emmintrin.h>
#include <errno.h>
#include <linux/rseq.h>
#include <stddef.h>
#include <string.h>

#define PAGE	    4096ull
#define SPARE	    64u /* records more than were asked for */
#define NO_RECORD   UINT32_MAX
#define LONGEST_RUN 4096u /* slots looked at: more are full, or were never ours */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* ---- layout ---- */

static const uint8_t value_sizes[PANTRACE_AGGREGATE_KINDS] = {
	[PANTRACE_AGGREGATE_COUNT] = 8, [PANTRACE_AGGREGATE_PAIR] = 16,
	[PANTRACE_AGGREGATE_MIN] = 32,	[PANTRACE_AGGREGATE_MAX] = 32,
	[PANTRACE_AGGREGATE_UMIN] = 32, [PANTRACE_AGGREGATE_UMAX] = 32,
};

static uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

static uint32_t power_of_two(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

int pt_tables_layout(const struct pt_map_spec *maps, uint32_t nr, uint32_t cpus,
		     struct pantrace_aggregates *ret)
{
	uint64_t at = pages(sizeof(*ret));

	if (!nr || nr > PANTRACE_AGGREGATE_MAPS)
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < nr; i++) {
		const struct pt_map_spec *const spec = &maps[i];
		struct pantrace_map *const map = &ret->map[i];

		if (spec->kind >= PANTRACE_AGGREGATE_KINDS || !spec->entries ||
		    spec->entries > PANTRACE_AGGREGATE_ENTRIES ||
		    spec->key_size > PANTRACE_AGGREGATE_KEY)
			return -EINVAL;
		map->kind = spec->kind;
		map->key_size = spec->key_size;
		/* two threads that meet a new key at once may use two records for it */
		map->records = spec->entries + spec->entries / 16 + SPARE;
		map->nr_slots = power_of_two(2 * map->records);
		map->stripes = power_of_two(
			cpus < PANTRACE_AGGREGATE_STRIPES ? cpus : PANTRACE_AGGREGATE_STRIPES);
		map->value_size = value_sizes[spec->kind];
		map->key_stride =
			(uint32_t)((sizeof(struct pantrace_key) + spec->key_size + 7) & ~7ul);
		map->slots_off = at;
		at = pages(at + map->nr_slots * sizeof(uint64_t));
		map->keys_off = at;
		at = pages(at + (uint64_t)map->records * map->key_stride);
		map->values_off = at;
		at = pages(at + (uint64_t)map->records * map->stripes * map->value_size);
	}
	if (at > 1ull << 40)
		return -E2BIG;
	ret->version = PANTRACE_AGGREGATE_VERSION;
	ret->nr_maps = nr;
	ret->file_size = at;
	return 0;
}

void pt_tables_place(const struct pantrace_aggregates *header, void *shm, struct pt_tables *ret)
{
	char *const base = shm;

	ret->shm = shm;
	ret->size = header->file_size;
	ret->nr = header->nr_maps;
	ret->pid = header->pid;
	for (uint32_t i = 0; i < ret->nr; i++) {
		const struct pantrace_map *const map = &header->map[i];

		ret->table[i] = (struct pt_table){
			.kind = map->kind,
			.key_size = map->key_size,
			.records = map->records,
			.slot_mask = map->nr_slots - 1,
			.stripe_mask = map->stripes - 1,
			.value_size = map->value_size,
			.key_stride = map->key_stride,
			.slots = (uint64_t *)(base + map->slots_off),
			.keys = (unsigned char *)base + map->keys_off,
			.values = (unsigned char *)base + map->values_off,
			.shared = &ret->shm->map[i],
		};
	}
}

/* ---- keys ---- */

static bool is_zero(const unsigned char *from)
{
	const __m128i *const at = (const __m128i *)(const void *)from;
	const __m128i both =
		_mm_or_si128(_mm_or_si128(_mm_loadu_si128(at), _mm_loadu_si128(at + 1)),
			     _mm_or_si128(_mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3)));

	return _mm_movemask_epi8(_mm_cmpeq_epi8(both, _mm_setzero_si128())) == 0xffff;
}

/* Without the zeros at the end, which most of a key's room for a string is. */
static size_t trimmed(const unsigned char *key, size_t n)
{
	uint64_t word;

	for (; n & 7; n--)
		if (key[n - 1])
			return n;
	while (n >= 64 && is_zero(key + n - 64))
		n -= 64;
	for (; n; n -= 8) {
		memcpy(&word, key + n - 8, 8);
		if (word)
			break;
	}
	while (n && !key[n - 1])
		n--;
	return n;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* What is zero is skipped, with its place known: between a string and a bucket there is much of it.
 */
static uint64_t hash_of(const unsigned char *key, size_t n)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull, other = 0xa0761d6478bd642full;
	uint64_t hash = mix(n ^ odd, other), word;
	size_t at = 0;

	while (at + 8 <= n) {
		if (!(at & 63) && at + 64 <= n && is_zero(key + at)) {
			at += 64;
			continue;
		}
		memcpy(&word, key + at, 8);
		hash = word ? mix(hash ^ word, other + at) : hash;
		at += 8;
	}
	word = 0;
	memcpy(&word, key + at, n - at);
	return mix(hash ^ word, odd);
}

static unsigned char *key_at(const struct pt_table *t, uint32_t record)
{
	return t->keys + (uint64_t)record * t->key_stride;
}

static bool key_is(const struct pt_table *t, uint32_t record, const unsigned char *key, size_t n)
{
	const struct pantrace_key *const have = (const struct pantrace_key *)key_at(t, record);

	return have->length == n && !memcmp(have->bytes, key, n);
}

/* How many records may be touched; the first of them, as memory is had in order. */
static uint32_t records_had(const struct pt_tables *tables, const struct pt_table *t)
{
	return tables->had ? t->records : __atomic_load_n(&t->reserved, __ATOMIC_ACQUIRE);
}

/* NO_RECORD: there is no room, or no memory yet; counted. */
static uint32_t record_new(struct pt_tables *tables, struct pt_table *t, const unsigned char *key,
			   size_t n, uint64_t hash)
{
	const uint32_t had = records_had(tables, t);
	uint64_t record = __atomic_load_n(&t->shared->used, __ATOMIC_RELAXED);
	struct pantrace_key *to;

	do {
		if (record >= had) {
			__atomic_fetch_add(had < t->records ? &tables->shm->lost : &t->shared->full,
					   1, __ATOMIC_RELAXED);
			return NO_RECORD;
		}
	} while (!__atomic_compare_exchange_n(&t->shared->used, &record, record + 1, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	to = (struct pantrace_key *)key_at(t, (uint32_t)record);
	to->length = (uint32_t)n;
	to->hash = (uint32_t)hash;
	memcpy(to->bytes, key, n);
	return (uint32_t)record;
}

/* NO_RECORD: the update has been counted as one that was not made. */
static uint32_t record_of(struct pt_tables *tables, struct pt_table *t, const unsigned char *key,
			  size_t n)
{
	const uint64_t hash = hash_of(key, n), tag = hash & ~(uint64_t)UINT32_MAX;
	const uint32_t most = t->slot_mask < LONGEST_RUN ? t->slot_mask : LONGEST_RUN;
	uint32_t made = NO_RECORD, at = (uint32_t)hash;

	for (uint32_t i = 0; i <= most; i++, at++) {
		uint64_t *const place = &t->slots[at & t->slot_mask];
		uint64_t slot = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (!slot) {
			if (made == NO_RECORD)
				made = record_new(tables, t, key, n, hash);
			if (made == NO_RECORD)
				return NO_RECORD;
			if (__atomic_compare_exchange_n(place, &slot, tag | (made + 1), false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return made;
		}
		if (slot >> 32 == tag >> 32 && (uint32_t)slot &&
		    (uint32_t)slot - 1 < records_had(tables, t) &&
		    key_is(t, (uint32_t)slot - 1, key, n))
			return (uint32_t)slot - 1;
	}
	__atomic_fetch_add(&t->shared->full, 1, __ATOMIC_RELAXED);
	return NO_RECORD;
}

/* ---- values ---- */

/* 16 bytes become {FIRST, SECOND} if they are *OLD; else *OLD is what they are. */
static inline bool exchange(void *at, uint64_t old[2], uint64_t first, uint64_t second)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %[at]"
			 : [at] "+m"(*(unsigned __int128 *)at), "=@ccz"(done), "+a"(old[0]),
			   "+d"(old[1])
			 : "b"(first), "c"(second)
			 : "memory");
	return done;
}

static void add_pair(unsigned char *at, uint64_t value)
{
	uint64_t old[2];

	memcpy(old, at, sizeof(old)); /* may be torn: then the exchange tells */
	while (!exchange(at, old, old[0] + value, old[1] + 1))
		;
}

static bool better(uint32_t kind, uint64_t value, uint64_t than)
{
	switch (kind) {
	case PANTRACE_AGGREGATE_MIN:
		return (int64_t)value < (int64_t)than;
	case PANTRACE_AGGREGATE_MAX:
		return (int64_t)value > (int64_t)than;
	case PANTRACE_AGGREGATE_UMIN:
		return value < than;
	default:
		return value > than;
	}
}

static void take_extreme(const struct pt_table *t, unsigned char *at, uint64_t value)
{
	uint64_t epoch, old[2];
	unsigned char *cell;

again:
	epoch = __atomic_load_n(&t->shared->epoch, __ATOMIC_ACQUIRE);
	cell = at + (epoch & 1) * sizeof(struct pantrace_extreme);
	memcpy(old, cell, sizeof(old));
	/* the tag may be of a later epoch than ours, if the tool was fast: then ours is over */
	for (int i = 0; i < 1000; i++) {
		if (old[1] == epoch + 1 && !better(t->kind, value, old[0])) {
			/* seen as a whole? */
			if (exchange(cell, old, old[0], old[1]))
				return;
			continue;
		}
		if (old[1] > epoch + 1 &&
		    __atomic_load_n(&t->shared->epoch, __ATOMIC_ACQUIRE) != epoch)
			goto again;
		if (exchange(cell, old, value, epoch + 1))
			return;
	}
	/* only where the memory is written to by strangers */
	__atomic_fetch_add(&t->shared->full, 1, __ATOMIC_RELAXED);
}

static uint32_t cpu_now(void)
{
	if (__builtin_expect(&__rseq_size && __rseq_size, 1)) {
		const struct rseq *const area =
			(const struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
		const uint32_t cpu = __atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);

		if ((int32_t)cpu >= 0)
			return cpu;
	}
	/* without rseq: any stripe will do; threads have different stacks */
	return (uint32_t)((uintptr_t)__builtin_thread_pointer() >> 12);
}

uint32_t pt_tables_key_size(const struct pt_tables *tables, uint64_t map)
{
	return map < tables->nr ? tables->table[map].key_size : UINT32_MAX;
}

bool pt_tables_add(struct pt_tables *tables, uint64_t map, const void *key, uint64_t value)
{
	struct pt_table *t;
	unsigned char *at;
	uint32_t record;

	if (map >= tables->nr)
		return false;
	t = &tables->table[map];
	record = record_of(tables, t, key, trimmed(key, t->key_size));
	if (__builtin_expect(record == NO_RECORD, 0))
		return true;
	at = t->values +
	     ((uint64_t)(cpu_now() & t->stripe_mask) * t->records + record) * t->value_size;
	if (t->kind == PANTRACE_AGGREGATE_COUNT)
		__atomic_fetch_add((uint64_t *)at, value, __ATOMIC_RELAXED);
	else if (t->kind == PANTRACE_AGGREGATE_PAIR)
		add_pair(at, value);
	else
		take_extreme(t, at, value);
	return true;
}
