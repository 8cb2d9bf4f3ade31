/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a finished trace, compressed one by one: ring_0 becomes ring_0.zst or ring_0.gz. `unzstd
 * -r --rm DIR` or `gunzip -r DIR` brings back what babeltrace2 reads; our reader takes them as they
 * are.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "trace/ctf/sink.h"

#define BUFFER (1u << 20)

static int zstd_file(int from, int to)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	char *in = xmalloc(BUFFER), *out = xmalloc(BUFFER);
	int rc = z && !ZSTD_isError(ZSTD_initCStream(z, 3)) ? 0 : -ENOMEM;
	bool last = false;

	while (!rc && !last) {
		const ssize_t n = read(from, in, BUFFER);
		ZSTD_inBuffer input = {in, n > 0 ? (size_t)n : 0, 0};
		size_t left = 1;

		rc = n < 0 ? -errno : 0;
		last = n == 0;
		while (!rc && (last ? left : input.pos < input.size)) {
			ZSTD_outBuffer output = {out, BUFFER, 0};

			left = ZSTD_compressStream2(z, &output, &input,
						    last ? ZSTD_e_end : ZSTD_e_continue);
			rc = ZSTD_isError(left) ? -EIO : write_all(to, out, output.pos);
		}
	}
	ZSTD_freeCStream(z);
	free(in);
	free(out);
	return rc;
}

static int gzip_file(int from, int to)
{
	const int copy = fcntl(to, F_DUPFD_CLOEXEC, 0);
	gzFile z = copy < 0 ? NULL : gzdopen(copy, "wb6");
	char *in = xmalloc(BUFFER);
	ssize_t n = 0;
	int rc = z ? 0 : -errno;

	while (!rc && (n = read(from, in, BUFFER)) > 0)
		if (gzwrite(z, in, (unsigned int)n) != n)
			rc = errno ? -errno : -EIO;
	if (!rc && n < 0)
		rc = -errno;
	if (z && gzclose(z) != Z_OK && !rc)
		rc = errno ? -errno : -EIO;
	free(in);
	return rc;
}

static bool ends(const char *name, const char *with)
{
	const size_t n = strlen(name), m = strlen(with);

	return n > m && str_eq(name + n - m, with);
}

/* The old file goes once the new one is whole. */
static int compress_file(int at, const char *name, enum ctf_compression how)
{
	char *const final = xasprintf("%s.%s", name, how == CTF_ZSTD ? "zst" : "gz");
	const int from = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct new_file to = {.fd = -1, .directory = -1};
	int rc = from < 0 ? -errno : new_file_open_at(&to, at, final, 0600);

	if (!rc)
		rc = how == CTF_ZSTD ? zstd_file(from, to.fd) : gzip_file(from, to.fd);
	rc = rc ?: new_file_keep(&to);
	new_file_drop(&to);
	if (!rc && unlinkat(at, name, 0))
		rc = -errno;
	if (from >= 0)
		close(from);
	free(final);
	return rc;
}

/* Takes the descriptor. Only what a trace consists of: three levels, no links followed. */
static int compress_tree(int fd, enum ctf_compression how, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -errno;
	}
	while ((e = readdir(dir))) {
		struct stat st;
		int one = 0;

		if (*e->d_name == '.' || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode) && depth) {
			const int sub = openat(dirfd(dir), e->d_name,
					       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			one = sub < 0 ? -errno : compress_tree(sub, how, depth - 1);
		} else if (S_ISREG(st.st_mode) && !ends(e->d_name, ".zst") &&
			   !ends(e->d_name, ".gz") &&
			   (str_starts(e->d_name, "ring_") || str_eq(e->d_name, "objects"))) {
			one = compress_file(dirfd(dir), e->d_name, how);
		}
		rc = rc ? rc : one;
	}
	closedir(dir);
	return rc;
}

int ctf_compress(int directory, enum ctf_compression how)
{
	const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : compress_tree(fd, how, 2);
}

int ctf_compress_start(int directory, enum ctf_compression how)
{
	const pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid)
		return pid;
	setpriority(PRIO_PROCESS, 0, 10);
	_exit(ctf_compress(directory, how) ? EXIT_FAILED : EXIT_OK);
}
