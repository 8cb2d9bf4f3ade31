/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core_table.h"

#include <sys/mman.h>

#define PIECE	 ((size_t)1024) /* less than one of memory: to copy takes longer than to ask */
#define MAX_SIZE ((size_t)256 << 20)

bool core_table_open(struct core_table *t, const struct kcore *core, u64 address, size_t len)
{
	void *bytes;

	*t = (struct core_table){.core = core, .address = address, .len = len};
	if (!address || !len || len > MAX_SIZE)
		return false;
	bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		     -1, 0);
	if (bytes == MAP_FAILED)
		return false;
	madvise(bytes, len, MADV_NOHUGEPAGE); /* 2 MB to be cleared for 4 KB */
	t->bytes = bytes;
	t->present = xzalloc((len / PIECE / 64 + 1) * sizeof(*t->present));
	return true;
}

void core_table_close(struct core_table *t)
{
	if (t->bytes)
		munmap(t->bytes, t->len);
	free(t->present);
	*t = (struct core_table){.core = NULL};
}

static bool is_present(const struct core_table *t, size_t piece)
{
	return t->present[piece / 64] >> (piece % 64) & 1;
}

const u8 *core_table_at(struct core_table *t, size_t at, size_t len)
{
	size_t piece = at / PIECE, end;

	if (at > t->len || len > t->len - at)
		return NULL;
	for (; piece * PIECE < at + len; piece = end) {
		size_t from = piece * PIECE;

		end = piece + 1;
		if (is_present(t, piece))
			continue;
		while (end * PIECE < at + len && !is_present(t, end))
			end++;
		if (!kcore_read_all(t->core, t->address + from, t->bytes + from,
				    MIN(end * PIECE, t->len) - from))
			return NULL;
		for (; piece < end; piece++)
			t->present[piece / 64] |= 1ull << (piece % 64);
	}
	return t->bytes + at;
}

void core_window_open(struct core_window *w, const struct kcore *core, u64 address, size_t len,
		      size_t size)
{
	*w = (struct core_window){.core = core, .address = address, .len = len, .size = size};
	if (core->copy && size <= CORE_SLOT)
		w->bytes = core_copy_take(core->copy);
	w->is_slot = w->bytes;
	if (!w->is_slot)
		w->bytes = xmalloc(size);
}

void core_window_close(struct core_window *w)
{
	if (w->is_slot)
		core_copy_give(w->core->copy, w->bytes);
	else
		free(w->bytes);
	*w = (struct core_window){.core = NULL};
}

static bool fill(struct core_window *w)
{
	const u64 address = w->address + w->from;

	return (w->is_slot && core_copy_fill(w->core->copy, w->bytes, address, w->have)) ||
	       kcore_read_all(w->core, address, w->bytes, w->have);
}

/* Begins at AT and has as much as there is room for. */
const u8 *core_window_move(struct core_window *w, size_t at)
{
	w->from = at;
	w->have = at < w->len ? MIN(w->size, w->len - at) : 0;
	if (w->have && !fill(w))
		w->have = 0;
	return w->bytes;
}
