/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink of ctf_output that writes files here. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/ctf/sink.h"

struct job {
	pid_t pid;
	u32 chunk;
};

struct directory_sink {
	struct ctf_sink sink;
	int root, chunk; /* chunk == root without rotation; -1: nothing has come for it yet */
	VECTOR(struct job) compressing;
	bool failed; /* one of them */
};

static struct directory_sink *of(struct ctf_sink *sink)
{
	return container_of(sink, struct directory_sink, sink);
}

/* A chunk that nothing comes for leaves no directory, which no reader would take for a trace. */
static int chunk_make(struct directory_sink *d)
{
	char name[32];

	if (d->chunk >= 0)
		return 0;
	snprintf(name, sizeof(name), CHUNK_NAME, d->sink.output->chunk);
	if (mkdirat(d->root, name, 0700))
		return -errno;
	d->chunk = directory_make(d->root, name);
	return MIN(d->chunk, 0);
}

static int begin(struct ctf_sink *sink, struct ctf_source *s)
{
	struct directory_sink *d = of(sink);
	char name[64];
	int rc;

	if (s->directory >= 0)
		return 0;
	rc = chunk_make(d);
	if (rc)
		return rc;
	snprintf(name, sizeof(name), "%s", s->name);
	for (unsigned int i = 2; mkdirat(d->chunk, s->name, 0700); i++) {
		if (errno != EEXIST || i > 10000)
			return -errno;
		snprintf(s->name, sizeof(s->name), "%.48s-%u", name, i);
	}
	s->directory = directory_make(d->chunk, s->name);
	return MIN(s->directory, 0);
}

/* All of it, or the file is as long as before. */
static int append_vector(struct ctf_source *s, const char *file, struct ctf_stream_state *to,
			 struct iovec *part, int parts)
{
	u64 size = 0;

	if (to->fd < 0)
		to->fd = openat(s->directory, file,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to->fd < 0)
		return -errno;
	while (parts) {
		ssize_t n = pwritev(to->fd, part, parts, (off_t)(to->size + size));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			const int error = n ? -errno : -ENOSPC;

			return ftruncate(to->fd, (off_t)to->size) ? -errno : error;
		}
		size += (u64)n;
		for (; parts && (size_t)n >= part->iov_len; part++, parts--)
			n -= (ssize_t)part->iov_len;
		if (parts) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	to->size += size;
	return 0;
}

static int append(struct ctf_sink *sink, struct ctf_source *s, const char *file,
		  struct ctf_stream_state *to, const struct pantrace_ctf_packet *packet,
		  u64 position)
{
	static const char zeros[8];
	struct iovec parts[] = {
		{(void *)&packet->header, CTF_HEADER},
		{(void *)packet->data, packet->size},
		{(void *)zeros, packet->padding},
	};
	int rc = append_vector(s, file, to, parts, ARRAY_SIZE(parts));

	if (!rc && to != &s->streams[s->nr_streams - 1])
		pantrace_reader_release(s->reader, (u32)(to - s->streams), position);
	return rc;
}

static int append_bytes(struct ctf_sink *sink, struct ctf_source *s, const char *file,
			struct ctf_stream_state *to, const char *data, size_t size)
{
	struct iovec part = {(void *)data, size};

	return append_vector(s, file, to, &part, 1);
}

static void shut(struct ctf_stream_state *state)
{
	if (state->fd >= 0)
		close(state->fd);
	state->fd = -1;
}

static int end(struct ctf_sink *sink, struct ctf_source *s, bool for_good)
{
	for (u32 i = 0; i < s->nr_streams; i++)
		shut(&s->streams[i]);
	shut(&s->objects);
	shut(&s->metadata);
	if (s->directory >= 0)
		close(s->directory);
	s->directory = -1;
	return 0;
}

/* Those that have ended; wait: all. */
static void jobs_reap(struct directory_sink *d, bool wait)
{
	for (size_t i = 0; i < d->compressing.len;) {
		pid_t pid;
		int status = 0;

		do
			pid = waitpid(d->compressing.items[i].pid, &status, wait ? 0 : WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (!pid) {
			i++;
			continue;
		}
		d->failed |= pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
		d->compressing.items[i] = d->compressing.items[--d->compressing.len];
	}
}

/* What is about to be removed need not be compressed. */
static void job_end(struct directory_sink *d, u32 number)
{
	for (size_t i = 0; i < d->compressing.len; i++) {
		if (d->compressing.items[i].chunk != number)
			continue;
		kill(d->compressing.items[i].pid, SIGKILL);
		while (waitpid(d->compressing.items[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		d->compressing.items[i] = d->compressing.items[--d->compressing.len];
		return;
	}
}

static void compress_chunk(struct directory_sink *d, u32 number)
{
	const enum ctf_compression how = d->sink.output->options.compression;
	struct job job = {.chunk = number};

	jobs_reap(d, false);
	if (how == CTF_PLAIN)
		return;
	job.pid = ctf_compress_start(d->chunk, how);
	if (job.pid > 0)
		vector_push(&d->compressing, job);
}

/* Names in a directory, three levels deep at most, no links followed. */
static void remove_tree(int at, const char *name, int depth)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
			continue;
		if (unlinkat(fd, e->d_name, 0) && depth)
			remove_tree(fd, e->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	unlinkat(at, name, AT_REMOVEDIR);
}

static int chunk(struct ctf_sink *sink, u32 number)
{
	struct directory_sink *d = of(sink);
	const struct ctf_output *o = sink->output;
	char name[32];

	snprintf(name, sizeof(name), CHUNK_NAME, number);
	if (!faccessat(d->root, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (d->chunk >= 0) {
		compress_chunk(d, number - 1);
		close(d->chunk);
	}
	d->chunk = -1;
	if (o->options.keep_chunks && number > o->options.keep_chunks) {
		job_end(d, number - o->options.keep_chunks);
		snprintf(name, sizeof(name), CHUNK_NAME, number - o->options.keep_chunks);
		remove_tree(d->root, name, 1);
	}
	return 0;
}

static int close_(struct ctf_sink *sink)
{
	struct directory_sink *d = of(sink);
	const struct ctf_output *o = sink->output;
	int rc = 0;

	if (o->options.compression != CTF_PLAIN && d->chunk >= 0)
		rc = ctf_compress(d->chunk, o->options.compression);
	jobs_reap(d, true);
	if (d->failed && !rc)
		rc = -EIO;
	vector_free(&d->compressing);
	if (d->chunk >= 0 && d->chunk != d->root)
		close(d->chunk);
	close(d->root);
	free(d);
	return rc;
}

static const struct ctf_sink_ops directory_ops = {
	.begin = begin,
	.append = append,
	.append_bytes = append_bytes,
	.end = end,
	.chunk = chunk,
	.close = close_,
};

static int is_there(void *arg, int directory, const char *name)
{
	return -EEXIST;
}

int ctf_directory_check(const char *path, struct diag *d)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int rc = fd < 0 ? 0 : foreign_each(fd, SIZE_MAX, is_there, NULL);

	if (fd >= 0)
		close(fd);
	if (rc != -EEXIST)
		return 0;
	diag_error(d, NO_SPAN, "'%s' is not empty: nothing is recorded on top of it", path);
	diag_hint(d, "-o names a directory that is not there, or an empty one");
	return rc;
}

int ctf_directory_open(const char *path, struct diag *d)
{
	const int fd = directory_make(AT_FDCWD, path);

	if (fd < 0) {
		diag_error(d, NO_SPAN, "cannot write traces into '%s': %s", path, strerror(-fd));
		if (fd == -ENOENT)
			diag_hint(d, "the directory above it does not exist");
		return fd;
	}
	if (!foreign_is_planted(fd))
		return fd;
	diag_error(d, NO_SPAN,
		   "cannot write traces into '%s': another user has made it, where everybody can",
		   path);
	diag_hint(d, "name a directory that is not there, or one that is yours");
	close(fd);
	return -EACCES;
}

int ctf_directory_sink(struct ctf_output *o, struct diag *diag)
{
	struct directory_sink *d;
	const int fd = ctf_directory_open(o->options.directory, diag);

	if (fd < 0)
		return fd;
	d = xzalloc(sizeof(*d));
	d->root = fd;
	d->chunk = o->rotating ? -1 : fd;
	d->sink.ops = &directory_ops;
	d->sink.output = o;
	o->sink = &d->sink;
	return 0;
}
