/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The relay's end of a connection: bytes in, bytes out, files written. Nothing that comes in is
 * trusted: names are single plain names below the relay's directory, sizes are bounded, and a peer
 * that does not keep to relay_protocol.h is refused with the reason. Needs 128 KiB of memory for
 * a peer, whatever it sends.
 *
 *	DIRECTORY/HOST/NAME-PID/{metadata,objects,ring_0,...}		HOST-2 for another session
 *									of a host
 *	DIRECTORY/HOST/chunk-000001/NAME-PID/...			with rotation
 *	DIRECTORY/HOST/{trace.dat,perf.data,state.ndjson}		the kernel's events
 */
#ifndef PANTRACE_TRACE_RELAY_RELAY_H
#define PANTRACE_TRACE_RELAY_RELAY_H

#include "base/strbuf.h"
#include "base/vector.h"

struct relay_limits {
	u64 bytes; /* on disk, of one session of a host; 0 = as the disk has */
	u32 sources; /* traces of a session at a time */
};

struct relay {
	int directory; /* descriptor */
	struct relay_limits limits;
	/* with a session: a second connection of one ends the first */
	VECTOR(struct relay_peer *) peers;
};

struct relay_peer;

struct relay_peer *relay_peer_new(struct relay *relay);
/* What came in. 0; 1: the peer is done for, send what relay_peer_out() has and close. */
int relay_peer_feed(struct relay_peer *p, const void *data, size_t n);
/* What is to be sent; the caller takes bytes from its front. */
struct strbuf *relay_peer_out(struct relay_peer *p);
/* Host and why it ended, for messages; "" while there is nothing to say. */
/* Whether it has greeted, and whether it is in the middle of a message. */
bool relay_peer_greeted(const struct relay_peer *p);
bool relay_peer_amid(const struct relay_peer *p);
const char *relay_peer_name(const struct relay_peer *p);
const char *relay_peer_complaint(const struct relay_peer *p);
void relay_peer_free(struct relay_peer *p);

#endif
