// SPDX-License-Identifier: MIT
/*
 * Sessions that wait for programs: described by files in RUNTIME/sessions, the user's own and
 * root's. Runs before main(); without such a directory it costs two failing system calls.
 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pantrace/protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT_RUNTIME "/run/pantrace"

/* The environment as it was at start: the program may change it while the helper reads it. */
static struct {
	/* $PANTRACE_RUNTIME, $XDG_RUNTIME_DIR; empty = not set or no path */
	char runtime[512], user[480];
	char files[4096]; /* $PANTRACE_SESSION */
} at_start;

static void copy(char *to, size_t size, const char *name)
{
	const char *value = secure_getenv(name);

	if (value && strlen(value) < size)
		strcpy(to, value);
}

void pt_join_begin(void)
{
	copy(at_start.runtime, sizeof(at_start.runtime), "PANTRACE_RUNTIME");
	copy(at_start.user, sizeof(at_start.user), "XDG_RUNTIME_DIR");
	copy(at_start.files, sizeof(at_start.files), "PANTRACE_SESSION");
}

int pt_runtime_directory(char *ret, size_t size)
{
	const uid_t uid = geteuid();
	int n;

	if (at_start.runtime[0] == '/')
		n = snprintf(ret, size, "%s", at_start.runtime);
	else if (!uid)
		n = snprintf(ret, size, ROOT_RUNTIME);
	else if (at_start.user[0] == '/')
		n = snprintf(ret, size, "%s/pantrace", at_start.user);
	else
		n = snprintf(ret, size, "/tmp/pantrace-%u", (unsigned int)uid);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

struct reading {
	struct pt_description description;
	char text[PANTRACE_MESSAGE_MAX];
};

static bool joins(const struct pt_description *description, bool environment)
{
	if (environment)
		return true;
	if (description->join_all ||
	    (description->join_child && description->join_child == (uint32_t)getpid()))
		return true;
	for (unsigned int i = 0; i < description->nr_join; i++)
		if (!fnmatch(description->join[i], program_invocation_short_name, 0))
			return true;
	return false;
}

/*
 * Reads a description, unless others than root and ourselves could have written it. False: there is
 * no free descriptor to read it with.
 */
static bool join_file(int directory, const char *name, struct reading *reading, bool environment)
{
	const int fd =
		openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	const char *why;
	struct stat st;
	ssize_t n = -1;
	int rc;

	if (fd < 0)
		return errno != EMFILE;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 022) &&
	    (!st.st_uid || st.st_uid == geteuid()))
		n = read(fd, reading->text, sizeof(reading->text));
	close(fd);
	if (n <= 0)
		return true;
	rc = pt_description_parse_file(reading->text, (size_t)n, &reading->description);
	/*
	 * who is meant and where the rings would be stands in front of lines that may not be
	 * understood
	 */
	if (!joins(&reading->description, environment) || rc == -EXDEV)
		return true;
	if (!rc)
		rc = pt_session_start(&reading->description.spec, &reading->description.rules,
				      &why);
	/* -EEXIST: a tool has told us already */
	if (rc && rc != -EEXIST)
		pt_rings_refused(&reading->description.spec, rc);
	return true;
}

static void join_directory(const char *runtime, struct reading **reading)
{
	char path[512], file[sizeof(path) + 256], entries[2048] __attribute__((aligned(8)));
	struct stat st;
	long n;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/sessions", runtime) >= sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (fstat(fd, &st) || (st.st_mode & 022) || (st.st_uid && st.st_uid != geteuid()))
		goto out;
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *const entry = (const void *)(entries + at);

			at += entry->size;
			if (entry->name[0] == '.')
				continue;
			if (!*reading)
				*reading = mmap(NULL, sizeof(**reading), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (*reading == MAP_FAILED) {
				*reading = NULL;
				goto out;
			}
			if (fd >= 0 && join_file(fd, entry->name, *reading, false))
				continue;
			/*
			 * the program may have one free descriptor only: these are opened one after
			 * the other
			 */
			if (fd >= 0)
				close(fd);
			fd = -1;
			snprintf(file, sizeof(file), "%s/%s", path, entry->name);
			join_file(AT_FDCWD, file, *reading, false);
		}
	}
out:
	if (fd >= 0)
		close(fd);
}

/* PANTRACE_SESSION=FILE:FILE... */
static void join_named(const char *files, struct reading *reading)
{
	char path[512];

	while (files && *files) {
		const size_t n = strcspn(files, ":");

		if (n && n < sizeof(path)) {
			memcpy(path, files, n);
			path[n] = 0;
			join_file(AT_FDCWD, path, reading, true);
		}
		files += n + (files[n] == ':');
	}
}

void pt_join_waiting(void)
{
	const char *file = at_start.files[0] ? at_start.files : NULL;
	struct reading *reading = NULL;
	char runtime[512];

	if (!pt_runtime_directory(runtime, sizeof(runtime))) {
		join_directory(runtime, &reading);
		if (strcmp(runtime, ROOT_RUNTIME))
			join_directory(ROOT_RUNTIME, &reading);
	}
	if (file && !reading)
		reading = mmap(NULL, sizeof(*reading), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reading == MAP_FAILED)
		return;
	join_named(file, reading);
	if (reading)
		munmap(reading, sizeof(*reading));
}
