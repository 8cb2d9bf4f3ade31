// SPDX-License-Identifier: MIT
/*
 * Every way to a new process or program, once each, for tests/lib/ready.t. With `stress`: 2,000
 * children of vfork() whose programs are not there, while two threads lock a mutex that nobody
 * wants.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *const arguments[] = {(char *)"true", (char *)"one", (char *)"two", NULL};
static volatile int stop;

static void by_execl(void)
{
	execl("/bin/true", "true", "one", "two", (char *)NULL);
}

static void by_execlp(void)
{
	execlp("true", "true", "one", (char *)NULL);
}

static void by_execle(void)
{
	execle("/bin/sh", "sh", "-c", "test \"$ONLY\" = yes", (char *)NULL,
	       (char *[]){(char *)"ONLY=yes", NULL});
}

static void by_execv(void)
{
	execv("/bin/true", arguments);
}

static void by_execvp(void)
{
	execvp("true", arguments);
}

static void by_execve(void)
{
	execve("/bin/true", arguments, environ);
}

static void by_fexecve(void)
{
	fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), arguments, environ);
}

static void by_failing(void)
{
	execv("/nowhere/true", arguments);
	_exit(0);
}

static void *busy(void *arg)
{
	while (!stop)
		free(malloc(16));
	return arg;
}

static int stress(void)
{
	pthread_t thread[2];
	int bad = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, busy, NULL);
	for (int i = 0; i < 2000; i++) {
		int status = -1;
		const pid_t child = vfork();

		if (!child) {
			execv("/nowhere/true", arguments);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			bad++;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return bad != 0;
}

int main(int argc, char **argv)
{
	static void (*const ways[])(void) = {by_execl,	by_execlp, by_execle,  by_execv,
					     by_execvp, by_execve, by_fexecve, by_failing};
	int status, bad = 0;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "stress"))
		return stress();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		child = fork();
		if (!child) {
			ways[i]();
			_exit(9);
		}
		bad += waitpid(child, &status, 0) != child || status;
	}
	child = vfork();
	if (!child) {
		execv("/bin/true", arguments);
		_exit(9);
	}
	bad += waitpid(child, &status, 0) != child || status;
	bad += posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) ||
	       waitpid(child, &status, 0) != child || status;
	bad += posix_spawnp(NULL, "true", NULL, NULL, arguments, environ) != 0 ||
	       wait(&status) < 0 || status;
	bad += !posix_spawn(&child, "/nowhere", NULL, NULL, arguments, environ);
	return bad != 0;
}
