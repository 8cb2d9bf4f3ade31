/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"

int listen_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	mode_t mask;
	int rc, probe;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path)) {
		close(fd);
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	/* a socket of ours that nobody answers was left by a killed process */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) && st.st_uid == geteuid()) {
		probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		rc = connect(probe, (struct sockaddr *)&address, sizeof(address)) ? errno : 0;
		close(probe);
		if (rc == ECONNREFUSED)
			unlink(path);
	}
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64) ? -errno : 0;
	umask(mask);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}
