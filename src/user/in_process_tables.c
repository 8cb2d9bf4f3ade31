// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/in_process_tables.h"

#include <emmintrin.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/runtime.h"

/* More than the elements that were asked for: the library keeps some in reserve. */
#define RECORDS_MORE 4096

bool aggregates_better(u32 kind, u64 a, u64 b)
{
	switch (kind) {
	case PANTRACE_AGGREGATE_MIN:
		return (s64)a < (s64)b;
	case PANTRACE_AGGREGATE_MAX:
		return (s64)a > (s64)b;
	case PANTRACE_AGGREGATE_UMIN:
		return a < b;
	default:
		return a > b;
	}
}

/* ---- checking ---- */

static bool area_fits(u64 offset, u64 count, u64 size, u64 file)
{
	return !(offset & 15) && offset >= sizeof(struct pantrace_aggregates) && offset <= file &&
	       count <= (file - offset) / MAX(size, (u64)1);
}

static bool map_fits(const struct pantrace_map *m, const struct aggregates_map *info, u64 file)
{
	static const u32 sizes[PANTRACE_AGGREGATE_KINDS] = {8, 16, 32, 32, 32, 32};

	return m->kind == info->kind && m->key_size == info->key_size && m->records &&
	       m->records <= 2 * (u64)info->entries + RECORDS_MORE && m->nr_slots &&
	       m->nr_slots <= 8 * (u64)m->records && !(m->nr_slots & (m->nr_slots - 1)) &&
	       m->stripes && m->stripes <= PANTRACE_AGGREGATE_STRIPES &&
	       !(m->stripes & (m->stripes - 1)) && m->value_size == sizes[m->kind] &&
	       !(m->key_stride & 7) && m->key_stride >= sizeof(struct pantrace_key) + m->key_size &&
	       area_fits(m->slots_off, m->nr_slots, sizeof(u64), file) &&
	       area_fits(m->keys_off, m->records, m->key_stride, file) &&
	       area_fits(m->values_off, (u64)m->records * m->stripes, m->value_size, file);
}

static int header_check(const struct pantrace_aggregates *h, const struct aggregates_map *maps,
			u32 nr_maps, const char *session, u64 file)
{
	if (!h->magic)
		return -EAGAIN;
	if (h->magic != PANTRACE_AGGREGATE_MAGIC || h->version != PANTRACE_AGGREGATE_VERSION)
		return -EBADMSG;
	if (strncmp(h->session, session, sizeof(h->session)) != 0)
		return -ENOENT;
	if (h->nr_maps != nr_maps || h->file_size != file)
		return -EBADMSG;
	for (u32 i = 0; i < nr_maps; i++)
		if (!map_fits(&h->map[i], &maps[i], file))
			return -EBADMSG;
	return 0;
}

int aggregates_source_open(int fd, const struct aggregates_map *maps, u32 nr_maps,
			   const char *session, struct aggregate_source **ret)
{
	struct aggregate_source *s;
	struct stat st;
	void *shm;
	int err;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EBADMSG;
	if ((size_t)st.st_size < sizeof(*s->shm))
		return user_rings_late(&st) ? -EBADMSG : -EAGAIN;
	shm = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return -EBADMSG;
	s = xzalloc(sizeof(*s));
	s->shm = shm;
	s->pidfd = -1;
	shared_range_add(&s->range, shm, (size_t)st.st_size);
	if (__atomic_load_n(&s->shm->magic, __ATOMIC_ACQUIRE))
		memcpy(&s->header, shm, sizeof(s->header));
	err = header_check(&s->header, maps, nr_maps, session, (u64)st.st_size);
	if (err) {
		shared_range_remove(&s->range);
		munmap(shm, (size_t)st.st_size);
		free(s);
		return err == -EAGAIN && user_rings_late(&st) ? -EBADMSG : err;
	}
	s->inode = st.st_ino;
	s->owner = st.st_uid;
	s->pid = (pid_t)s->header.pid;
	s->pid_namespace = s->header.pid_namespace;
	*ret = s;
	return 0;
}

void aggregates_source_close(struct aggregate_source *s)
{
	shared_range_remove(&s->range);
	munmap(s->shm, s->header.file_size);
	for (u32 i = 0; i < PANTRACE_AGGREGATE_MAPS; i++)
		free(s->base[i]);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->name);
	free(s);
}

bool aggregates_source_has_ended(struct aggregate_source *s)
{
	struct pollfd p = {s->pidfd, POLLIN, 0};

	if (!s->has_ended && s->pidfd >= 0 && poll(&p, 1, 0) > 0)
		s->has_ended = true;
	return s->has_ended;
}

/* ---- values ---- */

/* 16 aligned bytes as one: on what has AVX, such a load is atomic (Intel SDM 3A 9.1.1, AMD APM
 * 2 7.3.2). */
static void load_pair(const u8 *from, u64 ret[2])
{
	const __m128i both = _mm_load_si128((const __m128i *)(const void *)from);

	_mm_storeu_si128((__m128i *)(void *)ret, both);
}

static const u8 *value_at(const struct aggregate_source *s, const struct pantrace_map *m,
			  u32 record, u32 stripe)
{
	return (const u8 *)s->shm + m->values_off +
	       ((u64)stripe * m->records + record) * m->value_size;
}

/* False: nothing since it was last taken. */
static bool sum_read(struct aggregate_source *s, u32 map, u32 record, bool take,
		     struct aggregates_element *ret)
{
	const struct pantrace_map *const m = &s->header.map[map];
	struct aggregate_base sum = {0}, *base = s->base[map];
	u64 pair[2];

	for (u32 i = 0; i < m->stripes; i++) {
		const u8 *from = value_at(s, m, record, i);

		if (m->value_size == 8) {
			sum.a += __atomic_load_n((const u64 *)(const void *)from, __ATOMIC_RELAXED);
			continue;
		}
		load_pair(from, pair);
		sum.a += pair[0];
		sum.b += pair[1];
	}
	*ret = (struct aggregates_element){sum.a, sum.b, false};
	if (base) {
		ret->a -= base[record].a;
		ret->b -= base[record].b;
		if (take)
			base[record] = sum;
	}
	return m->value_size == 8 ? ret->a : ret->b;
}

/*
 * The cell of the epoch that we are in, and what a late update has done to that of the epoch before
 * after it was read: that one is part of this reading.
 */
static bool extreme_read(struct aggregate_source *s, u32 map, u32 record, bool take, u64 epoch,
			 struct aggregates_element *ret)
{
	const struct pantrace_map *const m = &s->header.map[map];
	struct aggregate_base *base = s->base[map];
	bool any = false;

	*ret = (struct aggregates_element){0};
	for (u32 i = 0; i < m->stripes; i++) {
		const u8 *from = value_at(s, m, record, i);
		struct aggregate_base *late = base ? &base[(u64)record * m->stripes + i] : NULL;
		u64 now[2], before[2];

		load_pair(from + (epoch & 1) * 16, now);
		load_pair(from + (~epoch & 1) * 16, before);
		if (now[1] == epoch + 1 && (!any || aggregates_better(m->kind, now[0], ret->a))) {
			ret->a = now[0];
			any = true;
		}
		if (late && epoch && before[1] == epoch &&
		    (before[0] != late->a || late->b != epoch) &&
		    (!any || aggregates_better(m->kind, before[0], ret->a))) {
			ret->a = before[0];
			any = true;
		}
		if (take && late)
			*late = (struct aggregate_base){now[0], now[1]};
	}
	return any;
}

static bool record_read(struct aggregate_source *s, u32 map, u32 record, bool take, u64 epoch,
			struct aggregates_element *ret)
{
	return s->header.map[map].kind < PANTRACE_AGGREGATE_MIN
		       ? sum_read(s, map, record, take, ret)
		       : extreme_read(s, map, record, take, epoch, ret);
}

/* ---- keys ---- */

/* The record that a slot names; false: none. */
static bool slot_record(const struct aggregate_source *s, const struct pantrace_map *m, u32 slot,
			u32 *ret_record)
{
	const u64 *const slots = (const u64 *)(const void *)((const u8 *)s->shm + m->slots_off);
	const u64 value = __atomic_load_n(&slots[slot], __ATOMIC_ACQUIRE);

	*ret_record = (u32)value - 1;
	return (u32)value && *ret_record < m->records;
}

static bool key_read(const struct aggregate_source *s, const struct pantrace_map *m, u32 record,
		     u8 *ret)
{
	const struct pantrace_key *const key =
		(const void *)((const u8 *)s->shm + m->keys_off + (u64)record * m->key_stride);
	const u32 length = __atomic_load_n(&key->length, __ATOMIC_RELAXED);

	if (length > m->key_size)
		return false;
	memcpy(ret, key->bytes, length);
	memset(ret + length, 0, m->key_size - length);
	return true;
}

static void base_have(struct aggregate_source *s, u32 map)
{
	const struct pantrace_map *const m = &s->header.map[map];
	const u64 each = m->kind < PANTRACE_AGGREGATE_MIN ? 1 : m->stripes;

	if (!s->base[map])
		s->base[map] = xzalloc(m->records * each * sizeof(struct aggregate_base));
}

void aggregates_source_each(struct aggregate_source *s, u32 map, bool take,
			    void (*fn)(void *arg, const void *key,
				       const struct aggregates_element *element),
			    void *arg)
{
	const struct pantrace_map *const m = &s->header.map[map];
	const u64 epoch = s->epoch[map];
	struct aggregates_element element;
	u8 key[PANTRACE_AGGREGATE_KEY];
	u32 record;

	if (take) {
		base_have(s, map);
		/* first: what is counted from here on is the next epoch's */
		__atomic_store_n(&s->shm->map[map].epoch, ++s->epoch[map], __ATOMIC_SEQ_CST);
	}
	if (!__atomic_load_n(&s->shm->map[map].used, __ATOMIC_ACQUIRE))
		return;
	for (u32 i = 0; i < m->nr_slots; i++)
		if (slot_record(s, m, i, &record) && key_read(s, m, record, key) &&
		    record_read(s, map, record, take, epoch, &element) && !s->range.is_cut)
			fn(arg, key, &element);
}

void aggregates_source_forget(struct aggregate_source *s, u32 map, const void *key)
{
	const struct pantrace_map *const m = &s->header.map[map];
	struct aggregates_element ignored;
	u8 have[PANTRACE_AGGREGATE_KEY];
	u32 record;

	/* extremes of one key cannot be taken without those of the others */
	if (m->kind >= PANTRACE_AGGREGATE_MIN)
		return;
	base_have(s, map);
	for (u32 i = 0; i < m->nr_slots; i++)
		if (slot_record(s, m, i, &record) && key_read(s, m, record, have) &&
		    !memcmp(have, key, m->key_size))
			sum_read(s, map, record, true, &ignored);
}
