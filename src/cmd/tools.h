/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The single-purpose tools. A tool is one file, tools/NAME.bt: a comment that declares it, then the script. The
 * declaration is the option table: it drives the parser, --help, the manual page and the completions.
 *
 *	tool: NAME
 *	summary: one line
 *	usage: [options] [NAME]
 *	example: words | what they do
 *	option: -x --failed | help                      a flag; the script reads getopt("failed")
 *	option: -p --pid PID | help                     with a value: getopt("pid", 0)
 *	option: ... | help | show COLUMN                shows a column that is hidden otherwise
 *	option: ... | help | match COLUMN               the value is a regular expression for this column
 *	option: ... | help | limit COLUMN               the value bounds the words of an argument list
 *	argument: WORD | match COLUMN                   the first argument likewise
 *	argument: WORD | command                        the arguments are a command to run (as with -c)
 *	hide: COLUMN ...                                columns that are hidden by default
 *	field: COLUMN | meaning
 *
 * --duration, --json, --output and --help exist in every tool.
 */
#ifndef PANTRACE_CMD_TOOLS_H
#define PANTRACE_CMD_TOOLS_H

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

enum tool_effect { TOOL_GETOPT, TOOL_SHOW, TOOL_MATCH, TOOL_LIMIT, TOOL_COMMAND };

struct tool_option {
	char short_name;
	const char *long_name, *value, *help;
	enum tool_effect effect;
	const char *column;
};

struct tool_field {
	const char *name, *meaning;
};

struct tool_spec {
	const char *name, *summary, *usage;
	VECTOR(struct tool_field) examples; /* name = the command's words */
	VECTOR(struct tool_option) options;
	VECTOR(struct tool_field) fields;
	VECTOR(const char *) hidden;
	struct tool_option argument; /* long_name NULL = takes none */
};

/* Reads the declaration at the head of a tool's text; strings live in the arena. 0, or -EINVAL if it is malformed. */
int tool_parse(struct arena *a, const char *text, struct tool_spec *ret);
void tool_spec_release(struct tool_spec *spec);

/* `pantrace NAME ARGS...` or a link named NAME. Returns the exit code. */
int cmd_tool(const struct embedded_tool *tool, int argc, char **argv);

#endif
