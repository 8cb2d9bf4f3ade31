/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is used from its beginning while a thread still reads the rest: for files of /proc that take the kernel long to write. */
#ifndef PANTRACE_BASE_FILE_AHEAD_H
#define PANTRACE_BASE_FILE_AHEAD_H

#include <pthread.h>

#include "base/base.h"

struct file_ahead {
	char *data; /* never moves; zeros behind what was read */
	size_t limit;
	int fd;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t grown;
	size_t len; /* of data; grows in steps */
	bool is_done, is_unwanted;
	int error; /* once done */
};

/* Starts to read; 0 or -errno, then there is nothing to close. More than limit bytes are an error of file_ahead_finish(): -EFBIG. */
int file_ahead_open(struct file_ahead *f, const char *path, size_t limit);
/* Waits until there are more than LEN bytes, or the file ends; how many there are. */
size_t file_ahead_wait(struct file_ahead *f, size_t len);
/* Waits for the end: 0 or -errno. Its thread is gone then. */
int file_ahead_finish(struct file_ahead *f, size_t *ret_len);
/* Also before the end. */
void file_ahead_close(struct file_ahead *f);

#endif
