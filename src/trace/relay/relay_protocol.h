/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recorder and a relay say to each other, over any stream of bytes (a socket, ssh's pipes).
 * Little endian; each message is a struct relay_message and `size` bytes:
 *
 *	recorder						relay
 *	HELLO protocol, version, host, session		->
 *							<-	WELCOME version | REFUSED text, then
 *								the end
 *	CHUNK number (only with rotation)		->
 *	OPEN source, name of the trace			->
 *							<-	OPENED source, how far it has each
 *								file of that trace
 *	DATA source, file, offset, where to go on, bytes ->
 *	CARRIED a file, its bytes, its end		->
 *							<-	ACK how many DATA and CARRIED
 *								messages are on disk, since HELLO
 *	END source					->
 *							<-	REFUSED text, errno: at any time,
 *								then the end
 *
 * After a break the recorder connects again, with the same session; OPENED tells where to go on. A
 * DATA message is on disk whole or not at all: `resume` belongs to the bytes before it and is kept
 * with them.
 *
 * CARRIED is for files that are written at several places (trace.dat, perf.data): `source` is FILE,
 * WRITE or PACK of trace/agent/protocol.h, whose body follows. After a break the recorder names all
 * files again, in their order, and repeats what was not confirmed.
 */
#ifndef PANTRACE_TRACE_RELAY_RELAY_PROTOCOL_H
#define PANTRACE_TRACE_RELAY_RELAY_PROTOCOL_H

#include <pantrace/reader.h>

#include "base/base.h"

#define RELAY_MAGIC    0x4c525450u /* "PTRL" */
#define RELAY_PROTOCOL 1u

enum relay_type {
	RELAY_HELLO = 1,
	RELAY_WELCOME,
	RELAY_REFUSED,
	RELAY_CHUNK,
	RELAY_OPEN,
	RELAY_OPENED,
	RELAY_DATA,
	RELAY_ACK,
	RELAY_END,
	RELAY_CARRIED,
	RELAY_TYPES,
};

struct relay_message {
	u32 type;
	u32 source; /* which trace: a number of the recorder's; 0 where it does not matter */
	u64 size; /* of what follows */
};

struct relay_hello {
	u32 magic, protocol;
	char version[32], host[64]; /* NUL-padded */
	u8 session[16];
};

struct relay_welcome {
	u32 protocol, reserved;
	char version[32];
};

struct relay_refused {
	s32 error; /* errno */
	u32 reserved;
	char text[240];
};

/* Where a file's writer stood after its last byte. */
struct relay_resume {
	u64 position; /* of the ring */
	struct pantrace_ctf_stream stream;
};

struct relay_data {
	char file[32];
	u64 offset;
	struct relay_resume resume;
};

/* Of OPENED, one for each file; and of the relay's own notes on disk. */
struct relay_file {
	char file[32];
	u64 size;
	struct relay_resume resume;
};

#endif
