/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records beside the samples, as the kernel writes them (perf_event_open(2)): names of tasks, what
 * they map. They are told by an event of their own, whose samples would have PERF_SIDE_TYPE.
 */
#ifndef PANTRACE_TRACE_PERF_SIDE_RECORDS_H
#define PANTRACE_TRACE_PERF_SIDE_RECORDS_H

#include "trace/perf/perf_data.h"
#include "trace/perf/writer.h"

/* What sample_id_all adds to each record. */
#define PERF_SIDE_TYPE \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PERF_KERNEL_PID UINT32_MAX

/* Who tells it, and when. */
struct perf_side {
	struct perf_writer *writer;
	u64 event; /* its id */
	u64 time;
};

struct perf_side_mapping {
	u32 pid;
	u64 start, length, offset;
	/* which file it is, where it has no build-id */
	u32 major, minor;
	u64 inode;
	const struct perf_build_id *id; /* NULL or of size 0 = none */
	const char *path;
};

/* A record of this body, which is emptied. */
void perf_side_record(const struct perf_side *s, u32 type, u16 misc, struct strbuf *body, u32 pid,
		      u32 tid);
void perf_side_comm(const struct perf_side *s, u32 pid, u32 tid, const char *name, size_t size);
/* misc: PERF_RECORD_MISC_USER or _KERNEL, and _MMAP_DATA if nothing is run from it. */
void perf_side_mapping(const struct perf_side *s, u16 misc, const struct perf_side_mapping *m);
/* A program of BPF that the kernel runs. */
void perf_side_symbol(const struct perf_side *s, u64 start, u32 length, const char *name);
/* Of its hex digits; size 0: there are none. */
struct perf_build_id perf_build_id_of_text(const char *hex);

#endif
