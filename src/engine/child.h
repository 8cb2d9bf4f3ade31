/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command of -c: forked at once, but held until the probes are attached. It is held right
 * before its exec, so that not one system call of its own is missed, unless a probe on user code
 * needs its libraries to be mapped: then child_advance() lets it run up to the program's entry
 * point.
 */
#ifndef PANTRACE_ENGINE_CHILD_H
#define PANTRACE_ENGINE_CHILD_H

#include <sys/types.h>

#include "base/diag.h"

struct child {
	pid_t pid;
	char name[128]; /* for messages */
	int pidfd; /* readable when it has ended; -1 on kernels before 5.3 */
	bool is_held; /* traced by us, not running yet */
	bool is_before_exec;
	/* pipe: the errno of a failed exec, closed by a successful one; -1 = none */
	int exec_error;
	bool is_ended;
	bool was_stopped; /* child_stop() ended it */
	int status; /* of waitpid() */
};

/*
 * Splits the command line into words as a shell does (blanks, quotes, backslash; no expansion),
 * finds the file in $PATH, starts it. Returns 0 or -errno with a diagnostic.
 */
int child_start(struct child *c, const char *command, struct diag *d);
/* The same with the words given; ends with NULL. */
int child_start_words(struct child *c, char *const *words, struct diag *d);
/*
 * Runs it up to the entry point, where its libraries are mapped. 0 (also when it is there already)
 * or -errno with a diagnostic.
 */
int child_advance(struct child *c, struct diag *d);
/* Lets it run. 0 or -errno (its exec failed) with a diagnostic. */
int child_release(struct child *c, struct diag *d);
/* True once it has ended (and is reaped). */
bool child_poll(struct child *c);
/* Ends it if it still runs: SIGTERM, after a while SIGKILL. */
void child_stop(struct child *c);
/*
 * How it ended by itself: its exit code, or EXIT_SIGNAL + the signal. EXIT_OK if it was stopped.
 * After child_stop().
 */
int child_exit_code(const struct child *c);
/* The words of a command line; malloc'ed, ends with NULL. NULL if a quote is not closed. */
char **child_split(const char *command);
void child_free_words(char **words);

#endif
