/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who speaks for a process. In root's sessions every user's programs take part: whoever may add a
 * file to the directory of rings can write any pid into it, so a file counts only if its owner is
 * the process's user. What root or our own user has made is true of every process: a daemon makes
 * its rings before it becomes somebody else.
 */
#ifndef PANTRACE_USER_OWNER_H
#define PANTRACE_USER_OWNER_H

#include <sys/types.h>

#include "base/hashmap.h"

enum user_of {
	USER_OF_NO,
	USER_OF_YES,
	USER_OF_GONE, /* there is no such process */
};

/* Whether UID is one of the user ids (real, effective, saved) of a process of our pid namespace. */
enum user_of user_is_of(pid_t pid, uid_t uid);
/* Its number in its own pid namespace; 0: not known. */
pid_t user_inner_pid(pid_t pid);
/* Whether the first thread of a process is confined by seccomp. */
bool user_is_confined(pid_t pid);

/* Users of processes that a session has seen alive; zero-initialised is empty. */
struct user_owners {
	struct hashmap by_process;
	/* who is in other pid namespaces, as of the last look: struct status */
	struct hashmap elsewhere;
	bool has_looked;
	u32 refused;
};

/*
 * Whether a file of OWNER's may be taken for that of process PID in a pid namespace (an inode; 0 =
 * not known). What an ended process has left is its owner's, unless the process was seen alive and
 * is another's. False is counted.
 */
bool user_owner_good(struct user_owners *o, uid_t owner, pid_t pid, u64 pid_namespace);
/*
 * The same for what process PEER of our namespace (0 = not visible) has handed over, at its socket
 * or at ours, as the user PEER_UID.
 */
bool user_owner_handed(struct user_owners *o, uid_t owner, pid_t peer, uid_t peer_uid, pid_t pid,
		       u64 pid_namespace);
/* What is asked from now on is answered by another look around, one for all that is asked. */
void user_owners_look(struct user_owners *o);
/* `refused` can still be read. */
void user_owners_release(struct user_owners *o);

#endif
