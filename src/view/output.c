/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/output.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

int output_open(struct output *o, const char *path, enum output_buffering buffering, bool is_json)
{
	*o = (struct output){.fd = STDOUT_FILENO,
			     .buffering = buffering,
			     .is_json = is_json,
			     .text = STRBUF_INIT};
	if (!path)
		return 0;
	/* The links in /dev (stdout, fd/3) are the system's own. */
	o->fd = open(path,
		     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
			     (str_starts(path, "/dev/") ? 0 : O_NOFOLLOW),
		     0644);
	if (o->fd < 0)
		return -errno;
	o->owns_fd = true;
	return 0;
}

int output_flush(struct output *o)
{
	if (o->text.len && !o->error)
		o->error = -write_all(o->fd, o->text.data, o->text.len);
	strbuf_reset(&o->text);
	return -o->error;
}

void output_commit(struct output *o)
{
	if (o->text.len >= OUTPUT_CHUNK || o->buffering == OUTPUT_NONE)
		output_flush(o);
}

void output_idle(struct output *o)
{
	if (o->text.len && o->buffering != OUTPUT_FULL)
		output_flush(o);
}

int output_close(struct output *o)
{
	int r = output_flush(o);

	if (o->owns_fd && close(o->fd) < 0 && !r)
		r = -errno;
	o->owns_fd = false;
	strbuf_release(&o->text);
	return r;
}
