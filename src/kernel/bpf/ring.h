/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the records that programs send: from one BPF ring buffer, or from one perf buffer per CPU
 * before Linux 5.8. Records are read in place; a record is valid until the handler returns.
 */
#ifndef PANTRACE_KERNEL_BPF_RING_H
#define PANTRACE_KERNEL_BPF_RING_H

#include "base/vector.h"

struct ring;

/*
 * Called for each record in order. next: the first bytes (8) of the record after this one if it is
 * already there (NULL otherwise), for actions that belong together. Returns false to stop (the
 * record counts as read).
 */
typedef bool (*ring_handler)(void *arg, const void *data, u32 size, const void *next,
			     u32 next_size);

/* size: bytes of a BPF_MAP_TYPE_RINGBUF map. Returns 0 or -errno. */
int ring_open_buffer(int map_fd, u32 size, struct ring **ret);
/* A BPF_MAP_TYPE_PERF_EVENT_ARRAY map: one buffer of `pages` (a power of two) per online CPU. */
int ring_open_perf(int map_fd, const u32 *cpus, u32 ncpus, u32 pages, struct ring **ret);
void ring_close(struct ring *r); /* NULL is fine */
/* Descriptors to wait on (EPOLLIN). Returns how many. */
u32 ring_fds(const struct ring *r, const int **ret);
/*
 * More than a quarter of the buffer is waiting to be read (the ring buffer; perf buffers: never).
 */
bool ring_is_filling(const struct ring *r);
/* Bytes for records; 0 of perf buffers. */
u64 ring_size(const struct ring *r);
/*
 * Bytes that were ever sent, and before the record that is being handled: whether one was sent
 * before a certain moment. Perf buffers: 0.
 */
u64 ring_produced(const struct ring *r);
u64 ring_position(const struct ring *r);
/* Hands out what is there. Returns the number of records. */
u64 ring_consume(struct ring *r, ring_handler handler, void *arg);
/*
 * Records that the kernel could not store (perf buffers; the ring buffer's are counted by the
 * programs).
 */
u64 ring_lost(const struct ring *r);

#endif
