/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace.dat holds of each CPU: pages, perhaps compressed. */
#include <zlib.h>
#include <zstd.h>

#include "trace/dat/internal.h"

#define WINDOW_PAGES 16
#define MIN_PAGE     16

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

/*
 * Of one CPU. What it reads is copied: the window holds some pages, or a chunk that is still
 * packed.
 */
struct page_source {
	struct trace_dat *file;
	u64 at, end; /* of the CPU's data that was not read yet */
	u32 page_size, chunks;
	u8 *window; /* pages */
	size_t window_len, window_pos, window_room;
};

static u8 *window_of(struct page_source *p, size_t n)
{
	if (n > p->window_room) {
		p->window_room = n;
		p->window = xrealloc(p->window, n);
	}
	p->window_pos = p->window_len = 0;
	return p->window;
}

static bool next_pages(struct page_source *p)
{
	const u64 n = MIN(p->end - p->at, (u64)p->page_size * WINDOW_PAGES);

	if (n < MIN_PAGE || !trace_dat_read_into(p->file, p->at, window_of(p, n), n))
		return false;
	p->at += n;
	p->window_len = n;
	return true;
}

static bool next_chunk(struct page_source *p)
{
	u32 sizes[2]; /* packed, unpacked */
	u8 *from;
	bool ok;

	if (!p->chunks || p->end - p->at < sizeof(sizes) ||
	    !trace_dat_read_into(p->file, p->at, sizes, sizeof(sizes)))
		return false;
	p->chunks--;
	p->at += sizeof(sizes);
	if (sizes[0] > p->end - p->at || sizes[0] > TRACE_DAT_UNPACKED_MAX ||
	    sizes[1] > TRACE_DAT_UNPACKED_MAX)
		return false;
	from = trace_dat_read(p->file, p->at, sizes[0]);
	p->at += sizes[0];
	ok = from &&
	     trace_dat_unpack(p->file, from, sizes[0], window_of(p, MAX(sizes[1], 1u)), sizes[1]);
	free(from);
	p->window_len = ok ? sizes[1] : 0;
	return ok;
}

static const void *next_page(struct page_stream *s, size_t *ret_len)
{
	struct page_source *p = s->arg;
	const u8 *page;

	/* what is left may be too little for a page */
	while (p->window_pos + (p->file->codec ? 1 : MIN_PAGE) > p->window_len)
		if (!(p->file->codec ? next_chunk(p) : next_pages(p)))
			return NULL;
	page = p->window + p->window_pos;
	*ret_len = MIN(p->window_len - p->window_pos, (size_t)p->page_size);
	p->window_pos += *ret_len;
	return page;
}

static void release_source(struct page_stream *s)
{
	struct page_source *p = s->arg;

	free(p->window);
	free(p);
}

int trace_dat_events(struct trace_dat *t, size_t buffer, struct page_merge *ret)
{
	const struct buffer *b = &t->buffers.items[buffer];

	page_merge_init(ret, &t->layout);
	for (size_t i = 0; i < b->cpus.len; i++) {
		const struct cpu_data *d = &b->cpus.items[i];
		struct page_source *p = xzalloc(sizeof(*p));
		struct page_stream s = {
			.cpu = d->cpu, .next = next_page, .release = release_source, .arg = p};

		p->file = t;
		p->page_size = trace_dat_layout(t, buffer).size;
		/* The size of a compressed one does not count the number of its chunks, which
		 * stands first. */
		p->at = d->offset;
		p->end = d->offset + (t->codec ? MIN(d->size + 4, t->len - d->offset) : d->size);
		if (t->codec && p->end - p->at >= sizeof(p->chunks)) {
			if (!trace_dat_read_into(t, p->at, &p->chunks, sizeof(p->chunks)))
				p->chunks = 0;
			p->at += sizeof(p->chunks);
		}
		page_merge_add(ret, &s);
	}
	return 0;
}
