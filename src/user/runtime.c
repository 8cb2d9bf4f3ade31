// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "user/leftovers.h"

#define FILES_MAX   (1u << 20) /* that a session's end looks at */
#define MAKING_S    10
#define LOCK_MS	    5000 /* for which one process may hold the lock */
#define LOCK_NAP_MS 5

int user_runtime(char *ret, size_t size)
{
	const char *given = secure_getenv("PANTRACE_RUNTIME"),
		   *user = secure_getenv("XDG_RUNTIME_DIR");
	const uid_t uid = geteuid();
	int n;

	if (given && *given == '/')
		n = snprintf(ret, size, "%s", given);
	else if (!uid)
		n = snprintf(ret, size, "/run/pantrace");
	else if (user && *user == '/')
		n = snprintf(ret, size, "%s/pantrace", user);
	else
		n = snprintf(ret, size, "/tmp/pantrace-%u", (unsigned int)uid);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* PATH as a directory of our user's with just this mode; the last level is not a link. */
static int own_directory(const char *path, mode_t mode)
{
	int fd, rc = 0;
	struct stat st;

	if (mkdir(path, mode & 0777) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid())
		rc = -EPERM;
	else if ((st.st_mode & 07777) != mode && fchmod(fd, mode))
		rc = -errno;
	close(fd);
	return rc;
}

int user_runtime_make(char *ret, size_t size, struct diag *d)
{
	int fd, rc = user_runtime(ret, size);
	bool good;

	if (rc) {
		diag_error(d, NO_SPAN, "the path of the runtime directory is too long");
		return rc;
	}
	if (mkdir(ret, geteuid() ? 0700 : 0755) && errno != EEXIST) {
		rc = -errno;
		diag_error(d, NO_SPAN, "%s: cannot be made: %s", ret, strerror(-rc));
		return rc;
	}
	fd = open(ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	good = fd >= 0 && foreign_is_ours(fd);
	/* everybody's programs look for root's sessions; whatever the umask of who made it was */
	if (good && !geteuid() && !secure_getenv("PANTRACE_RUNTIME") && fchmod(fd, 0755))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (good)
		return rc;
	diag_error(d, NO_SPAN, "%s: is not a directory that only its owner, uid %u, can write to",
		   ret, (unsigned int)geteuid());
	diag_hint(d, "remove it, or set PANTRACE_RUNTIME to another directory");
	return -EPERM;
}

int user_sessions_make(char *ret, size_t size, struct diag *d)
{
	int rc = user_runtime_make(ret, size - sizeof("/sessions"), d);

	if (rc)
		return rc;
	strcat(ret, "/sessions");
	rc = own_directory(ret, geteuid() ? 0700 : 0755);
	if (rc)
		diag_error(d, NO_SPAN, "%s: %s", ret,
			   rc == -EPERM ? "is not a directory of ours" : strerror(-rc));
	return rc;
}

int user_sessions_directory(void)
{
	char runtime[512];
	int fd, below, rc = user_runtime(runtime, sizeof(runtime));

	if (rc)
		return rc;
	fd = open(runtime, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	below = foreign_is_ours(fd) ? foreign_directory(fd, "sessions", NULL) : -EPERM;
	close(fd);
	if (below >= 0 && !foreign_is_ours(below)) {
		close(below);
		return -EPERM;
	}
	return below;
}

/* The lock is the process's, not the descriptor's: no child has it. */
static int lock_wait(int fd, struct diag *d)
{
	struct flock ours = {.l_type = F_WRLCK}, other = {0};
	pid_t holder = 0;

	for (int ms = 0; fcntl(fd, F_SETLK, &ours); ms += LOCK_NAP_MS) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -errno;
		other = ours;
		if (fcntl(fd, F_GETLK, &other) || other.l_type == F_UNLCK)
			continue;
		if (other.l_pid != holder)
			ms = 0;
		holder = other.l_pid;
		if (ms >= LOCK_MS) {
			diag_error(d, NO_SPAN,
				   "sessions are being changed by process %d, and it does not come "
				   "to an end",
				   (int)holder);
			diag_hint(d, "is it stopped? End it, and try again");
			return -EBUSY;
		}
		usleep(LOCK_NAP_MS * 1000);
	}
	return 0;
}

int user_sessions_lock(struct diag *d)
{
	const int directory = user_sessions_directory();
	struct stat st;
	int fd, rc = 0;

	if (directory < 0)
		return directory;
	fd = openat(directory, SESSIONS_LOCK,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	close(directory);
	if (fd < 0 || fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		rc = -EPERM;
	if (rc)
		diag_error(d, NO_SPAN, "%s of the sessions' directory: %s", SESSIONS_LOCK,
			   rc == -EPERM ? "is not a file that only its owner can open"
					: strerror(-rc));
	else
		rc = lock_wait(fd, d);
	if (!rc)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- rings ---- */

/*
 * Below PARENT, which has a mark before it has its name. One that is there already is another
 * session's.
 */
static int rings_directory(const char *parent, const char *name, mode_t mode)
{
	char *const full = xasprintf("%s/%s", parent, name);
	char *const made = xasprintf("%s/.%s.%d", parent, name, (int)getpid());
	int rings, rc = own_directory(made, mode);

	if (!rc) {
		rings = user_rings_open(made);
		if (rings >= 0) {
			leftovers_mark(rings);
			close(rings);
		}
		if (renameat2(AT_FDCWD, made, AT_FDCWD, full, RENAME_NOREPLACE)) {
			user_rings_remove(made);
			rc = own_directory(full, mode);
		}
	}
	free(made);
	free(full);
	return rc;
}

int user_rings_make(const char *base, const char *runtime, const char *name, char **ret,
		    struct diag *d)
{
	const mode_t base_mode = geteuid() ? 0700 : 0711, mode = geteuid() ? 0700 : 01733;
	char *parent, *full;
	int rc;

	if (base) {
		parent = realpath(base, NULL);
		rc = parent ? 0 : -errno;
	} else {
		parent = xasprintf("/dev/shm/pantrace-%u", (unsigned int)geteuid());
		rc = access("/dev/shm", W_OK | X_OK) ? -errno : own_directory(parent, base_mode);
		/* others may have taken the name */
		if (rc) {
			free(parent);
			parent = xasprintf("%s/rings", runtime);
			rc = own_directory(parent, base_mode);
		}
	}
	full = rc ? xstrdup(parent ? parent : base) : xasprintf("%s/%s", parent, name);
	if (!rc) {
		leftovers_remove_rings(parent, name);
		rc = rings_directory(parent, name, mode);
	}
	free(parent);
	if (!rc) {
		*ret = full;
		return 0;
	}
	diag_error(d, NO_SPAN, "%s: cannot hold the rings: %s", full,
		   rc == -EPERM ? "it is not a directory of ours" : strerror(-rc));
	free(full);
	return rc;
}

void user_rings_lines(const char *directory, struct strbuf *text)
{
	struct stat st;

	strbuf_addf(text, "directory %s\n", directory);
	if (!stat(directory, &st))
		strbuf_addf(text, "# directory-id %" PRIu64 " %" PRIu64 "\n", (u64)st.st_dev,
			    (u64)st.st_ino);
}

int user_rings_open(const char *path)
{
	const int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

bool user_rings_name(const char *name)
{
	const size_t n = strlen(name);

	return n > 9 && str_eq(name + n - 9, ".pantrace") &&
	       name[strspn(name, "0123456789abcdef-")] == '.';
}

bool user_rings_late(const struct stat *st)
{
	const s64 now = (s64)(clock_now_ns(CLOCK_REALTIME) / 1000000000u);

	return now - st->st_ctim.tv_sec > MAKING_S;
}

/* Rings, and whatever others have put into a directory of ours; last of all its mark. */
static int remove_one(void *arg, int directory, const char *name)
{
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (st.st_uid != geteuid() || (S_ISREG(st.st_mode) && user_rings_name(name)))
		foreign_remove(directory, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	return 0;
}

void user_rings_empty(int directory)
{
	foreign_each(directory, FILES_MAX, remove_one, NULL);
	foreign_remove(directory, LEFTOVERS_MARK, 0);
}

void user_rings_remove(const char *path)
{
	const int fd = user_rings_open(path);

	if (fd < 0)
		return;
	user_rings_empty(fd);
	close(fd);
	rmdir(path);
}
