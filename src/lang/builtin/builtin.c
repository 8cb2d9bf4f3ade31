/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/builtin/util.h"

/* In the order of the help. */
const struct builtin_family builtin_families[] = {
	{builtins_context, "The probe and its arguments"},
	{builtins_registers, "Registers and the context"},
	{builtins_process, "Processes and CPUs"},
	{builtins_time, "Time"},
	{builtins_string, "Text and memory"},
	{builtins_concat, "Joining text"},
	{builtins_path, "Paths"},
	{builtins_compare, "Comparing"},
	{builtins_symbol, "Symbols"},
	{builtins_kernel, "Functions of the kernel"},
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
	{0},
};

/* About 130 rows, asked a few dozen times per script: a scan is faster than building an index. */
const struct builtin *builtin_find(const char *name)
{
	static const char prefix[] = "__builtin_"; /* how upstream's own library calls them */

	if (str_starts(name, prefix))
		name += sizeof(prefix) - 1;
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		for (const struct builtin *b = f->rows; b->name; b++)
			if (str_eq(b->name, name))
				return b;
	return NULL;
}

const char *const *builtin_names(size_t *ret_count)
{
	static const char *names[512];
	static size_t count;

	if (!count)
		for (const struct builtin_family *f = builtin_families; f->rows; f++)
			for (const struct builtin *b = f->rows;
			     b->name && count < ARRAY_SIZE(names); b++)
				names[count++] = b->name;
	*ret_count = count;
	return names;
}
