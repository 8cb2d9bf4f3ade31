/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/tracecmd/message.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/options.h"

#define TAKE_MS 30000 /* until the other end takes a byte more: it may be emulated */

/* ---- numbers ---- */

static u32 get32(struct cursor *c)
{
	return __builtin_bswap32(cursor_u32(c));
}

void tracecmd_put32(struct strbuf *to, u32 v)
{
	const u32 big = htobe32(v);

	strbuf_add(to, &big, sizeof(big));
}

void tracecmd_put64(struct strbuf *to, u64 v)
{
	const u64 big = htobe64(v);

	strbuf_add(to, &big, sizeof(big));
}

/* ---- a message ---- */

int tracecmd_parse(const void *bytes, size_t n, struct tracecmd_message *ret, size_t *ret_size)
{
	struct cursor c = cursor_of(bytes, n);
	const u32 size = get32(&c), type = get32(&c), head = get32(&c);

	if (c.failed)
		return 0;
	if (size < TRACECMD_HEAD || size > TRACECMD_MESSAGE_MOST || type >= TRACECMD_TYPES ||
	    head > size - TRACECMD_HEAD)
		return -EPROTO;
	if (n < size)
		return 0;
	*ret_size = size;
	*ret = (struct tracecmd_message){
		.type = type,
		.head = c.data + TRACECMD_HEAD,
		.head_size = head,
		.data = c.data + TRACECMD_HEAD + head,
		.size = size - TRACECMD_HEAD - head,
	};
	return 1;
}

/* 0; -ETIMEDOUT; -ECANCELED: it is to stop. */
static int wait_for(const struct tracecmd_stream *s, short events, int ms)
{
	struct pollfd fds[] = {{s->fd, events, 0}, {s->stop ?: -1, POLLIN, 0}};
	const int n = clock_poll(fds, ARRAY_SIZE(fds), ms);

	return n <= 0 ? -ETIMEDOUT : fds[1].revents ? -ECANCELED : 0;
}

int tracecmd_read(struct tracecmd_stream *s, int wait_ms, struct tracecmd_message *ret)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + (u64)wait_ms;
	const int on = 1;
	int rc;

	s->used -= s->taken;
	memmove(s->bytes, s->bytes + s->taken, s->used);
	s->taken = 0;
	while (!(rc = tracecmd_parse(s->bytes, s->used, ret, &s->taken))) {
		const u64 now = clock_now_ms(CLOCK_MONOTONIC);
		ssize_t n;

		rc = now < until ? wait_for(s, POLLIN, (int)(until - now)) : -ETIMEDOUT;
		if (rc)
			return rc;
		n = recv(s->fd, s->bytes + s->used, sizeof(s->bytes) - s->used, MSG_DONTWAIT);
		if (!n)
			return -EPIPE;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		s->used += n > 0 ? (size_t)n : 0;
		/* of TCP: trace-cmd sends messages in parts, and waits after each for this */
		setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	}
	return MIN(rc, 0);
}

static int send_all(const struct tracecmd_stream *s, const char *data, size_t n)
{
	int err = 0;

	while (n && !err) {
		const ssize_t sent = send(s->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN)
			err = wait_for(s, POLLOUT, TAKE_MS);
		else if (sent < 0 && errno != EINTR)
			err = -errno;
		data += MAX(sent, 0);
		n -= (size_t)MAX(sent, 0);
	}
	return err;
}

int tracecmd_write(const struct tracecmd_stream *s, enum tracecmd_type type,
		   const struct strbuf *head, const void *data, size_t size)
{
	const size_t head_size = head ? head->len : 0;
	struct strbuf all = STRBUF_INIT;
	int err;

	if (head_size + size > TRACECMD_DATA_MOST)
		return -E2BIG;
	tracecmd_put32(&all, (u32)(TRACECMD_HEAD + head_size + size));
	tracecmd_put32(&all, type);
	tracecmd_put32(&all, (u32)head_size);
	if (head)
		strbuf_add(&all, head->data, head_size);
	strbuf_add(&all, data, size);
	err = send_all(s, all.data, all.len);
	strbuf_release(&all);
	return err;
}

/* ---- what is asked for ---- */

static void take_texts(struct cursor *c, u32 count, tracecmd_texts *ret)
{
	while (count-- && c->pos < c->len && !c->failed) {
		const char *const text = cursor_string(c);

		if (text && *text)
			vector_push(ret, text);
	}
}

int tracecmd_request_parse(const struct tracecmd_message *m, struct tracecmd_request *ret)
{
	struct cursor all = cursor_of(m->data, m->size);

	*ret = (struct tracecmd_request){0};
	if (m->type != TRACECMD_TRACE_REQ)
		return -EPROTO;
	while (all.pos < all.len && !all.failed) {
		const u32 kind = get32(&all), size = get32(&all);
		const void *const data = cursor_bytes(&all, size);
		struct cursor part = cursor_of(data, data ? size : 0);

		if (data && kind == TRACECMD_WORDS)
			take_texts(&part, get32(&part), &ret->words);
		else if (data && kind == TRACECMD_WAYS)
			take_texts(&part, UINT32_MAX, &ret->ways);
		all.failed |= part.failed;
	}
	return all.failed ? -EPROTO : 0;
}

void tracecmd_request_release(struct tracecmd_request *r)
{
	vector_free(&r->words);
	vector_free(&r->ways);
}

int tracecmd_request_write(const struct tracecmd_stream *s, char *const *words, size_t count)
{
	static const char ways[] = TRACECMD_PTP "\0"; /* with the NUL of the literal */
	struct strbuf head = STRBUF_INIT, data = STRBUF_INIT, texts = STRBUF_INIT;
	int err;

	for (size_t i = 0; i < count; i++)
		strbuf_add(&texts, words[i], strlen(words[i]) + 1);
	tracecmd_put32(&head, 0); /* flags: no pipes in its file system */
	tracecmd_put32(&head, 0);
	tracecmd_put64(&head, 0); /* the number of the recording */
	tracecmd_put32(&data, TRACECMD_WORDS);
	tracecmd_put32(&data, (u32)(sizeof(u32) + texts.len));
	tracecmd_put32(&data, (u32)count);
	strbuf_add(&data, texts.data, texts.len);
	tracecmd_put32(&data, TRACECMD_WAYS);
	tracecmd_put32(&data, sizeof(ways));
	strbuf_add(&data, ways, sizeof(ways));
	err = tracecmd_write(s, TRACECMD_TRACE_REQ, &head, data.data, data.len);
	strbuf_release(&head);
	strbuf_release(&data);
	strbuf_release(&texts);
	return err;
}

/* ---- the answer ---- */

int tracecmd_response_parse(const struct tracecmd_message *m, struct tracecmd_response *ret)
{
	struct cursor head = cursor_of(m->head, m->head_size), data = cursor_of(m->data, m->size);
	const void *way;
	u64 port;

	*ret = (struct tracecmd_response){0};
	get32(&head); /* flags */
	ret->cpu_count = get32(&head);
	ret->page_size = get32(&head);
	cursor_u64(&head); /* the number of its recording */
	way = cursor_bytes(&head, TRACECMD_WAY_SIZE);
	ret->way_port = get32(&head);
	if (m->type != TRACECMD_TRACE_RESP || head.failed || !ret->cpu_count ||
	    ret->cpu_count > TRACECMD_CPUS_MOST)
		return -EPROTO;
	memcpy(ret->way, way, TRACECMD_WAY_SIZE);
	for (u32 i = 0; i < ret->cpu_count; i++) {
		const char *const text = cursor_string(&data);

		if (!text || parse_u64(text, &port) || port > UINT32_MAX)
			return -EPROTO;
		ret->ports[i] = (u32)port;
	}
	return 0;
}

int tracecmd_response_write(const struct tracecmd_stream *s, const struct tracecmd_response *r)
{
	struct strbuf head = STRBUF_INIT, ports = STRBUF_INIT;
	char way[TRACECMD_WAY_SIZE] = "";
	int err;

	memcpy(way, r->way, strnlen(r->way, sizeof(way)));
	tracecmd_put32(&head, 0); /* flags: no pipes */
	tracecmd_put32(&head, r->cpu_count);
	tracecmd_put32(&head, r->page_size);
	tracecmd_put64(&head, 0); /* the number of the recording */
	strbuf_add(&head, way, sizeof(way));
	tracecmd_put32(&head, r->way_port);
	for (u32 i = 0; i < r->cpu_count; i++) {
		strbuf_addf(&ports, "%u", r->ports[i]);
		strbuf_addch(&ports, '\0');
	}
	err = tracecmd_write(s, TRACECMD_TRACE_RESP, &head, ports.data, ports.len);
	strbuf_release(&head);
	strbuf_release(&ports);
	return err;
}

/* ---- clocks ---- */

int tracecmd_sync_parse(const struct tracecmd_message *m, const char *way, u32 *ret_number)
{
	struct cursor head = cursor_of(m->head, m->head_size);
	const char *const name = cursor_bytes(&head, TRACECMD_WAY_SIZE);
	const u32 number = get32(&head);

	if (m->type != TRACECMD_TIME_SYNC || head.failed ||
	    strncmp(name, way, TRACECMD_WAY_SIZE) != 0)
		return -EPROTO;
	*ret_number = number;
	return 0;
}

int tracecmd_sync_write(const struct tracecmd_stream *s, const char *way, u32 number,
			const void *data, size_t size)
{
	struct strbuf head = STRBUF_INIT;
	char name[TRACECMD_WAY_SIZE] = "";
	int err;

	memcpy(name, way, strnlen(way, sizeof(name)));
	strbuf_add(&head, name, sizeof(name));
	tracecmd_put32(&head, number);
	err = tracecmd_write(s, TRACECMD_TIME_SYNC, &head, data, size);
	strbuf_release(&head);
	return err;
}
