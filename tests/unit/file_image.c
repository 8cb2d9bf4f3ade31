/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/file_image.h: what is lent is read when it is touched. */
#include "base/file_image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum { LEN = 3 << 20, PAGE = 4096 };

static int make_file(void)
{
	char path[] = "/tmp/pantrace-test-XXXXXX";
	const int fd = mkstemp(path);
	u32 *words = malloc(LEN);

	unlink(path);
	for (u32 i = 0; i < LEN / 4; i++)
		words[i] = i;
	if (write(fd, words, LEN) != LEN)
		abort();
	free(words);
	return fd;
}

static void touched(void)
{
	struct file_image i, other;
	const int fd = make_file();
	const u32 *words;
	bool good = true;

	is_int(file_image_open(&i, fd), 0, "open");
	is_int(file_image_open(&other, fd), 0, "open another");
	words = file_image_lend(&i, 0, LEN);
	ok(words && !i.bytes_read, "nothing is read that nobody has touched");
	ok(file_image_lend(&other, 0, LEN) != NULL, "two images lend");
	ok(words[LEN / 8] == LEN / 8 && i.bytes_read == PAGE, "one page for one touch");
	for (u32 n = 0; n < LEN / 4; n += 5 * PAGE / 4)
		good = good && words[n] == n;
	ok(good && i.bytes_read < LEN / 2, "here and there");
	ok(!file_image_lend(&i, LEN - 1, 2), "not outside of the file");
	ok(!memcmp(file_image_bytes(&i, 8, 64 << 10), words + 2, 64 << 10), "asked for, and lent");
	file_image_close(&other);
	for (u32 n = 0; n < LEN / 4; n++)
		good = good && words[n] == n;
	ok(good && i.bytes_read == LEN && !i.error, "all of it");
	file_image_close(&i);
	close(fd);
}

static void cut_short(void)
{
	struct file_image i;
	const int fd = make_file();
	const u32 *words;

	file_image_open(&i, fd);
	words = file_image_lend(&i, 0, LEN);
	ok(words[1] == 1, "before");
	if (ftruncate(fd, PAGE))
		abort();
	ok(!words[LEN / 8] && !words[LEN / 4 - 1] && i.error == -ESTALE,
	   "what is gone is zeros, and said");
	ok(words[1] == 1, "what was read stays");
	ok(!file_image_bytes(&i, LEN / 2, 8), "nothing more is read");
	file_image_close(&i);
	close(fd);
}

/* Any other access that is wrong ends the process as before. */
static void others(void)
{
	struct file_image i;
	const int fd = make_file();
	int status = 0;
	pid_t child;

	file_image_open(&i, fd);
	file_image_lend(&i, 0, LEN);
	child = fork();
	if (!child) {
		volatile char *const page =
			mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*page = 1;
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(!WIFEXITED(status) || WEXITSTATUS(status), "a wild write is not caught");
	file_image_close(&i);
	close(fd);
}

int main(void)
{
	touched();
	cut_short();
	others();
	return tap_done();
}
