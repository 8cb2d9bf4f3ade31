/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session of a script: programs that run are told, programs that start later find its
 * description (pantrace/protocol.h). A child of ours, which does nothing but wait for our end, ends
 * it: however we go, the programs are left as they were.
 */
#ifndef PANTRACE_USER_SCRIPT_SESSION_H
#define PANTRACE_USER_SCRIPT_SESSION_H

#include "base/diag.h"
#include "base/strbuf.h"

struct script_session {
	char name[64];
	char *file; /* the description, or NULL */
	char *directory; /* where processes put their files, or NULL */
	int pipe; /* the child's sign of life of ours: closed with us */
	pid_t pid; /* the one process that takes part; 0 = all */
	struct strbuf head, lines; /* of the description: what comes first, what was added */
	bool is_started;
};

/*
 * HEAD: lines for all processes ("script\n"). is_child: pid has not begun; it joins when it does. 0
 * or -errno with a diagnostic. with_directory: processes put files of their own into it, which are
 * removed in the end.
 */
int script_session_open(struct script_session *s, pid_t pid, bool is_child, const char *head,
			bool with_directory, struct diag *d);
/* Lines such as "enable GLOB": described and told. Processes that refuse are a warning. */
void script_session_add(struct script_session *s, const char *lines, struct diag *d);
/* The events are off from now on, and nobody joins any more. */
void script_session_stop(struct script_session *s, struct diag *d);
/* The end. Closing the pipe alone does as much for the processes. */
void script_session_close(struct script_session *s);

#endif
