// SPDX-License-Identifier: MIT
/*
 * LD_PRELOAD=libpantrace-process.so: children and new programs.
 *
 * A child of vfork() borrows its parent's memory, thread pointer and stack while the parent waits,
 * but not the kernel's knowledge of the thread's rseq area. It is registered anew, so that what the
 * child records on its way to exec is as safe in the parent's rings as what the parent records.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pantrace/pantrace.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern char **environ;

/* Not in a child of vfork() that has no rseq area. */
static __thread int quiet __attribute__((tls_model("initial-exec")));

#define REAL(name)                            \
	static __typeof__(name) *real_##name; \
	if (!real_##name)                     \
	*(void **)&real_##name = dlsym(RTLD_NEXT, #name)

/* ---- children ---- */

pid_t fork(void)
{
	REAL(fork);
	const pid_t child = real_fork();

	if (child)
		PANTRACE(process, fork, child);
	else
		PANTRACE(process, child, PT_NAMED(parent, getppid()));
	return child;
}

/* Called by vfork() below, in the child and then in the parent, with what the system call returned.
 */
__attribute__((used, visibility("hidden"))) long pt_vforked(long result);
long pt_vforked(long result)
{
	struct rseq *const area =
		(struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	if (!result) {
		/* glibc registers 32 bytes whatever the size of what is in use */
		quiet = __rseq_size &&
			syscall(SYS_rseq, area, __rseq_size > 32 ? __rseq_size : 32, 0, RSEQ_SIG) &&
			errno != EBUSY;
		return 0;
	}
	quiet = 0;
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	PANTRACE(process, vfork, PT_NAMED(child, (pid_t)result));
	return result;
}

/*
 * The return address is in a register while the child runs on the stack, as in the C library's own.
 * With a shadow stack the child must leave the address there, which its parent returns to.
 */
__asm__("	.text\n"
	"	.globl vfork\n"
	"	.type vfork, @function\n"
	"vfork:\n"
	"	endbr64\n"
	"	pop %rdi\n"
	"	mov $58, %eax\n" /* __NR_vfork */
	"	syscall\n"
	"	push %rdi\n"
	"	sub $8, %rsp\n"
	"	mov %rax, %rdi\n"
	"	call pt_vforked\n"
	"	add $8, %rsp\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %esi, %esi\n"
	"	rdsspq %rsi\n"
	"	test %rsi, %rsi\n"
	"	jz 1f\n"
	"	pop %rdi\n"
	"	jmp *%rdi\n"
	"1:	ret\n"
	"	.size vfork, . - vfork\n");

static int spawned(int error, const pid_t *child, const char *path, char *const arguments[])
{
	const char *const name = arguments ? arguments[0] : NULL;

	if (!error)
		PANTRACE(process, spawn, path, name, PT_NAMED(child, child ? *child : 0));
	else
		PANTRACE(process, spawn_failed, path, name, error);
	return error;
}

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const arguments[],
		char *const environment[])
{
	REAL(posix_spawn);
	pid_t own;

	child = child ? child : &own;
	return spawned(real_posix_spawn(child, path, actions, attributes, arguments, environment),
		       child, path, arguments);
}

int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const arguments[],
		 char *const environment[])
{
	REAL(posix_spawnp);
	pid_t own;

	child = child ? child : &own;
	return spawned(real_posix_spawnp(child, file, actions, attributes, arguments, environment),
		       child, file, arguments);
}

/* ---- new programs ---- */

static void execs(const char *path, char *const arguments[])
{
	if (!quiet)
		PANTRACE(process, exec, path, PT_NAMED(name, arguments ? arguments[0] : NULL),
			 PT_NAMED(pid, getpid()));
}

static int failed(const char *path)
{
	const int error = errno;

	if (!quiet)
		PANTRACE(process, exec_failed, path, error);
	errno = error;
	return -1;
}

int execve(const char *path, char *const arguments[], char *const environment[])
{
	REAL(execve);

	execs(path, arguments);
	real_execve(path, arguments, environment);
	return failed(path);
}

int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	REAL(execvpe);

	execs(file, arguments);
	real_execvpe(file, arguments, environment);
	return failed(file);
}

int execvp(const char *file, char *const arguments[])
{
	return execvpe(file, arguments, environ);
}

int fexecve(int fd, char *const arguments[], char *const environment[])
{
	REAL(fexecve);

	execs("", arguments);
	real_fexecve(fd, arguments, environment);
	return failed("");
}

/* The arguments after FIRST up to NULL, in memory of the caller's frame; LIST is then past them. */
#define ARGUMENTS(first, list, ret)                        \
	do {                                               \
		size_t n_ = 1;                             \
		va_start(list, first);                     \
		while (va_arg(list, char *))               \
			n_++;                              \
		va_end(list);                              \
		(ret) = alloca((n_ + 1) * sizeof(char *)); \
		(ret)[0] = (char *)(first);                \
		va_start(list, first);                     \
		for (size_t i_ = 1; i_ <= n_; i_++)        \
			(ret)[i_] = va_arg(list, char *);  \
	} while (0)

int execl(const char *path, const char *first, ...)
{
	char **arguments;
	va_list list;

	ARGUMENTS(first, list, arguments);
	va_end(list);
	return execve(path, arguments, environ);
}

int execlp(const char *file, const char *first, ...)
{
	char **arguments;
	va_list list;

	ARGUMENTS(first, list, arguments);
	va_end(list);
	return execvpe(file, arguments, environ);
}

int execle(const char *path, const char *first, ...)
{
	char **arguments, **environment;
	va_list list;

	ARGUMENTS(first, list, arguments);
	environment = va_arg(list, char **);
	va_end(list);
	return execve(path, arguments, environment);
}
