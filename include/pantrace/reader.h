/* SPDX-License-Identifier: MIT */
/*
 * Reading the rings of a process, living or dead. Nothing in the file is trusted: every offset and
 * size is checked, a damaged packet or event ends its ring with -EBADMSG. Errors are negative
 * errno.
 */
#ifndef PANTRACE_READER_H
#define PANTRACE_READER_H

#include <pantrace/ring.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pantrace_reader;

struct pantrace_field_type {
	const char *name;
	const char *extra; /* of enums: "NAME=VALUE,..."; of arrays the count; else "" */
	uint32_t count; /* elements of an array */
	unsigned char type; /* enum pantrace_type */
};

struct pantrace_event_type {
	uint32_t id;
	uint32_t nr_fields; /* with the members of structures and their ends, see ring.h */
	uint32_t level; /* 0 (emergency) .. 14 (debug) */
	const char *provider;
	const char *name;
	struct pantrace_field_type field[]; /* nr_fields of them */
};

/*
 * What a ring held when the reader looked. events = read + overwritten; produced = events + lost.
 */
struct pantrace_ring_state {
	uint64_t position;
	uint64_t events;
	uint64_t lost;
};

/* Events of one sub-buffer, copied; valid until the next call for any ring. */
struct pantrace_packet_view {
	const struct pantrace_packet *packet; /* all members valid, also of an unfinished packet */
	const unsigned char *data; /* the packet from its first byte */
	size_t size; /* bytes of content, header included */
	size_t from; /* first byte that earlier calls did not return */
	uint64_t events; /* in the whole packet, up to size */
	bool finished; /* the writer has moved on */
};

struct pantrace_event_view {
	uint64_t tsc;
	const struct pantrace_event_type *type;
	const unsigned char *contexts; /* as the header's bits say */
	size_t contexts_size;
	const unsigned char *fields;
	size_t size; /* of the fields */
};

int pantrace_reader_open(const char *path, struct pantrace_reader **ret);
/* Keeps a duplicate of FD. CONSUME: the reader gives space back to a process in discard mode. */
int pantrace_reader_open_fd(int fd, bool consume, struct pantrace_reader **ret);
void pantrace_reader_close(struct pantrace_reader *reader);
/*
 * The file is mapped, and its process may cut it short: then what is gone raises SIGBUS in the
 * reader. Who reads rings of strangers catches that within this range, which has not been touched
 * before the first other call.
 */
const void *pantrace_reader_mapping(const struct pantrace_reader *reader, size_t *ret_size);

const struct pantrace_shm *pantrace_reader_header(const struct pantrace_reader *reader);
uint32_t pantrace_reader_rings(const struct pantrace_reader *reader);
int pantrace_reader_state(struct pantrace_reader *reader, uint32_t ring,
			  struct pantrace_ring_state *ret);
/* NULL for an id that the session does not have. */
const struct pantrace_event_type *pantrace_reader_type(struct pantrace_reader *reader, uint32_t id);

/*
 * Objects that were loaded or unloaded, in the order in which that was seen; NULL behind the last.
 */
const struct pantrace_object_record *pantrace_reader_object(struct pantrace_reader *reader,
							    uint32_t index);

/*
 * What a consuming reader has returned stays in the ring until pantrace_reader_release() names a
 * position: for whoever must first know that it arrived elsewhere. pantrace_reader_tell() is the
 * position behind the last packet that was returned, pantrace_reader_seek() reads again from there
 * (or from the oldest that is left).
 */
void pantrace_reader_keep(struct pantrace_reader *reader);
uint64_t pantrace_reader_tell(const struct pantrace_reader *reader, uint32_t ring);
void pantrace_reader_seek(struct pantrace_reader *reader, uint32_t ring, uint64_t position);
void pantrace_reader_release(struct pantrace_reader *reader, uint32_t ring, uint64_t position);
/*
 * Every event is looked at before its packet is returned: a packet ends where damage begins, and
 * the call after it returns -EBADMSG. For files of which nobody knows what happened to them.
 */
void pantrace_reader_verify(struct pantrace_reader *reader);
/* Bytes of RING that no consuming reader has given back yet. */
uint64_t pantrace_reader_unread(struct pantrace_reader *reader, uint32_t ring);
/* Events that the process lost so far: of all rings, and those that found no ring. */
uint64_t pantrace_reader_lost(struct pantrace_reader *reader);
/*
 * Events that lie behind the damage that ended the reading of a ring, of all rings: as their heads
 * say, or at least one of each such ring.
 */
uint64_t pantrace_reader_missing(const struct pantrace_reader *reader);
/*
 * What the session wants of the process and does not get: sites whose code cannot be written (errno
 * in *RET_WHY), events without room.
 */
void pantrace_reader_refused(struct pantrace_reader *reader, uint32_t *ret_sites, int *ret_why,
			     uint32_t *ret_events);

/* 1: the next packet of RING, or the same one with more events; 0: nothing new. */
int pantrace_reader_packet(struct pantrace_reader *reader, uint32_t ring,
			   struct pantrace_packet_view *ret);
/* Walks the events of a packet: *AT starts as view->from. 1, 0 at the end. */
int pantrace_reader_event(struct pantrace_reader *reader, const struct pantrace_packet_view *packet,
			  size_t *at, struct pantrace_event_view *ret);
/* Bytes that the contexts of the bits MASK take at DATA, or -EBADMSG. */
long pantrace_contexts_size(uint64_t mask, const unsigned char *data, size_t size);
/*
 * Bytes of one field at DATA, or -EBADMSG when SIZE is too small. A structure and its end have
 * none.
 */
long pantrace_field_size(const struct pantrace_field_type *field, const unsigned char *data,
			 size_t size);

/* ---- CTF 1.8 ---- */

/*
 * Metadata of the events that are known by now. What a later call returns begins with what an
 * earlier one did (free(3) it), but for the digits of the clock, which keep their place.
 */
int pantrace_ctf_metadata(struct pantrace_reader *reader, char **ret_text, size_t *ret_size);
/*
 * The same, but what a call before did not return yet: *AT is 0 at first, then what that call left
 * there.
 */
int pantrace_ctf_metadata_from(struct pantrace_reader *reader, uint32_t *at, char **ret_text,
			       size_t *ret_size);

/* Where a stream stands, all zero at first: one a ring, and one more for what found no ring. */
struct pantrace_ctf_stream {
	/* packets, and those that were overwritten before they could be read */
	uint64_t written;
	uint64_t next; /* of the ring's own numbers */
	uint64_t last_tsc; /* time of the last event or end of packet */
	uint64_t events; /* of the ring, before the next packet */
	uint64_t delivered; /* events in packets so far */
	uint64_t lost; /* that packets have told so far */
	uint64_t lost_before; /* of these, in earlier traces */
};

/* A new trace goes on where the last one ended: packets and losses count from 0. */
static inline void pantrace_ctf_stream_continue(struct pantrace_ctf_stream *stream)
{
	stream->written = 0;
	stream->lost_before = stream->lost;
}

/* A packet's header on disk; as struct pantrace_packet, without what only readers of rings need. */
struct pantrace_ctf_header {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* bits */
	uint64_t packet_size; /* bits */
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
	uint32_t padding; /* events begin at multiples of 8 */
};

/* A packet as it goes to disk: the header, then SIZE bytes, then PADDING zero bytes. */
struct pantrace_ctf_packet {
	struct pantrace_ctf_header header;
	const unsigned char *data; /* valid until the next call for any ring */
	size_t size;
	size_t padding;
	uint64_t events;
};

/*
 * 1: the next packet of RING. FLUSH: also what stands in the sub-buffer that is being written, and
 * a packet without events when events were lost since; else only whole sub-buffers. 0: nothing
 * more. Behind a packet without events that is not a file's first Trace Compass reads no further:
 * one that says of lost events should be the last. RING goes up to and with
 * pantrace_reader_rings(): the last stands for what found no ring.
 */
int pantrace_ctf_next(struct pantrace_reader *reader, uint32_t ring, bool flush,
		      struct pantrace_ctf_stream *stream, struct pantrace_ctf_packet *ret);
/* A packet of the objects that were loaded and unloaded (file "objects", stream 1) since the last
 * call with STREAM; 0: none. free(3) *ret_data. */
int pantrace_ctf_objects(struct pantrace_reader *reader, struct pantrace_ctf_stream *stream,
			 char **ret_data, size_t *ret_size);
/* The name of the file of RING, at most 32 bytes: "ring_0"; "ring_none" for the last of
 * pantrace_reader_rings() + 1. */
void pantrace_ctf_stream_name(struct pantrace_reader *reader, uint32_t ring, char name[32]);

/* Writes what the rings hold as a CTF 1.8 trace: DIRECTORY/metadata, DIRECTORY/ring_N. */
int pantrace_ctf_write(struct pantrace_reader *reader, const char *directory);

#ifdef __cplusplus
}
#endif

#endif
