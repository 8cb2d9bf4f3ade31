/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands record by themselves before they draw a picture or print a table. */
#ifndef PANTRACE_CMD_LIVE_H
#define PANTRACE_CMD_LIVE_H

#include "base/diag.h"
#include "base/options.h"

struct live_arguments {
	u64 duration_ns;
	struct pid_list pids;
	bool all;
	const char *frequency, *call_graph; /* NULL = not given */
};

/* Rows of an option table; AT: where the struct above lies in the values of the options. */
/* clang-format off */
#define LIVE_OPTIONS(AT)                                                                           \
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,              \
	 (AT) + offsetof(struct live_arguments, duration_ns)},                                     \
	{'p', "pid", "PID", "this process and what it starts (may be repeated)", OPTION_PIDS,      \
	 (AT) + offsetof(struct live_arguments, pids)},                                            \
	{'a', "all", NULL, "the whole machine, also beside a command", OPTION_FLAG,                \
	 (AT) + offsetof(struct live_arguments, all)}
/* clang-format on */

struct live {
	const struct live_arguments *arguments;
	char *const *command; /* NULL = none */
	/* As -e of record takes them, ended by NULL; NULL = where time goes. */
	const char *const *events;
	bool stacks; /* of each event */
	u64 period; /* every so many events; 0 = as the recorder chooses */
	bool whole_machine; /* always: who reads the recording leaves out what was not asked for */
	bool to_output; /* the picture goes to standard output */
	/* ---- what came of it ---- */
	int fd; /* the recording, a perf.data without a name; -1 = none */
	char path[32]; /* where it is opened */
	pid_t pid; /* of the command */
	int code; /* how the command ended */
	bool has_lost; /* told */
};

/* Is anything to be recorded? */
static inline bool live_is_asked(const struct live *l)
{
	const struct live_arguments *const a = l->arguments;

	return l->command || a->pids.count || a->all || a->duration_ns;
}

/* "make -j2", "process 17", "this machine"; malloc'ed. */
char *live_name(const struct live *l);
/* The file of the recording, if it is to be there before that begins. EXIT_OK or a code (said). */
int live_open(struct live *l, const char *name);
/* Until the command, the processes or the time end, or a signal comes. EXIT_OK or a code (said). */
int live_record(struct live *l, const struct command_spec *spec);
void live_release(struct live *l);

#endif
