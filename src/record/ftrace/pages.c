/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages go from the kernel's ring to the file by splice(2), through a pipe: this process does not
 * see them. splice gives full pages only; partly filled ones are read at the end.
 *
 * A page that the disk has no room for is read to count its events. Then the ring is left alone for
 * a while: what it has no room for is counted by the kernel.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "record/ftrace/ftrace.h"

#define PIPE_BYTES (1 << 20)
#define WAIT_MS	   1000 /* full pages are moved at least this often */

struct cpu_pages {
	struct kernel_pages *all;
	u32 index, cpu;
	int fd, pipe[2];
	size_t pipe_bytes;
	pthread_t thread;
	bool has_thread;
	u8 *page;
	u64 unwritten;
	int error; /* of the last write */
};

struct kernel_pages {
	struct page_layout layout;
	u32 sandbox;
	bool keep_privileges;
	struct dat_writer *writer;
	int stop; /* eventfd */
	struct cpu_pages *cpus;
	u32 count;
};

/* ---- pages that cannot be written ---- */

static bool read_exactly(int fd, u8 *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got = read(fd, to + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static void count_page(struct cpu_pages *c, const u8 *data, size_t len)
{
	struct page page;
	struct page_event e;

	if (page_begin(&page, &c->all->layout, data, len))
		return;
	while (page_next(&page, &e))
		c->unwritten++;
}

/* `left` bytes are in the pipe; the file has the first `torn` bytes of their first page. */
static void count_left(struct cpu_pages *c, u64 at, size_t torn, size_t left)
{
	const size_t size = c->all->layout.size;

	if (torn && dat_writer_read(c->all->writer, at, c->page, torn))
		memset(c->page, 0, torn); /* its events are not known */
	while (left) {
		const size_t n = MIN(size - torn, left);

		if (!read_exactly(c->pipe[0], c->page + torn, n))
			return;
		count_page(c, c->page, torn + n);
		left -= n;
		torn = 0;
	}
}

/* ---- moving ---- */

/* What the pipe has, to the file. 0 or -errno: then the pipe is empty, too, and it is counted. */
static int write_out(struct cpu_pages *c, u64 at, size_t n)
{
	const int to = dat_writer_fd(c->all->writer);
	const size_t size = c->all->layout.size;
	size_t done = 0, torn;
	off_t offset = (off_t)at;
	int err = 0;

	while (done < n && !err) {
		const ssize_t m = splice(c->pipe[0], NULL, to, &offset, n - done, SPLICE_F_MOVE);

		if (m > 0)
			done += (size_t)m;
		else if (!m || errno != EINTR)
			err = m ? -errno : -EIO;
	}
	torn = done % size;
	if (done - torn)
		dat_writer_grown(c->all->writer, c->index, done - torn);
	if (err)
		count_left(c, at + done - torn, torn, n - done);
	c->error = err;
	return err;
}

/* Full pages that the ring has now. 1: some were moved; 0: there were none; -errno of a write. */
static int move_full(struct cpu_pages *c)
{
	const size_t size = c->all->layout.size;
	int moved = 0, err;

	for (;;) {
		u64 room;
		const u64 at = dat_writer_place(c->all->writer, c->index, &room);
		size_t want = (size_t)MIN((u64)c->pipe_bytes, room);
		ssize_t n;

		want -= want % size;
		if (!want)
			return c->error = -EFBIG;
		n = splice(c->fd, NULL, c->pipe[1], NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return moved;
		err = write_out(c, at, (size_t)n);
		if (err)
			return err;
		moved = 1;
	}
}

/* The page that is not full; more of them, if the ring is written meanwhile. most: bytes. */
static void read_rest(struct cpu_pages *c, u64 most)
{
	const size_t size = c->all->layout.size;
	const int to = dat_writer_fd(c->all->writer);
	u64 room;

	for (u64 done = 0; done < most; done += size) {
		const u64 at = dat_writer_place(c->all->writer, c->index, &room);
		const ssize_t n = read(c->fd, c->page, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		memset(c->page + n, 0, size - (size_t)n);
		if (room >= size && pwrite(to, c->page, size, (off_t)at) == (ssize_t)size) {
			dat_writer_grown(c->all->writer, c->index, size);
			continue;
		}
		c->error = room >= size ? -ENOSPC : -EFBIG;
		count_page(c, c->page, (size_t)n);
	}
}

static void move_all(struct cpu_pages *c, u64 most)
{
	/* a full disk: what stays in the ring is counted there */
	if (move_full(c) >= 0)
		read_rest(c, most);
}

/* ---- threads ---- */

static bool is_asked_to_stop(const struct kernel_pages *p)
{
	struct pollfd fd = {.fd = p->stop, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static void *run(void *arg)
{
	struct cpu_pages *const c = arg;
	struct pollfd fds[2] = {{c->all->stop, POLLIN, 0}, {c->fd, POLLIN, 0}};

	if (!c->all->keep_privileges)
		sandbox_enter(c->all->sandbox);
	do {
		/* the disk is full: what the ring holds meanwhile is not lost yet */
		const bool waits = move_full(c) < 0;

		poll(fds, waits ? 1 : 2, WAIT_MS);
	} while (!is_asked_to_stop(c->all));
	move_all(c, UINT64_MAX);
	return NULL;
}

int kernel_pages_start(struct kernel_pages *p, struct dat_writer *w)
{
	sigset_t all, old;
	int err = 0;

	p->writer = w;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (u32 i = 0; i < p->count; i++) {
		struct cpu_pages *const c = &p->cpus[i];

		if (c->has_thread && !err)
			err = -pthread_create(&c->thread, NULL, run, c);
		c->has_thread &= !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int kernel_pages_round(struct kernel_pages *p)
{
	int moved = 0;

	for (u32 i = 0; i < p->count; i++)
		if (!p->cpus[i].has_thread && p->writer)
			moved |= move_full(&p->cpus[i]) > 0;
	return moved;
}

void kernel_pages_stop(struct kernel_pages *p)
{
	const u64 one = 1;

	if (!p->writer || write(p->stop, &one, sizeof(one)) < 0)
		return;
	for (u32 i = 0; i < p->count; i++) {
		if (p->cpus[i].has_thread)
			pthread_join(p->cpus[i].thread, NULL);
		else
			move_all(&p->cpus[i], UINT64_MAX);
		p->cpus[i].has_thread = false;
	}
}

void kernel_pages_take(struct kernel_pages *p, struct dat_writer *w)
{
	p->writer = w;
	/* the ring is written meanwhile: of partly filled pages, one is enough */
	for (u32 i = 0; i < p->count; i++)
		move_all(&p->cpus[i], p->layout.size);
	p->writer = NULL;
}

u64 kernel_pages_unwritten(const struct kernel_pages *p, u32 i)
{
	return p->cpus[i].unwritten;
}

int kernel_pages_error(const struct kernel_pages *p)
{
	for (u32 i = 0; i < p->count; i++)
		if (p->cpus[i].error)
			return p->cpus[i].error;
	return 0;
}

/* ---- opening ---- */

static int open_cpu(struct cpu_pages *c, const char *directory)
{
	char *path = xasprintf("%s/per_cpu/cpu%u/trace_pipe_raw", directory, c->cpu);
	int err = 0, bytes;

	c->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->fd < 0 || pipe2(c->pipe, O_CLOEXEC))
		err = -errno;
	free(path);
	if (err)
		return err;
	fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	bytes = fcntl(c->pipe[1], F_GETPIPE_SZ);
	/* a page of the ring may take more than one of the pipe's */
	c->pipe_bytes = MAX((size_t)MAX(bytes, 0), (size_t)c->all->layout.size);
	c->page = xmalloc(c->all->layout.size);
	return 0;
}

int kernel_pages_open(const struct kernel_pages_options *o, struct diag *d,
		      struct kernel_pages **ret)
{
	struct kernel_pages *p = xzalloc(sizeof(*p));
	int err = 0;

	p->layout = *o->layout;
	p->sandbox = o->sandbox;
	p->keep_privileges = o->keep_privileges;
	p->cpus = xzalloc(o->cpu_count * sizeof(*p->cpus));
	p->count = o->cpu_count;
	p->stop = eventfd(0, EFD_CLOEXEC);
	for (u32 i = 0; i < p->count; i++)
		p->cpus[i] = (struct cpu_pages){
			.all = p, .index = i, .cpu = o->cpus[i], .fd = -1, .pipe = {-1, -1}};
	for (u32 i = 0; i < p->count && !err; i++) {
		err = open_cpu(&p->cpus[i], o->directory);
		for (u32 j = 0; j < o->online_count; j++)
			p->cpus[i].has_thread |= o->online[j] == o->cpus[i];
	}
	if (err) {
		diag_error(d, NO_SPAN, "cannot read %s/per_cpu/*/trace_pipe_raw: %s", o->directory,
			   strerror(-err));
		kernel_pages_close(p);
		return err;
	}
	*ret = p;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void kernel_pages_close(struct kernel_pages *p)
{
	if (!p)
		return;
	for (u32 i = 0; i < p->count; i++) {
		close_fd(p->cpus[i].fd);
		close_fd(p->cpus[i].pipe[0]);
		close_fd(p->cpus[i].pipe[1]);
		free(p->cpus[i].page);
	}
	close_fd(p->stop);
	free(p->cpus);
	free(p);
}
