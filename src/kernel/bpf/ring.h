/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the records that programs send to a BPF ring buffer. Records are read in place; a record is
 * valid until the handler returns.
 */
#ifndef PANTRACE_KERNEL_BPF_RING_H
#define PANTRACE_KERNEL_BPF_RING_H

#include "base/base.h"

struct ring;

/*
 * Called for each record in order. next: the first bytes (8) of the record after this one if it is
 * already there (NULL otherwise), for actions that belong together. Returns false to stop (the
 * record counts as read).
 */
typedef bool (*ring_handler)(void *arg, const void *data, u32 size, const void *next,
			     u32 next_size);

/* size: bytes of a BPF_MAP_TYPE_RINGBUF map. Returns 0 or -errno. */
int ring_open(int map_fd, u32 size, struct ring **ret);
void ring_close(struct ring *r); /* NULL is fine */
int ring_fd(const struct ring *r); /* to wait on (EPOLLIN) */
/* More than a quarter of the buffer is waiting to be read. False without a ring. */
bool ring_is_filling(const struct ring *r);
/* Bytes for records. */
u64 ring_size(const struct ring *r);
/*
 * Bytes that were ever sent, and before the record that is being handled: whether one was sent
 * before a certain moment. 0 without a ring.
 */
u64 ring_produced(const struct ring *r);
u64 ring_position(const struct ring *r);
/* Hands out what is there. Returns the number of records. */
u64 ring_consume(struct ring *r, ring_handler handler, void *arg);

#endif
