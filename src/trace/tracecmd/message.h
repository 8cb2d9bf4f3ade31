/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of protocol.h, read and written. Nothing that comes in is trusted: kinds and sizes
 * are checked, and never more than one message is kept.
 */
#ifndef PANTRACE_TRACE_TRACECMD_MESSAGE_H
#define PANTRACE_TRACE_TRACECMD_MESSAGE_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "trace/tracecmd/protocol.h"

struct tracecmd_message {
	enum tracecmd_type type;
	const u8 *head, *data;
	u32 head_size, size; /* bytes of each */
};

/* Messages of a connection. */
struct tracecmd_stream {
	int fd; /* the caller's; -1 = none */
	int stop; /* the caller's: when it can be read, nothing is waited for; 0 = none */
	u8 bytes[TRACECMD_MESSAGE_MOST];
	size_t used, taken; /* taken: the message that was returned last */
};

/* The first of n bytes: 1, its bytes in *ret_size; 0: it is not whole yet; -EPROTO: it is none. */
int tracecmd_parse(const void *bytes, size_t n, struct tracecmd_message *ret, size_t *ret_size);
/*
 * Waits for the next one, which stays valid until the next call. 0; -ETIMEDOUT; -EPIPE: the end;
 * -EPROTO; -ECANCELED: stop can be read; another -errno.
 */
int tracecmd_read(struct tracecmd_stream *s, int wait_ms, struct tracecmd_message *ret);
/*
 * Waits until it is sent: at once, or each part would wait for the other end. 0 or -errno:
 * -ETIMEDOUT: the other end takes nothing; -ECANCELED as above.
 */
int tracecmd_write(const struct tracecmd_stream *s, enum tracecmd_type type,
		   const struct strbuf *head, const void *data, size_t size);

/* ---- what they hold ---- */

void tracecmd_put32(struct strbuf *to, u32 v);
void tracecmd_put64(struct strbuf *to, u64 v);

typedef VECTOR(const char *) tracecmd_texts; /* in the message */

struct tracecmd_request {
	tracecmd_texts words, ways;
};

/* 0 or -EPROTO. tracecmd_request_release() in any case. */
int tracecmd_request_parse(const struct tracecmd_message *m, struct tracecmd_request *ret);
void tracecmd_request_release(struct tracecmd_request *r);
/* 0 or -errno; -E2BIG: one message cannot hold the words. */
int tracecmd_request_write(const struct tracecmd_stream *s, char *const *words, size_t count);

#define TRACECMD_CPUS_MOST 1024u /* with their ports in one message */

struct tracecmd_response {
	u32 page_size, cpu_count;
	u32 ports[TRACECMD_CPUS_MOST];
	char way[TRACECMD_WAY_SIZE + 1]; /* to compare clocks; "" = none */
	u32 way_port;
};

/* 0 or -EPROTO. */
int tracecmd_response_parse(const struct tracecmd_message *m, struct tracecmd_response *ret);
int tracecmd_response_write(const struct tracecmd_stream *s, const struct tracecmd_response *r);

/* A message of clocks: 0, its number in *ret_number; -EPROTO: it is none of this way. */
int tracecmd_sync_parse(const struct tracecmd_message *m, const char *way, u32 *ret_number);
int tracecmd_sync_write(const struct tracecmd_stream *s, const char *way, u32 number,
			const void *data, size_t size);

#endif
