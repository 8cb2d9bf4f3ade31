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
	u64 begin, all_end; /* of the CPU's pages or chunks */
	u64 at, end; /* of those that are to be read */
	u32 page_size, all_chunks, chunks;
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

/* Goes on behind the sizes of the next chunk, packed and unpacked. */
static bool next_sizes(struct page_source *p, u32 sizes[2])
{
	const size_t head = 2 * sizeof(*sizes);

	if (!p->chunks || p->end - p->at < head ||
	    !trace_dat_read_into(p->file, p->at, sizes, head))
		return false;
	p->chunks--;
	p->at += head;
	return sizes[0] <= p->end - p->at && sizes[0] <= TRACE_DAT_UNPACKED_MAX &&
	       sizes[1] <= TRACE_DAT_UNPACKED_MAX;
}

static bool next_chunk(struct page_source *p)
{
	u32 sizes[2];
	u8 *from;
	bool ok;

	if (!next_sizes(p, sizes))
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

/* ---- times ---- */

/* Where one can begin to read: each page, or each chunk. */
struct places {
	u64 count, first, each;
	VECTOR(u64) chunks;
};

static u64 place(const struct places *all, u64 i)
{
	return all->chunks.len ? all->chunks.items[i] : all->first + i * all->each;
}

static void start_again(struct page_source *p)
{
	p->at = p->begin;
	p->end = p->all_end;
	p->chunks = p->all_chunks;
	p->window_pos = p->window_len = 0;
}

static void find_places(struct page_source *p, struct places *ret)
{
	u32 sizes[2];

	*ret = (struct places){.first = p->begin, .each = p->page_size};
	if (!p->file->codec) {
		ret->count = (p->end - p->begin) / p->page_size;
		return;
	}
	for (u64 at = p->at; next_sizes(p, sizes); at = p->at += sizes[0])
		vector_push(&ret->chunks, at);
	ret->count = ret->chunks.len;
}

/* Of the first event there. */
static bool time_at(struct page_source *p, u64 at, u64 *ret)
{
	if (!p->file->codec)
		return trace_dat_read_into(p->file, at, ret, sizeof(*ret));
	p->at = at;
	p->end = p->all_end;
	p->chunks = 1;
	if (!next_chunk(p) || p->window_len < sizeof(*ret))
		return false;
	*ret = page_time(p->window);
	return true;
}

/* The number of the places before this time. */
static bool count_before(struct page_source *p, const struct places *all, u64 time, u64 *ret)
{
	u64 low = 0, high = all->count;

	while (low < high) {
		const u64 middle = low + (high - low) / 2;
		u64 its;

		if (!time_at(p, place(all, middle), &its))
			return false;
		if (its < time)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low;
	return true;
}

/* From the last place before begin on, up to the first one behind end. */
static void narrow(struct page_stream *s, u64 begin, u64 end)
{
	struct page_source *const p = s->arg;
	struct places all;
	u64 from, to;
	bool ok;

	start_again(p);
	find_places(p, &all);
	to = all.count;
	ok = count_before(p, &all, begin, &from) &&
	     (end == UINT64_MAX || count_before(p, &all, end + 1, &to));
	start_again(p);
	if (ok && all.count) {
		from -= from > 0;
		p->at = place(&all, from);
		p->end = to < all.count ? place(&all, to) : p->end;
		p->chunks = (u32)(MAX(to, from) - from);
	}
	vector_free(&all.chunks);
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
		struct page_stream s = {.cpu = d->cpu,
					.next = next_page,
					.narrow = narrow,
					.release = release_source,
					.arg = p};

		p->file = t;
		p->page_size = trace_dat_layout(t, buffer).size;
		/* The size of a compressed one does not count the number of its chunks, which
		 * stands first. */
		p->begin = d->offset;
		p->all_end =
			d->offset + (t->codec ? MIN(d->size + 4, t->len - d->offset) : d->size);
		if (t->codec && p->all_end - p->begin >= sizeof(p->all_chunks)) {
			if (!trace_dat_read_into(t, p->begin, &p->all_chunks,
						 sizeof(p->all_chunks)))
				p->all_chunks = 0;
			p->begin += sizeof(p->all_chunks);
		}
		start_again(p);
		page_merge_add(ret, &s);
	}
	return 0;
}
