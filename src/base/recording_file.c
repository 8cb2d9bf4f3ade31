/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/recording_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"

int recording_file_directory(const char *path)
{
	const char *const slash = strrchr(path, '/');
	char *const directory = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int err = errno;

	free(directory);
	return fd < 0 ? -err : fd;
}

static int open_directory(struct recording_file *f, int within, const char *path)
{
	const char *const slash = strrchr(path, '/');

	f->name = xstrdup(slash ? slash + 1 : path);
	f->directory =
		within < 0 ? recording_file_directory(path) : fcntl(within, F_DUPFD_CLOEXEC, 0);
	return within >= 0 && f->directory < 0 ? -errno : MIN(f->directory, 0);
}

static char *older_name(const struct recording_file *f)
{
	return xasprintf("%s.old", f->name);
}

static int open_name(struct recording_file *f, mode_t mode)
{
	char *const place = xasprintf("/proc/self/fd/%d/%s", f->directory, f->name);

	f->fd = foreign_open_alone(place, mode);
	free(place);
	return MIN(f->fd, 0);
}

/* In a directory that everybody can write to, NAME.old may be another user's. */
static int set_aside(const struct recording_file *f)
{
	char *const older = older_name(f);
	struct stat st;
	int rc = 0;

	if (!fstatat(f->directory, older, &st, AT_SYMLINK_NOFOLLOW) &&
	    !(S_ISREG(st.st_mode) && st.st_uid == geteuid()))
		rc = -EEXIST;
	else if (renameat(f->directory, f->name, f->directory, older))
		rc = -errno;
	free(older);
	return rc;
}

int recording_file_open(struct recording_file *ret, int within, const char *path, mode_t mode)
{
	struct recording_file f = RECORDING_FILE_NONE;
	struct stat st;
	int rc = open_directory(&f, within, path);

	if (!rc)
		rc = open_name(&f, mode);
	if (!rc && !fstat(f.fd, &st) && S_ISREG(st.st_mode) && st.st_size) {
		rc = set_aside(&f);
		f.has_older = !rc;
		close(f.fd);
		f.fd = -1;
		if (!rc && (rc = open_name(&f, mode)))
			recording_file_undo(&f);
	}
	if (rc)
		recording_file_close(&f);
	*ret = f;
	return rc;
}

int recording_file_open_carried(struct recording_file *ret, struct recording_carrier *c,
				const char *name)
{
	struct recording_file f = RECORDING_FILE_NONE;
	const int rc = c->open(c, name, &f.number);

	f.carrier = c;
	if (!rc)
		f.name = xstrdup(name);
	*ret = f;
	return rc;
}

int recording_file_write(const struct recording_file *f, const void *data, size_t n, u64 at)
{
	if (f->carrier)
		return f->carrier->write(f->carrier, f->number, data, n, at);
	for (size_t done = 0; done < n;) {
		const ssize_t m =
			pwrite(f->fd, (const u8 *)data + done, n - done, (off_t)(at + done));

		if (m < 0 && errno == EINTR)
			continue;
		if (m <= 0)
			return m ? -errno : -EIO;
		done += (size_t)m;
	}
	return 0;
}

void recording_file_undo(struct recording_file *f)
{
	struct stat ours, there;
	char *older;

	if (f->directory < 0)
		return;
	older = older_name(f);
	if (f->fd >= 0 && !fstat(f->fd, &ours) && S_ISREG(ours.st_mode) &&
	    !fstatat(f->directory, f->name, &there, AT_SYMLINK_NOFOLLOW) &&
	    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
		unlinkat(f->directory, f->name, 0);
	if (f->has_older)
		renameat2(f->directory, older, f->directory, f->name, RENAME_NOREPLACE);
	free(older);
}

void recording_file_close(struct recording_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->directory >= 0)
		close(f->directory);
	free(f->name);
	*f = (struct recording_file)RECORDING_FILE_NONE;
}

const char *recording_file_why(int err)
{
	switch (err) {
	case -EBUSY:
		return "another recorder writes it";
	case -ESPIPE:
		return "it is a FIFO, and a recording is written at several places";
	case -EEXIST:
		return "there is one already, and it cannot be kept as .old: the .old there is "
		       "not your file";
	default:
		return strerror(-err);
	}
}
