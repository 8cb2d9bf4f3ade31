/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/output.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/stall.h"

/*
 * A terminal may block a write although poll() reports room. It is opened once more with
 * O_NONBLOCK: the descriptor itself may be shared with other processes and stays as it is.
 */
static void see_who_reads(struct output *o)
{
	int fd;

	o->may_stall = stall_is_possible(o->fd);
	if (!isatty(o->fd) || o->owns_fd)
		return;
	fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	o->fd = fd;
	o->owns_fd = true;
}

int output_open(struct output *o, const char *path, enum output_buffering buffering, bool is_json)
{
	*o = (struct output){.fd = STDOUT_FILENO,
			     .buffering = buffering,
			     .is_json = is_json,
			     .text = STRBUF_INIT};
	if (!path) {
		see_who_reads(o);
		return 0;
	}
	o->fd = foreign_create(path, 0644);
	if (o->fd < 0)
		return o->fd;
	o->owns_fd = true;
	see_who_reads(o);
	return 0;
}

/* The oldest lines make room: half of all at once, so that not every action moves the others. */
static void hold(struct output *o)
{
	if (o->text.len > o->held_most) {
		const size_t least = MIN(o->text.len - o->held_most / 2, o->held);
		size_t n = 0;

		for (; n < least; o->dropped++) {
			const char *const end = memchr(o->text.data + n, '\n', o->held - n);

			n = end ? (size_t)(end + 1 - o->text.data) : o->held;
		}
		o->text.len -= n;
		memmove(o->text.data, o->text.data + n, o->text.len + 1);
	}
	o->held = o->text.len;
}

int output_flush(struct output *o)
{
	if (o->held_most) {
		hold(o);
		return 0;
	}
	if (o->text.len && !o->error) {
		o->error = -(o->may_stall ? stall_write(o->fd, o->text.data, o->text.len)
					  : write_all(o->fd, o->text.data, o->text.len));
	}
	strbuf_reset(&o->text);
	return -o->error;
}

void output_commit(struct output *o)
{
	if (o->text.len >= OUTPUT_CHUNK || o->buffering == OUTPUT_NONE || o->held_most)
		output_flush(o);
}

void output_idle(struct output *o)
{
	if (o->text.len && o->buffering != OUTPUT_FULL)
		output_flush(o);
}

int output_close(struct output *o)
{
	output_flush(o);
	if (o->owns_fd && close(o->fd) < 0 && !o->error)
		o->error = errno;
	o->owns_fd = false;
	strbuf_release(&o->text);
	return -o->error;
}

enum exit_code output_exit_code(const struct output *o, struct diag *d)
{
	if (!o->error || o->error == EPIPE)
		return EXIT_OK;
	if (o->error == ETIMEDOUT) {
		diag_warning(d, NO_SPAN, "nobody read the output any more: the rest of it is lost");
		return EXIT_LOST;
	}
	diag_error(d, NO_SPAN, "cannot write the output: %s", strerror(o->error));
	return EXIT_FAILED;
}
