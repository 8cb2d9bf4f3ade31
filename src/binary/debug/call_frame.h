/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information (.eh_frame, .debug_frame): its entries are run, and become rows. Shared by
 * the files of this folder only.
 */
#ifndef PANTRACE_BINARY_DEBUG_CALL_FRAME_H
#define PANTRACE_BINARY_DEBUG_CALL_FRAME_H

#include "base/cursor.h"
#include "binary/debug/range_table.h"
#include "binary/debug/unwind.h"

/* What several entries have in common. */
struct cie {
	u64 offset; /* in the section: of which one this is */
	bool is_known, is_signal, has_augmentation;
	u64 code_factor;
	s64 data_factor;
	u8 encoding;
	struct cursor instructions;
};

/* A section; zeros, but for what is wanted of it. */
struct call_frames {
	struct unwind_rows *rows;
	const u8 *data; /* in the file's memory; NULL: it is not there */
	u64 len, address;
	u64 start, end, bias; /* what is wanted: addresses, and what is added to those of rows */
	bool is_debug_frame; /* else .eh_frame */
	/* Only the entry that covers `start`, from its beginning on, and of rows only the CFA. */
	bool only_cfa;
	/* UNWIND_REGISTERS: where the caller's are at `start`; NULL = not wanted */
	struct unwind_saved *saved;
	struct cie cie;
	/* call_frames_sort(): */
	struct range_table ranges;
	VECTOR(struct cursor) entries;
};

/* The section of that name, not compressed. 0 or -ENODATA. */
int call_frames_open(struct call_frames *r, struct elf_file *f, const char *name);
/* Adds the rows of all entries. 0 or -EBADMSG: they end in nonsense. */
int call_frames_read(struct call_frames *r);
/* Notes which entry is where, for questions about one address. */
void call_frames_sort(struct call_frames *r);
/* Adds the rows of the entry that covers an address. */
void call_frames_read_at(struct call_frames *r, u64 address);
void call_frames_release(struct call_frames *r);

#endif
