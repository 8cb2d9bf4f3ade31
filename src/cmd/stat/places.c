/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where is counted: CPUs, threads with what they start, cgroups. */
#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "cmd/stat/stat.h"
#include "kernel/kernel.h"

#define CPUS_MOST   8192
#define NAME_LENGTH 64

/* ---- CPUs ---- */

typedef int (*cpu_fn)(struct stat_run *run, int cpu, void *arg);

/* "0-3,8": fn for each. -EINVAL: that is no list. */
static int each_cpu(struct stat_run *run, const char *list, cpu_fn fn, void *arg)
{
	int err = 0;

	for (const char *p = list; !err; p++) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (end == p || *p == '-' || *p == '+' || *p == ' ')
			return -EINVAL;
		if (*end == '-') {
			p = end + 1;
			last = strtoul(p, &end, 10);
			if (end == p)
				return -EINVAL;
		}
		if (last < first || last >= CPUS_MOST)
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last && !err; cpu++)
			err = fn(run, (int)cpu, arg);
		p = end;
		if (!*p || *p == '\n')
			return err;
		if (*p != ',')
			return -EINVAL;
	}
	return err;
}

static char *online_cpus(void)
{
	char *text;
	size_t len;

	return file_read(STAT_ONLINE_CPUS, 4096, &text, &len) ? xstrdup("0") : text;
}

static int mark(struct stat_run *run, int cpu, void *arg)
{
	((bool *)arg)[cpu] = true;
	return 0;
}

struct cpu_set {
	bool online[CPUS_MOST];
	int cgroup;
	const char *cgroup_name;
};

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

static int add_cpu(struct stat_run *run, int cpu, void *arg)
{
	const struct cpu_set *set = arg;
	const struct stat_row row = {.cgroup = set->cgroup_name, .cpu = run->o.per_cpu ? cpu : -1};

	if (!set->online[cpu]) {
		diag_error(&run->diag, NO_SPAN, "CPU %d is not online (-C)", cpu);
		return -ENODEV;
	}
	vector_push(&run->places, (struct stat_place){.at = {.cpu = cpu, .cgroup = set->cgroup},
						      .row = row_for(run, row)});
	return 0;
}

static int add_cpus(struct stat_run *run, int cgroup, const char *cgroup_name)
{
	struct cpu_set *set = xzalloc(sizeof(*set));
	char *online = online_cpus();
	int err;

	set->cgroup = cgroup;
	set->cgroup_name = cgroup_name;
	each_cpu(run, online, mark, set->online);
	err = each_cpu(run, run->o.cpus ? run->o.cpus : online, add_cpu, set);
	if (err == -EINVAL) {
		diag_error(&run->diag, NO_SPAN, "-C takes CPUs such as 0-3,8, not '%s'",
			   run->o.cpus ? run->o.cpus : online);
		diag_code(&run->diag, EXIT_USAGE);
	}
	free(online);
	free(set);
	return err;
}

/* ---- cgroups ---- */

/* Where cgroups of perf's controller are: of version 1, else 2. Malloc'ed; NULL: nowhere. */
static char *cgroup_root(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char *ret = NULL;
	bool is_old = false;

	while (mounts && !is_old && (m = getmntent(mounts))) {
		is_old = str_eq(m->mnt_type, "cgroup") && hasmntopt(m, "perf_event");
		if (!is_old && !str_eq(m->mnt_type, "cgroup2"))
			continue;
		free(ret);
		ret = xstrdup(m->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return ret;
}

static int add_cgroup(struct stat_run *run, const char *name)
{
	char *root = cgroup_root();
	char *path = *name == '/' || !root ? xstrdup(name) : xasprintf("%s/%s", root, name);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (err) {
		diag_error(&run->diag, NO_SPAN, "there is no cgroup %s: %s", path, strerror(-err));
		diag_hint(&run->diag, "-G takes a directory, or its path below %s",
			  root ? root : "the mounted cgroup2 file system");
	} else {
		vector_push(&run->cgroup_fds, fd);
		err = add_cpus(run, fd, name);
	}
	free(path);
	free(root);
	return err;
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

/* Calls fn for the threads of a process. -ESRCH: it is gone. */
static int each_thread(const struct stat_run *run, pid_t pid,
		       int (*fn)(const struct stat_run *run, pid_t thread, void *arg), void *arg)
{
	char path[NAME_LENGTH];
	struct dirent *e;
	DIR *dir;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (!ret && (e = readdir(dir)))
		if (*e->d_name != '.')
			ret = fn(run, (pid_t)strtol(e->d_name, NULL, 10), arg);
	closedir(dir);
	return ret;
}

static int take_thread(const struct stat_run *run, pid_t thread, void *arg)
{
	add_thread(arg, thread);
	return 0;
}

static int is_new(const struct stat_run *run, pid_t thread, void *arg)
{
	for (size_t i = 0; i < run->places.len; i++)
		if (run->places.items[i].at.thread == thread)
			return 0;
	return 1;
}

bool stat_places_changed(const struct stat_run *run)
{
	for (u32 i = 0; i < run->o.pids.count; i++)
		if (each_thread(run, run->o.pids.items[i], is_new, NULL) == 1)
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
		if (each_thread(run, run->o.pids.items[i], take_thread, run))
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
