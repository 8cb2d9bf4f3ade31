/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A known mix of system calls: syscalls N -> N getppid, N writes to /dev/null of 1..N bytes, and
 * two children that do the same.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void mix(long n)
{
	static char data[65536];
	int fd = open("/dev/null", O_WRONLY);

	for (long i = 1; i <= n; i++) {
		syscall(SYS_getppid);
		if (write(fd, data, (size_t)i % sizeof(data)) < 0)
			_exit(1);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;

	for (int i = 0; i < 2; i++)
		if (!fork()) {
			mix(n);
			_exit(0);
		}
	mix(n);
	while (wait(NULL) > 0)
		;
	return 0;
}
