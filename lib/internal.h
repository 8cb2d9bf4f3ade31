/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the library share. The state page is all that the event path reads. The kernel
 * wipes it in a forked child, however the child was made, so that a child never writes its parent's
 * rings: there `active` reads 0 and the first event finds out whose child it is.
 */
#ifndef PANTRACE_LIB_INTERNAL_H
#define PANTRACE_LIB_INTERNAL_H

#include "aggregate.h"
#include "clock.h"
#include "event.h"
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/protocol.h>
#include <pantrace/ring.h>
#include <stdbool.h>
#include <stddef.h>

#define PT_HIDDEN   __attribute__((visibility("hidden")))
#define PT_MAX_RING 1024
#define PT_FORKS    8 /* forks by handlers within handlers that are told apart */
#ifndef PANTRACE_LIB_VERSION
#define PANTRACE_LIB_VERSION "0.1.0"
#endif
#define PT_SESSIONS 8 /* at once in a process; bits of pantrace_event.sessions */

#define PT_CONTEXTS	    ((1u << PANTRACE_CONTEXT_MAX) - 1)
#define PT_RINGS_OF_THREADS (1u << 31) /* with the contexts of a session */

/*
 * What the event path knows of a session. The assembly in section.h and emit.c depends on the
 * offsets. Bit N of an event's `sessions` is session N; number 0 is the one that the program itself
 * starts.
 */
struct pt_session {
	/* how many rings may be written; 0: record nothing. Set last, cleared first */
	uint32_t active;
	uint32_t bare; /* the same if rings belong to CPUs and there are no contexts, else 0 */
	uint64_t sub_mask; /* sub_size - 1 */
	struct pantrace_ring *rings;
	uint64_t ring_mask;
	/* bits, enum pantrace_context; 0: nothing beyond what a section records */
	uint32_t contexts;
	uint32_t quick; /* as `bare`, if the contexts need no call */
	uint32_t sub_size;
	uint32_t mode; /* enum pantrace_mode */
	struct pantrace_shm *shm;
	uint32_t per_thread;
	uint32_t block_us;
	uint32_t generation; /* of the rings: differs from session to session and in a child */
	uint32_t number;
	int32_t pid; /* of the process whose rings they are */
	uint32_t nr_rings;
	uint64_t size; /* bytes of contexts, if they need no call */
	uint64_t one; /* {size, one} are added to {position, events} */
	/* the last offset in a sub-buffer at which an event may end, without its contexts */
	uint64_t fits;
	/* offset from the thread pointer to the first of its ids that is wanted */
	int64_t identity;
	uint64_t identity_size;
	char *data[PT_MAX_RING] __attribute__((aligned(64))); /* sub-buffers of each ring */
	uint64_t early_lost; /* events lost before there was a header to count them in */
	/*
	 * Threads that use the rings outside of a critical section (pt_session_users()). An event
	 * that was begun before a fork ends as a user of the process that it was begun in.
	 */
	uint32_t users[PT_FORKS];
	/* to a power of two, for emit.c */
	char padding[16384 - 128 - 8 - PT_FORKS * 4 - PT_MAX_RING * sizeof(char *)];
};

/*
 * A session's first lines are 64 bytes away from multiples of 128: a load waits for an earlier
 * store whose address has the same last twelve bits, and writers store to the first half of 128
 * bytes in a ring.
 */
struct pt_state {
	int32_t lock; /* a futex: 0 free, 1 taken, 2 taken and waited for */
	int32_t pid; /* of the process that made it; 0 in a forked child */
	struct pt_session session[PT_SESSIONS] __attribute__((aligned(64)));
};

/* ---- rules.c: which events a session wants. The last rule that matches an event decides. ---- */

#define PT_RULES      PANTRACE_RULES_MAX
#define PT_FILTERS    1024
#define PT_AGGREGATES 32
#define PT_RULE_GLOB  256 /* bytes, with the NUL */
#define PT_LEVEL_ANY  255

struct pt_rule {
	bool on;
	bool exactly; /* this log level only; else also the more severe ones, which are lower */
	uint8_t level; /* PT_LEVEL_ANY: all */
	char glob[PT_RULE_GLOB]; /* over "provider:name" */
};

struct pt_vm; /* vm.h */
struct pt_spec;

struct pt_rule_filter {
	const char *glob; /* stays; equal ones are one */
	uint64_t hash; /* of the names and fields that it was compiled for; 0: of any */
	const struct pt_vm *vm;
};

/* Counts each event of these names and fields. */
struct pt_rule_aggregate {
	uint64_t hash; /* struct pantrace_hooks */
	const struct pt_vm *vm;
};

struct pt_rules {
	unsigned int nr, nr_filters, nr_aggregates;
	struct pt_rule rule[PT_RULES];
	struct pt_rule_filter filter[PT_FILTERS]; /* hooks.c; the last one that matches decides */
	struct pt_rule_aggregate aggregate[PT_AGGREGATES];
};

/*
 * Adds a rule; it replaces an equal one, and off "*" replaces all. 0, -EINVAL, -ENAMETOOLONG,
 * -ENOSPC.
 */
PT_HIDDEN int pt_rules_add(struct pt_rules *rules, const char *glob, size_t n, bool on,
			   uint8_t level, bool exactly);
PT_HIDDEN bool pt_rules_want(const struct pt_rules *rules, const char *full, uint8_t level);

extern PT_HIDDEN struct pt_state *pt_state; /* NULL before the first session, then constant */

/* state.c */
PT_HIDDEN void pt_lock(void);
PT_HIDDEN bool pt_trylock(void);
PT_HIDDEN void pt_unlock(void);
/*
 * The same without a system call, for the end of the program. False: it could not be taken in time.
 */
PT_HIDDEN bool pt_lock_quietly(void);
PT_HIDDEN void pt_unlock_quietly(void);
PT_HIDDEN int pt_state_get(void); /* makes pt_state */

/* session.c, rings.c, records.c */
/*
 * In a forked child: what an interrupted event still writes to the parent's rings goes to anonymous
 * memory in their place, as the child has no mapping there. Before all else that maps memory.
 */
PT_HIDDEN void pt_rings_of_parent(void);
PT_HIDDEN bool pt_running(void); /* whether any session may want events; lock held */
/*
 * Makes rings for a forked child, before fork() returns in it: events themselves make no system
 * call.
 */
PT_HIDDEN void pt_sessions_of_child(void);
/*
 * Tells the reader of the directory of rings that this process could not make its own, by a file
 * PID-0-ERRNO.pantrace.
 */
PT_HIDDEN void pt_rings_refused(const struct pt_spec *spec, int error);
/* The sessions (bits) that want EVENT; their rings are made first. The lock is held. */
PT_HIDDEN uint32_t pt_sessions_wanting(const struct pantrace_event *event);
/*
 * Counts SITES sites and EVENTS events that stay off although these SESSIONS (bits) want them: the
 * reader of their rings reports it. Both 0: restarts the count. Lock held.
 */
PT_HIDDEN void pt_sessions_refused(uint32_t sessions, uint32_t sites, uint32_t events);
PT_HIDDEN struct pt_rules *pt_session_rules_of(unsigned int number);
PT_HIDDEN bool pt_session_is_script(unsigned int number);
PT_HIDDEN bool pt_session_aggregates(unsigned int number);
/* The id of RECORD, which goes to the records of all sessions, or -ENOSPC. The lock is held. */
PT_HIDDEN int pt_record_append(const struct pantrace_event_record *record);

/* ---- tracked.c: which processes record ---- */

/* pid, uid, gid as the tool's namespace has them; the same in the process's own namespace */
#define PT_ATTRIBUTES 6

struct pt_tracked { /* all zero: all processes */
	bool none;
	uint8_t limited; /* bits: the attributes of which there is a set */
	uint16_t nr;
	uint8_t attribute[PANTRACE_TRACKED_MAX]; /* whose set the value is in */
	uint32_t value[PANTRACE_TRACKED_MAX];
	uint64_t namespace[PT_ATTRIBUTES]; /* inode; 0: the process's own */
};

struct pt_line;
/* Adds the values of a "tracked" line. 0, -EINVAL, -ENOSPC. */
PT_HIDDEN int pt_tracked_take(struct pt_tracked *to, struct pt_line *values);
/* Whether the calling process is in all sets. */
PT_HIDDEN bool pt_tracked_here(const struct pt_tracked *tracked);

/*
 * The request for a session: by the program (session 0), by a tool, or by the description of a
 * session that waits for programs (spec.c; protocol.h has its text). Ordinary memory: a child
 * inherits it.
 */
struct pt_spec {
	char name[PANTRACE_SESSION_NAME];
	char directory[512]; /* of ring files; "": memory only */
	uint64_t directory_device, directory_inode; /* as the tool sees it; 0: of any */
	char ask[108]; /* the recorder's socket, where filters are asked for; "": none */
	char keeper[108]; /* the same, where rings without a name are handed over */
	uint32_t mode, sub_size, nr_subs, per_thread, block_us;
	uint64_t contexts;
	bool has_clock;
	struct pt_clock clock;
	struct pt_tracked tracked;
	bool stopped; /* begins with its events off */
	uint32_t nr_maps; /* PANTRACE_AGGREGATE */
	struct pt_map_spec map[PANTRACE_AGGREGATE_MAPS];
};

enum pt_session_state {
	PT_NONE,
	PT_ARMED, /* waits for a site that a rule names; no rings yet */
	PT_RUNNING,
	PT_STOPPED, /* rings are kept, sites are off */
	PT_DYING, /* destroyed; its rings are yet to be unmapped */
};

/* Of sessions that a tool asked for, by name. The lock is not held; 0 or a negative errno. */
/* WHY, if not NULL, is set to what a person wants to know about the error. */
PT_HIDDEN int pt_session_start(const struct pt_spec *spec, const struct pt_rules *rules,
			       const char **why);
PT_HIDDEN int pt_session_stop(const char *name);
PT_HIDDEN int pt_session_resume(const char *name);
PT_HIDDEN int pt_session_destroy(const char *name);
/* Appends RULES to those of the session. */
PT_HIDDEN int pt_session_rules(const char *name, const struct pt_rules *rules);
/* Sets which processes record from now on. */
PT_HIDDEN int pt_session_track(const char *name, const struct pt_tracked *tracked);

struct pt_session_info {
	struct pt_spec spec;
	enum pt_session_state state;
	bool untracked; /* this process does not record */
	int error; /* why the rings could not be made, or 0 */
	uint32_t events_on; /* events that the session has on */
	bool unheard; /* events wait for a filter, and the recorder could not be reached */
	char file[64]; /* its name in spec.directory, or "" */
	struct pantrace_counts counts;
};
/* Session NUMBER; false when there is none. */
PT_HIDDEN bool pt_session_info(unsigned int number, struct pt_session_info *ret);
/*
 * A new descriptor of the rings of session NUMBER, or -ENOENT: they have a name, or are out of
 * reach.
 */
PT_HIDDEN int pt_session_fd(unsigned int number);
/* Whether a running session wants addresses with its events. */
PT_HIDDEN bool pt_sessions_addresses(void);
/* Unmaps the rings of destroyed sessions. */
PT_HIDDEN void pt_sessions_bury(void);
/* Provides all memory of the sessions' rings now: for processes that will have no helper. */
PT_HIDDEN void pt_sessions_populate(void);
/* Does what is due for the sessions; enum pt_watch says when to call it again. */
PT_HIDDEN unsigned int pt_sessions_follow(void);

/* ---- spec.c: the text of protocol.h ---- */

#define PT_JOIN_NAMES PANTRACE_NAMES_MAX

struct pt_description {
	struct pt_spec spec;
	struct pt_rules rules;
	bool join_all, join_environment;
	uint32_t join_child; /* the pid of a program that is about to start; 0: none */
	unsigned int nr_join;
	char join[PT_JOIN_NAMES][64]; /* globs over names of programs */
	unsigned int line; /* of an error, from 1 */
};

/* Words of one line, cut at single blanks; parsers share it. */
struct pt_line {
	const char *at, *end;
};
PT_HIDDEN bool pt_line_next(const char **text, const char *end, struct pt_line *ret);
PT_HIDDEN bool pt_word_next(struct pt_line *line, struct pt_line *ret);
PT_HIDDEN bool pt_word_is(const struct pt_line *word, const char *text);
PT_HIDDEN bool pt_word_number(const struct pt_line *word, uint64_t most, uint64_t *ret);
/* false when it does not fit or is no good name of a session. */
PT_HIDDEN bool pt_word_name(const struct pt_line *word, char ret[PANTRACE_SESSION_NAME]);

/* Lines as they follow a "pantrace-session 1" line. 0, or a negative errno with ret->line set. */
PT_HIDDEN int pt_description_parse(const char *text, size_t n, struct pt_description *ret);
/* A file: with its first line. */
PT_HIDDEN int pt_description_parse_file(const char *text, size_t n, struct pt_description *ret);

/* request.c: answers to requests on the socket */

struct pt_answer {
	char *text; /* mapped; grows to ANSWER_MAX */
	size_t used, room;
	bool cut;
	int fd; /* to pass with it, or -1 */
};
PT_HIDDEN void pt_answer_add(struct pt_answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* 0, or a negative errno; the answer's text is the lines behind ok, or the text of the error. */
PT_HIDDEN int pt_request(const char *text, size_t n, struct pt_answer *answer);

/* ---- join.c: sessions that wait for programs ---- */

PT_HIDDEN void pt_join_begin(void); /* reads the environment; before there are threads */
PT_HIDDEN int pt_runtime_directory(char *ret, size_t size); /* the path; -ENAMETOOLONG */
PT_HIDDEN void pt_join_waiting(void);

/* control.c: the helper thread; called once, before main() */
PT_HIDDEN void pt_control_begin(void);
/*
 * Whether the process was confined by seccomp when the library was loaded: its filter may kill for
 * any system call.
 */
PT_HIDDEN bool pt_control_confined(void);
/* Wakes the helper: a thread of the program made new rings, which it must serve. */
PT_HIDDEN void pt_control_wake(void);
/* main() is over: the thread that ends the program may have confined itself. */
PT_HIDDEN bool pt_control_ends(void);
/* Whether the calling thread is the helper. */
PT_HIDDEN bool pt_control_is_helper(void);
/* Whether there is a helper, or will be as soon as this returns to the program. */
PT_HIDDEN bool pt_control_helps(void);

/* memory.c */
/*
 * As ftruncate(), to a larger size, without a signal: -EFBIG beyond the process's limit, or another
 * errno.
 */
PT_HIDDEN int pt_file_size_set(int fd, uint64_t size);
/*
 * As fallocate(), however often signals come. 0 or a negative errno, then a part may be allocated.
 */
PT_HIDDEN int pt_file_allocate(int fd, uint64_t from, uint64_t n);
/*
 * Allocates N bytes from FROM on, so that writing to them raises no SIGBUS. False: there is no
 * room. Keeps errno.
 */
PT_HIDDEN bool pt_memory_reserve(void *from, size_t n);
/*
 * In a forked child: anonymous memory in place of SIZE bytes at AT that it did not inherit, unless
 * something else was mapped there meanwhile.
 */
PT_HIDDEN void pt_memory_stand_in(void *at, size_t size);

/*
 * event.c: the record of EVENT, valid until the next call, or NULL when it would be too long. The
 * lock is held.
 */
PT_HIDDEN struct pantrace_event_record *pt_event_record(const struct pantrace_event *event);
/* event.c: "provider:name" */
PT_HIDDEN void pt_event_full(const struct pantrace_event *event, char ret[2 * PT_RULE_GLOB]);
/* event_id.c: the id of EVENT in the running session, 0 when its records are full. Lock held. */
PT_HIDDEN uint32_t pt_event_id(struct pantrace_event *event);

/* site.c */
/*
 * Calls FN for each site of the loaded objects; sites of one event are mostly adjacent. Lock held.
 */
PT_HIDDEN void pt_sites_each(void (*fn)(const struct pantrace_event *event, void *ctx), void *ctx);
/* brings every site to what the sessions want; returns how many changed; lock held */
PT_HIDDEN int pt_sites_follow(void);
/* Called by the helper: does what other threads left to it. */
PT_HIDDEN void pt_sites_go_on(void);
/* How many events are wanted and stay off because there was no room for their records. */
PT_HIDDEN uint32_t pt_sites_nameless(void);
/*
 * Why sites could not be switched on (pantrace_refused()): the error of the last one, as
 * pt_code_write() returns it.
 */
PT_HIDDEN int pt_sites_why(void);
/* 0 (emergency) .. 14 (debug) */
PT_HIDDEN uint8_t pt_event_level(const struct pantrace_event *event);

PT_HIDDEN void pt_dynamic_add(struct pantrace_event *event); /* lock held */
PT_HIDDEN struct pantrace_event *pt_dynamic_first(void);

/* dynamic.c */
PT_HIDDEN struct pantrace_event *pt_dynamic_next(const struct pantrace_event *event);

/*
 * emit.c. The library's own data that its fast ways read; kept away from where writers store to in
 * a ring, see struct pt_state. (A load of rseq_offset that waits for the last event's store of the
 * position makes an event 2 ns longer.)
 */
extern PT_HIDDEN struct pt_short {
	char apart[64];
	uint64_t rseq_offset; /* of the thread's struct rseq from its thread pointer */
	struct pt_session *session; /* number 0 */
} pt_short __attribute__((aligned(128)));
/*
 * For pantrace_event.only: the session of an event that goes the bare way; the first of SESSIONS,
 * negative, if it goes the general one; NULL: neither can record it.
 */
PT_HIDDEN struct pt_session *pt_session_only(uint32_t sessions);

/*
 * The functions of emit.c that the calling thread is in. In a forked child: its fork() was called
 * by a signal handler that interrupted an event, which goes on in the child, too.
 */
extern PT_HIDDEN __thread uint32_t pt_emitting __attribute__((tls_model("initial-exec")));

/* emit_slowly.c */
/* How often a process was forked from the one that loaded the library to this one. */
extern PT_HIDDEN uint32_t pt_forks;
PT_HIDDEN uint32_t pt_session_users(const struct pt_session *session);
PT_HIDDEN bool pt_rseq_here(void); /* whether the calling thread has rseq */
/*
 * RECORD, whose id is set, to the rings of SESSION, whatever it takes: it is recorded, or counted
 * as lost, or the session is off. False: its rings are not those of that GENERATION.
 */
PT_HIDDEN bool pt_record_slowly(struct pt_session *session, uint32_t generation, void *record,
				size_t size);

/* An entry of a directory, as getdents64(2) writes it: opendir() would allocate. */
struct entry64 {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

#endif
