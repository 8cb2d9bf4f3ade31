/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a picture goes, and in which form: what the commands that draw have in common.
 *
 *	rc = picture_choose(&p);	// before anything is read
 *	rc = rc ?: picture_open(&p);
 *	... draws into a strbuf, by p.form, p.columns, p.colours ...
 *	rc = picture_write(&p, &out);
 */
#ifndef PANTRACE_VIEW_PAGE_PICTURE_H
#define PANTRACE_VIEW_PAGE_PICTURE_H

#include "base/new_file.h"
#include "base/options.h"
#include "view/terminal/colour.h"

struct picture_arguments {
	const char *output, *title;
	bool svg, text, json;
};

/* Rows of an option table; AT: where the struct above lies in the values of the options. */
/* clang-format off */
#define PICTURE_OPTIONS(AT, NAME)                                                                  \
	{'o', "output", "FILE",                                                                    \
	 "write it here: .svg is SVG, .txt text, anything else a page; '-' is standard output "    \
	 "(default: " NAME ".html); an older one of that name is replaced",                        \
	 OPTION_STRING, (AT) + offsetof(struct picture_arguments, output)},                        \
	{0, "svg", NULL, "SVG, for documents", OPTION_FLAG,                                        \
	 (AT) + offsetof(struct picture_arguments, svg)},                                          \
	{0, "text", NULL, "for the terminal, on standard output", OPTION_FLAG,                     \
	 (AT) + offsetof(struct picture_arguments, text)},                                         \
	{0, "title", "TEXT", "over the picture", OPTION_STRING,                                    \
	 (AT) + offsetof(struct picture_arguments, title)}
/* Of pictures whose numbers are written, too. */
#define PICTURE_JSON_OPTION(AT, WHAT)                                                              \
	{0, "json", NULL, WHAT " as JSON lines, on standard output", OPTION_FLAG,                  \
	 (AT) + offsetof(struct picture_arguments, json)}
/* clang-format on */

enum picture_form { PICTURE_PAGE, PICTURE_SVG, PICTURE_TEXT, PICTURE_JSON };

struct picture {
	const struct command_spec *spec; /* its name is the default of the file's */
	const struct picture_arguments *arguments;
	/* ---- what follows ---- */
	const char *path;
	enum picture_form form;
	u32 columns; /* of a terminal; 0 = it is none */
	enum colours colours;
	struct new_file file;
	char usual[32]; /* path, where nobody said */
};

/* 0, or EXIT_USAGE (said). */
int picture_choose(struct picture *p);
/* 0, or EXIT_FAILED (said). */
int picture_open(struct picture *p);
/* Instead of picture_write(): nothing is left of the file. */
void picture_drop(struct picture *p);
/* Writes and closes. EXIT_OK, also where the reader has left, or EXIT_FAILED (said). */
int picture_write(struct picture *p, const struct strbuf *out);

#endif
