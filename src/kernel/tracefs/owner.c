/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/owner.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

/* State and start time of a process (proc(5), /proc/PID/stat). False if there is none. */
static bool read_stat(const char *pid, char *ret_state, u64 *ret_start)
{
	char path[64], *text, *p, *rest, *word;
	int field = 3;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	if (file_read(path, 1 << 16, &text, NULL))
		return false;
	/* The name in parentheses may hold anything, also parentheses. */
	p = strrchr(text, ')');
	word = p ? strtok_r(p + 1, " ", &rest) : NULL;
	*ret_state = word ? *word : '?';
	for (; word && field < 22; field++)
		word = strtok_r(NULL, " ", &rest);
	*ret_start = word ? strtoull(word, NULL, 10) : 0;
	free(text);
	return word != NULL;
}

struct tracefs_owner tracefs_owner_self(void)
{
	struct tracefs_owner o = {.pid = getpid()};
	char state;

	read_stat("self", &state, &o.start);
	return o;
}

void tracefs_owner_name(const struct tracefs_owner *o, char separator, char ret[TRACEFS_OWNER_NAME])
{
	snprintf(ret, TRACEFS_OWNER_NAME, "pantrace%c%d%c%" PRIu64, separator, (int)o->pid,
		 separator, o->start);
}

bool tracefs_owner_parse(const char *name, struct tracefs_owner *ret, const char **ret_rest)
{
	static const char prefix[] = "pantrace";
	char separator, *end;
	unsigned long pid;

	if (!str_starts(name, prefix))
		return false;
	name += sizeof(prefix) - 1;
	separator = *name;
	if (separator != '-' && separator != '_')
		return false;
	if (name[1] < '1' || name[1] > '9')
		return false;
	pid = strtoul(name + 1, &end, 10);
	if (pid > INT32_MAX || *end != separator || end[1] < '0' || end[1] > '9')
		return false;
	ret->pid = (pid_t)pid;
	ret->start = strtoull(end + 1, &end, 10);
	if (*end && *end != separator && *end != '/')
		return false;
	if (ret_rest)
		*ret_rest = end;
	return true;
}

/* Does anybody hold the lock of the instance? */
static bool instance_is_locked(const char *root, const struct tracefs_owner *o)
{
	char name[TRACEFS_OWNER_NAME], path[256];
	bool locked;
	int fd;

	tracefs_owner_name(o, '-', name);
	snprintf(path, sizeof(path), "%s/instances/%s", root, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	locked = flock(fd, LOCK_EX | LOCK_NB) && errno != ENOLCK && errno != ENOSYS;
	close(fd);
	return locked;
}

bool tracefs_owner_alive(struct kernel *k, const struct tracefs_owner *o)
{
	const char *const root = kernel_tracefs(k);
	char pid[16], state;
	u64 start;

	snprintf(pid, sizeof(pid), "%d", (int)o->pid);
	/* A zombie holds no resources any more. */
	if (read_stat(pid, &state, &start) && start == o->start && state != 'Z' && state != 'X')
		return true;
	return root && instance_is_locked(root, o);
}
