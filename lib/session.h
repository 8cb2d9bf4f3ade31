/* SPDX-License-Identifier: MIT */
/*
 * What the files that make sessions share: session.c (what becomes of them), rings.c (their
 * memory), records.c (what readers must know of events), api.c (what programs call).
 */
#ifndef PANTRACE_LIB_SESSION_H
#define PANTRACE_LIB_SESSION_H

#include "internal.h"

#define PT_FILE_NAME 64

/*
 * What must outlive a fork, as the state page is wiped in the child. Number 0 is the program's own
 * session.
 */
struct pt_settings {
	enum pt_session_state state;
	void *mapped; /* rings or tables, which a child does not inherit; NULL: none */
	size_t mapped_size;
	size_t held; /* bytes of rings that a thread did not leave: not to be used again before */
	bool begun; /* started: nobody waits to be told about later errors */
	bool deaf; /* its recorder did not answer (announce.c) */
	bool unheard; /* nor could it be reached */
	bool untracked; /* this process is not among those that record */
	bool stale; /* the sites are still as in the parent */
	uint32_t refused_sites, refused_events; /* that stay off: see struct pantrace_shm */
	uint32_t nr_rings, per_thread;
	uint32_t pid; /* the process whose rings they are */
	int error;
	int fd;
	/* inode of fd: the program may have closed it, and the number may be another file's */
	uint64_t inode;
	uint64_t since; /* memory.c: when it first looked, ns; 0: not yet */
	bool settled; /* and the unused part was freed */
	char file[PT_FILE_NAME];
	struct pt_spec spec;
	struct pt_rules rules;
};

extern PT_HIDDEN struct pt_settings pt_settings[PT_SESSIONS];

static inline struct pt_session *pt_session_of(const struct pt_settings *set)
{
	return &pt_state->session[set - pt_settings];
}

/*
 * Lets events at the first NR rings; 0: at none, once each thread has left its critical section.
 * Each fast way of emit.c has a number of its own, so that an event that is on its way while
 * another session took this place, with other contexts, sees that it is on the wrong one.
 */
static inline void pt_session_open(struct pt_session *session, uint32_t nr)
{
	const uint32_t slow = PT_RINGS_OF_THREADS | 1u << PANTRACE_CONTEXT_USER_STACK;

	__atomic_store_n(&session->bare, session->contexts ? 0 : nr, __ATOMIC_RELEASE);
	__atomic_store_n(&session->quick, session->contexts & slow ? 0 : nr, __ATOMIC_RELEASE);
	__atomic_store_n(&session->active, nr, __ATOMIC_SEQ_CST);
}

/* ---- session.c ---- */

/* Takes SPEC, with defaults for what it leaves open. -EINVAL. */
PT_HIDDEN int pt_settings_take(struct pt_settings *set, const struct pt_spec *spec);
/* Appends RULES to those of the session. -ENOSPC. */
PT_HIDDEN int pt_settings_rules(struct pt_settings *set, const struct pt_rules *rules);
/* Of a session that has rings. */
PT_HIDDEN void pt_session_count(const struct pt_session *session, struct pantrace_counts *ret);

/* ---- api.c ---- */

/*
 * PANTRACE_RECORD=DIRECTORY with PANTRACE_EVENTS='app:*,lib:request_*' records without a line of
 * code. Ignored where the caller of the program has fewer rights than the program.
 */
PT_HIDDEN void pt_environment_start(void);

/* ---- rings.c; the lock is held ---- */

/*
 * Makes the session's file and its rings usable. Only system calls: a child may be in a signal
 * handler, or have been one of many threads.
 */
PT_HIDDEN int pt_rings_make(struct pt_settings *set, uint32_t pid, uint32_t parent);
/*
 * A new file of the session, in FILE its name in the directory; "": it has none, as no directory is
 * meant, or not the one that is here. A descriptor or a negative errno.
 */
PT_HIDDEN int pt_session_file_make(const struct pt_spec *spec, uint32_t pid,
				   char file[PT_FILE_NAME]);
/* Removes a file whose memory could not be allocated in full. */
PT_HIDDEN void pt_session_file_remove(const struct pt_spec *spec, char file[PT_FILE_NAME]);
/*
 * Ends recording: when this returns, no event comes any more, and those that were begun are
 * published.
 */
PT_HIDDEN void pt_rings_quiesce(struct pt_settings *set);
/* After pt_rings_quiesce(): closes the file and frees the memory, or leaves that to the next. */
PT_HIDDEN void pt_rings_unmap(struct pt_settings *set);
/* Whether SET, which has ended, may be used again: no thread is in its rings any more. */
PT_HIDDEN bool pt_rings_free(struct pt_settings *set);
/* Whether the session's descriptor is still the one of the rings. */
PT_HIDDEN bool pt_rings_fd_ours(const struct pt_settings *set);

/* ---- memory.c; the lock is held ---- */

/*
 * Allocates the first memory of new rings, in FD, mapped at SHM, which will have HEADER. 1: all of
 * it (on kernels that cannot allocate more later), 0: as much as rings begin with, -ENOSPC or
 * another errno.
 */
PT_HIDDEN int pt_memory_begin(int fd, struct pantrace_shm *shm, const struct pantrace_shm *header);

enum pt_watch { /* bits: when to look again */
		PT_WATCH_NOTHING = 0,
		PT_WATCH_WORK = 1, /* after the process has run for a while */
		PT_WATCH_TIME = 2, /* after a second or so */
		PT_WATCH_CHILDREN = 4, /* after the process has run for longer */
};
/* Allocates memory for rings that are used, frees that of others. */
PT_HIDDEN enum pt_watch pt_memory_follow(struct pt_settings *set);
/* Allocates all of it, for processes that will have no helper. */
PT_HIDDEN void pt_memory_all(struct pt_settings *set);

/* ---- records.c ---- */

#define PT_META_SIZE (4ull << 20) /* of a session's file, for records */

/* The records of all events that had an id since the program began, as in ring.h. */
PT_HIDDEN const char *pt_records(size_t *ret_size);

#endif
