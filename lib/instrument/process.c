// SPDX-License-Identifier: MIT
/* LD_PRELOAD=libpantrace-process.so: children and new programs. */
#include <dlfcn.h>
#include <errno.h>
#include <pantrace/pantrace.h>
#include <sys/types.h>
#include <unistd.h>

extern char **environ;

pid_t fork(void)
{
	static pid_t (*real)(void);
	pid_t child;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fork");
	child = real();
	if (child)
		PANTRACE(process, fork, child);
	else
		PANTRACE(process, child, PT_NAMED(parent, getppid()));
	return child;
}

int execve(const char *path, char *const arguments[], char *const environment[])
{
	static int (*real)(const char *, char *const[], char *const[]);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "execve");
	PANTRACE(process, exec, path, PT_NAMED(name, arguments ? arguments[0] : NULL));
	result = real(path, arguments, environment);
	PANTRACE(process, exec_failed, path, PT_NAMED(error, errno));
	return result;
}

int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

int execvp(const char *file, char *const arguments[])
{
	static int (*real)(const char *, char *const[]);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "execvp");
	PANTRACE(process, exec, PT_NAMED(path, file),
		 PT_NAMED(name, arguments ? arguments[0] : NULL));
	result = real(file, arguments);
	PANTRACE(process, exec_failed, PT_NAMED(path, file), PT_NAMED(error, errno));
	return result;
}
