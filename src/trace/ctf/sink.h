/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of ctf_output: what a directory and a relay have in common. */
#ifndef PANTRACE_TRACE_CTF_SINK_H
#define PANTRACE_TRACE_CTF_SINK_H

#include "trace/ctf/output.h"

#define CHUNK_NAME "chunk-%06u" /* of a directory that rotates */

struct ctf_stream_state {
	struct pantrace_ctf_stream stream;
	int fd; /* of the file; -1 = not made yet */
	u32 number; /* instead, of a carrier's file; 0 = not made yet */
	u64 size; /* of the file */
	u64 acknowledged; /* position of the ring up to which the relay has everything */
	struct pantrace_ctf_stream at_begin; /* of the chunk */
	u64 position_at_begin;
};

struct ctf_source {
	struct pantrace_reader *reader;
	struct ctf_output *output;
	u32 id; /* counts up; at the relay's end too */
	char name[64]; /* of the directory */
	int directory; /* -1: the sink makes it on first use */
	struct ctf_stream_state *streams; /* one a ring, one for what found no ring */
	u32 nr_streams;
	struct ctf_stream_state objects;
	struct ctf_stream_state metadata;
	u32 described; /* where pantrace_ctf_metadata_from() goes on at this size */
	u64 described_size;
	/* the relay knows it and has said where it stands; a carrier has its name */
	bool announced;
	bool asked;
};

struct ctf_sink;

struct ctf_sink_ops {
	/* Makes the trace's directory in the current chunk. 0 or -errno (-EAGAIN: not yet). */
	int (*begin)(struct ctf_sink *sink, struct ctf_source *s);
	/*
	 * Appends to a file of the trace, whole or not at all. resume: what pantrace_reader_seek()
	 * wants afterwards; NULL = none.
	 */
	int (*append)(struct ctf_sink *sink, struct ctf_source *s, const char *file,
		      struct ctf_stream_state *to, const struct pantrace_ctf_packet *packet,
		      u64 position);
	int (*append_bytes)(struct ctf_sink *sink, struct ctf_source *s, const char *file,
			    struct ctf_stream_state *to, const char *data, size_t size);
	/* 0: all that was appended is where it belongs; NULL: always so. */
	int (*settled)(struct ctf_sink *sink, u32 timeout_ms);
	/*
	 * The trace is complete: in this chunk, or for good. 0, or -errno: not all of it arrived.
	 */
	int (*end)(struct ctf_sink *sink, struct ctf_source *s, bool for_good);
	/* the next one begins; all traces have ended */
	int (*chunk)(struct ctf_sink *sink, u32 number);
	int (*tick)(struct ctf_sink *sink, struct diag *d);
	/* Everything there is, sent and settled; NULL: nothing to do. */
	int (*finish)(struct ctf_sink *sink, u32 timeout_ms);
	int (*close)(struct ctf_sink *sink);
};

struct ctf_sink {
	const struct ctf_sink_ops *ops;
	struct ctf_output *output;
};

struct ctf_output {
	struct ctf_output_options options;
	char *name;
	struct ctf_sink *sink;
	VECTOR(struct ctf_source *) sources;
	u32 next_id, chunk;
	u64 chunk_bytes, chunk_begin_ns;
	bool rotating;
	int error; /* of the last drain */
	u64 lost_of_removed;
	struct ctf_output_totals totals;
};

#define CTF_HEADER sizeof(struct pantrace_ctf_header)

int ctf_directory_sink(struct ctf_output *o, struct diag *d);
int ctf_relay_sink(struct ctf_output *o, struct diag *d);
int ctf_carried_sink(struct ctf_output *o); /* carried.c */
/* One name in a directory: letters, digits, '.', '-', '_', not first '.', at most 63 bytes. */
bool ctf_name_is_plain(const char *name);
/* Compresses every file of the directory tree in a process of its own: pid or -errno. */
int ctf_compress_start(int directory, enum ctf_compression how);
/* The same at once; 0 or -errno. */
int ctf_compress(int directory, enum ctf_compression how);

#endif
