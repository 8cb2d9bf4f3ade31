/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/sender.h"

#include "base/file.h"

static struct agent_sender *of(struct recording_carrier *c)
{
	return container_of(c, struct agent_sender, carrier);
}

/* Under the lock. */
static int put(struct agent_sender *s, enum agent_type type, const void *head, size_t head_size,
	       const void *body, size_t body_size)
{
	const struct agent_frame f = {type, (u32)(head_size + body_size), s->number++};
	int err = s->error;

	if (!err)
		err = write_all(s->fd, &f, sizeof(f));
	if (!err)
		err = write_all(s->fd, head, head_size);
	if (!err)
		err = write_all(s->fd, body, body_size);
	s->error = err;
	return err;
}

int agent_send(struct agent_sender *s, enum agent_type type, const void *head, size_t head_size,
	       const void *body, size_t body_size)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = put(s, type, head, head_size, body, body_size);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int open_file(struct recording_carrier *c, const char *name, u32 *ret_number)
{
	struct agent_sender *const s = of(c);
	struct agent_file head = {0};
	int err;

	if (strlen(name) > AGENT_NAME_MOST)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&s->lock);
	head.number = *ret_number = ++s->files;
	err = put(s, AGENT_FILE, &head, sizeof(head), name, strlen(name));
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int write_file(struct recording_carrier *c, u32 number, const void *data, size_t n, u64 at)
{
	struct agent_sender *const s = of(c);
	int err = 0;

	for (size_t done = 0; done < n && !err;) {
		const size_t some = MIN(n - done, (size_t)AGENT_WRITE_BYTES);
		const struct agent_write head = {.number = number, .at = at + done};

		err = agent_send(s, AGENT_WRITE, &head, sizeof(head), (const u8 *)data + done,
				 some);
		done += some;
	}
	return err;
}

static int pack(struct recording_carrier *c, u32 number, const void *plan, size_t n)
{
	const struct agent_file head = {.number = number};

	if (n > AGENT_FRAME_MOST - sizeof(head))
		return -E2BIG;
	return agent_send(of(c), AGENT_PACK, &head, sizeof(head), plan, n);
}

static void begun(struct recording_carrier *c)
{
	agent_send(of(c), AGENT_BEGUN, NULL, 0, NULL, 0);
}

static void ended(struct recording_carrier *c, u64 lost, u64 uncounted)
{
	const struct agent_lost head = {lost, uncounted};

	agent_send(of(c), AGENT_LOST, &head, sizeof(head), NULL, 0);
}

void agent_sender_init(struct agent_sender *s, int fd)
{
	*s = (struct agent_sender){
		.carrier = {open_file, write_file, pack, begun, ended},
		.fd = fd,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
}
