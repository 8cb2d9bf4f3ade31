/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/perf_places.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

#define ONLINE	  "/sys/devices/system/cpu/online"
#define CPUS_MOST 8192

/* ---- CPUs ---- */

/* Calls fn for each CPU of the list. -EINVAL: it is no list. */
static int each_of(const char *list, int (*fn)(void *arg, int cpu), void *arg)
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
			err = fn(arg, (int)cpu);
		p = end;
		if (!*p || *p == '\n')
			return err;
		if (*p != ',')
			return -EINVAL;
	}
	return err;
}

struct wanted {
	bool online[CPUS_MOST];
	struct diag *diag;
	int (*fn)(void *arg, int cpu);
	void *arg;
};

static int mark(void *arg, int cpu)
{
	((struct wanted *)arg)->online[cpu] = true;
	return 0;
}

static int take(void *arg, int cpu)
{
	const struct wanted *w = arg;

	if (w->online[cpu])
		return w->fn(w->arg, cpu);
	diag_error(w->diag, NO_SPAN, "CPU %d is not online (-C)", cpu);
	return -ENODEV;
}

int perf_each_cpu(const char *list, struct diag *d, int (*fn)(void *arg, int cpu), void *arg)
{
	struct wanted *w = xzalloc(sizeof(*w));
	char *online;
	size_t len;
	int err;

	w->diag = d;
	w->fn = fn;
	w->arg = arg;
	if (file_read(ONLINE, 4096, &online, &len))
		online = xstrdup("0");
	each_of(online, mark, w);
	err = each_of(list ?: online, take, w);
	if (err == -EINVAL) {
		diag_error(d, NO_SPAN, "-C takes CPUs such as 0-3,8, not '%s'", list ?: online);
		diag_code(d, EXIT_USAGE);
	}
	free(online);
	free(w);
	return err;
}

/* ---- cgroups ---- */

/* The mount of perf's controller: of cgroups version 1, else 2. Malloc'ed; NULL = none. */
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

int perf_open_cgroup(const char *name, struct diag *d)
{
	char *root = cgroup_root();
	char *path = *name == '/' || !root ? xstrdup(name) : xasprintf("%s/%s", root, name);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	int err = fd < 0 ? errno : 0;

	if (!err && (fstatfs(fd, &fs) ||
		     (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC))) {
		err = ENOTSUP;
		close(fd);
	}
	if (err) {
		fd = -err;
		diag_error(d, NO_SPAN, "there is no cgroup %s: %s", path,
			   err == ENOTSUP ? "the directory is none" : strerror(err));
		diag_hint(d, "-G takes a directory, or its path below %s",
			  root ? root : "the mounted cgroup2 file system");
	}
	free(path);
	free(root);
	return fd;
}
