/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files in every way there is: absolute, relative to the working directory, relative to a
 * descriptor, openat2, creat, failing.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct open_how how = {.flags = O_RDONLY};
	int dir;

	mkdir("/tmp/pantrace-opens", 0755);
	mkdir("/tmp/pantrace-opens/sub", 0755);
	if (chdir("/tmp/pantrace-opens"))
		return 1;
	close(open("/etc/passwd", O_RDONLY));
	close(creat("made", 0644));
	close(open("made", O_RDONLY));
	dir = open("sub", O_RDONLY | O_DIRECTORY);
	close(openat(dir, "inner", O_CREAT | O_RDWR, 0644));
	close((int)syscall(SYS_openat2, AT_FDCWD, "made", &how, sizeof(how)));
	close((int)syscall(SYS_openat2, dir, "inner", &how, sizeof(how)));
	close((int)syscall(SYS_open, "./made", O_RDONLY));
	syscall(SYS_open, "/nonexistent/file", O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, "missing", O_RDONLY);
	syscall(SYS_openat, 12345, "x", O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY);
	return 0;
}
