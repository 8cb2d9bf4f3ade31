/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dynamic event of `pantrace hist -e`: "p:NAME PLACE ARGUMENT..." in ftrace's syntax
 * (probe/definition/definition.h). The kernel's triggers use the event itself; for BPF the
 * definition is translated into the script language, with an assignment for each argument.
 */
#ifndef PANTRACE_CMD_HIST_DEFINITION_H
#define PANTRACE_CMD_HIST_DEFINITION_H

#include "base/diag.h"
#include "types/type.h"

struct hist_definition {
	const char *text; /* the whole; a source of the diag once it is parsed */
	const char *name;
	bool is_user, is_return;
	const char *probe; /* "uprobe:/bin/bash:readline" */
	const char *assignments; /* "$size = reg("di"); ..." */
	const struct type *record; /* a member for each argument, for names, signs and strings */
};

/*
 * Parses it; with_language: also probe, assignments, record. 0 or -EINVAL with a diagnostic at the
 * place.
 */
int hist_definition_parse(struct arena *a, struct diag *d, struct type_store *types,
			  const char *text, bool with_language, struct hist_definition *ret);

#endif
