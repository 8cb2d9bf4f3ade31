/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --help from the option table: examples first, one layout for all commands, as wide as the
 * terminal.
 */
#include "base/options_internal.h"

#include <ctype.h>
#include <sys/ioctl.h>

#include "base/strbuf.h"

enum {
	NARROWEST = 60,
	WIDEST = 100, /* longer lines are hard to read; also the width without a terminal */
	OPTION_COLUMN = 30, /* column of an option's text */
	EXAMPLE_MAX = 60, /* comments begin at most at this column */
};

static unsigned int help_width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col || size.ws_col > WIDEST)
		return WIDEST;
	return size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

/*
 * Appends words from column `at` on, and ends the line. Further lines begin with `indent` spaces
 * and the prefix. A word that is longer than a line gets a line of its own.
 */
static void wrap(FILE *out, const char *text, size_t len, size_t at, size_t indent,
		 const char *prefix)
{
	const unsigned int width = help_width(out);
	const char *end = text + len;
	bool is_first = true;

	while (text < end) {
		const size_t word = strcspn(text, " \n") < (size_t)(end - text)
					    ? strcspn(text, " \n")
					    : (size_t)(end - text);

		if (!is_first && at + 1 + word > width) {
			fprintf(out, "\n%*s%s", (int)indent, "", prefix);
			at = indent + strlen(prefix);
			is_first = true;
		}
		at += (size_t)fprintf(out, "%s%.*s", is_first ? "" : " ", (int)word, text);
		is_first = false;
		text += word;
		while (text < end && (*text == ' ' || *text == '\n'))
			text++;
	}
	fputc('\n', out);
}

void options_wrap(FILE *out, const char *text, unsigned int at, unsigned int indent)
{
	wrap(out, text, strlen(text), at, indent, "");
}

/* "command   # what it does"; text after more than one blank is also a comment. */
bool options_next_example(const char **at, struct option_example *ret)
{
	const char *line = *at + strspn(*at, " \n");
	const size_t len = strcspn(line, "\n");
	const char *end = line + len, *split = line;

	if (!len)
		return false;
	while (split < end && !(split[0] == ' ' && (split[1] == ' ' || split[1] == '#')))
		split++;
	*ret = (struct option_example){.command = line, .command_len = (size_t)(split - line)};
	while (split < end && (*split == ' ' || *split == '#'))
		split++;
	ret->comment = split;
	ret->comment_len = (size_t)(end - split);
	*at = *end ? end + 1 : end;
	return true;
}

static void help_examples(const char *text, FILE *out)
{
	struct option_example e;
	const char *at = text;
	size_t column = 0;

	while (options_next_example(&at, &e))
		if (e.command_len > column && e.command_len <= EXAMPLE_MAX)
			column = e.command_len;
	column += 4;
	fputs("\nExamples:\n", out);
	for (at = text; options_next_example(&at, &e);) {
		fprintf(out, "  %.*s", (int)e.command_len, e.command);
		if (!e.comment_len) {
			fputc('\n', out);
			continue;
		}
		if (e.command_len + 4 > column)
			fprintf(out, "\n%*s# ", (int)column, "");
		else
			fprintf(out, "%*s# ", (int)(column - e.command_len - 2), "");
		wrap(out, e.comment, e.comment_len, column + 2, column, "# ");
	}
}

/* name: the left column, with its two leading blanks. */
static void help_row(const char *name, const char *help, FILE *out)
{
	fprintf(out, "%-*s", OPTION_COLUMN, name);
	if (strlen(name) >= OPTION_COLUMN)
		fprintf(out, "\n%*s", OPTION_COLUMN, "");
	wrap(out, help, strlen(help), OPTION_COLUMN, OPTION_COLUMN, "");
}

static void help_option(const struct option_spec *o, FILE *out)
{
	struct strbuf sb = STRBUF_INIT;

	if (o->kind == OPTION_HEADING)
		fprintf(out, "\n%s:\n", o->help);
	if (!option_is_offered(o))
		return;
	strbuf_addf(&sb, "  %s%c%s", o->short_name ? "-" : " ", o->short_name ? o->short_name : ' ',
		    o->short_name && o->long_name ? ", "
		    : o->long_name		  ? "  "
						  : "");
	if (o->long_name)
		strbuf_addf(&sb, "--%s", o->long_name);
	if (o->value)
		strbuf_addf(&sb, o->kind == OPTION_OPTIONAL ? "[=%s]" : " %s", o->value);
	help_row(sb.data, o->help, out);
	strbuf_release(&sb);
}

static void help_options(const struct command_spec *spec, FILE *out)
{
	bool has_h = false;

	if (spec->options[0].kind != OPTION_HEADING)
		fputs("\nOptions:\n", out);
	for (const struct option_spec *o = spec->options; o->help; o++) {
		has_h |= o->kind != OPTION_HEADING && o->short_name == 'h';
		help_option(o, out);
	}
	if (!has_h)
		help_option(&(struct option_spec){'h', "help", NULL, "this text", OPTION_FLAG, 0},
			    out);
	if (spec->command)
		help_row("      -- COMMAND", spec->command, out);
}

/* Each line of the text is a paragraph. */
static void help_details(const char *text, FILE *out)
{
	fputc('\n', out);
	while (*text) {
		const size_t len = strcspn(text, "\n");

		wrap(out, text, len, 0, 0, "");
		text += len + (text[len] == '\n');
	}
}

static void help_fields(const struct option_field *fields, FILE *out)
{
	size_t column = 0;

	for (const struct option_field *f = fields; f->name; f++)
		if (strlen(f->name) > column && strlen(f->name) <= 20)
			column = strlen(f->name);
	fputs("\nColumns:\n", out);
	for (const struct option_field *f = fields; f->name; f++) {
		fprintf(out, "  %-*s  ", (int)column, f->name);
		wrap(out, f->meaning, strlen(f->meaning),
		     4 + (strlen(f->name) > column ? strlen(f->name) : column), 4 + column, "");
	}
}

/* A line for each alternative of the synopsis (separated by "  |  "). */
static void help_usage(const struct command_spec *spec, FILE *out)
{
	const char *way = spec->synopsis, *next;

	for (bool is_first = true; way; way = next ? next + 5 : NULL, is_first = false) {
		const size_t at = (size_t)fprintf(out, "%s pantrace %s",
						  is_first ? "Usage:" : "      ", spec->name);

		next = strstr(way, "  |  ");
		if (*way)
			fputc(' ', out);
		wrap(out, way, next ? (size_t)(next - way) : strlen(way), at + 1, 9, "");
	}
}

/* Capitalised: some rows of tables begin with a small letter. */
static void help_summary(const char *text, FILE *out)
{
	const bool is_whole = text[strlen(text) - 1] == '.';
	char *sentence =
		xasprintf("%c%s%s", toupper((unsigned char)text[0]), text + 1, is_whole ? "" : ".");

	wrap(out, sentence, strlen(sentence), 0, 0, "");
	free(sentence);
}

void options_help(const struct command_spec *spec, FILE *out)
{
	help_summary(spec->summary, out);
	fputc('\n', out);
	help_usage(spec, out);
	if (spec->examples)
		help_examples(spec->examples, out);
	help_options(spec, out);
	if (spec->details)
		help_details(spec->details, out);
	if (spec->fields && spec->fields->name)
		help_fields(spec->fields, out);
}
