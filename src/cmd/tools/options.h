/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the words of a tool's command line do: values are checked, and become getopt() values of the
 * script or change the run.
 */
#ifndef PANTRACE_CMD_TOOLS_OPTIONS_H
#define PANTRACE_CMD_TOOLS_OPTIONS_H

#include "cmd/run/run.h"
#include "cmd/tools/tools.h"
#include "view/heatmap.h"

struct tool_heatmap {
	const char *path;
	int fd; /* 0 = none is asked for */
	enum heatmap_format format;
};

/* What is being run. */
struct tool_run {
	const struct command_spec *command;
	struct arena *arena;
	struct run_config *request;
	const char **words; /* getopt() values */
	const char *script;
	const char *title; /* the command line */
	struct tool_heatmap *heatmap;
};

/* Applies options that were given and those with a default. 0 or an exit code, after a message. */
int tool_apply_options(const struct tool_run *t, const struct tool_spec *spec,
		       struct tool_given *given);
/* Applies the arguments from argv[first] on. */
int tool_apply_arguments(const struct tool_run *t, const struct tool_spec *spec, int argc,
			 char **argv, int first, struct tool_given *given);
/* Writes the picture that an option asked for; returns rc, or a failure of its own. */
int tool_close_heatmap(const struct tool_run *t, int rc);

#endif
