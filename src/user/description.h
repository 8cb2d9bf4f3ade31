/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that describes a session (pantrace/protocol.h): lines for programs, behind the tool's
 * own notes.
 */
#ifndef PANTRACE_USER_DESCRIPTION_H
#define PANTRACE_USER_DESCRIPTION_H

#include "base/strbuf.h"
#include "user/session.h"

/*
 * Appends the lines that programs read. RUNTIME is our runtime directory, DIRECTORY that of the
 * rings. 0, or -EINVAL, -E2BIG with the reason in d.
 */
int user_description_make(const struct user_session_options *o, const char *name,
			  const char *runtime, const char *directory, struct strbuf *text,
			  struct diag *d);
/*
 * Appends a line for each of N patterns of events: on or off, of LEVEL (NULL: any). 0 or -EINVAL
 * with the reason in d.
 */
int user_description_rules(bool on, const char *const *events, u32 n, const char *level,
			   struct strbuf *text, struct diag *d);
/* Whether the session that TEXT describes is for process PID, a program of this name. */
bool user_description_means(const char *text, const char *program, pid_t pid);
/* The sizes of its rings, as libpantrace takes them. */
void user_description_rings(const char *text, u32 *ret_sub_size, u32 *ret_subs);
/* Whether it has EVENT on, "PROVIDER:NAME", with anything behind a blank, of this level. */
bool user_description_wants(const char *text, const char *event, u32 level);
/*
 * Writes the file with such lines, in place of those about the same events. 0 or -errno; -E2BIG:
 * there are too many.
 */
int user_description_add(struct user_session *s, const char *rules);
/*
 * Writes the file with LINES, "tracked ...", in place of those that it has (user/tracked.h). 0 or
 * -errno.
 */
int user_description_track(struct user_session *s, const char *lines);
/* Writes the file with or without the line "stopped". 0 or -errno. */
int user_description_stop(struct user_session *s, bool stopped);
/*
 * Writes s->file anew; recorder: we are it, else it stays who it is; fresh: only if there is none.
 * 0 or -errno.
 */
int user_description_write(const struct user_session *s, bool recorder, bool fresh);
/* Writes FILE with TEXT, whole or not at all; fresh: only if there is none. 0 or -errno. */
int user_description_put(const char *file, const char *text, bool fresh);
/* That of session NAME, in the directory of our sessions. 0 or -errno; *ret is not touched then. */
int user_description_read(int directory, const char *name, struct user_session *ret);
/* The same from its text, which FILE had; recorder_alive is not set. 0 or -EBADMSG. */
int user_description_parse(const char *text, const char *file, const char *name,
			   struct user_session *ret);

#endif
