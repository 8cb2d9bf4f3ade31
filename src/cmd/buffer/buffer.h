/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands on trace buffers in the kernel, as trace-cmd has them:
 *
 *	start.c		makes a session, a buffer that stays (kernel/tracefs/lasting_buffer.h)
 *	control.c	stop, restart, clear, reset
 *	status.c	what traces now, and whose it is
 *	show.c		the text of a buffer
 *	snapshot.c	the second buffer
 *	extract.c	writes a buffer to a trace.dat
 *	choose.c	which buffer a command is about
 */
#ifndef PANTRACE_CMD_BUFFER_BUFFER_H
#define PANTRACE_CMD_BUFFER_BUFFER_H

#include "base/diag.h"
#include "base/options.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/instance.h"

#define SESSION_DEFAULT "main" /* what `start` calls its session */

/* On the command line. */
struct buffer_choice {
	const char *name; /* -B */
	bool top; /* -t */
};

#define BUFFER_OPTIONS(type, field)                                                     \
	{'B',                                                                           \
	 "name",                                                                        \
	 "BUFFER",                                                                      \
	 "this session, or this instance of another program (default: the session, if " \
	 "there is one only)",                                                          \
	 OPTION_STRING,                                                                 \
	 offsetof(type, field.name)},                                                   \
	{                                                                               \
		't', "top", NULL, "the kernel's own buffer, which all programs share",  \
			OPTION_FLAG, offsetof(type, field.top)                          \
	}

struct chosen_buffer {
	struct instance *instance;
	char *session; /* NULL = none of ours */
	char *label; /* for messages: "session main", "instance x", "the top buffer" */
};

enum buffer_use {
	BUFFER_LOOK, /* read only */
	BUFFER_CHANGE, /* refused for the instance of a running pantrace */
};

/* 0 or -errno with a diagnostic; buffer_release() in any case. */
int buffer_choose(const struct buffer_choice *c, enum buffer_use use, struct kernel *k,
		  struct diag *d, struct chosen_buffer *ret);
void buffer_release(struct chosen_buffer *b);
/* Calls fn with the name of each session. fn may remove the session. */
void buffer_each_session(void (*fn)(void *arg, const char *name), void *arg);
/* 0 if tracefs can be used, else -errno with a diagnostic. */
int buffer_check_tracefs(struct kernel *k, struct diag *d);

/*
 * The path of a file in the instance: "trace", or "per_cpu/cpu3/trace" if cpu is not NULL.
 * Malloc'ed. 0 or -errno with a diagnostic.
 */
int buffer_cpu_file(struct diag *d, const struct instance *in, const char *cpu, const char *file,
		    char **ret);

int cmd_start(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_restart(int argc, char **argv);
int cmd_clear(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_extract(int argc, char **argv);

#endif
