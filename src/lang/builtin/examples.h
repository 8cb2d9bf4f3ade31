/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_LANG_BUILTIN_EXAMPLES_H
#define PANTRACE_LANG_BUILTIN_EXAMPLES_H

/* A whole script that uses the builtin; NULL if there is none. */
const char *builtin_example(const char *name);

#endif
