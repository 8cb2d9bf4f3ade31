/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -G: ftrace cannot filter by cgroup. It follows the threads that are in the cgroup and those below
 * it, and what they start; threads that are moved there later are found by looking again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/ftrace/ftrace.h"
#include "record/perf_places.h"

#define LOOK_NS	   100000000u
#define DEPTH_MOST 64u

int kernel_cgroups_open(struct kernel_cgroups *c, const struct record_run *run)
{
	const struct string_list *const names = &run->request->samples.cgroups;

	for (u32 i = 0; i < names->count; i++) {
		const int fd = perf_open_cgroup(names->items[i], run->diag);

		if (fd < 0)
			return fd;
		vector_push(&c->directories, fd);
	}
	return 0;
}

static void read_threads(struct kernel_cgroups *c, int directory)
{
	/* of version 2, of version 1 */
	int fd = openat(directory, "cgroup.threads", O_RDONLY | O_CLOEXEC);
	FILE *file;
	long thread;

	if (fd < 0)
		fd = openat(directory, "tasks", O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && fscanf(file, "%ld", &thread) == 1)
		vector_push(&c->threads, (pid_t)thread);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

static void read_below(struct kernel_cgroups *c, int directory, u32 depth)
{
	const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *const dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	read_threads(c, directory);
	if (!dir) {
		c->unread |= errno != ENOENT; /* else it was removed meanwhile */
		if (again >= 0)
			close(again);
		return;
	}
	while ((e = readdir(dir))) {
		int below;

		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		if (depth == DEPTH_MOST) {
			c->unread = true;
			break;
		}
		below = openat(directory, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below < 0) {
			c->unread |= errno != ENOENT;
			continue;
		}
		read_below(c, below, depth + 1);
		close(below);
	}
	closedir(dir);
}

/* Once: a cgroup that cannot be read now cannot be read in a tenth of a second either. */
static void tell_unread(struct kernel_cgroups *c, struct diag *d)
{
	if (!c->unread || c->is_told)
		return;
	c->is_told = true;
	diag_warning(d, NO_SPAN,
		     "not recorded: threads of cgroups more than %u below the one of -G, or that "
		     "cannot be read",
		     DEPTH_MOST);
}

static int refuse_empty(struct instance *in)
{
	diag_error(instance_diag(in), NO_SPAN, "no process is in the cgroup (-G)");
	diag_hint(instance_diag(in), "processes that are moved into it later are recorded, too; "
				     "the first has to be there at the beginning");
	return -ESRCH;
}

static int compare(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

int kernel_cgroups_follow(struct kernel_cgroups *c, struct instance *in, unsigned int what)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	struct kernel_cgroups before = *c;
	pid_t *fresh;
	size_t n = 0;
	int err = 0;

	if (!c->directories.len || (c->looked_ns && now - c->looked_ns < LOOK_NS))
		return 0;
	memset(&c->threads, 0, sizeof(c->threads));
	c->looked_ns = now;
	for (size_t i = 0; i < c->directories.len; i++)
		read_below(c, c->directories.items[i], 0);
	tell_unread(c, instance_diag(in));
	if (c->threads.len)
		qsort(c->threads.items, c->threads.len, sizeof(pid_t), compare);
	fresh = xreallocarray(NULL, c->threads.len + 1, sizeof(*fresh));
	for (size_t i = 0; i < c->threads.len; i++)
		if (!before.threads.len || !bsearch(&c->threads.items[i], before.threads.items,
						    before.threads.len, sizeof(pid_t), compare))
			fresh[n++] = c->threads.items[i];
	if (n)
		err = instance_follow_threads(in, fresh, n, what);
	else if (!before.looked_ns) /* an empty list would mean all threads */
		err = refuse_empty(in);
	vector_free(&before.threads);
	free(fresh);
	return err;
}

void kernel_cgroups_release(struct kernel_cgroups *c)
{
	for (size_t i = 0; i < c->directories.len; i++)
		close(c->directories.items[i]);
	vector_free(&c->directories);
	vector_free(&c->threads);
}
