/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of trace_dat: its parts (trace_dat.c), the pages of its CPUs (trace/dat/pages.c). */
#ifndef PANTRACE_TRACE_DAT_INTERNAL_H
#define PANTRACE_TRACE_DAT_INTERNAL_H

#include "base/cursor.h"
#include "trace/dat/trace_dat.h"

/* A section or a chunk is unpacked into memory: more than this is not believed. */
#define TRACE_DAT_UNPACKED_MAX (1u << 29)

enum codec { CODEC_NONE, CODEC_ZLIB, CODEC_ZSTD };

struct cpu_data {
	u32 cpu;
	u64 offset, size;
};

struct buffer {
	struct trace_dat_buffer shown;
	u32 page_size;
	VECTOR(struct cpu_data) cpus;
};

struct trace_dat {
	int fd;
	u64 len;
	bool was_cut; /* the file was cut short while it was read: told once */
	const char *path;
	struct diag *diag;
	u32 version, page_size;
	enum codec codec;
	struct page_layout layout;
	struct arena arena;
	const char *uname, *clock;
	s64 date_ns, offset_ns; /* of the options DATE and OFFSET */
	bool has_date;
	VECTOR(struct buffer) buffers;
	struct event_table *events;
	struct task_names *tasks;
	struct ksyms *symbols;
	struct string_table *strings;
};

/*
 * A copy of n bytes of the file, malloc'ed: others may cut it short or write over it. NULL with a
 * diagnostic.
 */
u8 *trace_dat_read(struct trace_dat *t, u64 offset, u64 n);
/* n bytes into a buffer; false with a diagnostic. */
bool trace_dat_read_into(struct trace_dat *t, u64 offset, void *to, u64 n);
/* Exactly to_len bytes, or false. */
bool trace_dat_unpack(const struct trace_dat *t, const void *from, size_t from_len, void *to,
		      size_t to_len);

#endif
