/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option table as a manual page (man(7)) and as words for shell completion. scripts/man.awk
 * takes single sections out of the page.
 */
#include "base/options_internal.h"

#include <ctype.h>

/* Appends text, escaped for troff. */
static void troff(FILE *out, const char *s)
{
	bool line_start = true;

	for (; *s; s++) {
		if (line_start && (*s == '.' || *s == '\''))
			fputs("\\&", out);
		if (*s == '\\')
			fputs("\\e", out);
		else if (*s == '-')
			fputs("\\-", out);
		else
			fputc(*s, out);
		line_start = *s == '\n';
	}
}

static void bold(FILE *out, const char *s)
{
	fputs("\\fB", out);
	troff(out, s);
	fputs("\\fR", out);
}

static void man_option(const struct option_spec *o, FILE *out)
{
	char name[] = {'-', o->short_name, '\0'};

	if (o->kind == OPTION_HEADING)
		fprintf(out, ".SS %s\n", o->help);
	if (!option_is_offered(o))
		return;
	fputs(".TP\n", out);
	if (o->short_name)
		bold(out, name);
	if (o->short_name && o->long_name)
		fputs(", ", out);
	if (o->long_name) {
		fputs("\\fB\\-\\-\\fR", out);
		bold(out, o->long_name);
	}
	if (o->value)
		fprintf(out, o->kind == OPTION_OPTIONAL ? "[=\\fI%s\\fR]" : " \\fI%s\\fR",
			o->value);
	fputc('\n', out);
	troff(out, o->help);
	fputc('\n', out);
}

static void man_options(const struct command_spec *spec, FILE *out)
{
	bool has_h = false;

	fputs(".SH OPTIONS\n", out);
	for (const struct option_spec *o = spec->options; o->help; o++) {
		man_option(o, out);
		has_h |= o->kind != OPTION_HEADING && o->short_name == 'h';
	}
	if (!has_h)
		fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\na short form of this text\n", out);
}

static void man_fields(const struct command_spec *spec, FILE *out)
{
	if (!spec->fields || !spec->fields->name)
		return;
	fputs(".SH FIELDS\n", out);
	for (const struct option_field *f = spec->fields; f->name; f++) {
		fputs(".TP\n", out);
		bold(out, f->name);
		fputc('\n', out);
		troff(out, f->meaning);
		fputc('\n', out);
	}
}

static void man_text(const char *heading, const char *text, FILE *out)
{
	if (!text)
		return;
	fprintf(out, ".SH %s\n.nf\n", heading);
	troff(out, text);
	fputs(*text && text[strlen(text) - 1] != '\n' ? "\n.fi\n" : ".fi\n", out);
}

static void man_examples(const char *text, FILE *out)
{
	struct option_example e;

	if (!text)
		return;
	fputs(".SH EXAMPLES\n", out);
	while (options_next_example(&text, &e)) {
		char *command = xstrndup(e.command, e.command_len);
		char *comment = xstrndup(e.comment, e.comment_len);

		fputs(".TP\n", out);
		bold(out, command);
		fputc('\n', out);
		troff(out, comment);
		fputc('\n', out);
		free(command);
		free(comment);
	}
}

void options_man_exit_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n0 success, 1 failure, 2 usage, 3 finished but events were lost, "
	      "4 missing privilege, 5 the kernel lacks the feature.\n",
	      out);
}

/* How tracers run: the same text for all of them. */
static void man_running(const struct command_spec *spec, FILE *out)
{
	if (!spec->command)
		return;
	fprintf(out,
		".SH RUNNING\nWhen tracing has begun, a line on standard error says what is traced "
		"(\"Tracing ... Ctrl\\-C to end.\"), if that is a terminal.\n"
		".PP\n\\fB\\-\\- COMMAND\\fR: %s. It starts when tracing has begun, so that "
		"nothing of it is missed.\n",
		spec->command);
	if (spec->fits_terminal)
		fputs(".PP\nOn a terminal, rows that are wider are cut at its edge, where > marks "
		      "it. In files and pipes rows are whole.\n",
		      out);
}

/* `-c COMMAND`, `-- COMMAND` */
static bool runs_commands(const struct command_spec *spec)
{
	for (const struct option_spec *o = spec->options; o->help; o++)
		if (o->long_name && str_eq(o->long_name, "cmd"))
			return true;
	return strstr(spec->synopsis, "COMMAND") != NULL;
}

void options_man(const struct command_spec *spec, FILE *out)
{
	fputs(".TH ", out);
	for (const char *p = spec->name; *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fputs(" 8 \"\" \"pantrace " PANTRACE_VERSION "\" \"pantrace\"\n.SH NAME\n", out);
	troff(out, spec->name);
	fputs(" \\- ", out);
	troff(out, spec->summary);
	fputs("\n.SH SYNOPSIS\n", out);
	bold(out, "pantrace");
	fputc(' ', out);
	bold(out, spec->name);
	fputc(' ', out);
	troff(out, spec->synopsis);
	fputc('\n', out);
	man_options(spec, out);
	man_examples(spec->examples, out);
	man_text("DETAILS", spec->details, out);
	man_fields(spec, out);
	man_running(spec, out);
	options_man_exit_status(out);
	if (runs_commands(spec))
		fputs("A traced command that ends by itself with another code than 0, or by a "
		      "signal, passes that on instead of 0 or 3.\n",
		      out);
	fputs(".SH SEE ALSO\n.BR pantrace (8)\n", out);
}

void options_words(const struct command_spec *spec, FILE *out)
{
	for (const struct option_spec *o = spec->options; o->help; o++) {
		if (!option_is_offered(o))
			continue;
		if (o->short_name)
			fprintf(out, "-%c\t%s\n", o->short_name, o->help);
		if (o->long_name)
			fprintf(out, "--%s\t%s\n", o->long_name, o->help);
	}
	fputs("--help\tthis text\n", out);
}
