/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies pages from the kernel's rings to the file: a thread for each CPU, which sleeps until half
 * of the ring is full. When the disk is full, the events of the page at hand are counted, then the
 * ring is left alone for a while: the kernel counts what it overwrites or drops.
 */
#include "record/ftrace/pages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define WAIT_MS	   1000 /* pages are moved at least this often */

void pages_count(struct cpu_pages *c, const u8 *data, size_t len)
{
	struct page page;
	struct page_event e;

	if (page_begin(&page, &c->all->layout, data, len))
		return;
	while (page_next(&page, &e))
		c->unwritten++;
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
		/* disk full: the events in the ring are not lost yet, wait */
		const bool waits = c->all->mover->move(c) < 0;

		poll(fds, waits ? 1 : 2, WAIT_MS);
	} while (!is_asked_to_stop(c->all));
	c->all->mover->move_all(c, UINT64_MAX);
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
			moved |= p->mover->move(&p->cpus[i]) > 0;
	return moved;
}

void kernel_pages_hold(struct kernel_pages *p)
{
	for (u32 i = 0; i < p->count; i++)
		pthread_mutex_lock(&p->cpus[i].moves);
}

void kernel_pages_go_on(struct kernel_pages *p, struct dat_writer *w)
{
	p->writer = w;
	for (u32 i = p->count; i-- > 0;)
		pthread_mutex_unlock(&p->cpus[i].moves);
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
			p->mover->move_all(&p->cpus[i], UINT64_MAX);
		p->cpus[i].has_thread = false;
	}
	p->writer = NULL;
}

void kernel_pages_take(struct kernel_pages *p, struct dat_writer *w)
{
	p->writer = w;
	/* the ring is still being written: one partly filled page is enough */
	for (u32 i = 0; i < p->count; i++)
		p->mover->move_all(&p->cpus[i], p->layout.size);
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

static const char *file_of(const struct kernel_pages_options *o)
{
	return o->is_snapshot ? "snapshot_raw" : "trace_pipe_raw";
}

static int open_pipe(struct cpu_pages *c)
{
	int bytes;

	if (pipe2(c->pipe, O_CLOEXEC))
		return -errno;
	fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	bytes = fcntl(c->pipe[1], F_GETPIPE_SZ);
	/* a page of the ring may need more than one slot of the pipe */
	c->pipe_bytes = MAX((size_t)MAX(bytes, 0), (size_t)c->all->layout.size);
	return 0;
}

static int open_cpu(struct cpu_pages *c, const struct kernel_pages_options *o)
{
	char *path = xasprintf("%s/per_cpu/cpu%u/%s", o->directory, c->cpu, file_of(o)), *text;

	c->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	free(path);
	if (c->fd < 0)
		return -errno;
	path = xasprintf("per_cpu/cpu%u/buffer_size_kb", c->cpu);
	if (!ring_text(o->directory, path, &text)) {
		const struct page_layout *const l = &c->all->layout;

		/* rounded up, and the page that the reader holds */
		c->ring_pages = strtoull(text, NULL, 10) * 1024 / (l->size - l->data_offset) + 2;
		free(text);
	}
	free(path);
	c->pages = xmalloc((size_t)c->all->layout.size * DAT_CHUNK_PAGES);
	return c->all->mover->has_pipe ? open_pipe(c) : 0;
}

int kernel_pages_open(const struct kernel_pages_options *o, struct diag *d,
		      struct kernel_pages **ret)
{
	struct kernel_pages *p = xzalloc(sizeof(*p));
	int err = 0;

	p->layout = *o->layout;
	p->mover = o->compress ? &pages_compressed : &pages_by_splice;
	p->sandbox = o->sandbox;
	p->keep_privileges = o->keep_privileges;
	p->cpus = xzalloc(o->cpu_count * sizeof(*p->cpus));
	p->count = o->cpu_count;
	p->stop = eventfd(0, EFD_CLOEXEC);
	for (u32 i = 0; i < p->count; i++)
		p->cpus[i] = (struct cpu_pages){.all = p,
						.index = i,
						.cpu = o->cpus[i],
						.fd = -1,
						.pipe = {-1, -1},
						.moves = PTHREAD_MUTEX_INITIALIZER};
	for (u32 i = 0; i < p->count && !err; i++) {
		err = open_cpu(&p->cpus[i], o);
		for (u32 j = 0; j < o->online_count; j++)
			p->cpus[i].has_thread |= o->online[j] == o->cpus[i];
	}
	if (err) {
		diag_error(d, NO_SPAN, "cannot read %s/per_cpu/*/%s: %s", o->directory, file_of(o),
			   strerror(-err));
		if (err == -EACCES || err == -EPERM)
			diag_code(d, EXIT_PRIVILEGE);
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
	kernel_pages_stop(p); /* threads may run, if a later step of the start failed */
	for (u32 i = 0; i < p->count; i++) {
		close_fd(p->cpus[i].fd);
		close_fd(p->cpus[i].pipe[0]);
		close_fd(p->cpus[i].pipe[1]);
		free(p->cpus[i].pages);
	}
	close_fd(p->stop);
	free(p->cpus);
	free(p);
}
