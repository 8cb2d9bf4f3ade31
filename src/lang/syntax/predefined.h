/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Macros that are there without a #define: those with which a C compiler describes the machine that
 * it makes code for, and the few of system headers that take arguments and that scripts use without
 * the headers.
 */
#ifndef PANTRACE_LANG_SYNTAX_PREDEFINED_H
#define PANTRACE_LANG_SYNTAX_PREDEFINED_H

struct predefined_macro {
	const char *name; /* with "(parameters)", if it has some */
	const char *text;
};

/* Ends with a row whose name is NULL. */
extern const struct predefined_macro predefined_macros[];
/*
 * What the compiler's own headers (stddef.h, stdarg.h ...) define, which no package of headers has;
 * NULL if it is none of them.
 */
const char *predefined_header(const char *name);

#endif
