/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace run`, and running a script on behalf of other commands (the tools). */
#ifndef PANTRACE_CMD_RUN_RUN_H
#define PANTRACE_CMD_RUN_RUN_H

#include <sys/types.h>

#include "engine/run_config.h"

/* cmd/run/script.c: compiles and runs; prints every message itself. Returns the exit code. */
int run_script(const struct run_config *r);

/* argv[0] is the command's name; argc counts it. They return exit codes. */
int cmd_run(int argc, char **argv);
int cmd_run_compatible(int argc, char **argv); /* the command line of bpftrace */
/* A program that --aot made: runs its script with its own command line. */
struct aot;
int cmd_run_aot(const struct aot *s, int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);
/* The short text that `pantrace` alone shows. */
void help_short(FILE *out);

#endif
