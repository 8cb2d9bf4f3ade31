/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of perf_data: the file (file.c), its attrs and features (contents.c), its records. */
#ifndef PANTRACE_TRACE_PERF_INTERNAL_H
#define PANTRACE_TRACE_PERF_INTERNAL_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "trace/perf/format.h"
#include "trace/perf/perf_data.h"

#define PERF_SECTION_MAX (1u << 28) /* bytes of a feature that are believed */
#define PERF_KINDS_MAX	 65536

struct perf_id {
	u64 id;
	u32 kind;
};

/* A record that waits for its turn. */
struct perf_pending {
	u64 time; /* 0: it has none, and goes before all that wait */
	size_t at; /* in held */
	u32 kind;
};

struct bytes {
	u8 *data;
	size_t len, cap, pos; /* pos: read so far */
};

struct perf_head {
	u32 type;
	u16 misc, size;
};

static inline struct perf_head perf_head_of(const u8 *data)
{
	struct perf_head h;

	memcpy(&h, data, sizeof(h));
	return h;
}

/* Records that are held back until nothing older can come. */
struct perf_order {
	struct bytes held; /* as they were read; `gone` bytes of it are needed no more */
	size_t gone;
	VECTOR(struct perf_pending) pending; /* in order up to `ready`; before `next` they went */
	VECTOR(struct perf_pending) spare; /* for sorting, as runs */
	VECTOR(size_t) runs;
	size_t next, ready;
	u64 round_last, round_bytes; /* the latest time of the round before; bytes of this one */
	u64 latest, given; /* times: of what was read, of what may go or went */
	u64 late; /* so many came after they should have gone */
	bool as_perf, ended;
};

struct perf_data {
	const char *path;
	struct diag *diag;
	struct arena arena;
	int fd;
	u64 size; /* of the file */
	s64 written_ns;
	bool is_pipe, damaged;
	VECTOR(struct perf_kind) kinds;
	VECTOR(struct perf_id) ids;
	bool ids_sorted;
	size_t named; /* so many kinds have names */
	struct trace_dat *formats;
	const char *host;
	bool has_clock;
	u32 clock;
	u64 clock_ns, day_ns;
	struct hashmap build_ids; /* path -> struct perf_build_id */
	struct cursor kernel_symbols; /* compressed; length 0 = none */
	/* bytes of the file from `at` on, up to `end` */
	u64 at, end;
	struct bytes window;
	/* of compressed records */
	struct ZSTD_DCtx_s *unpacker;
	struct bytes packed, unpacked;
	bool has_more; /* of what was taken already */
	struct perf_order order;
	u64 unknown, aux, counters;
	u32 unknown_type;
};

/* Says so, once; -EINVAL. */
int perf_damaged(struct perf_data *p, const char *what);
/* A part of the file, malloc'ed; NULL with a diagnostic. */
u8 *perf_read(struct perf_data *p, u64 offset, u64 size);
/* Attr and ids of an event; false: not believable. */
bool perf_add_attr(struct perf_data *p, const void *attr, size_t attr_size, struct cursor ids);
/* A feature's contents; those that are not used are ignored. */
void perf_feature(struct perf_data *p, u64 id, struct cursor c);
/* A record of perf's own that says something. Not: those of data and rounds. */
void perf_user_record(struct perf_data *p, u32 type, u16 misc, struct cursor body);
void perf_formats(struct perf_data *p, const void *data, size_t size);
/* Names for all kinds that have none yet. */
void perf_name_kinds(struct perf_data *p);
/* The kind of this id; 0 if it is unknown. */
u32 perf_kind_of(struct perf_data *p, u64 id);
/* Room for n more at the end; what was read is given up. */
u8 *perf_room(struct bytes *b, size_t n);
/*
 * The next record of the kernel, or the end of a round, valid until the next call; NULL: the end,
 * or damage, which is told.
 */
const u8 *perf_raw_record(struct perf_data *p);
void perf_records_release(struct perf_data *p);
void perf_order_release(struct perf_order *o);

#endif
