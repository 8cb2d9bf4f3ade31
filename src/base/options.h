/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One option table per command: it drives the parser, --help, the man page's synopsis and the shell
 * completions.
 *
 *	static const struct option_spec options[] = {
 *		{'d', "duration", "SECONDS", "stop after this many seconds", OPTION_STRING,
 *		offsetof(struct my, duration)}, {'v', "verbose", NULL, "more detail", OPTION_COUNT,
 *		offsetof(struct my, verbose)}, {0},
 *	};
 *	static const struct command_spec spec = {.name = "opensnoop", .synopsis = "[options]
 *	[FILENAME]", .summary = "...",
 *						 .examples = "...", .options = options};
 *	int rc = options_parse(&spec, argc, argv, &my, &first_argument);
 *	if (rc != OPTIONS_GO_ON) return rc;	// help was shown (0) or usage error (EXIT_USAGE)
 *
 * Short options may be bundled (-hs), values may be attached (-d5, --duration=5) or follow. `--`
 * ends the options. The order of options and arguments is free unless stop_at_argument.
 */
#ifndef PANTRACE_BASE_OPTIONS_H
#define PANTRACE_BASE_OPTIONS_H

#include <stdio.h>
#include <sys/types.h>

#include "base/base.h"

enum option_kind {
	OPTION_FLAG, /* bool = true */
	OPTION_COUNT, /* int += 1 */
	OPTION_PRESENT, /* const char * = "" (a flag among values) */
	OPTION_STRING, /* const char * */
	OPTION_U64, /* u64, decimal or 0x */
	OPTION_DOUBLE, /* double >= 0 */
	OPTION_POSITIVE, /* u64 above 0 */
	OPTION_SECONDS, /* u64: nanoseconds, from a millisecond on */
	OPTION_SIZE, /* u64 above 0: bytes, 64K, 2M, 1G */
	OPTION_PID, /* pid_t of a process or thread, which need not exist */
	OPTION_PIDS, /* struct pid_list: may be repeated */
	OPTION_LIST, /* struct string_list: may be repeated */
	/*
	 * struct option_words: may be repeated; options that share the list keep their order on the
	 * command line
	 */
	OPTION_WORDS,
	OPTION_OPTIONAL, /* const char *: value only when attached ("-O3", "--opt=3"), else "" */
	OPTION_HEADING, /* not an option: help is a heading in --help */
	OPTION_IGNORED, /* accepted for compatibility; takes no value */
	OPTION_IGNORED_VALUE, /* accepted for compatibility; takes a value */
	/*
	 * an option of another program that this one lacks: help says why, or what to use instead
	 */
	OPTION_REFUSED,
};

struct string_list {
	const char **items;
	u32 count;
};

struct pid_list {
	pid_t *items;
	u32 count;
};

struct option_word {
	char option; /* its short name */
	const char *value;
};

struct option_words {
	struct option_word *items;
	u32 count;
};

struct option_spec {
	char short_name; /* 0 = none */
	const char *long_name; /* NULL = none */
	const char *value; /* name of the value in help; NULL = takes none */
	const char *help;
	enum option_kind kind;
	size_t offset; /* of the field in the caller's struct */
};

/* A column of what the command prints. */
struct option_field {
	const char *name, *meaning;
};

struct command_spec {
	const char *name; /* "opensnoop" */
	const char *synopsis; /* "[options] [FILENAME]" */
	const char *summary; /* one line */
	const char *examples; /* lines "command   # what it does", shown first in --help */
	const char *details; /* further paragraphs or NULL */
	/* columns of its output, shown last; ends with name NULL; may be NULL */
	const struct option_field *fields;
	/* ends with an empty row; -h/--help is always there unless 'h' is a row */
	const struct option_spec *options;
	/* for tracers that take `-- COMMAND`: help text for it, as COMMAND_TRACED; else NULL */
	const char *command;
	bool fits_terminal; /* rows of its output are cut at the terminal's width */
	bool takes_no_argument;
	bool stop_at_argument; /* everything after the first argument is the argument list */
};

#define COMMAND_TRACED "run this command and trace it, with what it starts, until it ends"
#define COMMAND_BESIDE "run this command, and trace everything until it ends"

#define OPTIONS_GO_ON (-1)

extern const struct option_spec options_none[];

/*
 * Fills in *values. Returns OPTIONS_GO_ON, or the exit code to end with (help printed on stdout: 0;
 * a usage error printed on stderr with the nearest option: EXIT_USAGE). argv is permuted so that
 * arguments are argv[*ret_first ...].
 */
int options_parse(const struct command_spec *spec, int argc, char **argv, void *values,
		  int *ret_first);
/*
 * For a command that runs another, before options_parse(): cuts `-- COMMAND...` off the words and
 * stores it; NULL = there is none. OPTIONS_GO_ON, or the exit code of a usage error.
 */
int options_command(const struct command_spec *spec, int *argc, char **argv, char *const **ret);
/* Frees what the lists in *values hold (not their words, which are argv's). */
void options_release(const struct command_spec *spec, void *values);
void options_help(const struct command_spec *spec, FILE *out);
/*
 * What `--help-complete WORD...` prints, given the words after the command's name, the last of
 * them still being written: lines "word<TAB>help" that may stand in its place, and "@KIND<TAB>word"
 * for what only the caller knows: KIND is the word of the option table or the synopsis (PID, FILE,
 * TRACEPOINT), or ARGUMENTS for the words of a command behind "--".
 */
#define OPTIONS_KIND_MARK "@"
void options_complete(const struct command_spec *spec, int argc, char **argv, FILE *out);
/*
 * What `--help-man` and `--help-words` print: a manual page, and one "option<TAB>help" a line for
 * shell completion.
 */
void options_man(const struct command_spec *spec, FILE *out);
void options_man_exit_status(FILE *out); /* the section that all pages share */
void options_words(const struct command_spec *spec, FILE *out);
/*
 * Appends words of text, wrapped at the width of help. The text begins at column `at`; further
 * lines are indented by `indent`.
 */
void options_wrap(FILE *out, const char *text, unsigned int at, unsigned int indent);

/* One line of spec->examples. */
struct option_example {
	const char *command, *comment; /* not terminated */
	size_t command_len, comment_len;
};

/* Takes the next example from *at, which begins as spec->examples. False: no more. */
bool options_next_example(const char **at, struct option_example *ret);
/*
 * Prints "pantrace NAME: message" and "Try 'pantrace NAME --help'." on stderr; returns EXIT_USAGE.
 * spec NULL: not in a command; "Try 'pantrace help'."
 */
int options_usage_error(const struct command_spec *spec, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A number and nothing after it. 0 or -EINVAL/-ERANGE. */
int parse_u64(const char *s, u64 *ret);
int parse_double(const char *s, double *ret);
/*
 * Parses the value of an option of that kind into the type that the kind names. 0 or
 * -EINVAL/-ERANGE.
 */
int parse_value(enum option_kind kind, const char *s, void *ret);
/* What such an option takes, for error messages: "a number". */
const char *option_kind_takes(enum option_kind kind);

#endif
