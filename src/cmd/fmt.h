/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace fmt`: scripts laid out anew, and --fmt of bpftrace's command line. */
#ifndef PANTRACE_CMD_FMT_H
#define PANTRACE_CMD_FMT_H

/* argv[0] is the command's name; returns the exit code. */
int cmd_fmt(int argc, char **argv);
/*
 * --fmt: program, or file if that is NULL ("-": standard input), to output or standard output.
 * Returns the exit code.
 */
int fmt_compatible(const char *program, const char *file, const char *output);

#endif
