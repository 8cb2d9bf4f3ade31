/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/pack.h"

#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "base/recording_file.h"
#include "trace/dat/head.h"

#define COPY_BYTES ((size_t)64 << 10)
#define ALIGN_MOST ((u32)1 << 20)

struct packing {
	int from; /* the caller's, as that of the new file */
	struct recording_file to;
	u64 at;
	u8 *some; /* of what is copied */
};

struct dat_pack_plan *dat_pack_plan_new(u32 count)
{
	struct dat_pack_plan *p = xzalloc(dat_pack_plan_size(count));

	p->count = count;
	return p;
}

int dat_pack_check(const struct dat_pack_plan *p, size_t n, u64 written)
{
	u64 left = written;

	if (n < sizeof(*p) || p->count > DAT_RANGES_MOST || n != dat_pack_plan_size(p->count))
		return -EBADMSG;
	if (!p->align || p->align > ALIGN_MOST || (p->align & (p->align - 1)))
		return -EBADMSG;
	if (p->head_size > DAT_PACK_HEAD_MOST || p->head_size > left ||
	    (p->buffer &&
	     (p->head_size < DAT_SECTION_HEAD || p->buffer > p->head_size - DAT_SECTION_HEAD)))
		return -EBADMSG;
	left -= p->head_size;
	for (u32 i = 0; i < p->count; i++) {
		const struct dat_pack_range *const r = &p->ranges[i];

		if (r->size > left || r->begin > INT64_MAX - r->size || p->head_size < 16 ||
		    r->slot > p->head_size - 16)
			return -EBADMSG;
		left -= r->size;
	}
	return p->head_at > INT64_MAX - p->head_size ? -EBADMSG : 0;
}

/* ---- copying ---- */

/* So much from there, behind what is there. */
static int copy(struct packing *p, u64 begin, u64 size)
{
	int err = 0;

	for (u64 done = 0; done < size && !err;) {
		off_t in = (off_t)(begin + done), out = (off_t)p->at;
		ssize_t n = copy_file_range(p->from, &in, p->to.fd, &out, size - done, 0);

		if (n <= 0) { /* not everywhere */
			n = (ssize_t)MIN(size - done, (u64)COPY_BYTES);
			err = read_all_at(p->from, p->some, (size_t)n, begin + done);
			if (!err)
				err = recording_file_write(&p->to, p->some, (size_t)n, p->at);
		}
		done += (u64)n;
		p->at += (u64)n;
	}
	return err;
}

static int copy_range(struct packing *p, const struct dat_pack_range *r)
{
	const u64 slot[2] = {p->at, r->used};
	const int err = copy(p, r->begin, r->size);

	return err ?: recording_file_write(&p->to, slot, sizeof(slot), r->slot);
}

static int pack(struct packing *p, const void *head, const struct dat_pack_plan *plan)
{
	u64 size;
	int err = head ? recording_file_write(&p->to, head, plan->head_size, 0)
		       : copy(p, plan->head_at, plan->head_size);

	p->at = ALIGN_UP(plan->head_size, (u64)plan->align);
	for (u32 i = 0; i < plan->count && !err; i++)
		err = copy_range(p, &plan->ranges[i]);
	size = p->at - plan->buffer - DAT_SECTION_HEAD;
	if (!err && plan->buffer)
		err = recording_file_write(&p->to, &size, sizeof(size),
					   plan->buffer + DAT_SECTION_HEAD - sizeof(size));
	/* without a page, its end is not written yet */
	return err ?: ftruncate(p->to.fd, (off_t)p->at) ? -errno : 0;
}

int dat_pack_into(int from, int to, const void *head, const struct dat_pack_plan *plan,
		  u64 *ret_size)
{
	struct packing p = {.from = from, .to = {.fd = to}, .some = xmalloc(COPY_BYTES)};
	const int err = pack(&p, head, plan);

	*ret_size = err ? 0 : p.at;
	free(p.some);
	return err;
}

int dat_pack(int from, int directory, const char *name, const void *head,
	     const struct dat_pack_plan *plan, u64 *ret_size)
{
	struct new_file f;
	int err = new_file_open_at(&f, directory, name, 0600);

	*ret_size = 0;
	if (!err)
		err = dat_pack_into(from, f.fd, head, plan, ret_size);
	if (!err)
		err = new_file_keep(&f);
	new_file_drop(&f);
	return err;
}
