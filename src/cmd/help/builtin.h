/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_HELP_BUILTIN_H
#define PANTRACE_CMD_HELP_BUILTIN_H

#include <stdbool.h>
#include <stdio.h>

/* Prints what a function or variable of the language is; false if there is none of this name. */
bool help_builtin(const char *name);
/* All of them as Markdown. */
void help_reference(void);
void help_examples(void);
/* All of them, a line each: the name and the first sentence. */
void help_families(FILE *out);
/* Calls fn for each name. */
void help_each_builtin(void (*fn)(void *arg, const char *name, const char *doc), void *arg);

#endif
