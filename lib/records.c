// SPDX-License-Identifier: MIT
/*
 * Records of events and objects (ring.h), which go to the readers of all sessions. One list for the
 * life of the process: an event keeps its id from session to session.
 */
#include "session.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS (1u << 18) /* a power of two, more than there can be records */
#define STEP  4096u /* memory of a session's records is had in such steps */

_Static_assert(SLOTS > PT_META_SIZE / (sizeof(struct pantrace_event_record) + 8), "room for all");

static char *records;
static size_t records_used;
static uint32_t nr_records;
static uint32_t *slots; /* by hash: offset + 1 of an event's record, 0 = free */

const char *pt_records(size_t *ret_size)
{
	*ret_size = records_used;
	return records;
}

static bool memory_get(void)
{
	char *memory;

	if (records)
		return true;
	memory = mmap(NULL, PT_META_SIZE + SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	slots = (uint32_t *)(memory + PT_META_SIZE);
	records = memory;
	return true;
}

static bool same_event(const struct pantrace_event_record *a, const struct pantrace_event_record *b)
{
	return a->size == b->size && a->nr_fields == b->nr_fields &&
	       !memcmp(a->strings, b->strings, a->size - sizeof(*a));
}

/* FNV-1a by words: sizes of records are multiples of 8. */
static uint32_t hash_of(const struct pantrace_event_record *record)
{
	uint64_t hash = 0xcbf29ce484222325ull, word;

	for (size_t at = sizeof(*record); at < record->size; at += sizeof(word)) {
		memcpy(&word, (const char *)record + at, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3ull;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of an event like RECORD, or the free one where it belongs. */
static uint32_t *slot_of(const struct pantrace_event_record *record)
{
	uint32_t at = hash_of(record) & (SLOTS - 1);

	while (slots[at] && !same_event((const void *)(records + slots[at] - 1), record))
		at = (at + 1) & (SLOTS - 1);
	return &slots[at];
}

static struct pantrace_shm *reader_of(unsigned int number)
{
	const enum pt_session_state state = pt_settings[number].state;

	return state == PT_RUNNING || state == PT_STOPPED ? pt_state->session[number].shm : NULL;
}

static bool room_reserve(struct pantrace_shm *shm, size_t size)
{
	char *const meta = (char *)shm + shm->meta_off;
	const size_t from = (records_used + STEP - 1) & ~(size_t)(STEP - 1);
	const size_t to = (records_used + size + STEP - 1) & ~(size_t)(STEP - 1);

	/* what is before `from` was allocated with the record that began the step */
	return from == to || pt_memory_reserve(meta + from, to - from);
}

int pt_record_append(const struct pantrace_event_record *record)
{
	struct pantrace_event_record *to;
	uint32_t *slot = NULL;

	if (!memory_get())
		return -ENOMEM;
	if (record->id) {
		slot = slot_of(record);
		if (*slot)
			return (int)((const struct pantrace_event_record *)(records + *slot - 1))
				->id;
	}
	if (records_used + record->size > PT_META_SIZE)
		return -ENOSPC;
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pantrace_shm *const shm = reader_of(i);

		if (shm && !room_reserve(shm, record->size))
			return -ENOSPC;
	}
	to = (struct pantrace_event_record *)(records + records_used);
	memcpy(to, record, record->size);
	if (slot) {
		to->id = ++nr_records;
		*slot = (uint32_t)records_used + 1;
	}
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pantrace_shm *const shm = reader_of(i);

		if (!shm)
			continue;
		memcpy((char *)shm + shm->meta_off + records_used, to, to->size);
		__atomic_store_n(&shm->meta_used, records_used + to->size, __ATOMIC_RELEASE);
	}
	records_used += to->size;
	return (int)to->id;
}
