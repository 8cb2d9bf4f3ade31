/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/relay/file_relay.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/agent/protocol.h"
#include "trace/relay/ctf_relay_connect.h"
#include "trace/relay/relay_protocol.h"

#define GREETING_MS	5000
#define GREETING_SSH_MS 30000 /* somebody may have to type a passphrase */
#define ANSWER_MOST	(1u << 20) /* bytes; no relay says more at once */
#define KEPT_MOST	(4u << 20) /* bytes that are not confirmed */
#define RETRY_MS	250

static struct file_relay *of(struct recording_carrier *c)
{
	return container_of(c, struct file_relay, carrier);
}

/* ---- what the relay says ---- */

static int failed(struct file_relay *r, int err)
{
	if (!r->error)
		r->error = err;
	return r->error;
}

/* So many messages of this connection are on its disk. */
static void confirm(struct file_relay *r, u64 count)
{
	struct relay_message head;

	for (; r->on_disk < count && r->confirmed < r->sent; r->on_disk++) {
		memcpy(&head, r->out.data + r->confirmed, sizeof(head));
		if (sizeof(head) + head.size > r->sent - r->confirmed) {
			failed(r, -EPROTO);
			return;
		}
		r->confirmed += sizeof(head) + head.size;
		r->kept--;
	}
	if (!r->confirmed || r->confirmed < r->out.len / 2)
		return;
	memmove(r->out.data, r->out.data + r->confirmed, r->out.len - r->confirmed);
	r->out.len -= r->confirmed;
	r->sent -= r->confirmed;
	r->confirmed = 0;
}

static void answer(struct file_relay *r, const struct relay_message *head, const char *body)
{
	struct relay_refused refused;
	u64 count;

	if (head->type == RELAY_WELCOME)
		r->is_welcome = true;
	if (head->type == RELAY_ACK && head->size == sizeof(count)) {
		memcpy(&count, body, sizeof(count));
		confirm(r, count);
	}
	if (head->type != RELAY_REFUSED || head->size != sizeof(refused))
		return;
	memcpy(&refused, body, sizeof(refused));
	snprintf(r->text, sizeof(r->text), "%.240s", refused.text);
	failed(r, refused.error > 0 ? -refused.error : -EIO);
}

/* The whole messages among what has come. */
static void take_answers(struct file_relay *r)
{
	struct relay_message head;
	size_t at = 0;

	while (r->in.len - at >= sizeof(head)) {
		memcpy(&head, r->in.data + at, sizeof(head));
		if (head.size > ANSWER_MOST) {
			failed(r, -EPROTO);
			break;
		}
		if (r->in.len - at - sizeof(head) < head.size)
			break;
		answer(r, &head, r->in.data + at + sizeof(head));
		at += sizeof(head) + head.size;
	}
	memmove(r->in.data, r->in.data + at, r->in.len - at);
	r->in.len -= at;
}

static void listen_to(struct file_relay *r)
{
	ssize_t n = 1;

	while (n > 0) {
		n = recv(r->fd, strbuf_reserve(&r->in, 4096), 4096, MSG_DONTWAIT);
		if (n > 0)
			r->in.len += (size_t)n;
		if (r->in.len)
			take_answers(r);
	}
	if (!n || (errno != EAGAIN && errno != EINTR))
		r->is_broken = true;
}

/* While the relay is away: whether somebody asked a second time for the end, an error then. */
static bool is_given_up(struct file_relay *r)
{
	if (r->end_asked && r->end_asked() > 1)
		failed(r, -EINTR);
	return r->error;
}

/* Until the descriptor is ready for it, or said something, or a moment has passed. */
static void wait_for(struct file_relay *r, short events)
{
	struct pollfd p = {.fd = r->fd, .events = (short)(events | POLLIN)};

	if (poll(&p, 1, 100) > 0 && p.revents & ~POLLOUT)
		listen_to(r);
}

/* ---- the connection ---- */

static void disconnect(struct file_relay *r, bool wait)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	relay_carrier_end(&r->pid, wait);
}

/* 0 or -errno. */
static int greet(struct file_relay *r)
{
	const u64 until_ms = clock_now_ms(CLOCK_MONOTONIC) +
			     (str_starts(r->to, "ssh://") ? GREETING_SSH_MS : GREETING_MS);
	const struct {
		struct relay_message head;
		struct relay_hello hello;
	} message = {{.type = RELAY_HELLO, .size = sizeof(r->hello)}, r->hello};

	r->is_welcome = r->is_broken = false;
	r->on_disk = 0;
	strbuf_reset(&r->in);
	if (send(r->fd, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		return -ECONNRESET;
	while (!is_given_up(r) && !r->is_welcome && !r->is_broken) {
		if (clock_now_ms(CLOCK_MONOTONIC) >= until_ms)
			return -ETIMEDOUT;
		wait_for(r, 0);
	}
	return r->error ?: r->is_welcome ? 0 : -ECONNRESET;
}

static int connect_to(struct file_relay *r)
{
	r->fd = relay_connect(r->to, &r->pid);
	return r->fd < 0 ? r->fd : greet(r);
}

static void add_message(struct strbuf *out, enum agent_type type, const void *head,
			size_t head_size, const void *body, size_t body_size)
{
	const struct relay_message m = {
		.type = RELAY_CARRIED, .source = type, .size = head_size + body_size};

	strbuf_add(out, (const char *)&m, sizeof(m));
	strbuf_add(out, head, head_size);
	strbuf_add(out, body, body_size);
}

/* A new connection knows no files: those whose messages are confirmed are named again, first. */
static void send_again(struct file_relay *r)
{
	struct strbuf out = STRBUF_INIT;
	struct relay_message m;
	size_t known = r->files.len;

	for (size_t at = r->confirmed; at < r->out.len; at += sizeof(m) + m.size) {
		memcpy(&m, r->out.data + at, sizeof(m));
		known -= m.source == AGENT_FILE;
	}
	for (size_t i = 0; i < known; i++) {
		const struct agent_file head = {.number = (u32)i + 1};

		add_message(&out, AGENT_FILE, &head, sizeof(head), r->files.items[i],
			    strlen(r->files.items[i]));
	}
	strbuf_add(&out, r->out.data + r->confirmed, r->out.len - r->confirmed);
	strbuf_release(&r->out);
	r->out = out;
	r->confirmed = r->sent = 0;
	r->kept += known;
}

static void connect_again(struct file_relay *r)
{
	const u64 until_ms = clock_now_ms(CLOCK_MONOTONIC) + FILE_RELAY_AWAY_MS;
	int err = -ECONNRESET;

	while (err && !is_given_up(r)) {
		disconnect(r, false);
		err = connect_to(r);
		if (err && clock_now_ms(CLOCK_MONOTONIC) >= until_ms)
			failed(r, err);
		else if (err)
			poll(NULL, 0, RETRY_MS);
	}
	if (err)
		return;
	r->breaks++;
	send_again(r);
}

/* ---- what is sent ---- */

/* Sends some of what there is, or waits a moment for the relay. False: nothing went on. */
static bool send_some(struct file_relay *r)
{
	const size_t left = r->out.len - r->sent;
	const u64 kept = r->kept;
	const ssize_t n =
		left ? send(r->fd, r->out.data + r->sent, left, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

	if (n > 0) {
		r->sent += (size_t)n;
		return true;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		r->is_broken = true;
	wait_for(r, left ? POLLOUT : 0); /* if it is broken, it may say why */
	return r->kept != kept;
}

/* Sends everything, until at most that many bytes are not confirmed. Under the lock. */
static int settle(struct file_relay *r, size_t most)
{
	u64 moved_ms = clock_now_ms(CLOCK_MONOTONIC);

	while (!r->error && (r->sent < r->out.len || r->out.len - r->confirmed > most)) {
		const bool moved = send_some(r);
		const u64 now_ms = clock_now_ms(CLOCK_MONOTONIC);

		if (moved)
			moved_ms = now_ms;
		else if (now_ms - moved_ms >= FILE_RELAY_STALL_MS)
			failed(r, -ETIMEDOUT);
		if (r->is_broken && !r->error) {
			connect_again(r);
			moved_ms = clock_now_ms(CLOCK_MONOTONIC);
		}
	}
	return r->error;
}

static int put_message(struct file_relay *r, enum agent_type type, const void *head,
		       size_t head_size, const void *body, size_t body_size)
{
	if (r->error)
		return r->error;
	add_message(&r->out, type, head, head_size, body, body_size);
	r->given++;
	r->kept++;
	if (!settle(r, KEPT_MOST))
		listen_to(r);
	return r->error;
}

static int open_file(struct recording_carrier *c, const char *name, u32 *ret_number)
{
	struct file_relay *const r = of(c);
	struct agent_file head = {0};
	int err;

	if (strlen(name) > AGENT_NAME_MOST)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&r->lock);
	vector_push(&r->files, xstrdup(name));
	head.number = *ret_number = (u32)r->files.len;
	err = put_message(r, AGENT_FILE, &head, sizeof(head), name, strlen(name));
	pthread_mutex_unlock(&r->lock);
	return err;
}

static int write_file(struct recording_carrier *c, u32 number, const void *data, size_t n, u64 at)
{
	struct file_relay *const r = of(c);
	int err = 0;

	for (size_t done = 0; done < n && !err; done += AGENT_WRITE_BYTES) {
		const struct agent_write head = {.number = number, .at = at + done};

		pthread_mutex_lock(&r->lock);
		err = put_message(r, AGENT_WRITE, &head, sizeof(head), (const u8 *)data + done,
				  MIN(n - done, (size_t)AGENT_WRITE_BYTES));
		pthread_mutex_unlock(&r->lock);
	}
	return err;
}

static int pack(struct recording_carrier *c, u32 number, const void *plan, size_t n)
{
	struct file_relay *const r = of(c);
	const struct agent_file head = {.number = number};
	int err;

	if (n > AGENT_WRITE_BYTES)
		return -E2BIG;
	pthread_mutex_lock(&r->lock);
	/* bytes that are sent again must not find it packed */
	err = settle(r, 0);
	if (!err)
		err = put_message(r, AGENT_PACK, &head, sizeof(head), plan, n);
	pthread_mutex_unlock(&r->lock);
	return err;
}

static void begun(struct recording_carrier *c)
{
}

static void ended(struct recording_carrier *c, u64 lost, u64 uncounted)
{
}

/* ---- from the beginning to the end ---- */

void file_relay_init(struct file_relay *r, const char *to, const char *name)
{
	*r = (struct file_relay){
		.carrier = {open_file, write_file, pack, begun, ended},
		.to = to,
		.name = name,
		.fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.in = STRBUF_INIT,
		.out = STRBUF_INIT,
		.hello = relay_hello_of(name),
	};
}

int file_relay_open(struct file_relay *r, struct diag *d)
{
	const int err = connect_to(r);

	if (err && *r->text)
		diag_error(d, NO_SPAN, "the relay at %s refused: %s", r->to, r->text);
	else if (err)
		relay_tell_no_answer(r->to, err, d);
	return err;
}

static void tell(struct file_relay *r, struct diag *d)
{
	if (r->breaks)
		diag_warning(d, NO_SPAN,
			     "relay at %s: the connection broke; recording continues on a new one. "
			     "Events for which the rings had no room meanwhile are counted as lost",
			     r->to);
	r->breaks = 0;
	if (!r->error || r->is_told)
		return;
	r->is_told = true;
	diag_error(d, NO_SPAN, "relay at %s: %s", r->to,
		   *r->text		    ? r->text
		   : r->error == -ETIMEDOUT ? "it took nothing for 10 seconds"
		   : r->error == -EINTR	    ? "it was not waited for any longer"
					    : strerror(-r->error));
	if (r->kept)
		diag_hint(d,
			  "%" PRIu64 " of %" PRIu64
			  " messages were not confirmed: what is in them may be missing there",
			  MIN(r->kept, r->given), r->given);
	diag_hint(d, "what has arrived there can be read up to this point");
}

int file_relay_check(struct file_relay *r, struct diag *d)
{
	int err;

	pthread_mutex_lock(&r->lock);
	if (!r->error)
		listen_to(r);
	if (r->is_broken && !r->error)
		connect_again(r);
	err = settle(r, KEPT_MOST);
	tell(r, d);
	pthread_mutex_unlock(&r->lock);
	return err;
}

int file_relay_finish(struct file_relay *r, struct diag *d)
{
	settle(r, 0);
	tell(r, d);
	return r->error;
}

void file_relay_close(struct file_relay *r)
{
	if (r->fd >= 0)
		shutdown(r->fd, SHUT_WR);
	disconnect(r, true);
	for (size_t i = 0; i < r->files.len; i++)
		free(r->files.items[i]);
	vector_free(&r->files);
	strbuf_release(&r->in);
	strbuf_release(&r->out);
}
