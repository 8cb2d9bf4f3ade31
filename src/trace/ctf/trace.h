/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading CTF 1.8 traces: ours, LTTng's and anybody's, many at once, their events merged by clock.
 * Files may be compressed (ring_0.zst, ring_0.gz) and may still be growing. A damaged stream ends
 * where the damage begins, with a diagnostic; the others go on.
 *
 *	struct ctf_set *set = ctf_set_new(&options);
 *	ctf_set_add(set, path, d);	// any number: traces, or folders of them
 *	while ((rc = ctf_set_next(set, &event, d)) > 0) {
 *		... decode from ctf_event_cursor(&event) ...
 *		ctf_set_done(set, &event, bits);	// where the event ended
 *	}
 */
#ifndef PANTRACE_TRACE_CTF_TRACE_H
#define PANTRACE_TRACE_CTF_TRACE_H

#include "trace/ctf/decode.h"

struct ctf_set;

struct ctf_trace {
	struct ctf_metadata *metadata;
	char *path, *name; /* name: the last part of the path */
	const char *hostname; /* or NULL */
	u64 *slots;
	s64 origin_ns; /* of the clock's 0, since the epoch */
	u64 frequency;
	bool has_clock;
	bool is_ours;
	u64 metadata_size; /* of the file when it was read */
	struct ctf_set *set;
	u32 index;
	void *user; /* of the printer; freed with free() */
};

struct ctf_stream {
	struct ctf_trace *trace;
	struct ctf_stream_class *class;
	char *path;
	int fd;
	u64 size; /* bytes */
	/* a copy of the file from window_at on: others may cut it short or write over it */
	u8 *window;
	u64 window_at, window_len, window_room;
	u64 packet; /* offset of the current packet, bytes */
	u64 packet_end; /* offset after it */
	u64 context_at; /* of the packet context, bits of the packet */
	struct ctf_cursor at; /* in the packet: the next event */
	u64 clock; /* last value */
	u64 number; /* of packets so far */
	bool has_sequence, has_discarded, ended, is_live;
	bool is_cut; /* the file ends within the current packet */
	u64 sequence, discarded;
	u64 cpu; /* UINT64_MAX: unknown */
	/* the next event, whose header has been read */
	struct ctf_event_class *event;
	s64 ns;
	u64 lost; /* before it */
	/* header of plain integers: read without interpreting it */
	bool is_plain;
	u32 plain_align, plain_size; /* bits */
	u32 plain_time_at, plain_id_at, plain_id_size;
};

struct ctf_event {
	struct ctf_stream *stream;
	struct ctf_event_class *class;
	s64 ns; /* since the epoch */
	s64 shift_ns; /* added to that where it is shown: of another machine */
	u64 clock; /* cycles */
	u64 lost; /* events of this stream that are missing before it; UINT64_MAX: nobody counted */
};

struct ctf_options {
	bool live; /* files may grow: the end of a file is not the end */
	s64 hold_ns; /* live: events younger than this wait for those of other streams */
};

struct ctf_loss { /* what the tracers say they lost, as seen so far */
	u64 events, packets;
	u64 damaged; /* streams that could not be read to the end */
};

struct ctf_set *ctf_set_new(const struct ctf_options *options);
/* 0 or -errno with the reason in d. -ENOENT: no trace there (live: not yet). */
int ctf_set_add(struct ctf_set *set, const char *path, struct diag *d);
/*
 * 1: the next event; 0: nothing more (live: for now). Damage is reported in d and does not end the
 * others.
 */
int ctf_set_next(struct ctf_set *set, struct ctf_event *ret, struct diag *d);
struct ctf_cursor ctf_event_cursor(const struct ctf_event *event);
/* Where the event ended; a cursor that failed ends the stream. */
void ctf_set_done(struct ctf_set *set, const struct ctf_event *event, const struct ctf_cursor *at,
		  struct diag *d);
/* As ctf_set_done() for an event that nobody wants to see. */
void ctf_set_skip(struct ctf_set *set, const struct ctf_event *event, struct diag *d);
/* live: what has grown since; new traces and streams too. */
void ctf_set_refresh(struct ctf_set *set, struct diag *d);
struct ctf_loss ctf_set_loss(const struct ctf_set *set);
u32 ctf_set_traces(const struct ctf_set *set);
struct ctf_trace *ctf_set_trace(const struct ctf_set *set, u32 index);
void ctf_set_release(struct ctf_set *set);

/* ---- trace/ctf/stream.c: one file ---- */
#define CTF_FILE_CUT	   "the file ends within this packet"
#define CTF_FILE_SHORTENED "the file was cut short while it was read"
enum ctf_step { CTF_STEP_EVENT, CTF_STEP_END, CTF_STEP_DAMAGED };
/* Reads on to the header of the next event. */
enum ctf_step ctf_stream_step(struct ctf_stream *s, struct diag *d);
int ctf_stream_open(struct ctf_trace *trace, const char *path, int fd, bool live, struct diag *d,
		    struct ctf_stream **ret);
void ctf_stream_grow(struct ctf_stream *s);
void ctf_stream_close(struct ctf_stream *s);
/* Called with what packets say was lost. */
void ctf_set_lost(struct ctf_set *set, u64 events, u64 packets);

#endif
