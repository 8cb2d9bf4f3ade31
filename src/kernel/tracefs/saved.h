/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the top buffer as they were before we changed them. Each is written to a journal
 * (pantrace/PID-START under /run, or where that is not writable under /dev/shm, /tmp) before the
 * change, so that they can be put back also when the owner was killed. The journal is one record
 * per file:
 *
 *	NAME LENGTH\n VALUE \n
 *
 * A record named kprobe_events or uprobe_events is no value, but a probe event that is being made:
 * it is taken back (kernel/tracefs/lasting_event.h). One named instances/NAME is an instance, which
 * is removed, before anything else is put back.
 *
 * What outlives its run has a journal of another name, whose records say whether it is to stay
 * (kernel/tracefs/lasting_buffer.h).
 */
#ifndef PANTRACE_KERNEL_TRACEFS_SAVED_H
#define PANTRACE_KERNEL_TRACEFS_SAVED_H

#include "kernel/tracefs/owner.h"

struct tracefs_saved;

/* directory: the top buffer. NULL with errno if no journal can be written. */
struct tracefs_saved *tracefs_saved_new(const char *directory);
/* Before FILE is changed; once per file. 0 or -errno. */
int tracefs_saved_remember(struct tracefs_saved *s, const char *file);
/* The same with a value that is known. */
int tracefs_saved_remember_text(struct tracefs_saved *s, const char *file, const char *value);
/*
 * Writes back what differs, newest first, and removes the journal. Returns 0, or the first -errno
 * with *ret_file (malloc'ed; may be NULL) naming the file. Frees s.
 */
int tracefs_saved_restore(struct tracefs_saved *s, char **ret_file);
/* Leaves everything as it is, and removes the journal: it is meant to stay. Frees s. */
void tracefs_saved_discard(struct tracefs_saved *s);
/*
 * As tracefs_saved_new(), with a journal of this name, for what outlives this run. errno EEXIST:
 * there is one.
 */
struct tracefs_saved *tracefs_saved_new_named(const char *directory, const char *name);
/* Leaves everything as it is, and the journal, too. Frees s. */
void tracefs_saved_leave(struct tracefs_saved *s);

/*
 * Calls fn for every journal whose owner is dead, with the names of the files, or the records of
 * probe events, that it would restore (only_look) or has restored (error: 0 or errno each).
 */
void tracefs_saved_each_stale(struct kernel *k, bool only_look,
			      void (*fn)(void *arg, const char *file, int error), void *arg);

/* Records whose names begin so are for who reads the journal; there is nothing to put back. */
#define SAVED_NOTE "session/"

struct saved_record {
	const char *file, *value;
};

/*
 * Calls fn for every journal that is ours and whose name begins with this, until it returns other
 * than 0, which is then returned.
 */
int tracefs_saved_each_named(const char *prefix,
			     int (*fn)(void *arg, const char *name, const struct saved_record *r,
				       size_t count),
			     void *arg);
/*
 * Takes back what the journal of this name says if is_due says so (asked while no other process can
 * take it back), and removes it; record (may be NULL): what is written down before, "NAME VALUE".
 * fn as above. 0 or -errno: -EAGAIN: it is not due; the instance could not be removed, and nothing
 * else was put back.
 */
int tracefs_saved_take_back(struct kernel *k, const char *name, const struct saved_record *record,
			    bool (*is_due)(void *arg, const struct saved_record *r, size_t count),
			    void (*fn)(void *arg, const char *file, int error), void *arg);

/*
 * Splits the text of a journal, LEN bytes with a NUL behind, into its values and calls fn for each,
 * in order. A value whose record is incomplete is left out: its change did not happen. A file name
 * that would lead out of tracefs ends the journal.
 */
void tracefs_journal_parse(char *text, size_t len, void (*fn)(void *arg, char *file, char *value),
			   void *arg);

/* ---- one value ---- */

/* A file so named is one of /sys: "block/sda/trace/enable" belongs to the tracer blk, too. */
#define TRACEFS_BLOCK "block/"

/*
 * The value in the form in which it is written: "mono" of "local [mono]", "1408" of "7 (expanded:
 * 1408)"; malloc'ed. 0 or -errno.
 */
int tracefs_value_read(const char *directory, const char *file, char **ret);
/* Makes the file hold it: lists are emptied and filled line by line. 0 or -errno. */
int tracefs_value_write(const char *directory, const char *file, const char *value);

#endif
