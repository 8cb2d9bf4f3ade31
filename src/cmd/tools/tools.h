/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The single-purpose tools. A tool is one file, tools/NAME.bt: a comment that declares it, then the
 * script. The declaration is the option table: it drives the parser, --help, the manual page and
 * the completions.
 *
 *	tool: NAME
 *	summary: one line
 *	what: what is traced, behind "Tracing" (with the placeholders of the script, below)
 *	usage: [options] [NAME]
 *	example: words | what they do
 *	option: -x --failed | help                      a flag; the script reads getopt("failed")
 *	option: -p --pid PID | help                     with a value: getopt("pid", 0)
 *	option: ... | help | show COLUMN ...            shows columns that are hidden otherwise
 *	option: ... | help | match COLUMN               the value is a regular expression for this
 *                                                      column
 *	option: ... | help | limit COLUMN               the value bounds the words of an argument
 *                                                      list
 *	option: ... | help | heatmap UNIT               the value is a file for a heat map of what
 *                                                      ranges() shows; UNIT: of the map's keys
 *	option: ... | help | text                       the value is any text
 *	option: ... | help | name                       the value is a name: letters, digits and _ .
 *                                                      / : - + @ ,
 *	option: ... | help | numbers [LIST]             the value is a list of rising numbers; LIST
 *                                                      is the default
 *	option: ... | help | number DEFAULT [LEAST]     the value is a number, with a default and
 *                                                      the least that it may be
 *	option: ... | help | pid                        the value is the number of a process that is
 *                                                      there; thread: of a thread
 *	option: ... | help | event                      the value is one tracepoint, SYSTEM:EVENT
 *	option: ... | help | field                      the value is a field of that event, a number
 *	option: ... | help | device                     the value is a disk, as its name or
 *                                                      MAJOR,MINOR; the script gets its number
 *	option: ... | help | glob COLUMN                the value is a pattern with * and ? for this
 *                                                      column
 *	option: ... | help | list                       only lists the events of the argument;
 *                                                      format: shows their formats
 *	option: ... | help | filter                     the value is a filter on the fields of a
 *                                                      tracepoint
 *	argument: [WORD] | EFFECT                       the next argument, with any effect of an
 *                                                      option; in brackets: it may be left out
 *	argument: WORD | probes                         the argument is a list of probes, separated
 *                                                      by commas
 *	argument: WORD | events                         likewise, of tracepoints, for %{each}
 *                                                      (below)
 *	argument: WORD | seconds [DEFAULT]              a time: the interval
 *	argument: WORD | count                          how many intervals pass until the tool ends
 *	argument: WORD | duration                       as --duration
 *	argument: WORD | command                        the arguments are a command to run (as with
 *                                                      -c)
 *	have: WORD PROVIDER:NAME:NAME                   HAVE_WORD is defined if the kernel has this
 *                                                      tracepoint; without one of two names
 *                                                      (tracepoint:SYSTEM:EVENT:FIELD) if the event
 *                                                      has this field
 *	have: WORD kprobe:FUNCTION                      likewise, if kprobes can be put on this
 *                                                      function
 *	need: WORD ... | why not                        without any of these that the kernel has the
 *                                                      tool is refused
 *	hide: COLUMN ...                                columns that are hidden by default
 *	field: COLUMN | meaning
 *
 * Words behind `--` are a command to run, in every tool. A script says COMMAND_ONLY in the
 * condition of a probe that then counts only what the command and the processes that it starts do;
 * without a command that is 1.
 *
 * --duration, --json, --output and --help exist in every tool; their letters -d, -j and -o yield to
 * the tool's own.
 *
 * What was given is a macro of the script's preprocessor, too: OPT_NAME for --name (flags: 1;
 * numbers and filters as they are; names, files and other text as a string) and ARG_WORD, so that
 * #ifdef OPT_NAME chooses between whole probes. In the script
 *
 *	%{NAME}             is the text of an option (its long name) or argument (in lower case),
 *	                    "" if it was not given
 *	%{NAME PREFIX}      is a list of probes, each with PREFIX before it; <NAME> in the prefix as
 *	                    above
 *	%{floor NAME}       is the greatest of an option's rising numbers that is not above $v, else
 *                          0
 *	%{each} ... %{end}  is repeated for every event: within, %{event} is SYSTEM:EVENT, %{name}
 *                          the event's own name, %{format} a row's format for its fields and
 *                          %{fields} their values
 */
#ifndef PANTRACE_CMD_TOOLS_TOOLS_H
#define PANTRACE_CMD_TOOLS_TOOLS_H

#include "base/arena.h"
#include "base/options.h"
#include "base/vector.h"

struct embedded_tool {
	const char *name;
	const char *text; /* the script, NUL-terminated */
	size_t len;
};

extern const struct embedded_tool embedded_tools[]; /* ends with name NULL */
const struct embedded_tool *tool_find(const char *name);

enum tool_effect {
	TOOL_GETOPT,
	TOOL_SHOW,
	TOOL_MATCH,
	TOOL_LIMIT,
	TOOL_HEATMAP,
	TOOL_COMMAND,
	TOOL_TEXT,
	TOOL_NAME,
	TOOL_NUMBERS,
	TOOL_NUMBER,
	TOOL_FILTER,
	TOOL_PROBES,
	TOOL_EVENTS,
	TOOL_SECONDS,
	TOOL_COUNT,
	TOOL_DURATION,
	TOOL_DEVICE,
	TOOL_GLOB,
	TOOL_LIST,
	TOOL_FORMAT,
	TOOL_PID,
	TOOL_THREAD,
	TOOL_EVENT,
	TOOL_FIELD,
};

struct tool_option {
	char short_name;
	const char *long_name, *value, *help;
	enum tool_effect effect;
	const char *column; /* or the default */
	u64 least; /* of a number */
	bool is_optional; /* arguments */
};

struct tool_field {
	const char *name, *meaning;
};

struct tool_spec {
	const char *name, *summary, *usage, *what;
	VECTOR(struct tool_field) examples; /* name = the command's words */
	VECTOR(struct tool_option) options;
	VECTOR(struct tool_field) fields;
	VECTOR(const char *) hidden;
	VECTOR(struct tool_option) arguments; /* long_name: the word in lower case */
	VECTOR(struct tool_field) haves; /* name = the word, meaning = the tracepoint */
	struct tool_field need; /* name = words of haves, meaning = why not; NULL */
};

/*
 * What the user gave: the value of every option and argument in the order of the declaration; "" =
 * a flag that is set, NULL = not given.
 */
struct tool_given {
	const char *options[32], *arguments[8];
	bool has_command;
};

/*
 * Reads the declaration at the head of a tool's text; strings live in the arena. 0, or -EINVAL if
 * it is malformed.
 */
int tool_parse(struct arena *a, const char *text, struct tool_spec *ret);
void tool_spec_release(struct tool_spec *spec);

/* An option or argument by its long name, and what was given for it (NULL = nothing). */
const struct tool_option *tool_find_option(const struct tool_spec *spec,
					   const struct tool_given *given, const char *name,
					   const char **ret_value);
/* Does the kernel have what the tool needs? 0, or the exit code after a message on stderr. */
int tool_check_need(struct arena *a, const struct tool_spec *spec);
/*
 * Checks what was given (already in the form that the script takes) against the kernel. 0, or an
 * exit code after one message on stderr (cmd/tools/check.c).
 */
int tool_check(const struct tool_spec *spec, const struct tool_given *given);
/*
 * The script with the macros before it and everything in %{} replaced (cmd/tools/text.c). NULL
 * after a message on stderr.
 */
const char *tool_text(struct arena *a, const struct tool_spec *spec, const struct tool_given *given,
		      const char *text);
/* "Tracing block I/O. Ctrl-C to end." */
const char *tool_announcement(struct arena *a, const struct tool_spec *spec,
			      const struct tool_given *given, const char *command, u64 duration_ns);
/*
 * Prints the names of the tracepoints ("SYSTEM:EVENT,..." with wildcards; NULL = all) or their
 * formats. Returns the exit code.
 */
int tool_list_events(struct arena *a, const struct tool_spec *spec, const char *list,
		     bool with_format);
/*
 * A condition (lang/predicate/) on the event that one of the arguments names, as an expression of
 * the language (cmd/tools/filter.c). 0 or -errno with a diagnostic.
 */
struct diag;
struct kernel;
struct strbuf;
int tool_filter(const struct tool_spec *spec, const struct tool_given *given, struct kernel *kernel,
		const char *text, struct diag *d, struct strbuf *out);

/* `pantrace NAME ARGS...` or a link named NAME. Returns the exit code. */
int cmd_tool(const struct embedded_tool *tool, int argc, char **argv);

#endif
