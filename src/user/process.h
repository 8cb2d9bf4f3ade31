/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumented processes and how to speak to them (pantrace/protocol.h): their sockets are found in the user's runtime
 * directory; for root in everybody's, and in those of containers through /proc/PID/root.
 */
#ifndef PANTRACE_USER_PROCESS_H
#define PANTRACE_USER_PROCESS_H

#include <sys/types.h>

#include "base/diag.h"

struct user_process {
	char *path; /* of the socket */
	pid_t pid;  /* in our pid namespace; 0 = it is not visible there */
	uid_t uid;
	char name[17];
	int error;  /* 0, or -errno: of the connection, or as the process answered; -ETIMEDOUT: no answer */
	char *text; /* lines behind "ok", or of the error; NULL = none */
	int fd;	    /* passed along, or -1; the caller may take it and put -1 here */
	int socket;
	bool again; /* was asked a second time */
};

struct user_processes {
	VECTOR(struct user_process) all;
};

/* Which processes are meant. Nothing given: all. */
struct user_selection {
	const pid_t *pids;
	u32 nr_pids;
	const char *const *names; /* globs */
	u32 nr_names;
};

/* Our runtime directory (pantrace/protocol.h). 0 or -ENAMETOOLONG. */
int user_runtime(char *ret, size_t size);
/* The same, made if it is not there. 0 or -errno with the reason in d. */
int user_runtime_make(char *ret, size_t size, struct diag *d);

/*
 * Connects to every process that is meant; stale sockets are removed. Then user_ask() sends a request to each and collects the
 * answers, for at most timeout_ms in all.
 */
void user_connect(struct user_processes *p, const struct user_selection *which);
void user_ask(struct user_processes *p, const char *request, int timeout_ms);
/* The first line of a request. */
char *user_request(const char *verb, const char *session);
void user_processes_release(struct user_processes *p);
/* A warning for each process that did not answer, speaks another protocol or could not switch all on; others' errors are not said. */
void user_warn(const struct user_processes *p, struct diag *d);

#endif
