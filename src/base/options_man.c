/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option table as a manual page (man(7)) and as words for shell completion. */
#include "base/options.h"

#include <ctype.h>

/* Text with what troff would take for itself escaped. */
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

static void man_option(const struct option_spec *o, FILE *out)
{
	if (o->kind == OPTION_IGNORED || o->kind == OPTION_IGNORED_VALUE)
		return;
	if (o->kind == OPTION_HEADING) {
		fprintf(out, ".SS %s\n", o->help);
		return;
	}
	fputs(".TP\n", out);
	if (o->short_name)
		fprintf(out, "\\fB\\-%c\\fR%s", o->short_name, o->long_name ? ", " : "");
	if (o->long_name) {
		fputs("\\fB\\-\\-", out);
		troff(out, o->long_name);
		fputs("\\fR", out);
	}
	if (o->value)
		fprintf(out, " \\fI%s\\fR", o->value);
	fputc('\n', out);
	troff(out, o->help);
	fputc('\n', out);
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
	fprintf(out, "\n.SH SYNOPSIS\n\\fBpantrace %s\\fR ", spec->name);
	troff(out, spec->synopsis);
	if (spec->examples) {
		fputs("\n.SH EXAMPLES\n.nf\n", out);
		troff(out, spec->examples);
		fputs(".fi", out);
	}
	fputs("\n.SH OPTIONS\n", out);
	for (const struct option_spec *o = spec->options; o->help; o++)
		man_option(o, out);
	if (spec->details) {
		fputs(".SH DETAILS\n.nf\n", out);
		troff(out, spec->details);
		fputs(".fi\n", out);
	}
	fputs(".SH EXIT STATUS\n0 success, 1 failure, 2 usage, 3 finished but events were lost, 4 missing privilege, "
	      "5 the kernel lacks the feature.\n.SH SEE ALSO\npantrace(8)\n",
	      out);
}

void options_words(const struct command_spec *spec, FILE *out)
{
	for (const struct option_spec *o = spec->options; o->help; o++) {
		if (o->kind == OPTION_HEADING || o->kind == OPTION_IGNORED || o->kind == OPTION_IGNORED_VALUE)
			continue;
		if (o->short_name)
			fprintf(out, "-%c\t%s\n", o->short_name, o->help);
		if (o->long_name)
			fprintf(out, "--%s\t%s\n", o->long_name, o->help);
	}
	fputs("--help\tthis text\n", out);
}
