/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Macros that exist without a #define: those by which a C compiler describes its target machine,
 * and the few function-like macros of system headers that scripts use without the headers.
 */
#ifndef PANTRACE_LANG_SYNTAX_PREDEFINED_H
#define PANTRACE_LANG_SYNTAX_PREDEFINED_H

struct predefined_macro {
	const char *name; /* with "(parameters)" if it is function-like */
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
