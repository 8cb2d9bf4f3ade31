/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings as files of other programs: one interface to all of these formats.
 *
 *	w = trace_writer_new(format, &options, fd);
 *	while ((r = recordings_next(all, d)))
 *		rc = trace_writer_event(w, r);
 *	rc = trace_writer_end(w);
 *	trace_writer_release(w, d);	// says what could not be carried
 *
 * A format is a row: how a file begins, what each event becomes, how the file ends. Events come in
 * the order of time, and nothing is kept of them but what the format wants at its end (names,
 * stacks that are counted). A new format is a file with such a row, and a line in writer.c.
 */
#ifndef PANTRACE_TRACE_WRITERS_WRITER_H
#define PANTRACE_TRACE_WRITERS_WRITER_H

#include "base/hashmap.h"
#include "base/vector.h"
#include "trace/recording.h"

struct trace_writer;

struct trace_format {
	const char *name; /* "chrome" */
	const char *suffixes[3]; /* of names of files, without what compresses them */
	bool is_binary; /* not for a terminal */
	bool has_times; /* an event's time is in it, since the epoch where that is known */
	bool is_packed; /* the file is gzip's in any case */
	size_t size; /* of its own struct, which begins with a struct trace_writer */
	/* Each appends to w->out; errors of writes are the frame's. Any may be NULL. */
	void (*begin)(struct trace_writer *w);
	void (*event)(struct trace_writer *w, struct recording *r);
	void (*end)(struct trace_writer *w);
	void (*release)(struct trace_writer *w);
};

struct trace_writer_options {
	struct recordings *all;
	struct string_list fields; /* CSV: those that have a column of their own */
	bool is_packed; /* by gzip */
};

struct writer_gap {
	const char *one, *several;
	u64 count;
};

struct trace_writer {
	const struct trace_format *format;
	struct trace_writer_options options;
	struct strbuf out;
	VECTOR(struct writer_gap) gaps; /* what could not be carried */
	/* the frame's own */
	struct writer_packer *packer;
	int fd, error;
};

/* By its name, or by the name of a file; NULL = none. */
const struct trace_format *trace_format_named(const char *name);
const struct trace_format *trace_format_of_file(const char *path, bool *ret_is_packed);
/* Until it returns NULL. */
const struct trace_format *trace_format_at(size_t i);

struct trace_writer *trace_writer_new(const struct trace_format *format,
				      const struct trace_writer_options *options, int fd);
/* 0, or -errno of a write: nothing more is written then. */
int trace_writer_event(struct trace_writer *w, struct recording *r);
/* Writes what is still held. 0 or -errno. */
int trace_writer_end(struct trace_writer *w);
/* In d: what could not be carried, each once. */
void trace_writer_gaps(const struct trace_writer *w, struct diag *d);
void trace_writer_release(struct trace_writer *w);

/* ---- for formats ---- */

/* What could not be carried: "event without a call chain", "events ..."; they stay. */
void writer_gap(struct trace_writer *w, const char *one, const char *several);
/* A number among the event's fields. False: it has none. */
bool recorded_number(struct recording *r, const char *name, s64 *ret);
/* A text among them. False: none. */
bool recorded_text(struct recording *r, const char *name, const char **ret, size_t *ret_size);

/* The JSON Schema (draft 2020-12) of a line of ndjson. */
extern const char ndjson_schema[];

extern const struct trace_format ndjson_format, csv_format, folded_format, speedscope_format,
	pprof_format, chrome_format, perfetto_format;

#endif
