// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/leftovers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/process.h"
#include "user/runtime.h"

#define NAMES_MAX 65536

/* ".NAME.PID", half made by a process that has ended. */
static bool is_half_made(const char *name)
{
	const char *const dot = strrchr(name, '.');
	const pid_t pid = (pid_t)atoi(dot ? dot + 1 : "");

	return *name == '.' && dot != name && pid > 0 && !process_exists(pid);
}

/* ---- rings ---- */

struct mark {
	unsigned long long device, inode, pid_namespace; /* of the descriptions, and of the maker */
	unsigned long long start; /* of the maker */
	int pid;
};

/* Ours, as who makes one now. */
static int mark_make(struct mark *ret)
{
	const int sessions = user_sessions_directory();
	struct stat st, namespace;
	int rc = MIN(sessions, 0);

	if (!rc && (fstat(sessions, &st) || stat("/proc/self/ns/pid", &namespace)))
		rc = -errno;
	if (sessions >= 0)
		close(sessions);
	if (!rc)
		*ret = (struct mark){st.st_dev, st.st_ino, namespace.st_ino,
				     process_start_time(getpid()), getpid()};
	return rc;
}

static bool mark_read(int rings, struct mark *ret)
{
	char text[128] = "";
	struct stat st;

	return readlinkat(rings, LEFTOVERS_MARK, text, sizeof(text) - 1) > 0 &&
	       !fstatat(rings, LEFTOVERS_MARK, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_uid == geteuid() &&
	       sscanf(text, "%llx:%llx:%llx:%llu:%d", &ret->device, &ret->inode,
		      &ret->pid_namespace, &ret->start, &ret->pid) == 5;
}

/* A link that leads nowhere: its text is there as soon as it is. */
void leftovers_mark(int rings)
{
	struct mark m;
	char text[128];

	if (mark_make(&m))
		return;
	snprintf(text, sizeof(text), "%llx:%llx:%llx:%llu:%d", m.device, m.inode, m.pid_namespace,
		 m.start, m.pid);
	symlinkat(text, rings, LEFTOVERS_MARK);
}

static bool has_description(const char *name)
{
	const int sessions = user_sessions_directory();
	struct stat st;
	bool has = true;

	if (sessions < 0)
		return true;
	has = !fstatat(sessions, name, &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT;
	close(sessions);
	return has;
}

/* A hidden name: being made, or removed. */
static bool is_left_over(int rings, const char *name)
{
	struct mark ours, m;

	return mark_read(rings, &m) && !mark_make(&ours) && m.device == ours.device &&
	       m.inode == ours.inode && m.pid_namespace == ours.pid_namespace &&
	       process_start_time(m.pid) != m.start && (*name == '.' || !has_description(name));
}

static int rings_look(void *arg, int parent, const char *name)
{
	const int rings = foreign_directory(parent, name, NULL);

	if (rings < 0)
		return 0;
	if (is_left_over(rings, name)) {
		user_rings_empty(rings);
		foreign_remove(parent, name, AT_REMOVEDIR);
	} else if (is_half_made(name)) {
		foreign_remove(parent, name, AT_REMOVEDIR); /* without a mark it is empty */
	}
	close(rings);
	return 0;
}

void leftovers_remove_rings(const char *parent, const char *name)
{
	const int directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return;
	rings_look(NULL, directory, name);
	close(directory);
}

/* ---- sockets ---- */

static bool is_of_session(const struct user_sessions *sessions, const char *name)
{
	for (size_t i = 0; i < sessions->all.len; i++) {
		const char *const keeper = sessions->all.items[i].keeper;
		const char *const slash = keeper ? strrchr(keeper, '/') : NULL;

		if (slash && str_eq(slash + 1, name))
			return true;
	}
	return false;
}

static bool is_refused(int place)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const bool yes = fd >= 0 && foreign_connect(fd, place) == -ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return yes;
}

/* "ask-PID": a recorder's (user/announce.h). That of a session is for its next recorder. */
static int socket_look(void *arg, int runtime, const char *name)
{
	const pid_t pid = (pid_t)atoi(str_starts(name, "ask-") ? name + 4 : "");
	struct stat st;
	int place;

	if (pid <= 0 || is_of_session(arg, name))
		return 0;
	place = foreign_socket(runtime, name, &st);
	if (place < 0)
		return 0;
	/* between its name and listening it refuses, too */
	if (st.st_uid == geteuid() && (!process_exists(pid) || user_rings_late(&st)) &&
	    is_refused(place))
		foreign_remove(runtime, name, 0);
	close(place);
	return 0;
}

/* ---- descriptions ---- */

static int description_look(void *arg, int sessions, const char *name)
{
	struct stat st;

	if (*name == '.' && !str_eq(name, SESSIONS_LOCK) &&
	    !fstatat(sessions, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    (is_half_made(name) || user_rings_late(&st)))
		foreign_remove(sessions, name, 0);
	return 0;
}

/* ---- all of it ---- */

static void look_through(const char *path, int (*look)(void *arg, int directory, const char *name),
			 const struct user_sessions *sessions)
{
	const int directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return;
	if (foreign_is_ours(directory))
		foreign_each(directory, NAMES_MAX, look, (void *)sessions);
	close(directory);
}

void leftovers_remove(const struct user_sessions *sessions)
{
	char runtime[512], path[544];

	snprintf(path, sizeof(path), "/dev/shm/pantrace-%u", (unsigned int)geteuid());
	look_through(path, rings_look, sessions);
	if (user_runtime(runtime, sizeof(runtime)))
		return;
	look_through(runtime, socket_look, sessions);
	snprintf(path, sizeof(path), "%s/rings", runtime);
	look_through(path, rings_look, sessions);
	snprintf(path, sizeof(path), "%s/sessions", runtime);
	look_through(path, description_look, sessions);
}
