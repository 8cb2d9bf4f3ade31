/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink of ctf_output that sends to a relay. What was sent stays in the rings until the relay
 * says that it is written; after a break the relay says where to go on, and the rings are read
 * again from there. A relay that is slow or away costs the recorder no time: it is told -EAGAIN,
 * and the rings fill.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "trace/relay/ctf_relay_connect.h"
#include "trace/ctf/sink.h"
#include "trace/relay/relay_protocol.h"

#define OUT_LIMIT \
	(4u << 20) /* bytes that wait to be sent before the recorder is told to come again */
#define WAIT_MS	    20
#define GREETING_MS 5000 /* a relay that is there answers at once */
#define SETTLE_MS   10000
#define RETRY_MS    250
#define RETRY_MOST  5000

/* A DATA message whose arrival is not confirmed. */
struct in_flight {
	u32 source, stream; /* stream == UINT32_MAX: not of a ring */
	u64 position;
};

struct relay_sink {
	struct ctf_sink sink;
	struct relay_hello hello;
	int fd;
	pid_t pid; /* of ssh */
	bool welcome;
	bool refused; /* for good: another version */
	bool interrupted; /* while waiting, by a signal */
	bool finishing; /* an interruption ends the waiting */
	bool given_up; /* nothing is waited for any more */
	int error; /* errno that the relay named last */
	char text[241];
	bool told;
	u32 chunk;
	u64 retry_at_ms, retry_ms;
	struct strbuf out, in;
	size_t out_at, in_at;
	u64 acknowledged;
	VECTOR(struct in_flight) flight;
	size_t flight_at;
};

static struct relay_sink *of(struct ctf_sink *sink)
{
	return container_of(sink, struct relay_sink, sink);
}

/* ---- connections ---- */

static void disconnect(struct relay_sink *r)
{
	struct ctf_output *o = r->sink.output;

	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	relay_carrier_end(&r->pid, false);
	r->welcome = false;
	strbuf_reset(&r->out);
	strbuf_reset(&r->in);
	r->out_at = r->in_at = r->flight_at = 0;
	r->flight.len = 0;
	r->acknowledged = 0;
	for (size_t i = 0; i < o->sources.len; i++)
		o->sources.items[i]->asked = o->sources.items[i]->announced = false;
	r->retry_ms = MIN(MAX(r->retry_ms * 2, RETRY_MS), RETRY_MOST);
	r->retry_at_ms = clock_now_ms(CLOCK_MONOTONIC) + r->retry_ms;
}

/* ---- sending ---- */

static void queue(struct relay_sink *r, enum relay_type type, u32 source, const void *body,
		  size_t size, u64 more)
{
	const struct relay_message head = {.type = type, .source = source, .size = size + more};

	strbuf_add(&r->out, (const char *)&head, sizeof(head));
	strbuf_add(&r->out, body, size);
}

static void push(struct relay_sink *r)
{
	while (r->fd >= 0 && r->out_at < r->out.len) {
		const ssize_t n = send(r->fd, r->out.data + r->out_at, r->out.len - r->out_at,
				       MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			disconnect(r);
			return;
		}
		r->out_at += (size_t)n;
	}
	if (r->out_at == r->out.len) {
		strbuf_reset(&r->out);
		r->out_at = 0;
	}
}

/* ---- what the relay says ---- */

static struct ctf_source *source_of(struct relay_sink *r, u32 id)
{
	struct ctf_output *o = r->sink.output;

	for (size_t i = 0; i < o->sources.len; i++)
		if (o->sources.items[i]->id == id)
			return o->sources.items[i];
	return NULL;
}

static struct ctf_stream_state *file_of(struct ctf_source *s, const char *name, u32 *ret_ring)
{
	*ret_ring = UINT32_MAX;
	if (str_eq(name, "metadata"))
		return &s->metadata;
	if (str_eq(name, "objects"))
		return &s->objects;
	for (u32 i = 0; i < s->nr_streams; i++) {
		char ring[32];

		pantrace_ctf_stream_name(s->reader, i, ring);
		if (str_eq(ring, name)) {
			*ret_ring = i;
			return &s->streams[i];
		}
	}
	return NULL;
}

/* Everything of the source goes on where the relay's files end; a file that it does not have begins
 * anew. */
static void rewind_to(struct relay_sink *r, struct ctf_source *s, const struct relay_file *files,
		      size_t count)
{
	u64 most = 0;
	u32 ring;

	s->metadata.size = s->objects.size = 0;
	s->objects.stream = (struct pantrace_ctf_stream){0};
	for (u32 i = 0; i < s->nr_streams; i++) {
		struct ctf_stream_state *to = &s->streams[i];

		/* nothing of this chunk is there: as it was when the chunk began */
		if (to->size) {
			to->size = 0;
			to->stream = to->at_begin;
			if (i + 1 < s->nr_streams)
				pantrace_reader_seek(s->reader, i, to->position_at_begin);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct ctf_stream_state *to = file_of(s, files[i].file, &ring);

		if (!to)
			continue;
		to->size = files[i].size;
		to->stream = files[i].resume.stream;
		if (ring < s->nr_streams - 1)
			pantrace_reader_seek(s->reader, ring, files[i].resume.position);
		most = MAX(most, files[i].resume.position);
	}
	for (u32 i = 0; i + 1 < s->nr_streams; i++) {
		if (pantrace_reader_tell(s->reader, i) >= s->streams[i].acknowledged)
			continue;
		snprintf(r->text, sizeof(r->text),
			 "the relay no longer has what it confirmed of %s", s->name);
		r->error = EIO;
		pantrace_reader_seek(s->reader, i, s->streams[i].acknowledged);
	}
	s->announced = true;
}

static void acknowledge(struct relay_sink *r, u64 count)
{
	while (r->acknowledged < count && r->flight_at < r->flight.len) {
		const struct in_flight *f = &r->flight.items[r->flight_at++];
		struct ctf_source *s = source_of(r, f->source);

		r->acknowledged++;
		if (!s || f->stream == UINT32_MAX)
			continue;
		s->streams[f->stream].acknowledged = f->position;
		if (f->stream < s->nr_streams - 1)
			pantrace_reader_release(s->reader, f->stream, f->position);
	}
	if (r->flight_at == r->flight.len)
		r->flight_at = r->flight.len = 0;
	r->retry_ms = 0;
	r->error = 0;
	r->told = false;
}

static void message(struct relay_sink *r, const struct relay_message *head, const char *body)
{
	struct relay_refused refused;
	struct ctf_source *s;
	u64 count;

	switch (head->type) {
	case RELAY_WELCOME:
		r->welcome = true;
		break;
	case RELAY_REFUSED:
		if (head->size != sizeof(refused))
			break;
		memcpy(&refused, body, sizeof(refused));
		r->error = refused.error ? refused.error : EIO;
		snprintf(r->text, sizeof(r->text), "%.240s", refused.text);
		r->refused = r->error == EPROTO || r->error == EINVAL;
		break;
	case RELAY_OPENED:
		s = source_of(r, head->source);
		if (s && s->asked && !s->announced) {
			const size_t n = head->size / sizeof(struct relay_file);
			struct relay_file *files = xreallocarray(NULL, n + 1, sizeof(*files));

			memcpy(files, body, n * sizeof(*files));
			for (size_t i = 0; i < n; i++)
				files[i].file[sizeof(files[i].file) - 1] = 0;
			rewind_to(r, s, files, n);
			free(files);
		}
		break;
	case RELAY_ACK:
		if (head->size == sizeof(count)) {
			memcpy(&count, body, sizeof(count));
			acknowledge(r, count);
		}
		break;
	}
}

static void pull(struct relay_sink *r)
{
	struct relay_message head;
	ssize_t n;

	while (r->fd >= 0) {
		n = recv(r->fd, strbuf_reserve(&r->in, 65536), 65536, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n > 0)
			r->in.len += (size_t)n;
		while (r->in.len - r->in_at >= sizeof(head)) {
			memcpy(&head, r->in.data + r->in_at, sizeof(head));
			if (head.size > 1u << 20) {
				n = 0; /* no relay says that much */
				break;
			}
			if (r->in.len - r->in_at - sizeof(head) < head.size)
				break;
			message(r, &head, r->in.data + r->in_at + sizeof(head));
			r->in_at += sizeof(head) + head.size;
		}
		if (r->in_at == r->in.len) {
			strbuf_reset(&r->in);
			r->in_at = 0;
		}
		if (n <= 0) {
			disconnect(r);
			return;
		}
	}
}

static void turn(struct relay_sink *r, int wait_ms)
{
	struct pollfd p = {.fd = r->fd,
			   .events = (short)(POLLIN | (r->out_at < r->out.len ? POLLOUT : 0))};

	if (r->fd < 0)
		return;
	if (wait_ms && poll(&p, 1, wait_ms) < 0 && errno == EINTR)
		r->interrupted = true;
	pull(r);
	push(r);
}

static int connect_again(struct relay_sink *r)
{
	int fd;

	if (r->refused)
		return -EPROTO;
	if (r->fd >= 0)
		return 0;
	if (clock_now_ms(CLOCK_MONOTONIC) < r->retry_at_ms)
		return -EAGAIN;
	fd = relay_connect(r->sink.output->options.to, &r->pid);
	if (fd < 0) {
		disconnect(r);
		return fd;
	}
	r->fd = fd;
	queue(r, RELAY_HELLO, 0, &r->hello, sizeof(r->hello), 0);
	if (r->chunk)
		queue(r, RELAY_CHUNK, 0, &r->chunk, sizeof(r->chunk), 0);
	push(r);
	return 0;
}

static int why_not(const struct relay_sink *r)
{
	if (r->refused)
		return -EPROTO;
	return r->error == ENOSPC || r->error == EDQUOT ? -ENOSPC : -EAGAIN;
}

/* ---- what ctf_output asks for ---- */

static int begin(struct ctf_sink *sink, struct ctf_source *s)
{
	struct relay_sink *r = of(sink);
	char name[64] = "";

	if (connect_again(r))
		return why_not(r);
	if (s->announced)
		return 0;
	if (!s->asked) {
		memcpy(name, s->name, sizeof(name));
		queue(r, RELAY_OPEN, s->id, name, sizeof(name), 0);
		push(r);
		s->asked = r->fd >= 0;
	}
	turn(r, WAIT_MS);
	return s->announced ? 0 : why_not(r);
}

static int send_data(struct relay_sink *r, struct ctf_source *s, const char *file,
		     struct ctf_stream_state *to, u32 stream, u64 position,
		     const void *const *parts, const size_t *sizes, size_t count)
{
	struct relay_data data = {.offset = to->size, .resume = {position, to->stream}};
	const struct in_flight flight = {s->id, stream, position};
	size_t total = 0;

	if (r->out.len - r->out_at > OUT_LIMIT)
		turn(r, WAIT_MS);
	if (r->fd < 0 || !s->announced || r->out.len - r->out_at > OUT_LIMIT)
		return why_not(r);
	for (size_t i = 0; i < count; i++)
		total += sizes[i];
	if (r->out_at > OUT_LIMIT) { /* what was sent makes room */
		memmove(r->out.data, r->out.data + r->out_at, r->out.len - r->out_at);
		r->out.len -= r->out_at;
		r->out_at = 0;
	}
	snprintf(data.file, sizeof(data.file), "%s", file);
	queue(r, RELAY_DATA, s->id, &data, sizeof(data), total);
	for (size_t i = 0; i < count; i++)
		strbuf_add(&r->out, parts[i], sizes[i]);
	vector_push(&r->flight, flight);
	to->size += total;
	push(r);
	pull(r);
	return 0;
}

static int append(struct ctf_sink *sink, struct ctf_source *s, const char *file,
		  struct ctf_stream_state *to, const struct pantrace_ctf_packet *packet,
		  u64 position)
{
	static const char zeros[8];
	const void *const parts[] = {&packet->header, packet->data, zeros};
	const size_t sizes[] = {CTF_HEADER, packet->size, packet->padding};
	const u32 stream = (u32)(to - s->streams);

	return send_data(of(sink), s, file, to, stream, position, parts, sizes, ARRAY_SIZE(parts));
}

static int append_bytes(struct ctf_sink *sink, struct ctf_source *s, const char *file,
			struct ctf_stream_state *to, const char *data, size_t size)
{
	const void *const parts[] = {data};

	return send_data(of(sink), s, file, to, UINT32_MAX, 0, parts, &size, 1);
}

static int settled(struct ctf_sink *sink, u32 timeout_ms)
{
	struct relay_sink *r = of(sink);
	const u64 end = clock_now_ms(CLOCK_MONOTONIC) + timeout_ms;

	while (r->fd >= 0 && !(r->finishing && r->interrupted) &&
	       (r->out_at < r->out.len || r->flight_at < r->flight.len) &&
	       clock_now_ms(CLOCK_MONOTONIC) < end)
		turn(r, WAIT_MS);
	return r->fd >= 0 && r->flight_at == r->flight.len ? 0 : why_not(r);
}

/* All that the source's rings hold is at the relay; a break is waited for. 0 or -errno. */
static int deliver(struct ctf_sink *sink, struct ctf_source *s, u64 limit_ms)
{
	struct relay_sink *r = of(sink);
	int rc;

	for (;;) {
		rc = ctf_output_drain(sink->output, s, CTF_ALL);
		if (rc == -EBADMSG)
			rc = 0;
		if (!rc)
			rc = settled(sink, (u32)(limit_ms -
						 MIN(limit_ms, clock_now_ms(CLOCK_MONOTONIC))));
		if (!rc || r->refused || (r->finishing && r->interrupted) ||
		    clock_now_ms(CLOCK_MONOTONIC) >= limit_ms)
			return rc;
		turn(r, WAIT_MS);
		if (r->fd < 0 && poll(NULL, 0, WAIT_MS) < 0 && errno == EINTR)
			r->interrupted = true;
	}
}

static int end(struct ctf_sink *sink, struct ctf_source *s, bool for_good)
{
	struct relay_sink *r = of(sink);
	const u64 limit_ms = r->given_up ? 0 : clock_now_ms(CLOCK_MONOTONIC) + SETTLE_MS;
	const int rc = for_good ? deliver(sink, s, limit_ms) : 0;

	if (s->announced)
		queue(r, RELAY_END, s->id, NULL, 0, 0);
	push(r);
	s->asked = s->announced = false;
	return rc;
}

static int chunk(struct ctf_sink *sink, u32 number)
{
	struct relay_sink *r = of(sink);

	r->chunk = number;
	if (r->fd >= 0) {
		queue(r, RELAY_CHUNK, 0, &number, sizeof(number), 0);
		push(r);
	}
	return 0;
}

static int tick(struct ctf_sink *sink, struct diag *d)
{
	struct relay_sink *r = of(sink);

	connect_again(r);
	turn(r, 0);
	if (r->error && !r->told) {
		diag_warning(d, NO_SPAN, "relay at %s: %s", r->sink.output->options.to, r->text);
		if (!r->refused)
			diag_hint(d, "events wait in the programs' rings; what finds no room is "
				     "counted as lost");
		r->told = true;
	}
	return r->refused ? -EPROTO : 0;
}

static int finish(struct ctf_sink *sink, u32 timeout_ms)
{
	struct relay_sink *r = of(sink);
	struct ctf_output *o = sink->output;
	const u64 limit = clock_now_ms(CLOCK_MONOTONIC) + timeout_ms;
	int rc = 0;

	r->interrupted = false; /* by what has ended the recording */
	r->finishing = true;
	for (size_t i = 0; i < o->sources.len && !rc; i++)
		rc = deliver(sink, o->sources.items[i], limit);
	if (!rc)
		rc = settled(sink, (u32)(limit - MIN(limit, clock_now_ms(CLOCK_MONOTONIC))));
	r->given_up = rc;
	return rc != -EAGAIN ? rc : r->interrupted ? -EINTR : -ETIMEDOUT;
}

static int close_(struct ctf_sink *sink)
{
	struct relay_sink *r = of(sink);

	push(r);
	if (r->fd >= 0)
		shutdown(r->fd, SHUT_WR);
	relay_carrier_end(&r->pid, true);
	if (r->fd >= 0)
		close(r->fd);
	strbuf_release(&r->out);
	strbuf_release(&r->in);
	vector_free(&r->flight);
	free(r);
	return 0;
}

static const struct ctf_sink_ops relay_ops = {
	.begin = begin,
	.append = append,
	.append_bytes = append_bytes,
	.settled = settled,
	.end = end,
	.chunk = chunk,
	.tick = tick,
	.finish = finish,
	.close = close_,
};

static int first_connection(struct relay_sink *r, struct diag *d)
{
	const char *to = r->sink.output->options.to;
	/* for ssh somebody may have to type a passphrase */
	const u64 limit =
		clock_now_ms(CLOCK_MONOTONIC) + (str_starts(to, "ssh://") ? 30000 : GREETING_MS);
	int rc = connect_again(r);

	while (!rc && r->fd >= 0 && !r->welcome && !r->refused && !r->interrupted &&
	       clock_now_ms(CLOCK_MONOTONIC) < limit)
		turn(r, WAIT_MS);
	if (r->welcome)
		return 0;
	if (r->interrupted) {
		diag_error(d, NO_SPAN, "interrupted before the relay at %s answered", to);
		return -EINTR;
	}
	if (r->error && rc != -EINVAL) {
		diag_error(d, NO_SPAN, "the relay at %s refused: %s", to, r->text);
		rc = -r->error;
	} else {
		relay_tell_no_answer(to, rc, d);
		rc = rc ? rc : -ECONNREFUSED;
	}
	return rc;
}

int ctf_relay_sink(struct ctf_output *o, struct diag *d)
{
	struct relay_sink *r = xzalloc(sizeof(*r));
	int rc;

	r->sink.ops = &relay_ops;
	r->sink.output = o;
	r->fd = -1;
	r->out = (struct strbuf)STRBUF_INIT;
	r->in = (struct strbuf)STRBUF_INIT;
	r->hello = relay_hello_of(o->options.directory);
	rc = first_connection(r, d);
	o->sink = &r->sink;
	return rc;
}
