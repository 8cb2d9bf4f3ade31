/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of threads at the moment of their events. The kernel remembers 128 names for its traces and
 * forgets them in the order of context switches: on a busy machine most lines would say "<...>", or
 * the name that a process got by a later exec. So names are followed by a perf event per CPU, which
 * tells of fork, exec and prctl(PR_SET_NAME) with the time on the trace's own clock; threads that
 * were there before are asked for their name when they are first seen. (perf_event_open(2):
 * PERF_RECORD_COMM, PERF_RECORD_FORK, both followed by the time.)
 */
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "cmd/ftrace/session.h"
#include "kernel/bpf/perf_rings.h"

#define UNKNOWN	   "<...>"
#define COMM_SIZE  16 /* TASK_COMM_LEN */
#define RING_PAGES 64u

/* A change of name: a thread took it itself, or inherited it from its parent. */
struct change {
	u64 time;
	s32 thread, parent; /* parent 0 = it is `comm` */
	char comm[COMM_SIZE];
};

struct ftrace_names {
	struct perf_rings rings;
	/* by time; those from `applied` on are still to be applied */
	VECTOR(struct change) changes;
	size_t applied;
	/* the kernel's own list, for threads that ended before they were seen */
	struct task_names *kernel;
	s32 last; /* the last one that was looked up: it is known */
};

/* ---- perf events ---- */

void ftrace_names_open(struct ftrace_session *s)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.comm = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * 4096 / 2,
	};
	struct ftrace_names *n = xzalloc(sizeof(*n));

	s->names = n;
	n->kernel = task_names_new(true);
	task_names_follow(n->kernel, kernel_tracefs(s->kernel));
	perf_rings_open(&n->rings, s->kernel, &attr, RING_PAGES);
}

void ftrace_names_close(struct ftrace_session *s)
{
	struct ftrace_names *n = s->names;

	if (!n)
		return;
	perf_rings_close(&n->rings);
	vector_free(&n->changes);
	task_names_release(n->kernel);
	free(n);
}

/* COMM: u32 pid, u32 tid, char comm[]. FORK: u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time. Both
 * end with the time. */
static void add_change(struct ftrace_names *n, const struct perf_event_header *h)
{
	const u8 *const data = (const u8 *)(h + 1);
	const size_t size = h->size - sizeof(*h);
	struct change c = {0};

	if (h->size < sizeof(*h) + 24)
		return;
	memcpy(&c.time, data + size - 8, sizeof(c.time));
	if (h->type == PERF_RECORD_COMM) {
		memcpy(&c.thread, data + 4, sizeof(c.thread));
		memcpy(c.comm, data + 8, MIN(size - 16, (size_t)COMM_SIZE));
		c.comm[COMM_SIZE - 1] = '\0';
	} else if (h->type == PERF_RECORD_FORK) {
		memcpy(&c.thread, data + 8, sizeof(c.thread));
		memcpy(&c.parent, data + 12, sizeof(c.parent));
	} else {
		return;
	}
	vector_push(&n->changes, c);
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void ftrace_names_read(struct ftrace_session *s)
{
	struct ftrace_names *n = s->names;
	const struct perf_event_header *h;
	size_t left;

	if (!n)
		return;
	left = n->changes.len - n->applied;
	if (n->applied)
		memmove(n->changes.items, n->changes.items + n->applied,
			left * sizeof(*n->changes.items));
	n->changes.len = left;
	n->applied = 0;
	while ((h = perf_rings_next(&n->rings)))
		add_change(n, h);
	if (n->changes.len > left)
		qsort(n->changes.items, n->changes.len, sizeof(*n->changes.items), compare_changes);
}

/* ---- names ---- */

/* A living thread is asked in /proc; for one that has ended, the kernel's list is used. */
static void look_up(struct ftrace_session *s, s32 thread)
{
	char path[32], *text;
	const char *name;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)thread);
	if (!file_read(path, 64, &text, NULL)) {
		text[strcspn(text, "\n")] = '\0';
		task_names_set(s->text.tasks, thread, text);
		free(text);
		return;
	}
	name = task_name(s->names->kernel, thread, NULL);
	if (!str_eq(name, UNKNOWN))
		task_names_set(s->text.tasks, thread, name);
}

static bool is_known(struct ftrace_session *s, s32 thread)
{
	return !thread || !str_eq(task_name(s->text.tasks, thread, NULL), UNKNOWN);
}

static void apply(struct ftrace_session *s, const struct change *c)
{
	const char *name = c->comm;
	char copy[256];

	if (c->parent) {
		if (!is_known(s, c->parent))
			look_up(s, c->parent);
		if (!is_known(s, c->parent))
			return;
		snprintf(copy, sizeof(copy), "%s", task_name(s->text.tasks, c->parent, NULL));
		name = copy;
	}
	task_names_set(s->text.tasks, c->thread, name);
}

void ftrace_names_at(struct ftrace_session *s, const struct raw_event *e)
{
	struct ftrace_names *n = s->names;
	s32 thread;

	if (!n || e->event.size < 8)
		return;
	while (n->applied < n->changes.len && n->changes.items[n->applied].time <= e->event.time)
		apply(s, &n->changes.items[n->applied++]);
	memcpy(&thread, e->event.data + 4, sizeof(thread));
	if (thread != n->last && !is_known(s, thread))
		look_up(s, thread);
	n->last = thread;
}
