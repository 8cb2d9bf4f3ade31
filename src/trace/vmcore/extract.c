/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/extract.h"

#include "trace/vmcore/rings.h"
#include "trace/vmcore/state.h"

struct extracting {
	struct dead_kernel *kernel;
	struct diag *diag;
	const char *dump;
	struct dead_buffers buffers; /* those that are written */
	struct hashmap seen; /* pages */
	struct dat_contents contents;
	char *uname, *version;
	VECTOR(struct dat_instance) instances;
	VECTOR(u32) cpus;
	u32 page_size; /* the largest */
	struct dat_writer *writer;
	u8 *chunk; /* pages of one CPU that are written together */
};

/* ---- what is written ---- */

static bool has_events(const struct dead_buffer *b)
{
	for (size_t i = 0; i < b->rings.len; i++)
		if (b->rings.items[i].entries)
			return true;
	return false;
}

/* The kernel's own buffer is always in the file, even empty, as in any trace.dat. */
static bool is_wanted(const struct dead_buffer *b, const char *instance)
{
	return instance ? str_eq(b->name, instance) : !*b->name || has_events(b);
}

static int refuse_none(const struct extracting *x, const char *instance)
{
	diag_error(x->diag, NO_SPAN,
		   instance ? "%s: has no trace buffer '%s'"
			    : "%s: its trace buffers hold no events",
		   x->dump, instance);
	if (!instance)
		return -ENODATA;
	diag_hint(x->diag, "without -B all buffers are read");
	return -ENOENT;
}

static int choose(struct extracting *x, const char *instance)
{
	struct dead_buffers all;
	bool any = false;
	int err = dead_buffers_find(x->kernel, &all);

	for (size_t i = 0; i < all.all.len; i++) {
		struct dead_buffer *const b = &all.all.items[i];

		if (err || !is_wanted(b, instance))
			continue;
		any |= instance || has_events(b);
		vector_push(&x->buffers.all, *b);
		*b = (struct dead_buffer){0};
	}
	dead_buffers_release(&all);
	return err || any ? err : refuse_none(x, instance);
}

/* A single buffer has no name in the file, as when an instance is recorded. */
static void lay_out(struct extracting *x)
{
	for (size_t i = 0; i < x->buffers.all.len; i++) {
		const struct dead_buffer *const b = &x->buffers.all.items[i];

		vector_push(&x->instances,
			    (struct dat_instance){x->buffers.all.len > 1 ? b->name : "", b->clock,
						  b->layout.size, (u32)b->rings.len});
		x->page_size = MAX(x->page_size, b->layout.size);
		for (size_t r = 0; r < b->rings.len; r++)
			vector_push(&x->cpus, b->rings.items[r].cpu);
	}
}

static int open_writer(struct extracting *x, const char *output)
{
	const struct dat_writer_options o = {
		.version = 7,
		.compress = true,
		.page_size = x->page_size,
		.cpus = x->cpus.items,
		.cpu_count = (u32)x->cpus.len,
		.instances = x->instances.items,
		.instance_count = (u32)x->instances.len,
	};
	const int err = dat_writer_open(output, &o, x->diag, &x->writer);

	return err ? err : dat_writer_begin(x->writer, &x->contents);
}

/* ---- pages ---- */

struct writing {
	struct extracting *x;
	const struct page_layout *layout;
	u32 place; /* of the CPU among all */
	u32 pages; /* in the chunk */
	u64 events;
};

static int flush(struct writing *w)
{
	const size_t n = (size_t)w->pages * w->layout->size;

	w->pages = 0;
	return n ? dat_writer_add(w->x->writer, w->place, w->x->chunk, n) : 0;
}

static int add_page(void *arg, const void *data)
{
	struct writing *const w = arg;
	struct page_event e;
	struct page p;

	if (!page_begin(&p, w->layout, data, w->layout->size))
		while (page_next(&p, &e))
			w->events++;
	memcpy(w->x->chunk + (size_t)w->pages * w->layout->size, data, w->layout->size);
	return ++w->pages == DAT_CHUNK_PAGES ? flush(w) : 0;
}

/* Nothing says how many events an unreadable page had, but the kernel has counted all events. */
static u64 unreadable(const struct dead_ring *r, u64 kept, bool is_whole)
{
	return is_whole ? 0 : r->entries > kept ? r->entries - kept : 1;
}

static int write_ring(struct extracting *x, const struct dead_buffer *b, const struct dead_ring *r,
		      u32 place, struct vmcore_extracted *ret)
{
	struct writing w = {x, &b->layout, .place = place};
	bool is_whole;
	int err = dead_ring_each_page(x->kernel, b, r, &x->seen, add_page, &w, &is_whole);
	struct vmcore_counts c = {arena_strdup(&ret->arena, b->name), r->cpu, .kept = 0};

	if (!err)
		err = flush(&w);
	if (err) {
		diag_error(x->diag, NO_SPAN, "cannot write the events of CPU %u: %s", r->cpu,
			   strerror(-err));
		return err;
	}
	c.kept = w.events;
	c.overwritten = r->overwritten;
	c.dropped = r->dropped;
	c.unreadable = unreadable(r, w.events, is_whole);
	ret->kept += c.kept;
	ret->unreadable += c.unreadable;
	vector_push(&ret->all, c);
	return 0;
}

static int write_pages(struct extracting *x, struct vmcore_extracted *ret)
{
	u32 place = 0;
	int err = 0;

	x->chunk = xmalloc((size_t)x->page_size * DAT_CHUNK_PAGES);
	for (size_t i = 0; i < x->buffers.all.len; i++) {
		const struct dead_buffer *const b = &x->buffers.all.items[i];

		for (size_t r = 0; r < b->rings.len && !err; r++)
			err = write_ring(x, b, &b->rings.items[r], place++, ret);
	}
	return err;
}

/* ---- all ---- */

static int read_contents(struct extracting *x)
{
	dat_contents_usual_headers(&x->contents, x->page_size);
	x->contents.clock = x->instances.items[0].clock;
	dead_state_read(x->kernel, &x->contents, &x->uname);
	x->contents.version = x->version =
		dead_clocks_say(x->kernel, x->instances.items, x->instances.len);
	return dead_formats_read(x->kernel, &x->contents);
}

static void release(struct extracting *x)
{
	dat_writer_abandon(x->writer);
	dat_contents_release(&x->contents);
	dead_buffers_release(&x->buffers);
	hashmap_release(&x->seen);
	dead_kernel_close(x->kernel);
	vector_free(&x->instances);
	vector_free(&x->cpus);
	free(x->uname);
	free(x->version);
	free(x->chunk);
}

int vmcore_extract(const char *dump, const char *instance, const char *output, struct diag *d,
		   struct vmcore_extracted *ret)
{
	struct extracting x = {.diag = d, .dump = dump};
	int err = dead_kernel_open(dump, d, &x.kernel);

	*ret = (struct vmcore_extracted){0};
	dat_contents_init(&x.contents);
	if (!err)
		err = choose(&x, instance);
	if (!err) {
		lay_out(&x);
		err = read_contents(&x);
	}
	if (!err)
		err = open_writer(&x, output);
	if (!err)
		err = write_pages(&x, ret);
	if (!err) {
		dat_writer_finish(x.writer, &x.contents, &ret->bytes);
		x.writer = NULL;
	}
	release(&x);
	return err;
}

void vmcore_extracted_release(struct vmcore_extracted *e)
{
	vector_free(&e->all);
	arena_release(&e->arena);
}
