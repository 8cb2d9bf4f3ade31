/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file_ahead.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define TELL_STEP ((size_t)256 << 10) /* each wakes the reader, which takes longer than a read */

static bool tell(struct file_ahead *f, size_t len, bool is_done, int error)
{
	bool goes_on;

	pthread_mutex_lock(&f->lock);
	f->len = len;
	f->is_done = is_done;
	f->error = error;
	goes_on = !f->is_unwanted;
	pthread_cond_signal(&f->grown);
	pthread_mutex_unlock(&f->lock);
	return goes_on;
}

static void *read_all(void *arg)
{
	struct file_ahead *f = arg;
	size_t len = 0, told = 0;
	ssize_t n;

	for (;;) {
		/* One byte of the space stays zero. */
		n = read(f->fd, f->data + len, f->limit + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || len + (size_t)n > f->limit)
			break;
		len += (size_t)n;
		if (len - told < TELL_STEP)
			continue;
		told = len;
		if (!tell(f, len, false, 0))
			break;
	}
	tell(f, len, true, n < 0 ? -errno : n > 0 ? -EFBIG : 0);
	return NULL;
}

/* Signals are for the others; without a thread it is read here. */
static void start(struct file_ahead *f)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	f->has_thread = !pthread_create(&f->thread, NULL, read_all, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!f->has_thread)
		read_all(f);
}

int file_ahead_open(struct file_ahead *f, const char *path, size_t limit)
{
	int err;

	*f = (struct file_ahead){.limit = limit,
				 .fd = open(path, O_RDONLY | O_CLOEXEC),
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .grown = PTHREAD_COND_INITIALIZER};
	if (f->fd < 0)
		return -errno;
	f->data = mmap(NULL, limit + 2, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->data == MAP_FAILED) {
		err = -errno;
		close(f->fd);
		return err;
	}
	start(f);
	return 0;
}

size_t file_ahead_wait(struct file_ahead *f, size_t len)
{
	size_t there;

	pthread_mutex_lock(&f->lock);
	while (f->len <= len && !f->is_done)
		pthread_cond_wait(&f->grown, &f->lock);
	there = f->len;
	pthread_mutex_unlock(&f->lock);
	return there;
}

int file_ahead_finish(struct file_ahead *f, size_t *ret_len)
{
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
	*ret_len = f->len;
	return f->error;
}

void file_ahead_close(struct file_ahead *f)
{
	size_t len;

	pthread_mutex_lock(&f->lock);
	f->is_unwanted = true;
	pthread_mutex_unlock(&f->lock);
	file_ahead_finish(f, &len);
	munmap(f->data, f->limit + 2);
	close(f->fd);
}
