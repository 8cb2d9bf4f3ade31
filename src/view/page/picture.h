/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a picture is written, and in which form: common to all commands that draw.
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

/* Rows of an option table; AT: offset of the struct above in the options' values. */
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
/* For pictures whose numbers can be printed, too. */
#define PICTURE_JSON_OPTION(AT, WHAT)                                                              \
	{0, "json", NULL, WHAT " as JSON lines, on standard output", OPTION_FLAG,                  \
	 (AT) + offsetof(struct picture_arguments, json)}
/* clang-format on */

enum picture_form { PICTURE_PAGE, PICTURE_SVG, PICTURE_TEXT, PICTURE_JSON };

struct picture {
	const struct command_spec *spec; /* its name is the default file name */
	const struct picture_arguments *arguments;
	/* ---- what follows ---- */
	const char *path;
	enum picture_form form;
	u32 columns; /* of the terminal; 0 = not a terminal */
	enum colours colours;
	struct new_file file;
	char usual[32]; /* the default path */
};

/* 0, or EXIT_USAGE after printing why. */
int picture_choose(struct picture *p);
/* 0, or EXIT_FAILED after printing why. */
int picture_open(struct picture *p);
/* Instead of picture_write(): leaves no file. */
void picture_drop(struct picture *p);
/* Writes and closes. EXIT_OK (even if the reader has left), or EXIT_FAILED after printing why. */
int picture_write(struct picture *p, const struct strbuf *out);

#endif
