/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of the kernel's command line that have it trace from its first moments on
 * (Documentation/admin-guide/kernel-parameters.txt).
 */
#ifndef PANTRACE_KERNEL_BOOT_PARAMETERS_H
#define PANTRACE_KERNEL_BOOT_PARAMETERS_H

#include "kernel/kernel.h"

enum boot_parameter {
	BOOT_RESERVE_MEM, /* SIZE:ALIGNMENT:LABEL, memory that keeps its contents and place */
	BOOT_INSTANCE, /* trace_instance=NAME[^FLAG...][@LABEL][,EVENT...] */
	BOOT_EVENT, /* trace_event=EVENT,..., into the top buffer */
	BOOT_TRIGGER, /* trace_trigger=EVENT.TRIGGER[ if CONDITION],... */
	BOOT_KPROBE, /* kprobe_event=DEFINITION;..., ',' for blanks; on in the top buffer */
	BOOT_TRACER, /* ftrace= */
	BOOT_FILTER, /* ftrace_filter=FUNCTION,... */
	BOOT_NOTRACE, /* ftrace_notrace= */
	BOOT_GRAPH, /* ftrace_graph_filter= */
	BOOT_OPTIONS, /* trace_options=, also of instances that are made at boot */
	BOOT_CLOCK, /* trace_clock=, of the top buffer */
	BOOT_BUFFER_SIZE, /* trace_buf_size=SIZE, of each CPU */
	BOOT_PARAMETERS
};

enum boot_knowledge {
	BOOT_IS_KNOWN,
	BOOT_IS_UNKNOWN, /* this kernel hands it to init, as an unknown word */
	BOOT_MAY_BE_KNOWN, /* it cannot be told */
};

const char *boot_parameter_name(enum boot_parameter p); /* "trace_event" */
const char *boot_parameter_since(enum boot_parameter p); /* of Linux: "6.3" */
/* "KPROBE_EVENTS": what the kernel must be built with besides ftrace; NULL = nothing. */
const char *boot_parameter_config(enum boot_parameter p);
/*
 * Does the running kernel know it? By the function that takes its value, if kallsyms has those of
 * parameters; else by the kernel's release.
 */
enum boot_knowledge boot_parameter_ask(struct kernel *k, enum boot_parameter p);

/* The longest command line that the kernel keeps, in bytes without its NUL. */
#define BOOT_LINE_MOST 2047u /* COMMAND_LINE_SIZE of x86 */

/* One parameter of a command line: NAME=VALUE, without the quotes. Neither is terminated. */
struct boot_word {
	const char *name, *value; /* value NULL: a name alone */
	size_t name_len, value_len;
};

/*
 * Takes the next parameter from *at, which begins as the line; blanks within double quotes part
 * nothing. False: no more.
 */
bool boot_word_next(const char **at, struct boot_word *ret);
/* Is it this parameter? */
bool boot_word_is(const struct boot_word *w, enum boot_parameter p);
/* Has the line each parameter of the other one, with the same value? */
bool boot_line_has(const char *line, const char *others);
/* The command line that the running kernel was booted with, malloc'ed; "" if it cannot be read. */
char *boot_line(void);

/* What the command line of this boot has traced. */
struct boot_traced {
	char *instance; /* "" = the top buffer; NULL = nothing was traced; free() */
	bool is_persistent; /* the instance's memory outlives a crash */
};

/* The first instance of the line, else the top buffer if anything is traced into that. */
struct boot_traced boot_traced_of(const char *line);

#endif
