/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of protocol.h, coming in and going out. Nothing that comes in is trusted: kinds, sizes
 * and numbers are checked, and never more than one frame is kept.
 */
#ifndef PANTRACE_TRACE_AGENT_FRAMES_H
#define PANTRACE_TRACE_AGENT_FRAMES_H

#include "base/strbuf.h"
#include "trace/agent/protocol.h"

struct agent_in {
	struct strbuf bytes;
	size_t at;
	u64 number; /* of the next frame */
	const char *mark; /* to be found first; NULL = none is sent */
	bool is_found;
	const u64 *wanted; /* what the mark must contain; NULL = anything */
	u64 nonce; /* what it said */
	const char *why; /* why it is refused; NULL = it is not */
};

struct agent_out {
	struct strbuf bytes;
	size_t at;
	u64 number;
};

void agent_in_init(struct agent_in *in, const char *mark, const u64 *wanted);
void agent_in_release(struct agent_in *in);
/* Adds what came. */
void agent_in_feed(struct agent_in *in, const void *data, size_t n);
/* Reads what is available: 1; 0: nothing yet; -EPIPE: the end; -errno. */
int agent_in_read(struct agent_in *in, int fd);
/*
 * The next whole frame: 1, its body stays valid until more is fed or read; 0: it is not whole yet;
 * -EPROTO: this is none (in->why); -ESTALE: where any mark will do, another one has come, and what
 * is behind it is next.
 */
int agent_in_next(struct agent_in *in, struct agent_frame *ret, const u8 **ret_body);
/* Is its kind known, and its size possible for that kind? */
bool agent_frame_fits(const struct agent_frame *f);
/* Text of a fixed size from another machine; NULL if it is not terminated. */
const char *agent_text(const char *text, size_t size);

/* Limits the lines of TEXT on this terminal: an agent may send any number of them. */
struct agent_lines {
	u64 shown, hidden;
	u64 since_ns; /* the first */
};

/* Whether one more may be shown; if not, it is counted. */
bool agent_lines_take(struct agent_lines *l);
/* Says how many were not shown. */
void agent_lines_tell(const struct agent_lines *l, const char *machine);

void agent_out_init(struct agent_out *out);
void agent_out_release(struct agent_out *out);
void agent_out_mark(struct agent_out *out, const char *mark, u64 nonce);
/* A frame of up to two parts. */
void agent_out_put(struct agent_out *out, enum agent_type type, const void *head, size_t head_size,
		   const void *body, size_t body_size);
static inline size_t agent_out_waiting(const struct agent_out *out)
{
	return out->bytes.len - out->at;
}
/* Sends what the descriptor accepts now. 0 or -errno. */
int agent_out_push(struct agent_out *out, int fd);

#endif
