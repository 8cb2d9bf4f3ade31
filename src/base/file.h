/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files in memory; small helpers around open(2). Every descriptor is O_CLOEXEC. */
#ifndef PANTRACE_BASE_FILE_H
#define PANTRACE_BASE_FILE_H

#include "base/base.h"

/* Reads all of a file (also of /proc and tracefs, whose size is unknown) into a malloc'ed,
 * NUL-terminated buffer. limit = 0: no limit; -EFBIG beyond it. Returns 0 or -errno. */
int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_len);
int file_read_fd(int fd, size_t limit, char **ret_data, size_t *ret_len);
/*
 * Maps a file of the kernel read-only. (Never map other files: whoever can write them could crash
 * us.) Returns 0 or -errno; an empty file gives data "" and len 0.
 */
int file_map(const char *path, const void **ret_data, size_t *ret_len);
void file_unmap(const void *data, size_t len);
/* After EMFILE: lets this process have more descriptors. False: no more are allowed. */
bool file_raise_limit(void);
/*
 * Makes a directory with mode 0700 unless it exists. The last part of the name must not be a link.
 * Returns -errno.
 */
int directory_make(int at, const char *name);
/* Reads n bytes from this place; restarts on EINTR. 0 or -errno; -EIO: the file is shorter. */
int read_all_at(int fd, void *to, size_t n, u64 at);
/* Writes the whole buffer; restarts on EINTR. Returns 0 or -errno. */
int write_all(int fd, const void *data, size_t len);

#endif
