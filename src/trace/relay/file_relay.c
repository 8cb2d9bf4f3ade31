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

static void answer(struct file_relay *r, const struct relay_message *head, const char *body)
{
	struct relay_refused refused;

	if (head->type == RELAY_WELCOME)
		r->is_welcome = true;
	if (head->type == RELAY_ACK && head->size == sizeof(r->on_disk))
		memcpy(&r->on_disk, body, sizeof(r->on_disk));
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
	if (!n)
		failed(r, -ECONNRESET);
	else if (errno != EAGAIN && errno != EINTR)
		failed(r, -errno);
}

/* Until the descriptor is ready for it, or said something. */
static void wait_for(struct file_relay *r, short events, u64 until_ms)
{
	const u64 now = clock_now_ms(CLOCK_MONOTONIC);
	struct pollfd p = {.fd = r->fd, .events = (short)(events | POLLIN)};

	if (now >= until_ms)
		failed(r, -ETIMEDOUT);
	else if (poll(&p, 1, (int)MIN(until_ms - now, 100u)) > 0 && p.revents & ~POLLOUT)
		listen_to(r);
}

/* ---- what is sent ---- */

/* Under the lock. */
static int put(struct file_relay *r, const void *data, size_t size)
{
	u64 until_ms = clock_now_ms(CLOCK_MONOTONIC) + FILE_RELAY_STALL_MS;

	for (const char *at = data; size && !r->error;) {
		const ssize_t n = send(r->fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			size -= (size_t)n;
			until_ms = clock_now_ms(CLOCK_MONOTONIC) + FILE_RELAY_STALL_MS;
		} else if (errno == EAGAIN) {
			wait_for(r, POLLOUT, until_ms);
		} else if (errno != EINTR) {
			const int err = -errno;

			listen_to(r); /* perhaps it said why */
			failed(r, err);
		}
	}
	return r->error;
}

static int put_message(struct file_relay *r, enum agent_type type, const void *head,
		       size_t head_size, const void *body, size_t body_size)
{
	const struct relay_message m = {
		.type = RELAY_CARRIED, .source = type, .size = head_size + body_size};
	int err = put(r, &m, sizeof(m)) ?: put(r, head, head_size) ?: put(r, body, body_size);

	r->sent += !err;
	if (!err)
		listen_to(r);
	return err;
}

static int open_file(struct recording_carrier *c, const char *name, u32 *ret_number)
{
	struct file_relay *const r = of(c);
	struct agent_file head = {0};
	int err;

	if (strlen(name) > AGENT_NAME_MOST)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&r->lock);
	head.number = *ret_number = ++r->files;
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

/* ---- the connection ---- */

void file_relay_init(struct file_relay *r, const char *to, const char *name)
{
	*r = (struct file_relay){
		.carrier = {open_file, write_file, pack, begun, ended},
		.to = to,
		.name = name,
		.fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.in = STRBUF_INIT,
	};
}

static int greet(struct file_relay *r)
{
	const u64 until_ms = clock_now_ms(CLOCK_MONOTONIC) +
			     (str_starts(r->to, "ssh://") ? GREETING_SSH_MS : GREETING_MS);
	const struct relay_hello hello = relay_hello_of(r->name);
	const struct relay_message head = {.type = RELAY_HELLO, .size = sizeof(hello)};

	if (!put(r, &head, sizeof(head)))
		put(r, &hello, sizeof(hello));
	while (!r->error && !r->is_welcome)
		wait_for(r, 0, until_ms);
	return r->error;
}

int file_relay_open(struct file_relay *r, struct diag *d)
{
	int err;

	r->fd = relay_connect(r->to, &r->pid);
	err = r->fd < 0 ? r->fd : greet(r);
	if (err && *r->text)
		diag_error(d, NO_SPAN, "the relay at %s refused: %s", r->to, r->text);
	else if (err)
		relay_tell_no_answer(r->to, err, d);
	return err;
}

static void tell(struct file_relay *r, struct diag *d)
{
	if (r->is_told)
		return;
	r->is_told = true;
	diag_error(d, NO_SPAN, "relay at %s: %s", r->to,
		   *r->text		    ? r->text
		   : r->error == -ETIMEDOUT ? "it took nothing for 10 seconds"
					    : strerror(-r->error));
	if (r->sent > r->on_disk)
		diag_hint(d,
			  "%" PRIu64 " of %" PRIu64
			  " messages were not confirmed: what is in them may be missing there",
			  r->sent - r->on_disk, r->sent);
	diag_hint(d, "what has arrived there can be read up to this point");
}

int file_relay_check(struct file_relay *r, struct diag *d)
{
	int err;

	pthread_mutex_lock(&r->lock);
	if (!r->error)
		listen_to(r);
	err = r->error;
	if (err)
		tell(r, d);
	pthread_mutex_unlock(&r->lock);
	return err;
}

int file_relay_finish(struct file_relay *r, struct diag *d)
{
	u64 before = r->on_disk, until_ms = clock_now_ms(CLOCK_MONOTONIC) + FILE_RELAY_STALL_MS;

	while (!r->error && r->on_disk < r->sent) {
		wait_for(r, 0, until_ms);
		if (r->on_disk == before)
			continue;
		before = r->on_disk;
		until_ms = clock_now_ms(CLOCK_MONOTONIC) + FILE_RELAY_STALL_MS;
	}
	if (r->error)
		tell(r, d);
	return r->error;
}

void file_relay_close(struct file_relay *r)
{
	if (r->fd >= 0) {
		shutdown(r->fd, SHUT_WR);
		relay_carrier_end(&r->pid, true);
		close(r->fd);
	}
	r->fd = -1;
	strbuf_release(&r->in);
}
