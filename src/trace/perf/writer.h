/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a perf.data that perf reads in place (perf_data.h draws the file):
 *
 *	head, ids, attrs, features, data, {offset, size} of each feature, features known at the end
 *
 * The table of features stands behind the data, wherever that ends. So that what a killed recorder
 * leaves can be read up to there, the head and the table are written again and again: before more
 * data overwrites a table, the head says that there is none.
 */
#ifndef PANTRACE_TRACE_PERF_WRITER_H
#define PANTRACE_TRACE_PERF_WRITER_H

#include <linux/perf_event.h>
#include <sys/uio.h>

#include "base/recording_file.h"
#include "base/strbuf.h"
#include "trace/perf/format.h"

struct perf_written_event {
	struct perf_event_attr attr;
	const char *name; /* as the user wrote it */
	const u64 *ids; /* of all its descriptors: PERF_EVENT_IOC_ID */
	size_t nr_ids;
};

struct perf_writer;

/* A moment by two clocks. */
struct perf_clock_moment {
	u64 day_ns, clock_ns; /* since the epoch; of the file's clock */
};

struct perf_writer_options {
	/* of tracepoints' formats, as a section of the file (formats.h); NULL, empty = none */
	const struct strbuf *formats;
	clockid_t clock; /* which the times are of; -1: the kernel's own for perf */
	bool compress; /* by zstd */
	/* ---- of a machine that is, perhaps, not this one ---- */
	bool is_elsewhere;
	const char *host; /* NULL = unknown */
	struct perf_clock_moment moment; /* of 0: nobody knows */
};

/*
 * Begins a file, which is empty: it stays the caller's, and open. Events are copied. Returns 0 or
 * -errno; then nothing is to be closed.
 */
int perf_writer_open(const struct recording_file *to, const struct perf_written_event *events,
		     size_t nr_events, const struct perf_writer_options *options,
		     struct perf_writer **ret);
/*
 * Records as the kernel wrote them, as many as are in these pieces; a record may lie in two of
 * them, the last one ends with its piece. 0 or -errno of this or an earlier write: then none of
 * them is in the file, and from there on nothing is written any more.
 */
int perf_writer_data(struct perf_writer *w, const struct iovec *pieces, int count);
/* One record of our own. size: at most 65527 bytes; what follows is aligned. */
int perf_writer_record(struct perf_writer *w, u32 type, u16 misc, const void *body, size_t size);
/*
 * The events, where they are known only at the end, instead of those of perf_writer_open(). Copied.
 */
void perf_writer_events(struct perf_writer *w, const struct perf_written_event *events,
			size_t nr_events);
/* What comes from now on is not older than the newest record before the previous round. */
int perf_writer_round(struct perf_writer *w);
/* A feature that is known only at the end. A second time: instead of the first. */
void perf_writer_feature(struct perf_writer *w, u32 feature, const void *data, size_t size);
/* Makes the file one that can be read, as far as it goes. */
int perf_writer_checkpoint(struct perf_writer *w);
/* The first -errno; 0 = all was written. */
int perf_writer_error(const struct perf_writer *w);
/* Bytes of the file so far. */
u64 perf_writer_size(const struct perf_writer *w);
/*
 * Ends the file. 0 or the first -errno: then it is whole up to what could be written. Frees w; NULL
 * is fine.
 */
int perf_writer_close(struct perf_writer *w);

/* ---- features.c ---- */

/* What is said of the machine: its name, kernel, processors, memory, our version and words. */
void perf_write_machine(struct perf_writer *w);
/* The same of another one, of which nothing is known but perhaps its name; NULL = not that. */
void perf_write_other_machine(struct perf_writer *w, const char *host);
/* The kernel's functions, for who reads the file elsewhere: lines of kallsyms. */
void perf_write_symbols(struct perf_writer *w, const char *text, size_t len);
/* A string as features have it. */
void perf_feature_string(struct strbuf *to, const char *text);

#endif
