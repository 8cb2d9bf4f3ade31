/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the holes out of a trace.dat: copies each CPU's range behind a new head, into a file that
 * then takes the place of the first. The plan may come from another machine: it is checked against
 * the head and against how much was written.
 */
#ifndef PANTRACE_TRACE_DAT_PACK_H
#define PANTRACE_TRACE_DAT_PACK_H

#include "base/base.h"

#define DAT_RANGES_MOST	   4096
#define DAT_PACK_HEAD_MOST ((u64)256 << 20)

struct dat_pack_range {
	u64 begin, size; /* of a CPU's bytes in the file with holes */
	u64 used; /* what its slot says of them */
	u64 slot; /* where the head has {u64 offset, used} */
};

struct dat_pack_plan {
	u64 head_at, head_size; /* at: in the file with holes, if the head was written there */
	u64 buffer; /* where the section with the pages begins; 0 = version 6, which has none */
	u32 align; /* of the first range */
	u32 count;
	struct dat_pack_range ranges[];
};

struct dat_pack_plan *dat_pack_plan_new(u32 count);
static inline size_t dat_pack_plan_size(u32 count)
{
	return sizeof(struct dat_pack_plan) + count * sizeof(struct dat_pack_range);
}
/* Of a plan of n bytes; written: bytes that the file was given. 0 or -EBADMSG. */
int dat_pack_check(const struct dat_pack_plan *p, size_t n, u64 written);
/*
 * from: the file with holes, whose name in the directory is NAME; head: head_size bytes, NULL: it
 * is in the file. 0 or -errno: then the file stays as it was. *ret_size: of the new one.
 */
int dat_pack(int from, int directory, const char *name, const void *head,
	     const struct dat_pack_plan *p, u64 *ret_size);
/* The same into an open file, which is empty. */
int dat_pack_into(int from, int to, const void *head, const struct dat_pack_plan *p, u64 *ret_size);

#endif
