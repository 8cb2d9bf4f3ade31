/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one writer of what a run prints. Text is collected and written once per batch of events (the
 * event loop flushes before it sleeps), so that a busy script does not make one system call per
 * line and an idle one is never late.
 */
#ifndef PANTRACE_VIEW_OUTPUT_H
#define PANTRACE_VIEW_OUTPUT_H

#include "base/diag.h"
#include "base/strbuf.h"

enum output_buffering {
	OUTPUT_LINE, /* flushed before the event loop sleeps, so that no complete line ever waits */
	OUTPUT_FULL, /* flushed when OUTPUT_CHUNK bytes have come together, and at the end */
	OUTPUT_NONE, /* flushed after every action */
};

#define OUTPUT_CHUNK 65536u

struct output {
	int fd;
	enum output_buffering buffering;
	bool is_json;
	bool owns_fd;
	/*
	 * Not 0: nothing is written before the end; the last lines are kept, at most about so
	 * many bytes, and of a longer action's all
	 */
	size_t held_most;
	size_t held; /* bytes of text before the action */
	u64 dropped; /* lines that were not kept */
	bool may_stall; /* a pipe, socket or terminal: somebody has to read */
	/*
	 * errno of the first failed write; everything after it is dropped. ETIMEDOUT: given up
	 * (stall.h)
	 */
	int error;
	struct strbuf text;
};

/*
 * Standard output, or FILE (created with mode 0644, truncated, never through a symbolic link). 0 or
 * -errno.
 */
int output_open(struct output *o, const char *path, enum output_buffering buffering, bool is_json);
/* After each action. Writes if the buffering mode or the amount asks for it. */
void output_commit(struct output *o);
/* Before sleeping: writes what is there unless fully buffered. */
void output_idle(struct output *o);
/* Writes everything. Returns 0 or the first -errno of this output. */
int output_flush(struct output *o);
int output_close(struct output *o);
/*
 * What a failed write means for the run: EXIT_OK (also when its reader left, as `| head` does),
 * EXIT_LOST (the reader stalled when we had to end), or EXIT_FAILED; with a diagnostic.
 */
enum exit_code output_exit_code(const struct output *o, struct diag *d);

#endif
