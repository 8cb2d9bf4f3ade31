/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/tracecmd/received.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/dat/trace_dat.h"
#include "trace/dat/writer.h"
#include "trace/ring/page.h"

#define HEAD_MS	    30000 /* without a message: a machine that reads all its formats */
#define HEAD_MOST   ((size_t)64 << 20)
#define PAGE_MOST   65536u
#define SHIFTS_MOST 64u

struct cpu {
	struct tracecmd_received *owner;
	pthread_t thread;
	int fd;
	u32 index;
	u64 lost;
	bool is_uncounted;
};

struct tracecmd_received {
	struct trace_dat *head;
	struct dat_contents contents;
	char *version; /* of the file */
	struct dat_writer *writer;
	struct page_layout layout;
	struct cpu *cpus;
	u32 count, started;
	u32 ended; /* atomic */
	int tell; /* eventfd */
	bool may_end; /* atomic */
};

/* ---- the head ---- */

/* Its messages, into an unnamed file. 0 or -errno with a diagnostic. */
static int receive_head(struct tracecmd_stream *control, int fd, struct diag *d)
{
	struct tracecmd_message m;
	size_t size = 0;
	int err;

	while (!(err = tracecmd_read(control, HEAD_MS, &m)) && m.type == TRACECMD_SEND_DATA) {
		size += m.size;
		err = size > HEAD_MOST ? -EFBIG : write_all(fd, m.data, m.size);
		if (err)
			break;
	}
	if (!err && m.type != TRACECMD_FIN_DATA)
		err = -EPROTO;
	if (err == -EPIPE)
		diag_error(d, NO_SPAN,
			   "its trace-cmd has ended before it began; what it refused, it "
			   "says on its own standard error");
	else if (err)
		diag_error(d, NO_SPAN, "the head of its recording: %s",
			   err == -EPROTO ? "its trace-cmd sent what is none" : strerror(-err));
	return err;
}

/* A head of version 6 goes on with where the pages are: nowhere yet. */
static int end_version_6(int fd, u32 cpus)
{
	static const u8 none[16];
	u8 magic[16] = {0};
	int err = pread(fd, magic, 12, 0) == 12 ? 0 : -EPROTO;

	if (err || magic[10] != '6')
		return err;
	err = write_all(fd, "flyrecord", 10);
	for (u32 i = 0; i < cpus && !err; i++)
		err = write_all(fd, none, sizeof(none));
	return err;
}

static int read_head(struct tracecmd_received *r, struct tracecmd_stream *control, u32 cpus,
		     struct diag *d)
{
	const int fd = memfd_create("head", MFD_CLOEXEC);
	char path[40];
	int err = fd < 0 ? -errno : receive_head(control, fd, d);

	if (!err)
		err = end_version_6(fd, cpus);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!err)
		err = trace_dat_open_whole(path, &r->contents, d, &r->head);
	if (fd >= 0)
		close(fd);
	return err;
}

static int open_writer(struct tracecmd_received *r, struct recording_carrier *carrier,
		       struct diag *d)
{
	struct dat_writer_options o = {.version = 7,
				       .compress = true,
				       .page_size = r->layout.size,
				       .cpu_count = r->count,
				       .carrier = carrier};
	u32 cpus[TRACECMD_CPUS_MOST];

	for (u32 i = 0; i < r->count; i++)
		cpus[i] = i;
	o.cpus = cpus;
	return dat_writer_open("trace.dat", &o, d, &r->writer)
		       ?: dat_writer_begin(r->writer, &r->contents);
}

int tracecmd_received_begin(struct tracecmd_stream *control, const struct tracecmd_response *m,
			    s64 machine_to_real, struct recording_carrier *carrier, struct diag *d,
			    struct tracecmd_received **ret)
{
	struct tracecmd_received *const r = xzalloc(sizeof(*r));
	int err = 0;

	r->count = m->cpu_count;
	r->cpus = xzalloc(r->count * sizeof(*r->cpus));
	r->layout = (struct page_layout)PAGE_LAYOUT_INIT;
	r->layout.size = m->page_size;
	r->tell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	dat_contents_init(&r->contents);
	if (m->page_size < 4096 || m->page_size > PAGE_MOST || m->page_size & (m->page_size - 1)) {
		diag_error(d, NO_SPAN, "pages of %u bytes cannot be", m->page_size);
		err = -EPROTO;
	}
	if (!err)
		err = read_head(r, control, r->count, d);
	r->version = xasprintf("pantrace " PANTRACE_VERSION ", " TRACE_DAT_REALTIME "%" PRId64,
			       machine_to_real);
	r->contents.version = r->version;
	r->contents.clock = "mono";
	if (!err)
		err = open_writer(r, carrier, d);
	if (err)
		tracecmd_received_abandon(r);
	else
		*ret = r;
	return err;
}

/* ---- pages ---- */

static int take_pages(struct cpu *c, const u8 *pages, size_t n)
{
	const struct page_layout *const l = &c->owner->layout;
	struct page p;

	for (size_t at = 0; at < n; at += l->size) {
		if (page_begin(&p, l, pages + at, l->size))
			return -EPROTO;
		if (p.lost == PAGE_LOST_UNKNOWN)
			c->is_uncounted = true;
		else
			c->lost += MIN(p.lost, UINT64_MAX - c->lost);
	}
	return n ? dat_writer_add(c->owner->writer, c->index, pages, n) : 0;
}

static void *receive(void *arg)
{
	struct cpu *const c = arg;
	struct tracecmd_received *const r = c->owner;
	const size_t page = r->layout.size, room = page * DAT_CHUNK_PAGES;
	u8 *const bytes = xmalloc(room);
	size_t used = 0;
	ssize_t n;

	while ((n = recv(c->fd, bytes + used, room - used, 0)) > 0 || (n < 0 && errno == EINTR)) {
		const size_t have = used + (size_t)MAX(n, 0), whole = have - have % page;

		if (take_pages(c, bytes, whole))
			break;
		used = have - whole;
		memmove(bytes, bytes + whole, used);
	}
	if (n || used || !__atomic_load_n(&r->may_end, __ATOMIC_RELAXED))
		c->is_uncounted = true;
	shutdown(c->fd, SHUT_RDWR); /* what is no page ends it there, too */
	free(bytes);
	__atomic_fetch_add(&r->ended, 1, __ATOMIC_RELEASE);
	eventfd_write(r->tell, 1);
	return NULL;
}

void tracecmd_received_start(struct tracecmd_received *r, const int *fds)
{
	for (u32 i = 0; i < r->count; i++)
		r->cpus[i] = (struct cpu){.owner = r, .fd = fds[i], .index = i};
	for (u32 i = 0; i < r->count; i++)
		if (pthread_create(&r->cpus[i].thread, NULL, receive, &r->cpus[i]))
			break;
		else
			r->started++;
}

int tracecmd_received_fd(const struct tracecmd_received *r)
{
	return r->tell;
}

bool tracecmd_received_has_ended(struct tracecmd_received *r)
{
	eventfd_t seen;

	eventfd_read(r->tell, &seen);
	return __atomic_load_n(&r->ended, __ATOMIC_ACQUIRE) == r->started;
}

void tracecmd_received_expect_end(struct tracecmd_received *r, bool cut)
{
	if (!cut)
		__atomic_store_n(&r->may_end, true, __ATOMIC_RELAXED);
	for (u32 i = 0; i < r->count && cut; i++)
		shutdown(r->cpus[i].fd, SHUT_RDWR);
}

/* ---- the end ---- */

static void release(struct tracecmd_received *r)
{
	for (u32 i = 0; i < r->started; i++)
		pthread_join(r->cpus[i].thread, NULL);
	for (u32 i = 0; i < r->count; i++)
		if (r->cpus[i].owner)
			close(r->cpus[i].fd);
	trace_dat_close(r->head);
	dat_contents_release(&r->contents);
	close(r->tell);
	free(r->version);
	free(r->cpus);
	free(r);
}

/* Some of them, for trace-cmd: each CPU has them all. */
static void add_shifts(struct tracecmd_received *r, const tracecmd_moments *moments)
{
	const size_t step = moments->len / SHIFTS_MOST + 1;
	struct dat_shift shifts[SHIFTS_MOST];
	u32 count = 0;

	for (size_t i = 0; i < moments->len; i += step) {
		const struct tracecmd_moment *const m = &moments->items[i];
		const u64 ours = m->least_ns + (m->most_ns - m->least_ns) / 2;

		shifts[count++] = (struct dat_shift){m->machine_ns, (s64)(ours - m->machine_ns)};
	}
	dat_contents_shifts(&r->contents, r->count, shifts, count);
}

struct tracecmd_totals tracecmd_received_end(struct tracecmd_received *r,
					     const tracecmd_moments *moments)
{
	struct tracecmd_totals t = {.uncounted = r->count - r->started};

	for (u32 i = 0; i < r->started; i++) {
		pthread_join(r->cpus[i].thread, NULL);
		t.lost += MIN(r->cpus[i].lost, UINT64_MAX - t.lost);
		t.uncounted += r->cpus[i].is_uncounted;
	}
	r->started = 0;
	add_shifts(r, moments);
	dat_writer_finish(r->writer, &r->contents, &t.bytes);
	release(r);
	return t;
}

void tracecmd_received_abandon(struct tracecmd_received *r)
{
	if (!r)
		return;
	tracecmd_received_expect_end(r, r->started);
	dat_writer_abandon(r->writer);
	release(r);
}
