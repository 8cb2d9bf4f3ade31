/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command for a file of tracefs, put together from our words and the user's: a filter, a trigger,
 * a probe's definition. It remembers which byte came from where, so that a complaint of the kernel
 * (error_log has the text and the offset in the command, since 5.2) is shown under what the user
 * wrote:
 *
 *	filter:1:9-10: ERROR: Field not found
 *	prio > nice
 *	       ~~~~
 */
#ifndef PANTRACE_KERNEL_TRACEFS_COMMAND_H
#define PANTRACE_KERNEL_TRACEFS_COMMAND_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "kernel/kernel.h"

struct tracefs_piece {
	size_t at, len; /* bytes of the command */
	struct span from; /* of a source of the diag */
};

struct tracefs_command {
	struct strbuf text;
	VECTOR(struct tracefs_piece) pieces; /* the user's, rising */
};

#define TRACEFS_COMMAND_INIT        \
	{                           \
		.text = STRBUF_INIT \
	}

/* Our own words. */
void tracefs_command_add(struct tracefs_command *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The user's: text[0..len), which stands at byte `begin` of the source `file` of the diag. */
void tracefs_command_user(struct tracefs_command *c, const char *text, size_t len, u16 file,
			  u32 begin);
/*
 * The same for words that are not spelled as the user wrote them: all of them stand for the text at
 * `from`.
 */
void tracefs_command_stands_for(struct tracefs_command *c, const char *text, struct span from);
/* Appends another one. */
void tracefs_command_join(struct tracefs_command *c, const struct tracefs_command *tail);
/*
 * A whole user's text as a command of its own: registers it with the diag under this name
 * ("filter"). text must outlive the diag.
 */
void tracefs_command_from(struct tracefs_command *c, struct diag *d, const char *name,
			  const char *text);
void tracefs_command_release(struct tracefs_command *c);
/* 0, or -EINVAL with a diagnostic: no command can have a file of this path. */
int tracefs_path_check(const char *path, struct diag *d);
/*
 * Which of the user's words the byte of the command comes from: the span from there to the word's
 * end. NO_SPAN: it is ours.
 */
struct span tracefs_command_span(const struct tracefs_command *c, const struct diag *d,
				 size_t offset);

/*
 * Writes the command to FILE of DIRECTORY (flags: O_APPEND to add, O_TRUNC to replace). A refusal
 * becomes a diagnostic that begins with `what` ("the filter of sched:sched_switch"), with the
 * kernel's reason at its place. Some commands are logged in the instance's error_log, others in the
 * top one's; both are asked. 0 or -errno.
 */
int tracefs_command_write(struct kernel *k, const char *directory, const char *file, int flags,
			  const struct tracefs_command *c, struct diag *d, const char *what);

#endif
