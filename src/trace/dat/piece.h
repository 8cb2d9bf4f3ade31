/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace.dat of events that others have: of another trace.dat, or of pages that a recorder left.
 *
 *	piece_open(&options, contents, d, &p);
 *	while (page_merge_next(&m, &e)) piece_add(p, &e);
 *	piece_finish(p, &bytes);
 *
 * A file that is there when it is whole: options.is_unnamed; ... piece_write(p, fd);
 * piece_abandon(p)
 */
#ifndef PANTRACE_TRACE_DAT_PIECE_H
#define PANTRACE_TRACE_DAT_PIECE_H

#include "trace/dat/writer.h"
#include "trace/ring/raw_buffer.h"

struct piece;

struct piece_options {
	const char *path;
	u32 version;
	bool compress;
	struct page_layout layout;
	const u32 *cpus; /* rising */
	u32 cpu_count;
	/* for piece_write(): until then it lies in this directory; path is for errors */
	bool is_unnamed;
	int directory;
};

/* contents outlives it. 0 or -errno with a diagnostic. */
int piece_open(const struct piece_options *o, const struct dat_contents *contents, struct diag *d,
	       struct piece **ret);
/* Events of a CPU come in their order. 0 or -errno with a diagnostic: the disk is full. */
int piece_add(struct piece *p, const struct raw_event *e);
/* 0 or -errno with a diagnostic. Frees p. */
int piece_finish(struct piece *p, u64 *ret_bytes);
/*
 * Writes all of it to an empty file, of the CPUs that had events; contents may have changed since
 * it was opened. 0 or -errno with a diagnostic. p stays.
 */
int piece_write(struct piece *p, int fd);
/* Removes the file, if it has a name. Frees p. NULL is fine. */
void piece_abandon(struct piece *p);

#endif
