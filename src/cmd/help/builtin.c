/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The documentation in the rows of the language's builtins: on the terminal, and as Markdown for
 * doc/language.md.
 */
#include "cmd/help/builtin.h"

#include "base/base.h"
#include "base/diag.h"
#include "base/options.h"
#include "lang/builtin/examples.h"
#include "lang/builtin/util.h"

static bool is_hidden(const struct builtin *b)
{
	return b->name[0] == '_';
}

static const char *kernel_of(const struct builtin *b)
{
	return *b->kernel ? b->kernel : "4.9";
}

bool help_builtin(const char *name)
{
	const struct builtin *b = builtin_find(name);
	const char *example;

	if (!b || is_hidden(b))
		return false;
	example = builtin_example(name);
	printf("%s\n\n%s\n\nLinux %s and later.%s\n", b->signature, b->doc, kernel_of(b),
	       b->flags & BUILTIN_UNSAFE ? " Needs --unsafe." : "");
	if (b->flags & BUILTIN_AGGREGATION)
		printf("Only as the value of a map: @m[key] = %s(...)\n", b->name);
	if (example)
		printf("\nExample:\n  pantrace -e '%s'\n", example);
	return true;
}

static void print_row(FILE *out, const struct builtin *b)
{
	const char *example = builtin_example(b->name);

	if (is_hidden(b))
		return;
	fprintf(out, "#### `%s`\n\n`%s`\n\n%s", b->name, b->signature, b->doc);
	if (*b->kernel)
		fprintf(out, " Linux %s and later.", b->kernel);
	if (b->flags & BUILTIN_UNSAFE)
		fprintf(out, " Needs `--unsafe`.");
	fprintf(out, "\n\n");
	if (example)
		fprintf(out, "```\n%s\n```\n\n", example);
}

static void print_family(FILE *out, const struct builtin *rows, const char *title)
{
	fprintf(out, "### %s\n\n", title);
	for (const struct builtin *b = rows; b->name; b++)
		print_row(out, b);
}

void help_reference(void)
{
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		print_family(stdout, f->rows, f->title);
}

/* arg1 follows arg0: one line covers all of them. */
static bool is_next_of(const struct builtin *before, const struct builtin *b)
{
	const size_t letters = strcspn(b->name, "0123456789");

	return b->name[letters] && strcspn(before->name, "0123456789") == letters &&
	       before->name[letters] && !strncmp(before->name, b->name, letters);
}

static void print_lines(FILE *out, const struct builtin *rows, const char *title)
{
	fprintf(out, "\n%s:\n", title);
	for (const struct builtin *b = rows; b->name; b++) {
		const char *end = strstr(b->doc, ". ");
		char *text;

		if (is_hidden(b) || (b > rows && is_next_of(b - 1, b)))
			continue;
		text = xstrndup(b->doc, end ? (size_t)(end + 1 - b->doc) : strlen(b->doc));
		fprintf(out, "  %-18s ", b->name);
		options_wrap(out, text, 21, 21);
		free(text);
	}
}

void help_families(FILE *out)
{
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		print_lines(out, f->rows, f->title);
}

void help_each_builtin(void (*fn)(void *arg, const char *name, const char *doc), void *arg)
{
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		for (const struct builtin *b = f->rows; b->name; b++)
			if (!is_hidden(b))
				fn(arg, b->name, b->doc);
}

/* "name<TAB>script", for the tests. */
void help_examples(void)
{
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		for (const struct builtin *b = f->rows; b->name; b++)
			if (!is_hidden(b))
				printf("%s\t%s\n", b->name,
				       builtin_example(b->name) ? builtin_example(b->name) : "");
}
