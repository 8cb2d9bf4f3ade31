// SPDX-License-Identifier: GPL-2.0-or-later
// A file that is used while it is read: all of it arrives in order, an end, an error and an early end are told.
#include "base/file_ahead.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* A pipe with a name, into which a child writes COUNT numbers, a pause behind each thousand. */
static pid_t write_numbers(const char *path, u32 count)
{
	const pid_t child = fork();

	if (child)
		return child;
	const int fd = open(path, O_WRONLY);

	for (u32 i = 0; i < count; i++) {
		if (write(fd, &i, sizeof(i)) != sizeof(i))
			break;
		if (i % 1000 == 999)
			usleep(100);
	}
	_exit(0);
}

static void test_order(const char *path)
{
	enum { COUNT = 200000 };
	struct file_ahead f;
	bool in_order = true;
	size_t len = 0, steps = 0, before, end;
	const pid_t child = write_numbers(path, COUNT);
	u32 number;

	is_int(file_ahead_open(&f, path, 1 << 20), 0, "opened");
	do {
		before = len;
		len = file_ahead_wait(&f, before);
		for (size_t at = before / 4 * 4; at + 4 <= len; at += 4) {
			memcpy(&number, f.data + at, 4);
			in_order = in_order && number == at / 4;
		}
		steps++;
	} while (len > before);
	ok(in_order, "each number is there when it is told");
	is_int(len, COUNT * 4, "all of them");
	ok(steps > 2, "in steps");
	is_int(file_ahead_finish(&f, &end), 0, "no error");
	is_int(end, COUNT * 4, "and the same length");
	is_int(file_ahead_wait(&f, 0), COUNT * 4, "which stays");
	file_ahead_close(&f);
	waitpid(child, NULL, 0);
}

int main(void)
{
	struct file_ahead f;
	char path[] = "/tmp/pantrace-ahead.XXXXXX", pipe[64];
	size_t len;
	pid_t child;
	int fd;

	is_int(file_ahead_open(&f, "/nonexistent/file", 4096), -ENOENT, "a file that is not there");
	is_int(file_ahead_open(&f, "/proc/self/mem", 4096), 0, "one that cannot be read is opened");
	is_int(file_ahead_finish(&f, &len), -EIO, "and the error is told");
	file_ahead_close(&f);

	fd = mkstemp(path);
	is_int(write(fd, "12345", 5), 5, "five bytes");
	is_int(file_ahead_open(&f, path, 4), 0, "are opened with a limit of four");
	is_int(file_ahead_finish(&f, &len), -EFBIG, "and are too many");
	file_ahead_close(&f);
	is_int(file_ahead_open(&f, path, 5), 0, "of five");
	is_int(file_ahead_finish(&f, &len), 0, "are not");
	is_int(len, 5, "all are there");
	is_str(f.data, "12345", "and a zero behind them");
	file_ahead_close(&f);
	close(fd);
	unlink(path);

	snprintf(pipe, sizeof(pipe), "%s.pipe", path);
	is_int(mkfifo(pipe, 0600), 0, "a pipe");
	test_order(pipe);
	child = write_numbers(pipe, 10000000);
	is_int(file_ahead_open(&f, pipe, 1 << 26), 0, "a long one");
	ok(file_ahead_wait(&f, 0) > 0, "begins");
	file_ahead_close(&f);
	ok(true, "is closed before its end");
	waitpid(child, NULL, 0);
	unlink(pipe);
	return tap_done();
}
