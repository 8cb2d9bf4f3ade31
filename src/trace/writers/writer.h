/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes recordings in the formats of other programs.
 *
 *	w = trace_writer_new(format, &options, fd);
 *	while ((r = recordings_next(all, d)))
 *		rc = trace_writer_event(w, r);
 *	rc = trace_writer_end(w);
 *	trace_writer_gaps(w, d);	// warns of what the format could not hold
 *	trace_writer_release(w);
 *
 * A format is a row: how a file begins, what each event becomes, how the file ends. Events come in
 * time order; a format keeps only what it needs at its end (names, counted stacks). A new format is
 * a file with such a row, and a line in writer.c.
 */
#ifndef PANTRACE_TRACE_WRITERS_WRITER_H
#define PANTRACE_TRACE_WRITERS_WRITER_H

#include "base/hashmap.h"
#include "base/vector.h"
#include "trace/recording.h"
#include "trace/stacks.h"

struct new_directory;

struct trace_writer;

struct trace_format {
	const char *name; /* "chrome" */
	const char *suffixes[3]; /* suffixes of file names, without that of a compressor */
	bool is_binary; /* not for a terminal */
	bool has_times; /* events have times since the epoch, if those are known */
	bool is_packed; /* always compressed by gzip */
	bool is_directory; /* writes several files into options.directory */
	bool is_seekable; /* the format itself writes the file, at several places */
	bool no_symbols; /* names of addresses are of no use to it */
	size_t size; /* size of its own struct, which begins with a struct trace_writer */
	/*
	 * Each appends to w->out. The frame handles errors of writes, except for files in a
	 * directory: those set w->error. Any may be NULL.
	 */
	void (*begin)(struct trace_writer *w);
	void (*event)(struct trace_writer *w, struct recording *r);
	void (*end)(struct trace_writer *w);
	void (*release)(struct trace_writer *w);
};

struct trace_writer_options {
	struct recordings *all;
	struct string_list fields; /* CSV: fields with a column of their own */
	bool is_packed; /* by gzip */
	bool on_terminal; /* control characters are escaped */
	struct new_directory
		*directory; /* for formats that are a directory; base/new_directory.h */
	bool lttng_names; /* ctf: LTTng's names of events and fields */
	bool v6; /* trace.dat: version 6 */
	int beside; /* formats that are seekable: the directory of the file, a descriptor */
};

/* What the format could not hold, in words for one and for several. */
struct writer_gap {
	const char *one, *several;
	u64 count;
};

struct trace_writer {
	const struct trace_format *format;
	struct trace_writer_options options;
	struct strbuf out;
	VECTOR(struct writer_gap) gaps;
	bool is_full; /* the sum of weights overflowed: not all were written */
	const char *host; /* of the events so far; NULL = unknown */
	/* ---- internal ---- */
	struct writer_packer *packer;
	const struct clock_relation *machine; /* of the events so far, if has_machine */
	bool has_machine;
	int fd, error;
};

/* Finds a format by its name, or by the name of a file; NULL = none. */
const struct trace_format *trace_format_named(const char *name);
const struct trace_format *trace_format_of_file(const char *path, bool *ret_is_packed);
/* Returns format number i, or NULL after the last one. */
const struct trace_format *trace_format_at(size_t i);

struct trace_writer *trace_writer_new(const struct trace_format *format,
				      const struct trace_writer_options *options, int fd);
/* Returns 0, or -errno of a write, after which nothing more is written. */
int trace_writer_event(struct trace_writer *w, struct recording *r);
/* Writes what is still buffered. Returns 0 or -errno. */
int trace_writer_end(struct trace_writer *w);
/* Adds a warning for each kind of thing that the format could not hold. */
void trace_writer_gaps(const struct trace_writer *w, struct diag *d);
void trace_writer_release(struct trace_writer *w);

/* ---- for formats ---- */

/* Counts n things that the format cannot hold. Both texts must stay valid. */
void writer_gap(struct trace_writer *w, u64 n, const char *one, const char *several);
/*
 * For formats that know threads by their numbers alone: false sets w->error to -EREMOTE, the event
 * is of another machine than those before. host: recorded_place.host
 */
bool writer_same_machine(struct trace_writer *w, const struct recording *r, const char *host);
/* Called at the end: reports through trace_writer_gaps() what the stacks left out. */
void writer_left_out(struct trace_writer *w, const struct stacks *s);

/* The JSON Schema (draft 2020-12) of one line of ndjson. */
extern const char ndjson_schema[];

extern const struct trace_format ndjson_format, csv_format, folded_format, speedscope_format,
	pprof_format, chrome_format, perfetto_format, ctf_format, parquet_format, trace_dat_format,
	perf_data_format;

#endif
