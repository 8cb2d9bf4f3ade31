/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace agent: records, and runs scripts, in a guest for its host.
 *
 *	agent.c		the command: where it is reached
 *	door.c		that place: vsock, a virtio-serial port, a Unix socket, standard input
 *	conversation.c	one host: its messages, and the recorder's
 *	tracecmd.c	one host that is trace-cmd
 *	recorder.c	the recorder, or a script, in a process of its own
 */
#ifndef PANTRACE_CMD_AGENT_AGENT_H
#define PANTRACE_CMD_AGENT_AGENT_H

#include <sys/types.h>

#include "base/diag.h"

int cmd_agent(int argc, char **argv);

/* ---- door.c ---- */

struct agent_door {
	enum {
		DOOR_STDIO,
		DOOR_PORT, /* a virtio-serial port, which has one host at a time */
		DOOR_UNIX,
		DOOR_VSOCK,
	} kind;
	int fd; /* the port, or the socket that listens */
	const char *path; /* of a Unix socket, to be removed */
	u32 peer; /* of vsock: the CID that may connect */
	bool is_for_tracecmd; /* which connects from any port */
	char name[128]; /* for messages */
};

/* where: NULL = the port, or vsock if there is none. 0 or -errno with a diagnostic. */
int agent_door_open(struct agent_door *door, const char *where, u32 peer, struct diag *d);
/* For hosts that are `trace-cmd record -A`: vsock alone, "vsock:PORT". The same. */
int agent_door_open_tracecmd(struct agent_door *door, const char *where, u32 peer, struct diag *d);
/*
 * Waits for a host. 0: *ret_in and *ret_out, which do not wait, are those of a conversation, to be
 * given to agent_door_part(); -EINTR: stop is readable.
 */
int agent_door_wait(struct agent_door *door, int stop, int *ret_in, int *ret_out);
void agent_door_part(struct agent_door *door, int in, int out);
void agent_door_close(struct agent_door *door);

/* ---- recorder.c ---- */

struct agent_recorder {
	pid_t pid; /* 0 = none */
	/* what it sends: frames, or what a script prints; its standard error; -1 = at their end */
	int frames, messages;
	bool is_script;
};

/*
 * Of RECORD, or of RUN, with its words: NUL-terminated, one behind the other. 0 or -errno.
 */
int agent_recorder_start(struct agent_recorder *r, bool is_script, const char *words, size_t n);
void agent_recorder_stop(const struct agent_recorder *r);
/* Nobody takes its frames any more. Passes its messages on until it ends; after ten seconds it is
 * killed. */
void agent_recorder_abandon(struct agent_recorder *r);
/* Once both descriptors are at their end: its exit code, EXIT_SIGNAL + the signal. */
int agent_recorder_end(struct agent_recorder *r);

/* ---- conversation.c ---- */

/* Serves until the host leaves, or stop is readable; reports to standard error. */
void agent_converse(int in, int out, int stop, bool quiet);

/* ---- tracecmd.c ---- */

/* The same with `trace-cmd record -A` of this CID, at a vsock connection. */
void agent_converse_tracecmd(int fd, u32 peer, int stop, bool quiet);

#endif
