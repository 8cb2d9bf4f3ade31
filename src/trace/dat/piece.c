/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/piece.h"

#include "trace/ring/page_builder.h"

#define CPUS_MOST 65536u

struct piece_cpu {
	struct page_builder builder; /* of the last page */
	u8 *chunk; /* full pages that are not written yet */
	size_t used;
};

struct piece {
	char *path;
	struct diag *diag;
	const struct dat_contents *contents;
	struct dat_writer *writer;
	struct piece_cpu *each; /* of each CPU */
	u32 *cpus, cpu_count;
	u32 last; /* index of the CPU of the last event */
};

static void release(struct piece *p)
{
	for (u32 i = 0; i < p->cpu_count; i++) {
		page_builder_release(&p->each[i].builder);
		free(p->each[i].chunk);
	}
	free(p->each);
	free(p->cpus);
	free(p->path);
	free(p);
}

/* They may come from a damaged file. */
static bool are_rising(const u32 *cpus, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (cpus[i] >= CPUS_MOST || (i && cpus[i] <= cpus[i - 1]))
			return false;
	return count != 0;
}

int piece_open(const struct piece_options *o, const struct dat_contents *contents, struct diag *d,
	       struct piece **ret)
{
	const struct dat_writer_options w = {.version = o->version,
					     .compress = o->compress,
					     .page_size = o->layout.size,
					     .cpus = o->cpus,
					     .cpu_count = o->cpu_count,
					     .directory = o->directory,
					     .is_unnamed = o->is_unnamed};
	struct piece *p;
	int err;

	if (!are_rising(o->cpus, o->cpu_count)) {
		diag_error(d, NO_SPAN,
			   "damaged: the CPUs that the recording lists are in no order");
		return -EINVAL;
	}
	p = xzalloc(sizeof(*p));
	p->path = xstrdup(o->path);
	p->diag = d;
	p->contents = contents;
	p->cpus = xreallocarray(NULL, o->cpu_count, sizeof(*p->cpus));
	memcpy(p->cpus, o->cpus, o->cpu_count * sizeof(*p->cpus));
	p->cpu_count = o->cpu_count;
	p->each = xzalloc(o->cpu_count * sizeof(*p->each));
	for (u32 i = 0; i < o->cpu_count; i++)
		page_builder_init(&p->each[i].builder, &o->layout);
	err = dat_writer_open(o->path, &w, d, &p->writer);
	if (!err)
		err = dat_writer_begin(p->writer, contents);
	if (err) {
		piece_abandon(p);
		return err;
	}
	*ret = p;
	return 0;
}

static int write_chunk(struct piece *p, u32 i)
{
	struct piece_cpu *const cpu = &p->each[i];
	const int err = cpu->used ? dat_writer_add(p->writer, i, cpu->chunk, cpu->used) : 0;

	cpu->used = 0;
	if (err)
		diag_error(p->diag, NO_SPAN, "cannot write '%s': %s", p->path, strerror(-err));
	return err;
}

static int end_page(struct piece *p, u32 i)
{
	struct piece_cpu *const cpu = &p->each[i];
	const size_t size = cpu->builder.layout.size, room = size * DAT_CHUNK_PAGES;

	if (!cpu->chunk)
		cpu->chunk = xmalloc(room);
	memcpy(cpu->chunk + cpu->used, page_builder_finish(&cpu->builder), size);
	cpu->used += size;
	return cpu->used == room ? write_chunk(p, i) : 0;
}

int piece_add(struct piece *p, const struct raw_event *e)
{
	u32 i = p->last;
	int err = 0;

	while (p->cpus[i] != e->cpu) {
		i = (i + 1) % p->cpu_count;
		if (i == p->last)
			return 0; /* of no CPU that the file has */
	}
	p->last = i;
	while (!err && !page_builder_add(&p->each[i].builder, &e->event, e->lost))
		err = end_page(p, i);
	return err;
}

static int end_pages(struct piece *p)
{
	int err = 0;

	for (u32 i = 0; i < p->cpu_count && !err; i++) {
		if (!page_builder_is_empty(&p->each[i].builder))
			err = end_page(p, i);
		if (!err)
			err = write_chunk(p, i);
	}
	return err;
}

int piece_write(struct piece *p, int fd)
{
	u64 bytes;
	int err = end_pages(p);

	if (err)
		return err;
	dat_writer_drop_empty(p->writer);
	err = dat_writer_pack(p->writer, p->contents, fd, &bytes);
	if (err)
		diag_error(p->diag, NO_SPAN, "cannot write '%s': %s", p->path, strerror(-err));
	return err;
}

int piece_finish(struct piece *p, u64 *ret_bytes)
{
	int err = end_pages(p);

	*ret_bytes = 0;
	if (err) {
		piece_abandon(p);
		return err;
	}
	dat_writer_finish(p->writer, p->contents, ret_bytes);
	release(p);
	return 0;
}

void piece_abandon(struct piece *p)
{
	if (!p)
		return;
	dat_writer_discard(p->writer);
	release(p);
}
