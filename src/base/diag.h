/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Diagnostics: what a person must read. Composed where the knowledge is (place,
 * cause, next step), collected here, printed once by the command.
 *
 *	stdin:1:13-21: ERROR: Unknown function: 'prnitf'
 *	BEGIN { prnitf("x") }
 *	        ~~~~~~
 *	HINT: did you mean 'printf'?
 *
 * A diagnostic without a script (command line, kernel) has no place: span NO_SPAN.
 */
#ifndef PANTRACE_BASE_DIAG_H
#define PANTRACE_BASE_DIAG_H

#include <stdio.h>

#include "base/arena.h"
#include "base/vector.h"

/* Byte range [begin, end) of a source text; file is an index into diag.sources. */
struct span {
	u32 begin, end;
	u16 file;
};

#define NO_SPAN ((struct span){UINT32_MAX, UINT32_MAX, 0})

struct source {
	const char *name; /* "stdin", a path */
	const char *text; /* NUL-terminated */
	size_t len;
	bool is_expansion; /* the text as a macro's call got it: see diag_add_expansion() */
	u16 origin; /* if so: the file of the macro */
	struct span call;
};

enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_HINT };

struct diag_message {
	enum diag_level level;
	struct span span;
	char *text;
};

struct diag {
	struct arena arena;
	VECTOR(struct source) sources;
	VECTOR(struct diag_message) messages;
	unsigned int errors, warnings;
	bool no_warnings; /* warnings are dropped */
	/*
	 * The script is not the user's but belongs to a command ("opensnoop"). Messages begin with
	 * the command's name and show no place and no text. Errors that follow from the first one
	 * are left out, and each warning is printed once.
	 */
	const char *command;
	VECTOR(const char *) said; /* of a command: warnings */
	/* the first specific exit code that an error asked for; EXIT_OK if none */
	enum exit_code code;
};

#define DIAG_INIT               \
	{                       \
		.code = EXIT_OK \
	}

/* Registers a script; text must outlive the diag. Returns the file index for spans. */
u16 diag_add_source(struct diag *d, const char *name, const char *text, size_t len);

/*
 * A macro of `file` is called at `call`: returns the file index for the spans of the expanded text,
 * whose messages name the macro. If there are too many calls to tell apart, it is `file` itself.
 */
u16 diag_add_expansion(struct diag *d, u16 file, struct span call);
/*
 * Prints "expanded from" with an excerpt for every macro that the place comes from, innermost
 * first.
 */
void diag_print_expansions(const struct diag *d, enum diag_level level, struct span at, FILE *out,
			   bool colour);

void diag_error(struct diag *d, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_warning(struct diag *d, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* What to do next; belongs to the message before it. */
void diag_hint(struct diag *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The process should end with this code because of the last error (first caller wins). */
void diag_code(struct diag *d, enum exit_code code);

/* 1-based line and column (bytes) of an offset. */
void diag_place(const struct source *s, u32 offset, u32 *ret_line, u32 *ret_column);
/* Prints and forgets all messages. colour: highlight for a terminal. */
void diag_print(struct diag *d, FILE *out, bool colour);
/* The same on standard error, with colours if it is a terminal that has them. */
void diag_tell(struct diag *d);
/* Is fd a terminal that shows colours, without NO_COLOR? */
bool terminal_is_coloured(int fd);
/*
 * Ends a command: prints all messages and releases the diag. Returns the exit code of the errors if
 * there were any, else rc.
 */
int diag_close(struct diag *d, int rc);
/* "pantrace NAME: message" on standard error, at once; without a name "pantrace: message". */
void complain(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* EXIT_OK without errors, else the specific code, else EXIT_FAILED. */
enum exit_code diag_exit_code(const struct diag *d);
void diag_release(struct diag *d);

#endif
