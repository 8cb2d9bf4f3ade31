/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumented processes and how to speak to them (pantrace/protocol.h): their sockets are found in
 * the user's runtime directory; for root in everybody's, and in those of containers through
 * /proc/PID/root.
 */
#ifndef PANTRACE_USER_PROCESS_H
#define PANTRACE_USER_PROCESS_H

#include <sys/types.h>

#include "base/diag.h"
#include "base/strbuf.h"

struct user_process {
	int place; /* of the socket, O_PATH */
	dev_t device; /* of the same */
	ino_t inode;
	pid_t pid; /* in our pid namespace; 0 = it is not visible there */
	uid_t uid;
	char name[17];
	/* 0, or -errno: of the connection, or as the process answered; -ETIMEDOUT: no answer */
	int error;
	char *text; /* lines behind "ok", or of the error; NULL = none */
	size_t text_size;
	int fd; /* passed along, or -1; the caller may take it and put -1 here */
	int socket;
	bool again; /* was asked a second time */
	bool hopeless; /* is not waited for */
};

struct user_processes {
	VECTOR(struct user_process) all;
	/*
	 * places that were not searched to their end, or sockets that there were no descriptors for
	 */
	u32 unseen;
	size_t answered; /* bytes of all texts */
	u64 file_limit; /* that was raised; 0 = none */
};

/* Which processes are meant. Nothing given: all. */
struct user_selection {
	const pid_t *pids;
	u32 nr_pids;
	const char *const *names; /* globs */
	u32 nr_names;
};

/*
 * Connects to every process that is meant, once to each (user/search.c); stale sockets of our own
 * are removed. Then user_ask() sends a request to all and collects the answers, for at most
 * timeout_ms in all. It does not wait for processes that are stopped, nor for those that an earlier
 * request of this run got no answer from; after half a second only for those that are running.
 */
void user_connect(struct user_processes *p, const struct user_selection *which);
void user_ask(struct user_processes *p, const char *request, int timeout_ms);
/* The first line of a request. */
char *user_request(const char *verb, const char *session);
void user_processes_release(struct user_processes *p);
/* Whether the process said no to what a session wants of it. */
bool user_is_refusal(const struct user_process *p);
/*
 * "process PID (NAME) does not take part: REASON" is added to TEXT. ERROR: its errno; where seccomp
 * may be behind it, that is said, too. What others can write is escaped.
 */
void user_refusal_text(struct strbuf *text, pid_t pid, const char *name, const char *reason,
		       int error);
/* The same as a warning, of a process that answered with an error. */
void user_refusal_warn(const struct user_process *p, struct diag *d);
/*
 * "process PID (NAME): ..." of SITES whose code cannot be written, because of the errno WHY, and of
 * EVENTS without room for their names.
 */
void user_stays_off_text(struct strbuf *text, pid_t pid, const char *name, u32 sites, int why,
			 u32 events);
/* The same as warnings, of what processes said of a session. */
void user_warn_stays_off(const struct user_processes *p, struct diag *d);
/*
 * A warning for each process that did not answer or speaks another protocol; others' errors are not
 * said.
 */
void user_warn(const struct user_processes *p, struct diag *d);

#endif
