/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/builtin/util.h"

const struct builtin *const builtin_tables[] = {
	builtins_process, builtins_context,   builtins_time,	  builtins_string,
	builtins_compare, builtins_symbol,    builtins_stack,	  builtins_net,
	builtins_output,  builtins_abort,     builtins_aggregate, builtins_map,
	builtins_type,	  builtins_misc,      builtins_tseries,	  builtins_statistics,
	builtins_present, builtins_speculate, builtins_row,	  builtins_path,
	builtins_config,  builtins_concat,    builtins_kernel,	  NULL,
};

/* About 130 rows, asked a few dozen times per script: a scan is faster than building an index. */
const struct builtin *builtin_find(const char *name)
{
	static const char prefix[] = "__builtin_"; /* how upstream's own library calls them */

	if (str_starts(name, prefix))
		name += sizeof(prefix) - 1;
	for (const struct builtin *const *table = builtin_tables; *table; table++)
		for (const struct builtin *b = *table; b->name; b++)
			if (str_eq(b->name, name))
				return b;
	return NULL;
}

const char *const *builtin_names(size_t *ret_count)
{
	static const char *names[512];
	static size_t count;

	if (!count)
		for (const struct builtin *const *table = builtin_tables; *table; table++)
			for (const struct builtin *b = *table; b->name && count < ARRAY_SIZE(names);
			     b++)
				names[count++] = b->name;
	*ret_count = count;
	return names;
}
