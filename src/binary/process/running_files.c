/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/running_files.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "binary/process/maps.h"

struct search {
	int (*fn)(void *arg, const char *path);
	void *arg;
	struct running_files *counts;
	struct hashmap seen; /* device and inode */
	pid_t pid;
};

static int offer(void *arg, const struct process_mapping *m)
{
	struct search *s = arg;
	const struct {
		u32 major, minor;
		u64 inode;
	} id = {m->major, m->minor, m->inode};
	char *path;
	bool is_new;
	int ret = 0;

	if (m->kind != MAPPING_FILE && m->kind != MAPPING_DELETED)
		return 0;
	hashmap_put(&s->seen, &id, sizeof(id), &is_new);
	if (!is_new || s->counts->is_cut)
		return 0;
	path = m->kind == MAPPING_FILE ? process_path(s->pid, m->path) : NULL;
	if (!path) { /* or the process has ended by now */
		s->counts->deleted += m->kind == MAPPING_DELETED || !kill(s->pid, 0);
	} else if (access(path, R_OK) < 0) {
		s->counts->unreadable++;
	} else if (s->counts->files >= RUNNING_MAX_FILES) {
		s->counts->is_cut = true;
	} else {
		s->counts->files++;
		ret = s->fn(s->arg, path);
	}
	free(path);
	return ret;
}

int binary_each_running(int (*fn)(void *arg, const char *path), void *arg,
			struct running_files *ret)
{
	struct search s = {.fn = fn, .arg = arg, .counts = ret};
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int err = proc ? 0 : -errno;

	*ret = (struct running_files){0};
	while (!err && proc && (e = readdir(proc))) {
		char *end;

		s.pid = (pid_t)strtol(e->d_name, &end, 10);
		if (*end || s.pid <= 0 || s.pid == getpid())
			continue;
		err = process_each_mapping(s.pid, offer, &s);
		ret->refused += err == -EACCES || err == -EPERM;
		ret->processes += err >= 0;
		if (err == -ESRCH || err == -ENOENT || err == -EACCES || err == -EPERM)
			err = 0; /* ended, or a thread of the kernel */
	}
	if (proc)
		closedir(proc);
	hashmap_release(&s.seen);
	return err;
}
