/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace record: one command, several sources of events. A source reads its options from the
 * common table, begins, is called every few milliseconds to write what it has, and ends.
 */
#ifndef PANTRACE_CMD_RECORD_RECORD_H
#define PANTRACE_CMD_RECORD_RECORD_H

#include "cmd/user/user.h"

struct record_options {
	struct user_session_arguments what;
	const char *output, *session, *to, *compress;
	u64 duration_ns, rotate_bytes, rotate_ns, keep; /* 0 = not given */
	struct string_list triggers;
	bool keep_privileges, quiet;
};

struct record_run {
	const struct record_options *options;
	struct diag *diag;
	const char *directory; /* where everything goes */
	bool command; /* events of a command only, unless processes were named */
	bool snapshot, rotate; /* requested by signals; reset by the code that does it */
	u64 lost; /* told at the end */
	/*
	 * processes whose rings were damaged or could not be made: their events are lost uncounted
	 */
	u32 damaged;
	bool failed; /* reported, but the run went on */
	bool end; /* a source asks to end, as Ctrl-C does */
};

struct record_source {
	const char *name;
	bool (*wanted)(const struct record_options *o);
	/* Checks the options. OPTIONS_GO_ON or an exit code (said). */
	int (*check)(const struct command_spec *spec, const struct record_options *o);
	/*
	 * Events are on when it returns. 0 or -errno with the reason in the diag; *ret is its own.
	 */
	int (*begin)(struct record_run *run, void **ret);
	/*
	 * Returns 1 if something was written, else 0. Descriptors to wait for are stored in poll_fd
	 * (-1: none).
	 */
	int (*round)(struct record_run *run, void *state);
	int (*poll_fd)(void *state);
	/* Writes the rest, reports to standard error, removes what it made. 0 or -errno. */
	int (*end)(struct record_run *run, void *state);
};

extern const struct record_source record_user;

#endif
