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
	int fd; /* memory that was passed along, or -1; the caller may take it and put -1 here */
	int socket; /* -1: none, or it was a proxy's */
	char *message; /* what it is asked, where that is its own; NULL = what all are asked */
	bool again; /* was asked a second time */
	bool hopeless; /* is not waited for */
	bool done; /* has answered, or will not */
	bool silent; /* it had time enough, and did not answer */
};

struct user_open {
	int fd;
	uid_t uid;
};

struct user_processes {
	VECTOR(struct user_process) all;
	/*
	 * places that were not searched to their end, or sockets that there were no descriptors for
	 */
	u32 unseen;
	size_t answered; /* bytes of all texts */
	u32 descriptors; /* that came with them */
	u64 file_limit; /* that was raised; 0 = none */
	bool own_only; /* no sockets of other users */
	/* sockets of a user whose descriptors cannot be closed: they are not asked any more */
	u32 left_out;
	uid_t left_out_user; /* of one of them */
	/* what another user's program can make last long to close: closed with all this */
	VECTOR(struct user_open) open;
	uid_t *closing; /* whose is being closed, for who looks at us; NULL = nobody does */
};

/* Which processes are meant. Nothing given: all. */
struct user_selection {
	const pid_t *pids;
	u32 nr_pids;
	const char *const *names; /* globs */
	u32 nr_names;
};

/*
 * Sends a request to every process that is meant (NULL = all), once to each, and collects the
 * answers, for at most timeout_ms in all. It does not wait for processes that are stopped, nor for
 * those that an earlier request of this run got no answer from; after half a second only for those
 * that are running. Stale sockets of our own are removed. A request of NULL: who is there. Root's
 * tool does it in a process of its own (user/proxy.h).
 */
void user_ask(struct user_processes *p, const struct user_selection *which, const char *request,
	      int timeout_ms);
/*
 * The same, while the caller goes on: 0 or -errno, then there is only user_ask(). Once it is ready,
 * end() takes the answers.
 */
struct user_asking {
	bool is_begun;
	pid_t pid;
	int channel;
	uid_t *closing;
	u64 until_ms;
};
int user_ask_begin(struct user_asking *a, const struct user_selection *which, const char *request,
		   int timeout_ms);
bool user_ask_ready(const struct user_asking *a);
void user_ask_end(struct user_asking *a, struct user_processes *p);
/* The same, where EACH makes the request for a process, for free(). */
void user_ask_each(struct user_processes *p, const struct user_selection *which,
		   char *(*each)(const void *arg, const struct user_process *process),
		   const void *arg, int timeout_ms);
/* The two steps of it, in this process. */
void user_connect(struct user_processes *p, const struct user_selection *which);
void user_exchange(struct user_processes *p, const char *request, int timeout_ms);
/* Not before the rest: FD, a descriptor that user UID can make last long, is closed. */
void user_close_late(struct user_processes *p, int fd, uid_t uid);
/* Whether a user's descriptors could not be closed: then the programs are not asked any more. */
bool user_is_left_out(uid_t uid);
/* Notes that an answer has to be waited for no more. */
void user_silent_note(const struct user_process *p);
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
