/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as they stand: of the file, or out of compressed ones. order.c sorts them. */
#include <unistd.h>
#include <zstd.h>

#include "trace/perf/internal.h"

#define WINDOW (1u << 20)

static size_t left(const struct bytes *b)
{
	return b->len - b->pos;
}

u8 *perf_room(struct bytes *b, size_t n)
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
		got = pread(p->fd, perf_room(w, more), more, (off_t)p->at);
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
	ZSTD_outBuffer out = {perf_room(&p->unpacked, WINDOW), WINDOW, 0};
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
	memcpy(perf_room(&p->packed, size), data, size);
	p->packed.len = size;
}

/* ---- one after the other ---- */

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
static bool own_record(struct perf_data *p, const u8 *data, const struct perf_head *h)
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

	if (len < sizeof(struct perf_head))
		return NULL;
	data = from->data + from->pos;
	if (perf_head_of(data).size < sizeof(struct perf_head)) {
		*ret_damage = true;
		return NULL;
	}
	return perf_head_of(data).size <= len ? data : NULL;
}

static const u8 *take(struct bytes *from, const u8 *data)
{
	if (data)
		from->pos += perf_head_of(data).size;
	return data;
}

const u8 *perf_raw_record(struct perf_data *p)
{
	bool damage = false;

	while (!damage) {
		const u8 *data = take(&p->unpacked, whole(&p->unpacked, &damage));
		struct perf_head h;

		if (!data && !damage && (left(&p->packed) || p->has_more)) {
			damage = !unpack(p);
			continue;
		}
		if (!data && !damage) {
			data = file_bytes(p, sizeof(h));
			if (!data && !left(&p->window) && !left(&p->unpacked))
				return NULL;
			damage = !data || perf_head_of(data).size < sizeof(h);
			data = damage ? NULL
				      : take(&p->window, file_bytes(p, perf_head_of(data).size));
		}
		if (!data)
			break;
		h = perf_head_of(data);
		if (h.type < PERF_USER_ATTR || h.type == PERF_USER_FINISHED_ROUND)
			return data;
		damage = !own_record(p, data, &h);
	}
	perf_damaged(p, "the file ends within a record, or what is there is none");
	return NULL;
}

void perf_records_release(struct perf_data *p)
{
	ZSTD_freeDCtx(p->unpacker);
	free(p->window.data);
	free(p->packed.data);
	free(p->unpacked.data);
}
