/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of a definition at one place, as the kernel fetches them. */
#include "probe/definition/internal.h"

/* As people may write it for ftrace, too: args.c. */
static int fetch_raw(struct translator *t, const struct point_definition *def,
		     const struct place *place, const struct point_argument *a,
		     struct tracefs_command *c)
{
	const struct definition_word word = {.text = a->text, .at = a->at};
	struct argument_place at = {.diag = t->diag,
				    .is_user = t->is_user,
				    .is_return = def->point.is_return,
				    .at_entry = place->at_entry,
				    .file = t->file};

	if (t->is_user && elf_file_offset(t->file, place->address, &at.offset))
		return -EINVAL;
	return definition_argument(&at, &word, c);
}

int fetch_arguments(struct translator *t, const struct point_definition *def,
		    const struct place *place, struct translated_place *ret)
{
	int err = 0;

	for (size_t i = 0; i < def->arguments.len && !err; i++) {
		const struct point_argument *a = &def->arguments.items[i];

		if (a->kind == VALUE_RAW) {
			err = fetch_raw(t, def, place, a, &ret->command);
		} else {
			diag_error(t->diag, a->at, "variables need debug information");
			err = -EOPNOTSUPP;
		}
	}
	return err;
}
