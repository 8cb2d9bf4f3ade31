/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sandbox lets through, and that what it refuses is told and counted. In children: it
 * cannot be left.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/kernel.h"
#include "kernel/sandbox/sandbox.h"
#include "tap.h"

/* Each returns 0, or -1 with errno. */
static int write_file(void)
{
	return open("/tmp/pantrace-sandbox", O_WRONLY | O_CREAT, 0600);
}

static int run_program(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int trace_process(void)
{
	return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static int make_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static int load_program(void)
{
	union bpf_attr attr = {0};

	errno = -sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	return -1;
}

static int remove_file(void)
{
	return unlink("/tmp/pantrace-sandbox");
}

static int read_file(void)
{
	char *text;

	return file_read("/proc/self/maps", 0, &text, NULL);
}

static void *in_thread(void *arg)
{
	*(int *)arg = open_socket() < 0 && errno == EPERM;
	return NULL;
}

static int start_thread(void)
{
	pthread_t thread;
	int refused = 0;

	if (pthread_create(&thread, NULL, in_thread, &refused) || pthread_join(thread, NULL))
		return -1;
	errno = EPERM;
	return refused ? -1 : 0;
}

/*
 * In a child, whose messages are read: does the call return want (0 or an errno), and is it told?
 */
static void check(const char *name, int (*call)(void), int want)
{
	char text[1024] = "";
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		exit(1);
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDERR_FILENO);
		if (sandbox_enter(SANDBOX_KERNEL_NAMES))
			_exit(100);
		errno = 0;
		if ((call() < 0 ? errno : 0) != want)
			_exit(101);
		_exit(sandbox_refused() == (want ? 1 : 0) ? 0 : 102);
	}
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	text[strcspn(text, "\n")] = 0;
	waitpid(pid, &status, 0);
	ok(status == 0 && (want ? n > 0 && strstr(text, "refused") : n == 0), "%s (%#x, %s)", name,
	   (unsigned int)status, text);
}

int main(void)
{
	if (!sandbox_can_filter()) {
		puts("1..0 # SKIP no filter here (a sanitizer, or a kernel without seccomp)");
		return 0;
	}
	check("a file is read", read_file, 0);
	check("a file is not made", write_file, EPERM);
	check("nor removed", remove_file, EPERM);
	check("no program is run", run_program, EPERM);
	check("no socket is made", open_socket, EPERM);
	check("no process is traced", trace_process, EPERM);
	check("no code is made", make_code, EPERM);
	check("no BPF program is loaded", load_program, EPERM);
	check("in other threads, too", start_thread, EPERM);
	return tap_done();
}
