/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records: from the file or out of compressed ones, then in the order of their times. */
#include <unistd.h>
#include <zstd.h>

#include "trace/perf/internal.h"

#define WINDOW	 (1u << 20)
#define HELD_MAX (512u << 20) /* of rounds that do not end */

static size_t left(const struct bytes *b)
{
	return b->len - b->pos;
}

/* Room for n more at the end; what was read is given up. */
static u8 *room(struct bytes *b, size_t n)
{
	if (b->pos) {
		memmove(b->data, b->data + b->pos, left(b));
		b->len -= b->pos;
		b->pos = 0;
	}
	if (b->cap - b->len <= n) {
		b->cap = MAX(b->cap * 2, b->len + n + 1);
		b->data = xrealloc(b->data, b->cap);
	}
	return b->data + b->len;
}

/* ---- the file ---- */

/* n bytes that follow, in place; NULL: there are no more, or they are cut off. */
static const u8 *file_bytes(struct perf_data *p, size_t n)
{
	struct bytes *const w = &p->window;

	while (left(w) < n) {
		const u64 more = MIN((u64)WINDOW, p->end - p->at);
		ssize_t got;

		if (!more)
			return NULL;
		got = pread(p->fd, room(w, more), more, (off_t)p->at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return NULL;
		w->len += (size_t)got;
		p->at += (u64)got;
	}
	return w->data + w->pos;
}

/* What stands behind a record and does not count to it. */
static bool skip_file(struct perf_data *p, u64 n)
{
	const u64 here = MIN(n, (u64)left(&p->window));

	p->window.pos += here;
	n -= here;
	if (n > p->end - p->at)
		return false;
	p->at += n;
	return true;
}

/* ---- compressed ones ---- */

/* A stretch of what is packed; false: it is damaged. */
static bool unpack(struct perf_data *p)
{
	ZSTD_outBuffer out = {room(&p->unpacked, WINDOW), WINDOW, 0};
	ZSTD_inBuffer in = {p->packed.data, p->packed.len, p->packed.pos};
	size_t rc;

	if (!p->unpacker) {
		p->unpacker = ZSTD_createDCtx();
		if (!p->unpacker)
			return false;
		ZSTD_DCtx_setParameter(p->unpacker, ZSTD_d_windowLogMax, 27);
	}
	rc = ZSTD_decompressStream(p->unpacker, &out, &in);
	if (ZSTD_isError(rc) || (!out.pos && in.pos == p->packed.pos && !p->has_more))
		return false;
	p->unpacked.len += out.pos;
	p->packed.pos = in.pos;
	p->has_more = out.pos == out.size;
	return true;
}

static void pack(struct perf_data *p, const u8 *data, size_t size)
{
	p->packed.pos = p->packed.len = 0;
	memcpy(room(&p->packed, size), data, size);
	p->packed.len = size;
}

/* ---- one after the other ---- */

struct head {
	u32 type;
	u16 misc, size;
};

static struct head head_of(const u8 *data)
{
	struct head h;

	memcpy(&h, data, sizeof(h));
	return h;
}

/* Formats of tracepoints stand behind their record. */
static bool tracing_data(struct perf_data *p, struct cursor body)
{
	const u64 size = cursor_u32(&body), padded = (size + 7) & ~7ull;
	const u8 *data = size <= PERF_SECTION_MAX ? file_bytes(p, padded) : NULL;

	if (!data)
		return false;
	perf_formats(p, data, size);
	p->window.pos += padded;
	return true;
}

/* perf's own. False: damaged. */
static bool own_record(struct perf_data *p, const u8 *data, const struct head *h)
{
	/* the window may move */
	u8 *copy = memcpy(xmalloc(h->size), data, h->size);
	struct cursor body = cursor_of(copy + sizeof(*h), h->size - sizeof(*h));
	bool ok = true;

	if (h->type == PERF_USER_COMPRESSED)
		pack(p, copy + sizeof(*h), h->size - sizeof(*h));
	else if (h->type == PERF_USER_TRACING_DATA && p->is_pipe)
		ok = tracing_data(p, body);
	else
		perf_user_record(p, h->type, h->misc, body);
	if (h->type == PERF_USER_AUXTRACE)
		ok = skip_file(p, cursor_u64(&body));
	free(copy);
	return ok;
}

/* A record that is whole, in place; NULL: none, with *ret_damage if there should be. */
static const u8 *whole(const struct bytes *from, bool *ret_damage)
{
	const size_t len = left(from);
	const u8 *data;

	if (len < sizeof(struct head))
		return NULL;
	data = from->data + from->pos;
	if (head_of(data).size < sizeof(struct head)) {
		*ret_damage = true;
		return NULL;
	}
	return head_of(data).size <= len ? data : NULL;
}

static const u8 *take(struct bytes *from, const u8 *data)
{
	if (data)
		from->pos += head_of(data).size;
	return data;
}

/* The next record of the kernel, or the end of a round; NULL: the end, or damage, which is told. */
static const u8 *raw_record(struct perf_data *p)
{
	bool damage = false;

	while (!damage) {
		const u8 *data = take(&p->unpacked, whole(&p->unpacked, &damage));
		struct head h;

		if (!data && !damage && (left(&p->packed) || p->has_more)) {
			damage = !unpack(p);
			continue;
		}
		if (!data && !damage) {
			data = file_bytes(p, sizeof(h));
			if (!data && !left(&p->window) && !left(&p->unpacked))
				return NULL;
			damage = !data || head_of(data).size < sizeof(h);
			data = damage ? NULL : take(&p->window, file_bytes(p, head_of(data).size));
		}
		if (!data)
			break;
		h = head_of(data);
		if (h.type < PERF_USER_ATTR || h.type == PERF_USER_FINISHED_ROUND)
			return data;
		damage = !own_record(p, data, &h);
	}
	perf_damaged(p, "the file ends within a record, or what is there is none");
	return NULL;
}

/* ---- in the order of time ---- */

static u64 word_at(const u8 *data, size_t size, size_t at)
{
	u64 v = 0;

	if (at <= size && size - at >= 8)
		memcpy(&v, data + at, 8);
	return v;
}

/* How many of the last words come behind the id in sample_id_all. */
static size_t id_from_end(u64 type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 8 + (type & PERF_SAMPLE_STREAM_ID ? 8 : 0) + (type & PERF_SAMPLE_CPU ? 8 : 0);
}

static u32 kind_of_record(struct perf_data *p, const u8 *data, const struct head *h)
{
	u64 type;
	int at;
	size_t end;

	if (p->kinds.len < 2)
		return 0;
	type = p->kinds.items[0].attr.sample_type;
	if (h->type == PERF_RECORD_SAMPLE) {
		at = perf_sample_id_at(type);
		return at < 0 ? 0
			      : perf_kind_of(p, word_at(data, h->size, sizeof(*h) + (size_t)at));
	}
	end = p->kinds.items[0].attr.sample_id_all ? id_from_end(type) : 0;
	return end && end <= h->size ? perf_kind_of(p, word_at(data, h->size, h->size - end)) : 0;
}

/* 0: it has none, and goes before all that wait. */
static u64 time_of_record(const struct perf_data *p, u32 kind, const u8 *data, const struct head *h)
{
	const struct perf_event_attr *const attr = &p->kinds.items[kind].attr;
	const u64 type = attr->sample_type;
	struct cursor body = cursor_of(data + sizeof(*h), h->size - sizeof(*h));
	struct perf_sample s;
	size_t at = sizeof(*h);

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	if (h->type != PERF_RECORD_SAMPLE) {
		if (!attr->sample_id_all || !perf_sample_id_parse(type, &body, &s))
			return 0;
		return s.time == UINT64_MAX ? 0 : s.time;
	}
	at += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
	at += type & PERF_SAMPLE_IP ? 8 : 0;
	at += type & PERF_SAMPLE_TID ? 8 : 0;
	return word_at(data, h->size, at);
}

static int by_time(const void *a, const void *b)
{
	const struct perf_pending *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void hold(struct perf_data *p, const u8 *data)
{
	const struct head h = head_of(data);
	struct perf_pending pending = {.order = p->order++, .at = p->held.len};

	if (!p->kinds.len)
		return; /* nobody knows what it is */
	pending.kind = kind_of_record(p, data, &h);
	pending.time = time_of_record(p, pending.kind, data, &h);
	p->latest = MAX(p->latest, pending.time);
	memcpy(room(&p->held, h.size), data, h.size);
	p->held.len += h.size;
	vector_push(&p->pending, pending);
}

/* Gives up the memory of those that went. */
static void compact(struct perf_data *p)
{
	const size_t rest = p->pending.len - p->next;
	struct bytes kept = {0};

	for (size_t i = 0; i < rest; i++) {
		struct perf_pending *to = &p->pending.items[i];
		const u8 *data;

		*to = p->pending.items[p->next + i];
		data = p->held.data + to->at;
		to->at = kept.len;
		memcpy(room(&kept, head_of(data).size), data, head_of(data).size);
		kept.len += head_of(data).size;
	}
	if (rest) {
		free(p->held.data);
		p->held = kept;
	} else {
		p->held.len = 0;
	}
	p->pending.len = rest;
	p->next = p->ready = 0;
}

/* All up to this time may go. */
static void release(struct perf_data *p, u64 limit)
{
	size_t n = 0;

	for (size_t i = 1; i < p->pending.len && !n; i++)
		n = by_time(&p->pending.items[i - 1], &p->pending.items[i]) > 0;
	if (n)
		qsort(p->pending.items, p->pending.len, sizeof(*p->pending.items), by_time);
	n = 0;
	while (n < p->pending.len && p->pending.items[n].time <= limit)
		n++;
	p->ready = n;
}

/* Reads on until something may go. False: there is nothing more. */
static bool round_read(struct perf_data *p)
{
	compact(p);
	while (!p->ready && !p->ended) {
		const u8 *data = raw_record(p);

		if (!data) {
			p->ended = true;
			release(p, UINT64_MAX);
		} else if (head_of(data).type == PERF_USER_FINISHED_ROUND) {
			release(p, p->round_last);
			p->round_last = p->latest;
		} else {
			hold(p, data);
			if (p->held.len > HELD_MAX)
				release(p, p->latest);
		}
	}
	if (p->named < p->kinds.len)
		perf_name_kinds(p);
	return p->ready;
}

bool perf_data_next(struct perf_data *p, struct perf_record *ret)
{
	const struct perf_event_attr *attr;
	const struct perf_pending *pending;
	struct perf_sample s;
	struct head h;
	const u8 *data;

	if (p->next == p->ready && !round_read(p))
		return false;
	pending = &p->pending.items[p->next++];
	data = p->held.data + pending->at;
	h = head_of(data);
	attr = &p->kinds.items[pending->kind].attr;
	p->counters += h.type == PERF_RECORD_READ;
	*ret = (struct perf_record){
		.type = h.type,
		.misc = h.misc,
		.kind = pending->kind,
		.time = pending->time,
		.body = cursor_of(data + sizeof(h), h.size - sizeof(h)),
	};
	if (h.type != PERF_RECORD_SAMPLE && attr->sample_id_all &&
	    perf_sample_id_parse(attr->sample_type, &ret->body, &s)) {
		ret->pid = s.pid;
		ret->tid = s.tid;
		ret->has_task = attr->sample_type & PERF_SAMPLE_TID;
	}
	return true;
}

void perf_records_release(struct perf_data *p)
{
	ZSTD_freeDCtx(p->unpacker);
	free(p->window.data);
	free(p->packed.data);
	free(p->unpacked.data);
	free(p->held.data);
	vector_free(&p->pending);
}
