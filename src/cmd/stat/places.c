/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places in which events are counted: CPUs, threads and their children, cgroups. */
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "cmd/stat/stat.h"
#include "record/perf_places.h"

#define NAME_LENGTH 64

/* ---- CPUs and cgroups ---- */

static u32 row_for(struct stat_run *run, struct stat_row row)
{
	for (u32 i = 0; i < run->rows.len; i++) {
		const struct stat_row *r = &run->rows.items[i];

		if (r->cpu == row.cpu && r->thread == row.thread && r->cgroup == row.cgroup)
			return i;
	}
	vector_push(&run->rows, row);
	return (u32)run->rows.len - 1;
}

struct cpus_of {
	struct stat_run *run;
	int cgroup;
	const char *cgroup_name;
};

static int add_cpu(void *arg, int cpu)
{
	const struct cpus_of *of = arg;
	struct stat_run *run = of->run;
	const struct stat_row row = {.cgroup = of->cgroup_name, .cpu = run->o.per_cpu ? cpu : -1};

	vector_push(&run->places, (struct stat_place){.at = {.cpu = cpu, .cgroup = of->cgroup},
						      .row = row_for(run, row)});
	return 0;
}

static int add_cpus(struct stat_run *run, int cgroup, const char *cgroup_name)
{
	struct cpus_of of = {run, cgroup, cgroup_name};

	return perf_each_cpu(run->o.cpus, &run->diag, add_cpu, &of);
}

static int add_cgroup(struct stat_run *run, const char *name)
{
	const int fd = perf_open_cgroup(name, &run->diag);

	if (fd < 0)
		return fd;
	vector_push(&run->cgroup_fds, fd);
	return add_cpus(run, fd, name);
}

/* ---- threads ---- */

static const char *thread_name(struct stat_run *run, pid_t thread)
{
	char path[NAME_LENGTH], *text;
	const char *ret;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", thread);
	if (file_read(path, NAME_LENGTH, &text, &len))
		return "";
	ret = arena_strndup(&run->arena, text, len && text[len - 1] == '\n' ? len - 1 : len);
	free(text);
	return ret;
}

static void add_thread(struct stat_run *run, pid_t thread)
{
	struct stat_row row = {.cpu = -1};

	if (run->o.per_thread) {
		row.thread = thread;
		row.thread_name = thread_name(run, thread);
	}
	vector_push(&run->places,
		    (struct stat_place){.at = {thread, -1, -1}, .row = row_for(run, row)});
}

static int take_thread(void *arg, pid_t thread)
{
	add_thread(arg, thread);
	return 0;
}

static int is_new(void *arg, pid_t thread)
{
	const struct stat_run *run = arg;

	for (size_t i = 0; i < run->places.len; i++)
		if (run->places.items[i].at.thread == thread)
			return 0;
	return 1;
}

bool stat_places_changed(const struct stat_run *run)
{
	for (u32 i = 0; i < run->o.pids.count; i++)
		if (process_each_thread(run->o.pids.items[i], is_new, (void *)run) == 1)
			return true;
	return false;
}

static int missing(struct stat_run *run, char option, pid_t pid)
{
	diag_error(&run->diag, NO_SPAN, "there is no %s %d (-%c)",
		   option == 'p' ? "process" : "thread", (int)pid, option);
	return -ESRCH;
}

static int add_tasks(struct stat_run *run)
{
	for (u32 i = 0; i < run->o.pids.count; i++)
		if (process_each_thread(run->o.pids.items[i], take_thread, run))
			return missing(run, 'p', run->o.pids.items[i]);
	for (u32 i = 0; i < run->o.threads.count; i++) {
		if (!process_exists(run->o.threads.items[i]))
			return missing(run, 't', run->o.threads.items[i]);
		add_thread(run, run->o.threads.items[i]);
	}
	return 0;
}

/* ---- all ---- */

int stat_find_places(struct stat_run *run)
{
	int err = 0;

	for (u32 i = 0; i < run->o.cgroups.count && !err; i++)
		err = add_cgroup(run, run->o.cgroups.items[i]);
	if (run->o.cgroups.count)
		return err;
	if (run->o.system_wide)
		return add_cpus(run, -1, NULL);
	if (!run->o.command)
		return add_tasks(run);
	add_thread(run, run->child.pid);
	return 0;
}

void stat_forget_places(struct stat_run *run)
{
	for (size_t i = 0; i < run->cgroup_fds.len; i++)
		close(run->cgroup_fds.items[i]);
	run->cgroup_fds.len = run->places.len = run->rows.len = 0;
}
