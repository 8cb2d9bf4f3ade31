/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file_image.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BLOCK	 ((u64)4 << 10) /* a page */
#define MAX_LEN	 ((u64)64 << 30)
#define MAX_READ ((u64)4 << 30) /* of one file: a sparse one must not fill the memory */
#define MAX_RUN	 64 /* blocks that are read at once behind one that was touched */

/* Those that have lent something. The handler reads the list; it changes under the lock. */
static struct file_image *lenders;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* what is done about any other SIGSEGV */

/* Each image keeps a descriptor: many of them need more than a shell allows. */
static int duplicate(int fd)
{
	int copy;

	do
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	while (copy < 0 && errno == EMFILE && file_raise_limit());
	return copy < 0 ? -errno : copy;
}

int file_image_open(struct file_image *i, int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : file_image_open_part(i, fd, 0, (u64)st.st_size);
}

int file_image_open_part(struct file_image *i, int fd, u64 base, u64 len)
{
	struct stat st;
	void *data;

	*i = (struct file_image){.fd = -1};
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !len || base > (u64)st.st_size || len > (u64)st.st_size - base)
		return -EINVAL;
	if (len > MAX_LEN)
		return -EFBIG;
	fd = duplicate(fd);
	if (fd < 0)
		return fd;
	/* Not writable yet, so that it counts as memory only where it is read into. */
	data = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED) {
		const int err = -errno;

		close(fd);
		return err;
	}
	*i = (struct file_image){.data = data,
				 .len = len,
				 .base = base,
				 .file_size = (u64)st.st_size,
				 .fd = fd,
				 .modified = st.st_mtim};
	i->blocks = xzalloc((i->len / BLOCK / 64 + 1) * sizeof(*i->blocks));
	return 0;
}

void file_image_of(struct file_image *i, void *data, size_t len)
{
	*i = (struct file_image){.data = data, .len = len, .fd = -1};
}

static void take_back(struct file_image *i);

void file_image_close(struct file_image *i)
{
	take_back(i);
	if (i->blocks) {
		munmap(i->data, i->len);
		close(i->fd);
		free(i->blocks);
	} else {
		free(i->data);
	}
	*i = (struct file_image){.fd = -1};
}

static bool is_read(const struct file_image *i, u64 block)
{
	return i->blocks[block / 64] >> block % 64 & 1;
}

static int read_all(struct file_image *i, u64 from, u64 to)
{
	const int err = read_all_at(i->fd, i->data + from, to - from, i->base + from);

	return err == -EIO ? -ESTALE : err;
}

/* Blocks [first, end), none of which was read. */
static int read_blocks(struct file_image *i, u64 first, u64 end)
{
	const u64 from = first * BLOCK, to = MIN(end * BLOCK, (u64)i->len);
	struct stat st;
	int err;

	if (to - from > MAX_READ - MIN(i->bytes_read, MAX_READ))
		return -EFBIG;
	if (mprotect(i->data + from, to - from, PROT_READ | PROT_WRITE))
		return -errno;
	err = read_all(i, from, to);
	if (err)
		return err;
	/* Parts of two different files would be worse than none. */
	if (fstat(i->fd, &st))
		return -errno;
	if ((u64)st.st_size != i->file_size || st.st_mtim.tv_sec != i->modified.tv_sec ||
	    st.st_mtim.tv_nsec != i->modified.tv_nsec)
		return -ESTALE;
	for (u64 block = first; block < end; block++)
		i->blocks[block / 64] |= (u64)1 << block % 64;
	i->bytes_read += to - from;
	return 0;
}

const void *file_image_bytes(struct file_image *i, u64 offset, u64 n)
{
	u64 block, end, run;

	if (!file_image_has(i, offset, n))
		return NULL;
	if (!i->blocks || !n)
		return i->data + offset;
	end = (offset + n - 1) / BLOCK + 1;
	for (block = offset / BLOCK; block < end; block = run) {
		run = block + 1;
		if (is_read(i, block))
			continue;
		while (run < end && !is_read(i, run))
			run++;
		if (!i->error)
			i->error = read_blocks(i, block, run);
		if (i->error)
			return NULL;
	}
	return i->data + offset;
}

/* ---- lending ---- */

static struct file_image *lender_of(uintptr_t address)
{
	struct file_image *i = __atomic_load_n(&lenders, __ATOMIC_ACQUIRE);

	while (i && address - (uintptr_t)i->data >= i->len)
		i = __atomic_load_n(&i->next, __ATOMIC_ACQUIRE);
	return i;
}

/*
 * Who reads on gets more at once. So does who has touched many places: each of them is a mapping of
 * its own, and a process may have 65530 of them.
 */
static u64 run_at(struct file_image *i, u64 block)
{
	const u64 blocks = (i->len - 1) / BLOCK + 1;
	u64 run = block == i->lent_at + i->lent_run ? 2 * i->lent_run : 1, n = 1;

	i->touches++;
	run = MIN(MAX(run, (u64)1 << MIN(i->touches / 2048, 6u)), (u64)MAX_RUN);
	while (n < run && block + n < blocks && !is_read(i, block + n))
		n++;
	i->lent_at = block;
	i->lent_run = run;
	return n;
}

/* System calls only: the program may be anywhere. */
static void on_touch(int number, siginfo_t *info, void *context)
{
	struct file_image *i =
		info->si_code == SEGV_ACCERR ? lender_of((uintptr_t)info->si_addr) : NULL;
	const u64 block = i ? ((uintptr_t)info->si_addr - (uintptr_t)i->data) / BLOCK : 0;
	const int kept = errno;

	(void)context;
	/* Otherwise the access is made again, and ends us as it would have without us. */
	if (!i || is_read(i, block)) {
		sigaction(number, &before, NULL);
		return;
	}
	if (!i->error)
		i->error = read_blocks(i, block, block + run_at(i, block));
	if (i->error)
		mprotect(i->data, i->len, PROT_READ);
	errno = kept;
}

static void enlist(struct file_image *i)
{
	struct sigaction action = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO};

	pthread_mutex_lock(&lock);
	i->next = lenders;
	if (!lenders)
		sigaction(SIGSEGV, &action, &before);
	__atomic_store_n(&lenders, i, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	i->has_lent = true;
}

static void take_back(struct file_image *i)
{
	if (!i->has_lent)
		return;
	pthread_mutex_lock(&lock);
	for (struct file_image **at = &lenders; *at; at = &(*at)->next) {
		if (*at != i)
			continue;
		__atomic_store_n(at, i->next, __ATOMIC_RELEASE);
		break;
	}
	if (!lenders)
		sigaction(SIGSEGV, &before, NULL);
	pthread_mutex_unlock(&lock);
}

const void *file_image_lend(struct file_image *i, u64 offset, u64 n)
{
	const u64 end = file_image_has(i, offset, n) && n ? (offset + n - 1) / BLOCK + 1 : 0;
	u64 run;

	if (!file_image_has(i, offset, n))
		return NULL;
	if (!i->blocks || i->error || n <= BLOCK)
		return file_image_bytes(i, offset, n);
	if (!i->has_lent)
		enlist(i);
	for (u64 block = offset / BLOCK; block < end; block += run) {
		for (run = 0; block + run < end && !is_read(i, block + run);)
			run++;
		if (run && mprotect(i->data + block * BLOCK,
				    MIN(run * BLOCK, i->len - block * BLOCK), PROT_NONE))
			return file_image_bytes(i, offset, n);
		run = MAX(run, (u64)1);
	}
	return i->data + offset;
}

void file_image_drop(struct file_image *i, u64 offset, u64 n)
{
	const u64 first = (offset + BLOCK - 1) / BLOCK,
		  end = file_image_has(i, offset, n) ? (offset + n) / BLOCK : 0;

	if (!i->blocks || first >= end)
		return;
	for (u64 block = first; block < end; block++) {
		if (!is_read(i, block))
			continue;
		i->blocks[block / 64] &= ~((u64)1 << block % 64);
		i->bytes_read -= BLOCK;
	}
	madvise(i->data + first * BLOCK, (end - first) * BLOCK, MADV_DONTNEED);
	if (i->has_lent)
		mprotect(i->data + first * BLOCK, (end - first) * BLOCK, PROT_NONE);
}
