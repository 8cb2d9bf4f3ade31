/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read_fd(int fd, size_t limit, char **ret_data, size_t *ret_len)
{
	size_t cap = 4096, len = 0;
	char *data = xmalloc(cap + 1);

	for (;;) {
		ssize_t n;

		if (len == cap) {
			cap *= 2;
			data = xrealloc(data, cap + 1);
		}
		n = read(fd, data + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (limit && len + (size_t)n > limit)) {
			int err = n < 0 ? errno : EFBIG;

			free(data);
			return -err;
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	data[len] = '\0';
	*ret_data = data;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = file_read_fd(fd, limit, ret_data, ret_len);
	close(fd);
	return rc;
}

int file_map(const char *path, const void **ret_data, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = "";
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		rc = -errno;
		goto out;
	}
	if (st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			rc = -errno;
			goto out;
		}
	}
	*ret_data = p;
	*ret_len = (size_t)st.st_size;
out:
	close(fd);
	return rc;
}

void file_unmap(const void *data, size_t len)
{
	if (len)
		munmap((void *)data, len);
}

bool file_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	if (limit.rlim_cur < limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	else
		limit.rlim_cur = limit.rlim_max = limit.rlim_max * 2;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

int read_all_at(int fd, void *to, size_t n, u64 at)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got = pread(fd, (u8 *)to + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int directory_make(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
