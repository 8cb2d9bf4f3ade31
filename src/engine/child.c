/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/child.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "base/vector.h"

#define STOP_PATIENCE_MS 2000

/* ---- words ---- */

void child_free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

/* One word from *s on; false if a quote is not closed. */
static bool next_word(const char **s, struct strbuf *out)
{
	char quote = 0;
	const char *p;

	for (p = *s; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (*p == '\\' && p[1] && quote != '\'') {
			if (quote && !strchr("\"\\$`", p[1]))
				strbuf_addch(out, '\\');
			strbuf_addch(out, *++p);
		} else if (quote && *p == quote) {
			quote = 0;
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else {
			strbuf_addch(out, *p);
		}
	}
	*s = p;
	return !quote;
}

char **child_split(const char *command)
{
	VECTOR(char *) words = {0};
	bool good = true;

	for (;;) {
		struct strbuf word = STRBUF_INIT;

		command += strspn(command, " \t\n");
		if (!*command)
			break;
		good = next_word(&command, &word) && good;
		vector_push(&words, word.cap ? strbuf_detach(&word) : xstrdup(""));
	}
	vector_push(&words, NULL);
	if (good)
		return words.items;
	child_free_words(words.items);
	return NULL;
}

/* A directory of that name is passed over, as shells do. */
static bool is_program(const char *file)
{
	struct stat st;

	return !stat(file, &st) && S_ISREG(st.st_mode) && !access(file, X_OK);
}

static char *find_file(const char *name)
{
	const char *path = getenv("PATH");
	struct stat st;

	if (strchr(name, '/')) {
		if (access(name, X_OK))
			return NULL;
		if (is_program(name))
			return xstrdup(name);
		errno = stat(name, &st) || !S_ISDIR(st.st_mode) ? EACCES : EISDIR;
		return NULL;
	}
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		char *file = xasprintf("%.*s/%s", n ? (int)n : 1, n ? p : ".", name);

		if (is_program(file))
			return file;
		free(file);
		p += n + (p[n] == ':');
	}
	errno = ENOENT;
	return NULL;
}

/* ---- starting ---- */

/* Not raise(): it would make further system calls when the process is resumed. */
static void hold_here(void)
{
	syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
}

/*
 * Unblocks all signals and removes our handlers; signals that were ignored when we were started
 * (nohup) stay ignored.
 */
static void default_signals(void)
{
	struct sigaction old;
	sigset_t none;

	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (!sigaction(sig, NULL, &old) &&
		    (sig == SIGPIPE || sig == SIGXFSZ ||
		     (old.sa_handler != SIG_IGN && old.sa_handler != SIG_DFL)))
			signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. What fails is told to the parent through fd, which a successful exec closes. */
static void run(const char *file, char *const *words, int fd, pid_t parent)
{
	int err;

	/* While it is stopped only SIGKILL ends it: all other signals stay pending. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(127);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
		hold_here(); /* until PTRACE_O_EXITKILL is set, which takes over */
		default_signals();
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		hold_here();
		execv(file, words);
		if (errno == ENOEXEC) { /* a script without #! */
			VECTOR(char *) shell = {0};

			vector_push(&shell, (char *)"sh");
			vector_push(&shell, (char *)file);
			for (char *const *w = words + 1; *w; w++)
				vector_push(&shell, *w);
			vector_push(&shell, NULL);
			execv("/bin/sh", shell.items);
		}
	}
	err = errno;
	if (write(fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static u64 entry_point(pid_t pid)
{
	char path[64], *data;
	size_t len;
	u64 entry = 0;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	if (file_read(path, 1 << 16, &data, &len) < 0)
		return 0;
	for (size_t i = 0; i + 2 * sizeof(u64) <= len; i += 2 * sizeof(u64)) {
		u64 pair[2];

		memcpy(pair, data + i, sizeof(pair));
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	}
	free(data);
	return entry;
}

/*
 * Waits until the child stops with this signal. Other signals are passed on to it: Ctrl-C may end
 * it here.
 */
static int wait_stop(struct child *c, int wanted)
{
	for (;;) {
		if (waitpid(c->pid, &c->status, 0) < 0) {
			if (errno != EINTR)
				return -errno;
		} else if (!WIFSTOPPED(c->status)) {
			c->is_ended = true;
			return -ECHILD;
		} else if (WSTOPSIG(c->status) == wanted) {
			return 0;
		} else {
			ptrace(PTRACE_CONT, c->pid, NULL, (void *)(uintptr_t)WSTOPSIG(c->status));
		}
	}
}

#if defined(__x86_64__)
#define HAVE_ENTRY_BREAKPOINT 1
/* int3 replaces the first byte; after the trap the instruction pointer is after it. */
static long with_breakpoint(long word)
{
	return (word & ~0xffL) | 0xcc;
}

static int rewind_to(pid_t pid, u64 entry)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return -errno;
	regs.rip = entry;
	return ptrace(PTRACE_SETREGS, pid, NULL, &regs) < 0 ? -errno : 0;
}
#elif defined(__aarch64__)
#define HAVE_ENTRY_BREAKPOINT 1
/* brk #0; after the trap the program counter is still on it. */
static long with_breakpoint(long word)
{
	return (word & ~0xffffffffL) | 0xd4200000L;
}

static int rewind_to(pid_t pid, u64 entry)
{
	return 0;
}
#endif

/*
 * Runs the child from the stop after exec to the program's entry point, where the dynamic linker
 * has mapped the libraries.
 */
static int run_to_entry(struct child *c)
{
#ifdef HAVE_ENTRY_BREAKPOINT
	u64 entry = entry_point(c->pid);
	void *at = (void *)(uintptr_t)entry;
	long word;
	int err;

	if (!entry)
		return -ENOENT;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, c->pid, at, NULL);
	if (errno)
		return -errno;
	if (ptrace(PTRACE_POKETEXT, c->pid, at, (void *)with_breakpoint(word)) < 0)
		return -errno;
	if (ptrace(PTRACE_CONT, c->pid, NULL, NULL) < 0)
		return -errno;
	err = wait_stop(c, SIGTRAP);
	if (err < 0)
		return err;
	if (ptrace(PTRACE_POKETEXT, c->pid, at, (void *)word) < 0)
		return -errno;
	return rewind_to(c->pid, entry);
#else
	return 0;
#endif
}

static int fork_child(struct child *c, const char *file, char *const *words)
{
	pid_t parent = getpid();
	int pipe_fds[2], err;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	c->pid = fork();
	err = -errno;
	if (c->pid == 0)
		run(file, words, pipe_fds[1], parent);
	close(pipe_fds[1]);
	c->exec_error = pipe_fds[0];
	if (c->pid < 0)
		return err;
	err = wait_stop(c, SIGSTOP);
	if (!err && (ptrace(PTRACE_SETOPTIONS, c->pid, NULL, PTRACE_O_EXITKILL) < 0 ||
		     ptrace(PTRACE_CONT, c->pid, NULL, NULL) < 0))
		err = -errno;
	return err ? err : wait_stop(c, SIGSTOP);
}

/* Called when the child may exec. 0 when it did, -errno when exec failed. */
static int exec_result(struct child *c)
{
	int err = 0;
	ssize_t n;

	while ((n = read(c->exec_error, &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(c->exec_error);
	c->exec_error = -1;
	c->is_before_exec = false;
	return n == sizeof(err) ? -err : 0;
}

static int say_failed(struct diag *d, const char *command, int err)
{
	diag_error(d, NO_SPAN, "cannot run the command '%s': %s", command, strerror(-err));
	if (err == -ENOENT && !strchr(command, '/'))
		diag_hint(d, "it is not in $PATH; give its path");
	return err;
}

int child_start_words(struct child *c, char *const *words, struct diag *d)
{
	char *file = find_file(words[0]);
	int err;

	*c = (struct child){.pidfd = -1, .exec_error = -1};
	err = file ? fork_child(c, file, words) : -errno;
	free(file);
	if (err < 0) {
		c->is_held = true;
		child_stop(c);
		return say_failed(d, words[0], err);
	}
	c->is_held = c->is_before_exec = true;
	snprintf(c->name, sizeof(c->name), "%s", words[0]);
	c->pidfd = process_open(c->pid);
	return 0;
}

int child_advance(struct child *c, struct diag *d)
{
	int err;

	if (!c->is_held || !c->is_before_exec)
		return 0;
	if (ptrace(PTRACE_CONT, c->pid, NULL, NULL) < 0)
		return -errno;
	err = exec_result(c);
	if (err < 0) {
		wait_stop(c, SIGTRAP);
		return say_failed(d, c->name, err);
	}
	if (wait_stop(c, SIGTRAP) == 0)
		/*
		 * if that fails it stays stopped right after exec: only its libraries are not
		 * mapped yet
		 */
		run_to_entry(c);
	if (!c->is_ended)
		return 0;
	diag_error(d, NO_SPAN, "the command of -c ended before it began");
	return -ECHILD;
}

int child_start(struct child *c, const char *command, struct diag *d)
{
	char **words = child_split(command);
	int err = -EINVAL;

	*c = (struct child){.pidfd = -1, .exec_error = -1};
	if (words && words[0])
		err = child_start_words(c, words, d);
	else
		diag_error(d, NO_SPAN,
			   words ? "-c: the command is empty%s" : "-c: a quote is not closed: %s",
			   words ? "" : command);
	child_free_words(words);
	return err;
}

int child_release(struct child *c, struct diag *d)
{
	int err = 0;

	if (!c->is_held)
		return 0;
	c->is_held = false;
	if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL) < 0)
		err = -errno;
	else if (c->is_before_exec)
		err = exec_result(c);
	return err < 0 ? say_failed(d, c->name, err) : 0;
}

bool child_poll(struct child *c)
{
	if (!c->is_ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->is_ended = WIFEXITED(c->status) || WIFSIGNALED(c->status);
	return c->is_ended;
}

void child_stop(struct child *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	if (c->pid <= 0 || child_poll(c))
		goto out;
	c->was_stopped = true;
	if (c->is_held) {
		kill(c->pid, SIGKILL); /* it never ran */
	} else {
		kill(c->pid, SIGTERM);
		if (c->pidfd < 0)
			usleep(STOP_PATIENCE_MS * 100);
		else
			clock_poll(&p, 1, STOP_PATIENCE_MS);
		if (!child_poll(c))
			kill(c->pid, SIGKILL);
	}
	while (!c->is_ended && waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->is_ended = true;
out:
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	if (c->exec_error >= 0)
		close(c->exec_error);
	c->exec_error = -1;
}

int child_exit_code(const struct child *c)
{
	if (!c->is_ended || c->was_stopped)
		return EXIT_OK;
	return WIFSIGNALED(c->status) ? EXIT_SIGNAL | WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
