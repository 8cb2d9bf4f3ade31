/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `pantrace record`. The run itself is in record/record.h. */
#ifndef PANTRACE_CMD_RECORD_RECORD_H
#define PANTRACE_CMD_RECORD_RECORD_H

#include "cmd/user/user.h"
#include "record/record.h"
#include "trace/relay/file_relay.h"

struct record_options {
	struct record_request request;
	struct option_words events; /* -e, and -f and -R, which belong to the -e before them */
	struct string_list targets; /* -p: processes, or a tracer */
	struct user_session_arguments what; /* of programs' events */
	const char *session;
	struct string_list guests; /* --guest; cut off before: guests.c */
	struct string_list triggers;
	struct file_relay relay; /* --to of recordings with files */
	struct arena arena; /* memory for words that are rewritten */
};

/* The options that contain this request. */
static inline struct record_options *record_options_of(const struct record_request *r)
{
	return container_of(r, struct record_options, request);
}

/*
 * Option rows for what ftrace can do besides events, for commands that fill in a record_request.
 * Option letters differ between commands (T: stack trace, N: notrace, G: graph functions). words:
 * the struct option_words that -e, -f and -R share.
 */
#define KERNEL_EVENT_OPTIONS(words, request, T, N, G)                                           \
	{'R',                                                                                   \
	 "trigger",                                                                             \
	 "TRIGGER",                                                                             \
	 "what to do when the -e before it occurs: stacktrace, traceoff, traceon, "             \
	 "enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT, with 'if CONDITION' as the "   \
	 "kernel has it",                                                                       \
	 OPTION_WORDS,                                                                          \
	 words},                                                                                \
		{T,	      "stack",                                                          \
		 NULL,	      "the kernel's stack after each event",                            \
		 OPTION_FLAG, (request) + offsetof(struct record_request, stack)},              \
		{'l',                                                                           \
		 "function",                                                                    \
		 "FUNCTION",                                                                    \
		 "with -p function, function_graph: only these; * and ?; also "                 \
		 "commands of set_ftrace_filter: FUNCTION:traceoff:1, FUNCTION:stacktrace",     \
		 OPTION_LIST,                                                                   \
		 (request) + offsetof(struct record_request, functions)},                       \
		{N,	      "notrace",                                                        \
		 "FUNCTION",  "but not these",                                                  \
		 OPTION_LIST, (request) + offsetof(struct record_request, not_functions)},      \
		{G,	      "graph",                                                          \
		 "FUNCTION",  "with -p function_graph: these, and what they call",              \
		 OPTION_LIST, (request) + offsetof(struct record_request, graph_functions)},    \
	{                                                                                       \
		'O', "option", "OPTION",                                                        \
			"an option of ftrace, off with 'no' before it: funcgraph-proc, "        \
			"nosleep-time",                                                         \
			OPTION_LIST, (request) + offsetof(struct record_request, trace_options) \
	}

/*
 * Attaches each -f and -R to the -e before it. With -p, a number is a process and a word is a
 * tracer. Returns OPTIONS_GO_ON or an exit code after printing why.
 */
int record_take_events(const struct command_spec *spec, const struct option_words *words,
		       struct record_request *r);
int record_take_targets(const struct command_spec *spec, const struct string_list *targets,
			struct record_request *r);
void record_request_release(struct record_request *r);

/* The same for a recording whose files go by a carrier: an agent runs it. */
int record_carried(int argc, char **argv, struct recording_carrier *carrier);
/* Parses its words as those of a guest, without recording: OPTIONS_GO_ON or an exit code. */
int record_check_words(int argc, char **argv);
/*
 * guests.c: cuts --guest WHERE WORDS... off the command line; a command behind "--" stays.
 * OPTIONS_GO_ON or an exit code after printing why.
 */
int record_cut_guests(const struct command_spec *spec, int *argc, char **argv,
		      struct record_request *ret);

/* send.c: all files of the recording go to the relay of --to. */
void record_send(struct record_request *r);

extern const struct record_source record_user; /* cmd/record/user.c */
extern const struct record_source record_sent; /* cmd/record/send.c */

#endif
