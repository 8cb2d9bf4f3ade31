/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/frames.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/agent/steal.h"

#define READ_BYTES  (64u << 10)
#define WRITE_BYTES (64u << 10)
#define NONCE_SIZE  sizeof(u64)
/* Lines that are shown: that many, then one more every LINE_NS. */
#define LINES_FIRST 1000
#define LINE_NS	    100000000ull

/* Bytes behind the head of each kind. */
static const struct {
	u32 least, most;
} sizes[AGENT_TYPES] = {
	[AGENT_HELLO] = {sizeof(struct agent_hello), sizeof(struct agent_hello)},
	[AGENT_WELCOME] = {sizeof(struct agent_welcome), sizeof(struct agent_welcome)},
	[AGENT_REFUSED] = {1, AGENT_TEXT_MOST},
	[AGENT_CLOCK] = {sizeof(struct agent_clock), sizeof(struct agent_clock)},
	[AGENT_RECORD] = {0, AGENT_FRAME_MOST},
	[AGENT_FILE] = {sizeof(struct agent_file) + 1, sizeof(struct agent_file) + AGENT_NAME_MOST},
	[AGENT_WRITE] = {sizeof(struct agent_write),
			 sizeof(struct agent_write) + AGENT_WRITE_BYTES},
	[AGENT_PACK] = {sizeof(struct agent_file) + 1, AGENT_FRAME_MOST},
	[AGENT_TEXT] = {0, AGENT_TEXT_MOST},
	[AGENT_LOST] = {sizeof(struct agent_lost), sizeof(struct agent_lost)},
	[AGENT_RUN] = {1, AGENT_FRAME_MOST},
	[AGENT_OUTPUT] = {1, AGENT_WRITE_BYTES},
	[AGENT_STEAL] = {0, STEAL_CPUS * sizeof(u64)},
	[AGENT_ENDED] = {sizeof(struct agent_ended), sizeof(struct agent_ended)},
};

/* ---- coming in ---- */

void agent_in_init(struct agent_in *in, const char *mark, const u64 *wanted)
{
	*in = (struct agent_in){.bytes = STRBUF_INIT, .mark = mark, .wanted = wanted};
}

void agent_in_release(struct agent_in *in)
{
	strbuf_release(&in->bytes);
}

/* Frees the space of frames that have been handled. */
static void compact(struct agent_in *in)
{
	memmove(in->bytes.data, in->bytes.data + in->at, in->bytes.len - in->at);
	in->bytes.len -= in->at;
	in->at = 0;
}

void agent_in_feed(struct agent_in *in, const void *data, size_t n)
{
	if (in->at)
		compact(in);
	strbuf_add(&in->bytes, data, n);
}

int agent_in_read(struct agent_in *in, int fd)
{
	ssize_t n;

	if (in->at)
		compact(in);
	do
		n = read(fd, strbuf_reserve(&in->bytes, READ_BYTES), READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!n)
		return -EPIPE;
	in->bytes.len += (size_t)n;
	return 1;
}

/* Skips everything before the mark. True: it was found, and frames follow. */
static bool find_mark(struct agent_in *in)
{
	for (; in->bytes.len - in->at >= AGENT_MARK_SIZE + NONCE_SIZE; in->at++) {
		const char *const p = in->bytes.data + in->at;

		if (memcmp(p, in->mark, AGENT_MARK_SIZE))
			continue;
		memcpy(&in->nonce, p + AGENT_MARK_SIZE, NONCE_SIZE);
		if (in->wanted && in->nonce != *in->wanted)
			continue;
		in->at += AGENT_MARK_SIZE + NONCE_SIZE;
		in->is_found = true;
		in->number = 0;
		return true;
	}
	return false;
}

/* On a port nothing ends a conversation: the next host's mark comes in place of a frame. */
static int refuse(struct agent_in *in, const char *why)
{
	if (in->mark && !in->wanted && find_mark(in))
		return -ESTALE;
	in->why = why;
	return -EPROTO;
}

static const char *why_not(const struct agent_frame *f)
{
	if (!f->type || f->type >= AGENT_TYPES)
		return "a message of unknown kind";
	if (f->size < sizes[f->type].least || f->size > sizes[f->type].most)
		return "a message of a size that it cannot have";
	return NULL;
}

bool agent_frame_fits(const struct agent_frame *f)
{
	return !why_not(f);
}

int agent_in_next(struct agent_in *in, struct agent_frame *ret, const u8 **ret_body)
{
	struct agent_frame f;
	size_t left;

	if (in->why)
		return -EPROTO;
	if (in->mark && !in->is_found && !find_mark(in))
		return 0;
	left = in->bytes.len - in->at;
	if (left < sizeof(f))
		return 0;
	memcpy(&f, in->bytes.data + in->at, sizeof(f));
	if (why_not(&f))
		return refuse(in, why_not(&f));
	if (f.number != in->number)
		return refuse(in, "messages are missing");
	if (left - sizeof(f) < f.size)
		return 0;
	in->number++;
	*ret = f;
	*ret_body = (const u8 *)in->bytes.data + in->at + sizeof(f);
	in->at += sizeof(f) + f.size;
	return 1;
}

const char *agent_text(const char *text, size_t size)
{
	return memchr(text, 0, size) ? text : NULL;
}

/* ---- lines for people ---- */

bool agent_lines_take(struct agent_lines *l)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	l->since_ns = l->since_ns ?: now;
	if (l->shown >= LINES_FIRST + (now - l->since_ns) / LINE_NS) {
		l->hidden++;
		return false;
	}
	l->shown++;
	return true;
}

void agent_lines_tell(const struct agent_lines *l, const char *machine)
{
	if (l->hidden)
		fprintf(stderr, "WARNING: %s: %" PRIu64 " more line%s of its agent %s not shown\n",
			machine, l->hidden, plural(l->hidden), is_are(l->hidden));
}

/* ---- going out ---- */

void agent_out_init(struct agent_out *out)
{
	*out = (struct agent_out){.bytes = STRBUF_INIT};
}

void agent_out_release(struct agent_out *out)
{
	strbuf_release(&out->bytes);
}

void agent_out_mark(struct agent_out *out, const char *mark, u64 nonce)
{
	strbuf_add(&out->bytes, mark, AGENT_MARK_SIZE);
	strbuf_add(&out->bytes, &nonce, sizeof(nonce));
}

void agent_out_put(struct agent_out *out, enum agent_type type, const void *head, size_t head_size,
		   const void *body, size_t body_size)
{
	const struct agent_frame f = {type, (u32)(head_size + body_size), out->number++};

	if (out->at >= WRITE_BYTES) { /* not all is sent for a while */
		out->bytes.len -= out->at;
		memmove(out->bytes.data, out->bytes.data + out->at, out->bytes.len);
		out->at = 0;
	}
	strbuf_add(&out->bytes, &f, sizeof(f));
	strbuf_add(&out->bytes, head, head_size);
	strbuf_add(&out->bytes, body, body_size);
}

int agent_out_push(struct agent_out *out, int fd)
{
	while (agent_out_waiting(out)) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		ssize_t n;

		/* standard output may block */
		if (poll(&p, 1, 0) <= 0)
			return 0;
		n = write(fd, out->bytes.data + out->at, MIN(agent_out_waiting(out), WRITE_BYTES));
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		out->at += n > 0 ? (size_t)n : 0;
	}
	strbuf_reset(&out->bytes);
	out->at = 0;
	return 0;
}
