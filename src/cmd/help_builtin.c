/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rows of the language's builtins say of themselves: on the terminal, and as Markdown for doc/language.md. */
#include "cmd/help_builtin.h"

#include "base/base.h"
#include "base/diag.h"
#include "lang/builtin_examples.h"
#include "lang/builtin_util.h"

static const struct family {
	const struct builtin *rows;
	const char *title;
} families[] = {
	{builtins_context, "The probe and its arguments"},
	{builtins_process, "Processes and CPUs"},
	{builtins_time, "Time"},
	{builtins_string, "Text and memory"},
	{builtins_path, "Paths"},
	{builtins_compare, "Comparing"},
	{builtins_symbol, "Symbols"},
	{builtins_stack, "Stacks"},
	{builtins_net, "Network"},
	{builtins_output, "Output"},
	{builtins_row, "Rows and tables"},
	{builtins_abort, "Failing"},
	{builtins_aggregate, "Aggregations"},
	{builtins_statistics, "Aggregations beyond bpftrace's"},
	{builtins_tseries, "Time series"},
	{builtins_map, "Maps"},
	{builtins_present, "Showing maps"},
	{builtins_speculate, "Speculation"},
	{builtins_type, "Types"},
	{builtins_misc, "Others"},
	{builtins_config, "Settings and options"},
};

static bool is_listed(const struct builtin *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i].rows == table)
			return true;
	return false;
}

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

static void print_row(const struct builtin *b)
{
	const char *example = builtin_example(b->name);

	if (is_hidden(b))
		return;
	printf("#### `%s`\n\n`%s`\n\n%s", b->name, b->signature, b->doc);
	if (*b->kernel)
		printf(" Linux %s and later.", b->kernel);
	if (b->flags & BUILTIN_UNSAFE)
		printf(" Needs `--unsafe`.");
	printf("\n\n");
	if (example)
		printf("```\n%s\n```\n\n", example);
}

static void print_family(const struct builtin *rows, const char *title)
{
	printf("### %s\n\n", title);
	for (const struct builtin *b = rows; b->name; b++)
		print_row(b);
}

void help_reference(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		print_family(families[i].rows, families[i].title);
	for (const struct builtin *const *table = builtin_tables; *table; table++)
		if (!is_listed(*table) && (*table)->name)
			print_family(*table, (*table)->name);
}

/* "name<TAB>script", for the tests. */
void help_examples(void)
{
	for (const struct builtin *const *table = builtin_tables; *table; table++)
		for (const struct builtin *b = *table; b->name; b++)
			if (!is_hidden(b))
				printf("%s\t%s\n", b->name,
				       builtin_example(b->name) ? builtin_example(b->name) : "");
}

/* "did you mean", or nothing. */
const char *help_nearest_builtin(const char *word)
{
	unsigned int best_distance = 3;
	const char *best = NULL;
	const char *const *names;
	size_t n;

	names = builtin_names(&n);
	for (size_t i = 0; i < n; i++) {
		const unsigned int d = edit_distance(word, names[i], 2);

		if (d < best_distance && names[i][0] != '_') {
			best = names[i];
			best_distance = d;
		}
	}
	return best;
}
