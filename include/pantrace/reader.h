/* SPDX-License-Identifier: MIT */
/*
 * Reading the rings of a process, living or dead. Nothing in the file is trusted: every offset and
 * size is checked, a damaged packet or event ends its ring with -EBADMSG. Errors are negative errno.
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
	unsigned char type; /* enum pantrace_type */
};

struct pantrace_event_type {
	uint32_t id;
	uint32_t nr_fields;
	const char *provider;
	const char *name;
	struct pantrace_field_type field[16];
};

/* What a ring held when the reader looked. events = read + overwritten; produced = events + lost. */
struct pantrace_ring_state {
	uint64_t position;
	uint64_t events;
	uint64_t lost;
};

/* Events of one sub-buffer, copied; valid until the next call for any ring. */
struct pantrace_packet_view {
	const struct pantrace_packet *packet; /* all members valid, also of an unfinished packet */
	const unsigned char *data;	      /* the packet from its first byte */
	size_t size;			      /* bytes of content, header included */
	size_t from;			      /* first byte that earlier calls did not return */
	uint64_t events;		      /* in the whole packet, up to size */
	bool finished;			      /* the writer has moved on */
};

struct pantrace_event_view {
	uint64_t tsc;
	const struct pantrace_event_type *type;
	const unsigned char *fields;
	size_t size; /* of the fields */
};

int pantrace_reader_open(const char *path, struct pantrace_reader **ret);
/* Keeps a duplicate of FD. CONSUME: the reader gives space back to a process in discard mode. */
int pantrace_reader_open_fd(int fd, bool consume, struct pantrace_reader **ret);
void pantrace_reader_close(struct pantrace_reader *reader);

const struct pantrace_shm *pantrace_reader_header(const struct pantrace_reader *reader);
uint32_t pantrace_reader_rings(const struct pantrace_reader *reader);
int pantrace_reader_state(struct pantrace_reader *reader, uint32_t ring,
			  struct pantrace_ring_state *ret);
/* NULL for an id that the session does not have. */
const struct pantrace_event_type *pantrace_reader_type(struct pantrace_reader *reader, uint32_t id);

/* 1: the next packet of RING, or the same one with more events; 0: nothing new. */
int pantrace_reader_packet(struct pantrace_reader *reader, uint32_t ring,
			   struct pantrace_packet_view *ret);
/* Walks the events of a packet: *AT starts as view->from. 1, 0 at the end. */
int pantrace_reader_event(struct pantrace_reader *reader, const struct pantrace_packet_view *packet,
			  size_t *at, struct pantrace_event_view *ret);
/* Bytes of one field of TYPE at DATA, or -EBADMSG when SIZE is too small. */
long pantrace_field_size(unsigned char type, const unsigned char *data, size_t size);

/* Writes what the rings hold as a CTF 1.8 trace: DIRECTORY/metadata, DIRECTORY/ring_N. */
int pantrace_ctf_write(struct pantrace_reader *reader, const char *directory);

#ifdef __cplusplus
}
#endif

#endif
