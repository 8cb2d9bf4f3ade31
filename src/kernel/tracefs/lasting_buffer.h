/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace buffers that outlive the run that set them up, as `pantrace start` makes them: sessions.
 * Each is an instance "pantrace.NAME", or has the top buffer. That it is ours says its journal
 * (kernel/tracefs/saved.h) of the same name, which has everything that is to be put back, and:
 *
 *	session/owner PID-START	 who makes it, or removes it
 *	session/command WORDS	 what the user said
 *	session/began NS	 CLOCK_REALTIME
 *	session/top		 it has the top buffer
 *	session/stands		 it is left alone when its maker ends
 *
 * Whichever of owner and stands comes last holds: one whose owner is dead is swept, as what other
 * killed runs leave. So each session is there as a whole, or not at all.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_LASTING_BUFFER_H
#define PANTRACE_KERNEL_TRACEFS_LASTING_BUFFER_H

#include "kernel/tracefs/saved.h"

#define LASTING_PREFIX	 "pantrace." /* of its instance and its journal */
#define LASTING_NAME_MAX 60

struct lasting_buffer {
	const char *name; /* "main" */
	const char *instance; /* "pantrace.main"; "" = the top buffer */
	const char *command; /* "pantrace start -e sched" */
	u64 began_ns; /* CLOCK_REALTIME */
	bool stands;
	struct tracefs_owner owner; /* where it does not stand: who makes or removes it */
};

/* Letters, digits, '_', '-' and '.', the first of them no '.'. */
bool lasting_buffer_is_name(const char *name);
/* Its journal, before anything is made. NULL with errno: EEXIST: there is one of this name. */
struct tracefs_saved *lasting_buffer_begin(const char *tracefs, const char *name, bool is_top,
					   const char *command);
/* From here on it stays. 0 or -errno. */
int lasting_buffer_stand(struct tracefs_saved *journal);
/* Calls fn for all, in no order, until it returns other than 0, which is then returned. */
int lasting_buffers_each(int (*fn)(void *arg, const struct lasting_buffer *b), void *arg);
/*
 * Ends and removes it: its instance, and what it has changed elsewhere is put back. fn: as of
 * tracefs_saved_each_stale(). 0 or -errno: -ENOENT: there is none of this name; -EAGAIN: another
 * process makes or removes it; -EBUSY: somebody has a file of its instance open.
 */
int lasting_buffer_remove(struct kernel *k, const char *name,
			  void (*fn)(void *arg, const char *file, int error), void *arg);
/* Those whose makers, or removers, were killed. fn: as above. */
void lasting_buffers_sweep(struct kernel *k, bool only_look,
			   void (*fn)(void *arg, const char *file, int error), void *arg);

#endif
