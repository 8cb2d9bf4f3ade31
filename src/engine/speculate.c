/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that carry the id of a speculation wait here for commit() or discard(). */
#include "engine/actions.h"

/* Bounds of what is held back: bytes of all records, and speculations that have any. */
#define HELD_BYTES_MAX (64u << 20)
#define HELD_MAX       65536u
/*
 * Ids that were decided recently: what other CPUs still send for them is dropped, not held for
 * ever.
 */
#define DECIDED_MAX 4096u

struct held {
	u8 *data; /* u32 size, record, padded to 8; NULL: decided */
	size_t len, cap;
	bool is_decided;
};

struct speculations {
	struct hashmap by_id; /* u32 -> struct held */
	u32 live;
	size_t bytes;
	u32 decided[DECIDED_MAX];
	u32 ndecided;
	u64 dropped, without_id;
};

static struct speculations *get(struct engine *e)
{
	if (!e->speculations)
		e->speculations = xzalloc(sizeof(*e->speculations));
	return e->speculations;
}

void engine_hold(struct engine *e, u32 id, const void *data, u32 size)
{
	struct speculations *s = get(e);
	const size_t need = ALIGN_UP((size_t)size + 4, (size_t)8);
	struct held *h;
	void **place;

	if (id == SPECULATION_NONE) {
		s->without_id++;
		return;
	}
	place = hashmap_put(&s->by_id, &id, sizeof(id), NULL);
	h = *place;
	if (!h) {
		if (s->live >= HELD_MAX) {
			s->dropped++;
			return;
		}
		*place = h = xzalloc(sizeof(*h));
		s->live++;
	}
	if (h->is_decided)
		return;
	if (s->bytes + need > HELD_BYTES_MAX) {
		s->dropped++;
		return;
	}
	if (h->len + need > h->cap) {
		h->cap = MAX(h->cap * 2, h->len + need);
		h->data = xrealloc(h->data, h->cap);
	}
	memcpy(h->data + h->len, &size, 4);
	memcpy(h->data + h->len + 4, data, size);
	h->len += need;
	s->bytes += need;
}

/*
 * Entries are never removed from the table: now and then those that are still needed are copied
 * into a new one.
 */
static void compact(struct speculations *s)
{
	struct hashmap fresh = {0};

	if (s->by_id.len < 4 * (size_t)DECIDED_MAX || s->by_id.len < 4 * (size_t)s->live)
		return;
	hashmap_each (&s->by_id, entry)
		if (entry->value)
			*hashmap_put(&fresh, entry->key, entry->key_len, NULL) = entry->value;
	hashmap_release(&s->by_id);
	s->by_id = fresh;
}

/* Marks the id as decided; what was decided long ago is forgotten. Returns what was held. */
static struct held decide(struct speculations *s, u32 id)
{
	u32 *slot = &s->decided[s->ndecided++ % DECIDED_MAX];
	struct held taken = {0}, *h, *old;
	void **place;

	if (*slot) {
		place = hashmap_put(&s->by_id, slot, sizeof(*slot), NULL);
		old = *place;
		if (old && old->is_decided) {
			free(old);
			*place = NULL;
			s->live--;
		}
	}
	compact(s);
	place = hashmap_put(&s->by_id, &id, sizeof(id), NULL);
	h = *place;
	if (!h) {
		*place = h = xzalloc(sizeof(*h));
		s->live++;
	}
	taken = *h;
	*h = (struct held){.is_decided = true};
	s->bytes -= taken.len;
	*slot = id;
	return taken;
}

static bool is_valid(u64 id)
{
	return id && id < SPECULATION_NONE;
}

void do_commit(struct engine *e, const struct record *r)
{
	const u64 id = record_u64(r, 0);
	struct held h;
	u32 size;

	if (!is_valid(id))
		return;
	h = decide(get(e), (u32)id);
	for (size_t at = 0; at < h.len; at += ALIGN_UP((size_t)size + 4, (size_t)8)) {
		memcpy(&size, h.data + at, 4);
		memset(h.data + at + 8, 0, 4); /* no longer speculative */
		engine_handle_record(e, h.data + at + 4, size, NULL, 0);
	}
	free(h.data);
}

void do_discard(struct engine *e, const struct record *r)
{
	const u64 id = record_u64(r, 0);

	if (is_valid(id))
		free(decide(get(e), (u32)id).data);
}

void engine_report_speculations(struct engine *e)
{
	const struct speculations *s = e->speculations;

	if (!s)
		return;
	if (s->dropped) {
		diag_warning(e->env->diag, NO_SPAN, "%" PRIu64 " speculative records were dropped",
			     s->dropped);
		diag_hint(e->env->diag,
			  "at most %u MB are held back for at most %u speculations: discard() what "
			  "is not wanted",
			  HELD_BYTES_MAX >> 20, HELD_MAX);
	}
	if (s->without_id)
		diag_warning(e->env->diag, NO_SPAN,
			     "%" PRIu64 " record%s %s dropped because speculate() was given no id",
			     s->without_id, plural(s->without_id), was_were(s->without_id));
}

void engine_release_speculations(struct engine *e)
{
	struct speculations *s = e->speculations;

	if (!s)
		return;
	hashmap_each (&s->by_id, entry) {
		struct held *h = entry->value;

		if (h)
			free(h->data);
		free(h);
	}
	hashmap_release(&s->by_id);
	free(s);
	e->speculations = NULL;
}
