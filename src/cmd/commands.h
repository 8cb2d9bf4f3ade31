/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of commands; it stands in main.c. */
#ifndef PANTRACE_CMD_COMMANDS_H
#define PANTRACE_CMD_COMMANDS_H

struct command {
	const char *name, *summary; /* summary NULL: not for people */
	/* argv[0] is the command's name; returns the exit code */
	int (*run)(int argc, char **argv);
};

extern const struct command commands[]; /* ends with name NULL */

/* What may stand at the end of a command line, for the shells (cmd/complete/). */
int cmd_complete(int argc, char **argv);

#endif
