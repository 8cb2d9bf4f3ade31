/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of a script: defaults and the `config = { name = value; }` block. Environment variables
 * override both.
 */
#ifndef PANTRACE_LANG_SYNTAX_CONFIG_H
#define PANTRACE_LANG_SYNTAX_CONFIG_H

#include "lang/script.h"

void config_defaults(struct script_config *config);
/* Applies the script's config block. 0 or -EINVAL with diagnostics. */
int config_apply(struct diag *diag, const struct ast *ast, struct script_config *config);
/*
 * BPFTRACE_NAME and PANTRACE_NAME. 0, or -EINVAL with a diagnostic. Texts stay where the
 * environment has them.
 */
int config_apply_environment(struct diag *diag, struct script_config *config);
/* Limits that code generation relies on. 0 or -EINVAL. */
int config_check(struct diag *diag, const struct script_config *config);

/* One setting as the script reads it: config.NAME. */
struct config_field {
	const char *name, *text; /* text NULL: a number or bool */
	u64 number;
	bool is_bool;
};

/* The current settings, at most max; returns how many. */
u32 config_fields(const struct script_config *config, struct config_field *fields, u32 max);

#endif
