// SPDX-License-Identifier: MIT
/*
 * Control of a process over its socket, from outside: this program starts itself as `control worker
 * KIND` and asks. What the library promises about sessions, programs that close, fork, exec,
 * confine themselves or are setuid, and hostile clients.
 *
 *   control DIRECTORY [no-unshare]	the directory becomes PANTRACE_RUNTIME
 */
#include "../unit/tap.h"
#include "client.h"
#include "worker.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char self[512];
static bool shared; /* the helper has the program's descriptors */

/* ---- workers: they do as they are told by single bytes on standard input ---- */

static void say(char c)
{
	if (write(1, &c, 1) != 1)
		_exit(3);
}

static void produce(int n)
{
	for (int i = 0; i < n; i++) {
		PANTRACE(worker, one, i);
		PANTRACE(worker, two, (long)i, "text");
	}
}

/* e: a thousand events; f: a child produces a hundred; q: ends */
static int obey(void)
{
	char c;

	say('r');
	while (read(0, &c, 1) == 1) {
		if (c == 'e')
			produce(500);
		if (c == 'f' && !fork()) {
			produce(50);
			_exit(0);
		}
		if (c == 'f')
			wait(NULL);
		if (c == 'q')
			return 0;
		say('d');
	}
	return 0;
}

static int forbid(const int *calls, int n, uint32_t action, unsigned int flags)
{
	struct sock_filter code[32] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.filter = code};
	int at = 1;

	for (int i = 0; i < n; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (uint32_t)calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static const int sockets[] = {SYS_socket, SYS_bind, SYS_accept4},
		 threads[] = {SYS_clone, SYS_clone3};

static int worker(const char *kind)
{
	if (!strcmp(kind, "closes")) {
		/* as daemons do, all but what speaks with the test; numbers are then the program's
		 * again */
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		if (open("/dev/null", O_RDONLY) != 3 && !getenv("CONTROL_SHARED"))
			return 4;
	} else if (!strcmp(kind, "daemon")) {
		FILE *file;

#ifdef __SANITIZE_ADDRESS__
		/* a lock of GCC 12's ASan that the helper holds as it begins is never free in a
		 * child that is forked then */
		snprintf(directory, sizeof(directory), "%s", getenv("PANTRACE_RUNTIME"));
		ask(getpid(), "hello\n");
#endif
		if (daemon(1, 1))
			return 4;
		file = fopen(getenv("CONTROL_PID"), "w");
		if (!file || fprintf(file, "%d", (int)getpid()) < 0 || fclose(file))
			return 4;
	} else if (!strcmp(kind, "exec")) {
		execl(self, self, "worker", "plain", NULL);
		return 4;
	} else if (!strcmp(kind, "seccomp-kill")) {
		/* its own sandbox, later than the helper */
		usleep(100000);
		if (forbid(sockets, 3, SECCOMP_RET_KILL_PROCESS, 0))
			return 4;
		if (!fork()) {
			usleep(150000);
			produce(10);
			_exit(0);
		}
		if (wait(NULL) < 0)
			return 5;
	} else if (!strcmp(kind, "seccomp-exec")) {
		if (forbid(sockets, 3, SECCOMP_RET_ERRNO | EPERM, 0))
			return 4;
		execl(self, self, "worker", "plain", NULL);
		return 4;
	} else if (!strcmp(kind, "threads-exec")) {
		/* glibc tries clone3, then clone: EAGAIN is what a full table of processes says */
		if (forbid(threads, 2, SECCOMP_RET_ERRNO | EAGAIN, 0))
			return 4;
		execl(self, self, "worker", "plain", NULL);
		return 4;
	} else if (!strcmp(kind, "nofile")) {
		const struct rlimit none = {4, 4}; /* one for libraries as they are loaded */

		setrlimit(RLIMIT_NOFILE, &none);
		execl(self, self, "worker", "plain", NULL);
		return 4;
	}
	return obey();
}

/* ---- what is promised ---- */

static void sessions(void)
{
	struct child c = start(self, "plain");
	int refused = 0;

	ok(expect(&c, 'r'), "a worker starts");
	said(ask(c.pid, "hello\n"), "ok\nlibrary 1 ", "it says who it is");
	said(ask(c.pid, "list\n"), "worker:two 7:long_i 13:", "and what events it has");
	ok(order(&c, 'e'), "events that nobody wants");
	ok(says(ask(c.pid, "start\nname a\nenable worker:*\nsub-size 65536\n"),
		"ok\nsession a running 0 0 -"),
	   "session a");
	ok(order(&c, 'e'), "a thousand events");
	said(ask(c.pid, "start\nname b\ndirectory %s\nenable worker:one\n", directory),
	     "session b running 0 0 /", "session b: one of two events, in a directory");
	ok(says(ask(c.pid, "start\nname b\n"), "error 17"), "a name is taken once");
	ok(order(&c, 'e'), "a thousand events");
	said(ask(c.pid, "stop a\n"), "session a stopped 2000 0", "a has all");
	ok(order(&c, 'e'), "a thousand events");
	said(ask(c.pid, "status b\n"), "session b running 1000 0", "b has its own");
	ok(says(ask(c.pid, "resume a\n"), "session a running 2000 0"), "a goes on");
	ask(c.pid, "rules a\ndisable worker:two\n");
	ok(order(&c, 'e'), "a thousand events");
	said(ask(c.pid, "status a\n"), "session a running 2500 0",
	     "without the one that was switched off");
	is_int(read_events(c.pid, "a"), 2500, "all of a are read, by a descriptor");
	is_int(read_events(c.pid, "b"), 1500, "all of b are read, by the file");
	ok(says(ask(c.pid, "destroy a\n"), "ok\n"), "a is destroyed");
	ok(says(ask(c.pid, "status a\n"), "error 2"), "and is gone");
	ok(order(&c, 'e') && says(ask(c.pid, "status b\n"), "session b running 2000 0"),
	   "b is not touched");
	for (int i = 0; i < 300; i++) {
		ask(c.pid, "start\nname again\nenable worker:*\nsub-size 4096\nsubs 2\n");
		refused += !says(answer, "session again");
		order(&c, 'e');
		ask(c.pid, "destroy again\n");
	}
	ok(says(answer, "ok\n") && says(ask(c.pid, "hello\n"), "session b"),
	   "300 sessions come and go");
	is_int(refused, 0, "one soon after the other");
	for (int i = 0; i < 9; i++)
		ask(c.pid, "start\nname many%d\nenable worker:*\nsub-size 4096\nsubs 2\n", i);
	said(answer, "error 28", "more sessions than there is room for are refused");
	ok(order(&c, 'e'), "and seven at once record");
	ask(c.pid, "status many0\n");
	{
		long long events = 0, lost = 0;

		sscanf(answer, "ok\nsession many0 running %lld %lld", &events, &lost);
		is_int(events + lost, 1000, "each");
	}
	is_int(finish(&c), 0, "the worker ends well");
}

/* One kind of program records a thousand events in a session that is begun once it runs. */
static void records(const char *kind, bool reachable)
{
	struct child c = start(self, kind);
	pid_t pid = c.pid;
	int status;

	ok(expect(&c, 'r'), "%s: runs", kind);
	if (!strcmp(kind, "daemon")) {
		FILE *file = fopen(getenv("CONTROL_PID"), "r");

		ok(file && fscanf(file, "%d", &pid) == 1, "it has another process id");
		fclose(file);
	}
	if (reachable) {
		/* a helper begins beside the program, in a forked child as in any other */
		for (int i = 0; i < 2000 && !*ask(pid, "hello\n"); i++)
			usleep(10000);
		said(ask(pid, "start\nname k\nenable worker:*\n"), "session k running",
		     "takes part");
		ok(order(&c, 'e') && order(&c, 'e'), "%s: works", kind);
		said(ask(pid, "status k\n"), "k running 2000 0", "is recorded");
		ask(pid, "destroy k\n");
	} else {
		ok(order(&c, 'e'), "%s: works", kind);
	}
	status = finish(&c);
	is_int(status, 0, "ends well");
}

static void forks(void)
{
	struct child c = start(self, "plain");
	struct dirent *entry;
	int files = 0;
	long long events = 0;
	DIR *dir;

	expect(&c, 'r');
	ask(c.pid, "start\nname f\nenable worker:*\ndirectory %s\nsub-size 65536\n", directory);
	for (int i = 0; i < 5; i++)
		order(&c, 'f');
	order(&c, 'e');
	dir = opendir(directory);
	while (dir && (entry = readdir(dir))) {
		struct pantrace_ring_state state;
		struct pantrace_reader *reader;
		char path[512];

		snprintf(path, sizeof(path), "%s/%.100s", directory, entry->d_name);
		if (!strstr(entry->d_name, ".pantrace") || pantrace_reader_open(path, &reader))
			continue;
		files += !strcmp(pantrace_reader_header(reader)->session, "f");
		for (uint32_t i = 0; !strcmp(pantrace_reader_header(reader)->session, "f") &&
				     i < pantrace_reader_rings(reader);
		     i++) {
			pantrace_reader_state(reader, i, &state);
			events += (long long)state.events;
		}
		pantrace_reader_close(reader);
		unlink(path);
	}
	closedir(dir);
	is_int(files, 6, "each child has rings of its own");
	is_int(events, 1000 + 5 * 100, "with all events");
	finish(&c);
}

static void waiting(void)
{
	static const char text[] =
		"pantrace-session 1\n# a note\nname w\nfor name control\nenable worker:*\n";
	char path[200], mode[200];
	struct child c;
	int fd;

	snprintf(path, sizeof(path), "%s/sessions", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sessions/w", directory);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ok(write(fd, text, sizeof(text) - 1) == sizeof(text) - 1, "a session is described");
	close(fd);
	c = start(self, "plain");
	expect(&c, 'r');
	order(&c, 'e');
	said(ask(c.pid, "status w\n"), "w running 1000 0",
	     "a program that starts later joins it from its first event");
	finish(&c);
	snprintf(mode, sizeof(mode), "%s", path);
	chmod(mode, 0666);
	c = start(self, "plain");
	expect(&c, 'r');
	order(&c, 'e');
	ok(says(ask(c.pid, "status w\n"), "error 2"), "but not what everybody could have written");
	finish(&c);
	unlink(path);
}

static void hostile(void)
{
	struct child c = start(self, "plain");
	static char big[200000];
	int held[40], fds[2], n = 0;
	unsigned int seed = 1;
	char path[64];
	DIR *dir;

	expect(&c, 'r');
	said(ask_raw(c.pid, "pantrace 99 77.1 hello\n", 23),
	     "libpantrace 0.1.0 speaks protocol 1, the tool 77.1 speaks protocol 99",
	     "another version is refused with both named");
	ok(says(ask_raw(c.pid, "x", 1), "error"), "garbage is refused");
	ok(says(ask(c.pid, "start\nname ../x\nenable a:b\n"), "error 22"),
	   "a name that is a path is refused");
	said(ask(c.pid, "start\nname x\nenable a:b\nfrobnicate\n"), "line 3",
	     "an unknown word is refused with its line");
	for (int i = 0; i < 3000; i++) {
		char text[300];
		size_t length =
			(size_t)snprintf(text, sizeof(text),
					 "pantrace 1 x %s\nname q\nmode overwrite\nsub-size "
					 "4096\nsubs 2\nclock 1 2 3 4\nenable worker:* =5\n",
					 i % 3 ? "start" : "rules q");

		for (int j = 0; j < 1 + i % 5; j++)
			text[rand_r(&seed) % length] = (char)rand_r(&seed);
		ask_raw(c.pid, text, rand_r(&seed) % (length + 1));
		if (i % 10 == 0)
			ask(c.pid, "destroy q\n");
	}
	ok(says(ask(c.pid, "hello\n"), "ok\n"), "3000 mutilated requests");
	memset(big, 'a', sizeof(big));
	ask_raw(c.pid, big, 100000);
	ok(says(ask(c.pid, "hello\n"), "ok\n"), "a message that is too long");
	for (int i = 0; i < 40; i++)
		held[i] = dial(c.pid);
	ok(pipe(fds) == 0, "pipe");
	for (int i = 0; i < 40; i++) {
		struct iovec iov = {(void *)"pantrace", 8};
		union {
			struct cmsghdr header;
			char room[CMSG_SPACE(2 * sizeof(int))];
		} ancillary = {.header = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
		struct msghdr message = {.msg_iov = &iov,
					 .msg_iovlen = 1,
					 .msg_control = &ancillary,
					 .msg_controllen = sizeof(ancillary)};

		memcpy(CMSG_DATA(&ancillary.header), fds, sizeof(fds));
		if (i % 2)
			sendmsg(held[i], &message, MSG_NOSIGNAL);
	}
	for (int i = 0; i < 40; i++) {
		if (i % 4)
			close(held[i]);
	}
	usleep(200000);
	for (int i = 0; i < 40 && !says(ask(c.pid, "hello\n"), "ok\n"); i++)
		usleep(100000);
	ok(says(answer, "ok\n"),
	   "silent clients and unwanted descriptors do not keep others out for long");
	for (int i = 0; i < 40; i += 4)
		close(held[i]);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)c.pid);
	dir = opendir(path);
	for (struct dirent *task; dir && (task = readdir(dir));) {
		char below[400], comm[32] = "";
		DIR *one;
		int fd;

		snprintf(below, sizeof(below), "%s/%.20s/comm", path, task->d_name);
		fd = open(below, O_RDONLY);
		if (fd < 0 || read(fd, comm, sizeof(comm) - 1) < 0 || strcmp(comm, "pantrace\n")) {
			close(fd);
			continue;
		}
		close(fd);
		snprintf(below, sizeof(below), "%s/%.20s/fd", path, task->d_name);
		one = opendir(below);
		while (one && readdir(one))
			n++;
		closedir(one);
	}
	closedir(dir);
	if (!shared)
		ok(n - 2 >= 1 && n - 2 <= 6, /* sockets, what it waits at, its status */
		   "the helper holds %d descriptors", n - 2);
	ok(order(&c, 'e'), "the program works");
	is_int(finish(&c), 0, "and ends well");
	close(fds[0]);
	close(fds[1]);
}

static void other_users(void)
{
	char copy[100], command[1200];
	struct child c;
	pid_t pid;
	int status;

	if (geteuid()) {
		printf("# not root: no setuid program, no full disk\n");
		return;
	}
	c = start(self, "plain");
	expect(&c, 'r');
	pid = fork();
	if (!pid) {
		/* past the directory's mode, as if the socket had leaked */
		const int fd = dial(c.pid);
		char byte;

		if (fd < 0 || setresuid(65534, 65534, 65534))
			_exit(2);
		close(fd);
		_exit(dial(c.pid) >= 0 || recv(fd, &byte, 1, 0) > 0);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "another user does not reach the socket");
	finish(&c);
	snprintf(copy, sizeof(copy), "%s/setuid", directory);
	if (shared) /* no_new_privs: no program is setuid then */
		return;
	snprintf(command, sizeof(command), "cp %s %s && chmod 4755 %s && chmod 755 %s", self, copy,
		 copy, directory);
	ok(system(command) == 0, "a setuid copy");
	pid = fork();
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		setenv("PANTRACE_RECORD", "/tmp", 1);
		execl(copy, copy, "worker", "plain", NULL);
		_exit(3);
	}
	usleep(300000);
	snprintf(command, sizeof(command), "test ! -e %s/%d && ! ls /tmp/%d-*.pantrace 2>/dev/null",
		 directory, (int)pid, (int)pid);
	ok(system(command) == 0, "a setuid program has no socket and records for nobody");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unlink(copy);
	chmod(directory, 0700);
}

static void full_disk(void)
{
	char path[200];
	struct child c;

	if (geteuid())
		return;
	snprintf(path, sizeof(path), "%s/full", directory);
	mkdir(path, 0700);
	if (mount("none", path, "tmpfs", 0, "size=4k")) {
		printf("# mount: %s\n", strerror(errno));
		return;
	}
	c = start(self, "plain");
	expect(&c, 'r');
	said(ask(c.pid, "start\nname d\ndirectory %s\nenable worker:*\n", path), "error 28",
	     "rings that do not fit on the disk are refused");
	ok(order(&c, 'e'), "the program works");
	is_int(rmdir(path), -1, "mounted");
	ok(umount(path) == 0 || umount2(path, MNT_DETACH) == 0, "unmounted");
	rmdir(path);
	is_int(finish(&c), 0, "and ends well");
}

/* A reader that is slow on purpose: with time to wait nothing is lost, and what is lost is counted.
 */
static void blocking(long long block_us, bool reading)
{
	struct child c = start(self, "plain");
	struct pantrace_reader *reader;
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;
	long long events = 0, lost;
	char byte;

	expect(&c, 'r');
	ask(c.pid,
	    "start\nname block\nmode block\nblock %lld\nsub-size 4096\nsubs 2\nenable worker:*\n",
	    block_us);
	ask(c.pid, "attach block\n");
	if (!ok(passed >= 0 && !pantrace_reader_open_fd(passed, true, &reader),
		"blocking: the rings are handed over")) {
		finish(&c);
		return;
	}
	if (write(c.in, "e", 1) != 1)
		return;
	fcntl(c.out, F_SETFL, O_NONBLOCK);
	for (bool ended = false;; usleep(1000)) {
		const bool last = ended;

		for (uint32_t ring = 0; (reading || last) && ring < pantrace_reader_rings(reader);
		     ring++) {
			while (pantrace_reader_packet(reader, ring, &packet) == 1) {
				size_t at = packet.from;

				while (pantrace_reader_event(reader, &packet, &at, &event) == 1)
					events++;
			}
		}
		if (last)
			break;
		ended = read(c.out, &byte, 1) == 1;
	}
	lost = (long long)pantrace_reader_lost(reader);
	is_int(events + lost, 1000, "blocking: read and lost is all");
	if (reading)
		is_int(lost, 0, "and nothing is lost while somebody reads");
	else
		ok(lost > 0, "%lld are lost while nobody does", lost);
	pantrace_reader_close(reader);
	close(passed);
	is_int(finish(&c), 0, "the worker ends well");
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
	snprintf(answer, sizeof(answer), "%s/daemon.pid", directory);
	setenv("CONTROL_PID", answer, 1);
	/* as in containers: the helper shares the program's descriptors */
	shared = argc == 3;
	if (shared)
		setenv("CONTROL_SHARED", "1", 1);
	if (shared && forbid((const int[]){SYS_unshare}, 1, SECCOMP_RET_ERRNO | EPERM, 0))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	sessions();
	records("plain", true);
#ifndef __SANITIZE_THREAD__ /* it has views of its own on descriptors and on threads of a child */
	records("closes", true);
	records("daemon", true);
	records("exec", true);
	records("seccomp-kill", true);
	records("seccomp-exec", false);
	records("threads-exec", false);
	records("nofile", false);
	forks();
	other_users();
	full_disk();
#endif
	waiting();
	hostile();
	blocking(2000000, true);
	blocking(1000, false);
	return tap_done();
}
