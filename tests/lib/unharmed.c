// SPDX-License-Identifier: MIT
/*
 * A recording does not harm the program: not by memory that there is none of, or limits that
 * the program has. What could not be recorded is counted, and the program goes on.
 *
 *   unharmed DIRECTORY	the directory becomes PANTRACE_RUNTIME
 */
#include "../unit/tap.h"
#include "client.h"
#include "worker.h"
#include <errno.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char self[512];

/* ---- workers ---- */

static void say(char c)
{
	if (write(1, &c, 1) != 1)
		_exit(3);
}

/* N events of 40 bytes. */
static void produce(int n)
{
	for (int i = 0; i < n; i++)
		PANTRACE(worker, one, i, (long)i, "sixteen bytes .");
}

/* e: a thousand events, b: twenty thousand; q: ends */
static int obey(void)
{
	char c;

	say('r');
	while (read(0, &c, 1) == 1) {
		if (c == 'e')
			produce(1000);
		if (c == 'b')
			produce(20000);
		if (c == 'q')
			return 0;
		say('d');
	}
	return 0;
}

static int worker(const char *kind)
{
	const struct rlimit file = {1 << 20, 1 << 20};

	if (!strncmp(kind, "small-files", 11))
		setrlimit(RLIMIT_FSIZE, &file);
	if (!strcmp(kind, "small-files-exec")) {
		execl(self, self, "worker", "plain", NULL);
		return 4;
	}
	return obey();
}

/* ---- what is promised ---- */

/* Bytes of memory that files of rings in PATH have. */
static long long memory_of(const char *path)
{
	char command[400];
	long long kib = -1;
	FILE *pipe;

	snprintf(command, sizeof(command), "du -sk %s", path);
	pipe = popen(command, "r");
	if (pipe && fscanf(pipe, "%lld", &kib) != 1)
		kib = -1;
	if (pipe)
		pclose(pipe);
	return kib * 1024;
}

static void counts(pid_t pid, const char *session, long long *events, long long *lost)
{
	char format[100];

	*events = *lost = -1;
	ask(pid, "status %s\n", session);
	snprintf(format, sizeof(format), "ok\nsession %s running %%lld %%lld", session);
	sscanf(answer, format, events, lost);
}

static bool mounted(const char *path, const char *size)
{
	mkdir(path, 0700);
	if (!mount("none", path, "tmpfs", 0, size))
		return true;
	tap_skip("a file system of its own", strerror(errno));
	return false;
}

static void unmount(const char *path)
{
	umount2(path, MNT_DETACH);
	rmdir(path);
}

static void idle(void)
{
	struct child c = start(self, "plain");
	long long events, lost, before;
	char path[200];

	snprintf(path, sizeof(path), "%s/idle", directory);
	if (!mounted(path, "size=64m"))
		return;
	expect(&c, 'r');
	said(ask(c.pid, "start\nname i\ndirectory %s\nenable worker:*\n", path), "i running 0 0 /",
	     "a session of a program that has nothing to say");
	for (int i = 0; i < 200 && memory_of(path) > 400 << 10; i++)
		usleep(100000);
	before = memory_of(path);
	ok(before < 400 << 10, "costs %lld KiB of memory", before >> 10);
	ok(order(&c, 'e'), "it speaks");
	counts(c.pid, "i", &events, &lost);
	ok(events == 1000 && !lost, "%lld events, %lld lost", events, lost);
	for (int i = 0; i < 200 && memory_of(path) < 2 << 20; i++) {
		order(&c, 'e');
		usleep(10000);
	}
	ok(memory_of(path) >= 2 << 20, "and gets memory as it goes on: %lld KiB",
	   memory_of(path) >> 10);
	is_int(finish(&c), 0, "and ends well");
	unmount(path);
}

/* The rest of a file system. */
static void fill(const char *path)
{
	static char block[65536];
	char name[220];
	int fd;

	snprintf(name, sizeof(name), "%s/fill", path);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (size_t n = sizeof(block); n >= 512; n /= 2)
		while (write(fd, block, n) == (ssize_t)n)
			;
	close(fd);
}

/* MODE: of the session; what has no memory is lost, and no write is a SIGBUS. */
static void full(const char *mode)
{
	struct child c = start(self, "plain");
	long long events, lost;
	char path[200];

	snprintf(path, sizeof(path), "%s/small", directory);
	if (!mounted(path, "size=1500k"))
		return;
	expect(&c, 'r');
	said(ask(c.pid, "start\nname f\ndirectory %s\n%s\nenable worker:*\n", path, mode),
	     "f running 0 0 /", "rings that are larger than the file system");
	fill(path);
	for (int i = 0; i < 5; i++)
		ok(order(&c, 'b'), "%.*s: events, while there is no memory",
		   (int)strcspn(mode, "\n"), mode);
	counts(c.pid, "f", &events, &lost);
	is_int(events + lost, 100000, "each is there or counted as lost");
	ok(events > 0 && lost > 0, "%lld are there, %lld are lost", events, lost);
	is_int(finish(&c), 0, "and the program ends well");
	unmount(path);
}

static void limits(void)
{
	struct child c = start(self, "small-files");

	expect(&c, 'r');
	said(ask(c.pid, "start\nname l\ndirectory %s\nenable worker:*\n", directory), "error 27",
	     "rings larger than files may be are refused");
	said(answer, "ulimit -f", "with the limit as the reason");
	said(ask(c.pid, "start\nname l\nenable worker:*\n"), "error 27", "those in memory, too");
	said(ask(c.pid, "start\nname l\ndirectory %s\nmap count 8 100000\nenable worker:*\n",
		 directory),
	     "error 27", "and tables");
	ok(order(&c, 'e'), "the program works");
	said(ask(c.pid, "start\nname l\ndirectory %s\nsub-size 4096\nsubs 2\nenable worker:*\n",
		 directory),
	     "error 27", "what is behind the rings counts");
	is_int(finish(&c), 0, "and ends well");
}

/* TEXT: of a session that waits for programs, whose rings this one cannot have as it begins. */
static void limited_from_start(const char *text)
{
	char path[200];
	struct child c;
	int fd;

	snprintf(path, sizeof(path), "%s/sessions", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sessions/w", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dprintf(fd, "pantrace-session 1\nname w\nfor all\ndirectory %s\n%senable worker:*\n",
		directory, text);
	close(fd);
	c = start(self, "small-files-exec");
	ok(expect(&c, 'r') && order(&c, 'e'), "a program that begins with the limit works");
	is_int(finish(&c), 0, "and ends well");
	unlink(path);
}

int main(int argc, char **argv)
{
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || argc < 2)
		return 2;
	if (argc == 3 && !strcmp(argv[1], "worker"))
		return worker(argv[2]);
	snprintf(directory, sizeof(directory), "%s", argv[1]);
	setenv("PANTRACE_RUNTIME", directory, 1);
	signal(SIGPIPE, SIG_IGN);
	idle();
	full("mode discard");
	full("mode overwrite");
	full("mode block\nblock 1000");
	full("threads");
	limits();
	limited_from_start("");
	limited_from_start("map count 8 100000\n");
	return tap_done();
}
