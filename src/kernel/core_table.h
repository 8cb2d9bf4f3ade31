/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in the kernel's memory, of which no more is read than is looked at: what is read is copied twice by the kernel, and
 * the memory for it has to be cleared first. Piece by piece where places are looked up, through a window where all of it passes
 * once.
 */
#ifndef PANTRACE_KERNEL_CORE_TABLE_H
#define PANTRACE_KERNEL_CORE_TABLE_H

#include "kernel/kcore.h"

/* What was read stays. */
struct core_table {
	const struct kcore *core;
	u64 address;
	size_t len;
	u8 *bytes; /* memory that is not there before it is written to */
	u64 *present; /* a bit for each KB */
};

/* False: no memory, or too long. The core file stays open as long as the table is used; core_table_close() in any case. */
bool core_table_open(struct core_table *t, const struct kcore *core, u64 address, size_t len);
void core_table_close(struct core_table *t);
/* LEN bytes at AT; NULL: behind the end, or they cannot be read. They stay where they are. */
const u8 *core_table_at(struct core_table *t, size_t at, size_t len);

struct core_window {
	const struct kcore *core;
	u64 address;
	size_t len, size; /* of the table, of the window */
	size_t from, have;
	u8 *bytes;
	bool is_slot; /* of core->copy */
};

/* On the LEN bytes at ADDRESS. */
void core_window_open(struct core_window *w, const struct kcore *core, u64 address, size_t len, size_t size);
void core_window_close(struct core_window *w);
const u8 *core_window_move(struct core_window *w, size_t at);

/* The bytes from AT on: LEN of them or as many as there are, *ret_len; valid until the next call. LEN is at most the window's. */
static inline const u8 *core_window_at(struct core_window *w, size_t at, size_t len,
				       size_t *ret_len)
{
	const size_t end = w->from + w->have;
	const u8 *bytes;

	if (at >= w->from && at <= end && (len <= end - at || end == w->len)) {
		*ret_len = MIN(len, end - at);
		return w->bytes + (at - w->from);
	}
	bytes = core_window_move(w, at);
	*ret_len = MIN(w->have, len);
	return bytes;
}

#endif
