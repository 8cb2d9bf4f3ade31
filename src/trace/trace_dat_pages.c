/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace.dat holds of each CPU: pages, perhaps compressed. */
#include <zlib.h>
#include <zstd.h>

#include "trace/trace_dat_internal.h"

static bool inflate_all(const void *from, size_t from_len, void *to, size_t to_len)
{
	uLongf len = to_len;

	return uncompress(to, &len, from, from_len) == Z_OK && len == to_len;
}

bool trace_dat_unpack(const struct trace_dat *t, const void *from, size_t from_len, void *to,
		      size_t to_len)
{
	size_t n;

	if (t->codec == CODEC_ZLIB)
		return inflate_all(from, from_len, to, to_len);
	n = ZSTD_decompress(to, to_len, from, from_len);
	return !ZSTD_isError(n) && n == to_len;
}

/* Of one CPU. */
struct page_source {
	const struct trace_dat *file;
	struct cursor at; /* the CPU's data */
	u32 page_size, chunks;
	u8 *chunk; /* unpacked */
	size_t chunk_len, chunk_pos;
};

static const void *next_plain(struct page_stream *s, size_t *ret_len)
{
	struct page_source *p = s->arg;
	const size_t left = p->at.len - p->at.pos;

	*ret_len = MIN(left, (size_t)p->page_size);
	return *ret_len >= 16 ? cursor_bytes(&p->at, *ret_len) : NULL;
}

static bool next_chunk(struct page_source *p)
{
	u32 packed, unpacked;
	const void *from;

	if (!p->chunks)
		return false;
	p->chunks--;
	packed = cursor_u32(&p->at);
	unpacked = cursor_u32(&p->at);
	from = cursor_bytes(&p->at, packed);
	if (!from || unpacked > TRACE_DAT_UNPACKED_MAX)
		return false;
	p->chunk = xrealloc(p->chunk, MAX(unpacked, 1u));
	p->chunk_len = unpacked;
	p->chunk_pos = 0;
	return trace_dat_unpack(p->file, from, packed, p->chunk, unpacked);
}

static const void *next_packed(struct page_stream *s, size_t *ret_len)
{
	struct page_source *p = s->arg;
	const u8 *page;

	while (p->chunk_pos >= p->chunk_len)
		if (!next_chunk(p))
			return NULL;
	page = p->chunk + p->chunk_pos;
	*ret_len = MIN(p->chunk_len - p->chunk_pos, (size_t)p->page_size);
	p->chunk_pos += *ret_len;
	return page;
}

static void release_source(struct page_stream *s)
{
	struct page_source *p = s->arg;

	free(p->chunk);
	free(p);
}

int trace_dat_events(struct trace_dat *t, size_t buffer, struct page_merge *ret)
{
	const struct buffer *b = &t->buffers.items[buffer];

	page_merge_init(ret, &t->layout);
	for (size_t i = 0; i < b->cpus.len; i++) {
		const struct cpu_data *d = &b->cpus.items[i];
		struct page_source *p = xzalloc(sizeof(*p));
		struct page_stream s = {.cpu = d->cpu, .release = release_source, .arg = p};

		p->file = t;
		p->page_size = b->page_size ? b->page_size : t->layout.size;
		if (p->page_size < t->layout.data_offset)
			p->page_size = t->layout.size;
		/* The size of a compressed one does not count the number of its chunks, which
		 * stands first. */
		p->at = cursor_of(t->data + d->offset,
				  t->codec ? MIN(d->size + 4, t->len - d->offset) : d->size);
		if (t->codec)
			p->chunks = cursor_u32(&p->at);
		s.next = t->codec ? next_packed : next_plain;
		page_merge_add(ret, &s);
	}
	return 0;
}
