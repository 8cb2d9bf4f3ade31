/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens one perf counter per event and place (CPU, thread, cgroup), and adds them up per row. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/stat/stat.h"

/* Raises RLIMIT_NOFILE so that n counters can be opened, as far as this user may. */
static void raise_file_limit(struct stat_run *run, size_t n)
{
	struct rlimit limit;
	const rlim_t need = (rlim_t)n + 64;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	run->file_limit = limit;
	if (limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need;
	limit.rlim_max = MAX(limit.rlim_max, need);
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int *counter(const struct stat_run *run, size_t event, size_t place)
{
	return &run->counters[event * run->places.len + place];
}

/* The first event of its group: its counters are the group leaders. */
static size_t leader_of(const struct stat_run *run, size_t event)
{
	const struct perf_choice *e = run->events.list.items;
	size_t leader = event;

	while (e[event].group && leader && e[leader - 1].group == e[event].group)
		leader--;
	return leader;
}

static int open_counter(struct stat_run *run, size_t event, size_t place)
{
	struct perf_choice *e = &run->events.list.items[event];
	const size_t leader = leader_of(run, event);
	const struct count_options options = {
		.filter = e->filter,
		.leader = leader == event ? -1 : *counter(run, leader, place),
		.on_exec = run->has_child && !run->o.system_wide && leader == event,
	};
	int fd = count_open(&e->attr, &run->places.items[place].at, &options);

	/* Without privileges, perf counts a user's own programs in user space only. */
	if (fd == -EACCES && !e->attr.exclude_kernel && !e->attr.exclude_user &&
	    (e->attr.type == PERF_TYPE_SOFTWARE || e->attr.type == PERF_TYPE_HARDWARE)) {
		e->attr.exclude_kernel = 1;
		fd = count_open(&e->attr, &run->places.items[place].at, &options);
		if (fd >= 0)
			e->name = arena_printf(&run->arena, "%s:u", e->name);
	}
	return fd;
}

/* Opens one counter. 0 also if the event cannot be counted in this place and may be left out. */
static int open_one(struct stat_run *run, size_t event, size_t place)
{
	const struct perf_choice *e = &run->events.list.items[event];
	const int fd = open_counter(run, event, place);

	if (fd >= 0) {
		*counter(run, event, place) = fd;
		return 0;
	}
	if (fd == -ESRCH && run->places.items[place].at.thread) /* the thread has just ended */
		return 0;
	if (e->is_optional && (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENODEV))
		return 0;
	if (fd == -EINVAL && e->filter)
		diag_error(&run->diag, NO_SPAN, "%s: the kernel does not take the filter '%s'",
			   e->name, e->filter);
	else
		count_refused(&run->env, e->target, fd);
	return fd;
}

int stat_open_counters(struct stat_run *run)
{
	const size_t n = run->events.list.len * run->places.len;
	int err = 0;

	raise_file_limit(run, n);
	run->counters = xreallocarray(NULL, n + 1, sizeof(*run->counters));
	memset(run->counters, 0xff, n * sizeof(*run->counters)); /* -1 */
	for (size_t event = 0; event < run->events.list.len && !err; event++)
		for (size_t place = 0; place < run->places.len && !err; place++)
			err = open_one(run, event, place);
	return err;
}

void stat_close_counters(struct stat_run *run)
{
	if (!run->counters)
		return;
	for (size_t i = 0; i < run->events.list.len * run->places.len; i++)
		if (run->counters[i] >= 0)
			close(run->counters[i]);
	free(run->counters);
	run->counters = NULL;
	if (run->file_limit.rlim_max) /* the command must not inherit the raised limit */
		setrlimit(RLIMIT_NOFILE, &run->file_limit);
}

void stat_look_for_programs(struct stat_run *run)
{
	for (size_t event = 0; event < run->events.list.len; event++) {
		struct perf_choice *e = &run->events.list.items[event];

		for (size_t place = 0; place < run->places.len; place++) {
			const int fd = *counter(run, event, place);

			if (fd < 0 || e->attr.type != PERF_TYPE_TRACEPOINT)
				continue;
			e->is_decided |= count_is_decided(fd);
			break; /* all places share the tracepoint */
		}
	}
}

void stat_read_counters(struct stat_run *run)
{
	stat_look_for_programs(run);
	for (size_t i = 0; i < run->events.list.len * run->rows.len; i++)
		run->sums[i].total = (struct count_value){0};
	for (size_t event = 0; event < run->events.list.len; event++)
		for (size_t place = 0; place < run->places.len; place++) {
			const u32 row = run->places.items[place].row;
			struct count_value *sum = &run->sums[event * run->rows.len + row].total;
			const int fd = *counter(run, event, place);
			struct count_value v;

			if (fd < 0)
				continue;
			if (count_read(fd, &v)) {
				run->unread++;
				continue;
			}
			sum->count += v.count;
			sum->enabled_ns += v.enabled_ns;
			sum->running_ns += v.running_ns;
		}
}

double stat_whole(const struct count_value *v)
{
	if (v->running_ns && v->running_ns < v->enabled_ns)
		return (double)v->count * ((double)v->enabled_ns / (double)v->running_ns);
	return (double)v->count;
}
