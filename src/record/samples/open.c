/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the events and the rings that they write into. */
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "probe/count.h"
#include "record/perf_places.h"
#include "record/samples/internal.h"

#define RING_LARGE  (2u << 20) /* bytes of a CPU's ring */
#define RING_SMALL  (512u << 10) /* on machines with many CPUs */
#define RINGS_LARGE 32 /* up to this many rings are large */
#define RING_LEAST  (32u << 10)
#define WAKE_PART   4 /* wake-up when this fraction of a ring is full */

/* Where an event is opened. */
struct place {
	pid_t pid; /* of PERF_FLAG_PID_CGROUP: a descriptor */
	int cpu;
	unsigned long flags;
};

/* ---- features that this kernel lacks ---- */

/*
 * Removes the newest feature that is still set from all attributes. Returns false if none is left.
 */
static bool leave_out(struct samples *s)
{
	if (!s->counts_lost)
		return false;
	s->counts_lost = false; /* Linux 6.0 */
	for (size_t i = 0; i < s->events.len; i++)
		s->events.items[i].attr.read_format &= ~(u64)PERF_FORMAT_LOST;
	return true;
}

/* Unprivileged users may sample only user space of their own programs. */
static bool leave_out_kernel(struct samples *s, struct sample_event *e)
{
	if (e->attr.exclude_kernel || e->attr.exclude_user || e->attr.type == PERF_TYPE_TRACEPOINT)
		return false;
	e->attr.exclude_kernel = 1;
	s->only_user = true;
	if (e->choice)
		e->name = arena_printf(&s->arena, "%s:u", e->name);
	return true;
}

/* ---- rings ---- */

static u64 ring_size(struct samples *s)
{
	const u32 *cpus;
	u64 size = RING_LEAST, kb;

	if (record_buffer_kb(s->request, RING_MOST_KB, &kb) || !kb)
		return kernel_online_cpus(s->run->kernel, &cpus) <= RINGS_LARGE ? RING_LARGE
										: RING_SMALL;
	while (size >> 10 < kb)
		size *= 2;
	return size;
}

/* Maps a ring as large as this user is allowed. */
static int map_ring(struct samples *s, struct perf_ring *ring, int fd)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	int err = -ENOMEM;

	for (u64 size = ring_size(s); err && size >= RING_LEAST; size /= 2) {
		err = perf_ring_map(ring, fd, (u32)(size / page));
		if (s->request->buffer || (err != -EPERM && err != -ENOMEM))
			break;
	}
	return err;
}

static int join_ring(struct samples *s, int fd, int cpu)
{
	struct epoll_event wake = {.events = EPOLLIN | EPOLLET};
	struct sample_ring r = {.cpu = cpu, .fd = fd};
	int err;

	for (size_t i = 0; i < s->rings.len; i++)
		if (s->rings.items[i].cpu == cpu)
			return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->rings.items[i].fd) ? -errno
											  : 0;
	err = map_ring(s, &r.ring, fd);
	if (err)
		return err;
	vector_push(&s->rings, r);
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &wake);
	return 0;
}

/* ---- events ---- */

static int open_fd(struct samples *s, struct sample_event *e, const struct place *p)
{
	for (;;) {
		struct perf_event_attr a = e->attr;
		int fd;

		a.watermark = 1;
		a.wakeup_watermark = (u32)(ring_size(s) / WAKE_PART);
		fd = perf_event_open_fd(&a, p->pid, p->cpu, -1, p->flags);
		if ((fd == -EINVAL && leave_out(s)) || (fd == -EACCES && leave_out_kernel(s, e)) ||
		    (fd == -EMFILE && file_raise_limit()))
			continue;
		return fd;
	}
}

static void refuse_tracking(struct samples *s, int err)
{
	if (err != -EACCES && err != -EPERM) {
		diag_error(s->run->diag, NO_SPAN, "the kernel gives no records of tasks: %s",
			   strerror(-err));
		return;
	}
	diag_error(s->run->diag, NO_SPAN, "only root may sample other users' programs");
	diag_hint(s->run->diag, "sample a command of your own, after -- and without -a; "
				"CAP_PERFMON or kernel.perf_event_paranoid allow more");
	diag_code(s->run->diag, EXIT_PRIVILEGE);
}

static int refuse(struct samples *s, const struct sample_event *e, int err)
{
	if (err == -EINVAL && e->choice && e->choice->filter)
		diag_error(s->run->diag, NO_SPAN, "%s: the kernel does not take the filter '%s'",
			   e->name, e->choice->filter);
	else if (e->choice)
		count_refused(&s->env, e->choice->target, err);
	else
		refuse_tracking(s, err);
	return err;
}

/* Returns 0 also if there is nothing left to sample. */
static int open_event(struct samples *s, struct sample_event *e, const struct place *p)
{
	const int fd = open_fd(s, e, p);
	int err = 0;
	u64 id;

	if (fd == -ESRCH || fd == -ENODEV) /* the thread ended, the CPU went offline */
		return 0;
	if (fd < 0)
		return refuse(s, e, fd);
	vector_push(&e->fds, fd);
	if (e->choice && e->choice->filter &&
	    ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->choice->filter))
		return refuse(s, e, -errno);
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return refuse(s, e, -errno);
	vector_push(&e->ids, id);
	vector_push(&s->ids, (struct sample_id){id, (u32)(e - s->events.items)});
	err = join_ring(s, fd, p->cpu);
	if (err) {
		diag_error(s->run->diag, NO_SPAN, "no memory for the ring of CPU %d: %s", p->cpu,
			   strerror(-err));
		diag_hint(s->run->diag, "a smaller one: -b 128K; without privileges "
					"kernel.perf_event_mlock_kb limits them");
	}
	return err;
}

/* ---- places ---- */

struct opening {
	struct samples *s;
	pid_t thread; /* -1 = none */
	bool only_tracking;
};

/* The dummy event for task records comes first. */
static int open_on_cpu(void *arg, int cpu)
{
	const struct opening *const o = arg;
	struct samples *const s = o->s;
	const struct place all = {.pid = o->thread, .cpu = cpu};
	int err = o->only_tracking || o->thread >= 0 ? open_event(s, samples_tracking(s), &all) : 0;

	for (size_t i = 0; i + 1 < s->events.len && !err && !o->only_tracking; i++) {
		struct sample_event *const e = &s->events.items[i];

		if (!s->cgroups.len)
			err = open_event(s, e, &all);
		for (size_t g = 0; g < s->cgroups.len && !err; g++)
			err = open_event(
				s, e,
				&(struct place){s->cgroups.items[g], cpu, PERF_FLAG_PID_CGROUP});
	}
	return err;
}

static int open_thread(void *arg, pid_t thread)
{
	struct samples *const s = arg;
	struct opening o = {s, thread, false};

	for (size_t i = 0; i < s->threads.len; i++)
		if (s->threads.items[i] == thread)
			return 0;
	vector_push(&s->threads, thread);
	return perf_each_cpu(s->request->samples.cpus, s->run->diag, open_on_cpu, &o);
}

static int missing(struct samples *s, const char *what, pid_t pid)
{
	diag_error(s->run->diag, NO_SPAN, "there is no %s %d", what, (int)pid);
	return -ESRCH;
}

/*
 * Children of an opened thread inherit its events. A thread that starts while its parent is being
 * opened may be missed: the list is read again until nothing is new.
 */
static int open_process(struct samples *s, pid_t pid)
{
	size_t before;
	int err;

	do {
		before = s->threads.len;
		err = process_each_thread(pid, open_thread, s);
		if (err == -ESRCH)
			return before ? 0 : missing(s, "process", pid);
	} while (!err && s->threads.len > before);
	return err;
}

static int open_tasks(struct samples *s)
{
	const struct record_request *const r = s->request;
	int err = 0;

	for (u32 i = 0; i < r->pids.count && !err; i++)
		err = open_process(s, r->pids.items[i]);
	for (u32 i = 0; i < r->samples.threads.count && !err; i++) {
		const pid_t thread = r->samples.threads.items[i];

		err = process_exists(thread) ? open_thread(s, thread)
					     : missing(s, "thread", thread);
	}
	if (!err && !r->pids.count && !r->samples.threads.count)
		err = open_thread(s, s->run->command);
	return err;
}

/* Task records are needed from all CPUs, as tasks move. */
static int open_machine(struct samples *s)
{
	struct opening o = {s, -1, true};
	int err = perf_each_cpu(NULL, s->run->diag, open_on_cpu, &o);

	for (u32 i = 0; i < s->request->samples.cgroups.count && !err; i++) {
		const int fd = perf_open_cgroup(s->request->samples.cgroups.items[i], s->run->diag);

		if (fd < 0)
			return fd;
		vector_push(&s->cgroups, fd);
	}
	o.only_tracking = false;
	return err ?: perf_each_cpu(s->request->samples.cpus, s->run->diag, open_on_cpu, &o);
}

/* ---- all ---- */

static int by_id(const void *a, const void *b)
{
	const struct sample_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int samples_open(struct samples *s)
{
	int err;

	s->counts_lost = true;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = samples_tracking(s)->attr.inherit ? open_tasks(s) : open_machine(s);
	if (err)
		return err;
	if (!s->rings.len) {
		diag_error(s->run->diag, NO_SPAN,
			   "the processes have ended: there is nothing to sample");
		return -ESRCH;
	}
	qsort(s->ids.items, s->ids.len, sizeof(*s->ids.items), by_id);
	if (s->only_user)
		diag_warning(s->run->diag, NO_SPAN,
			     "without privileges only user space is sampled (:u), by "
			     "kernel.perf_event_paranoid");
	return 0;
}

void samples_close(struct samples *s)
{
	for (size_t i = 0; i < s->rings.len; i++)
		perf_ring_unmap(&s->rings.items[i].ring);
	for (size_t i = 0; i < s->events.len; i++) {
		struct sample_event *const e = &s->events.items[i];

		for (size_t f = 0; f < e->fds.len; f++)
			close(e->fds.items[f]);
		vector_free(&e->fds);
		vector_free(&e->ids);
	}
	for (size_t i = 0; i < s->cgroups.len; i++)
		close(s->cgroups.items[i]);
	if (s->epoll > 0)
		close(s->epoll);
	vector_free(&s->rings);
	vector_free(&s->events);
	vector_free(&s->cgroups);
	vector_free(&s->threads);
	vector_free(&s->ids);
}
