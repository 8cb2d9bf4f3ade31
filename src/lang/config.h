/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of a script: defaults and the `config = { name = value; }` block. The environment is cmd/settings.c's. */
#ifndef PANTRACE_LANG_CONFIG_H
#define PANTRACE_LANG_CONFIG_H

#include "lang/script.h"

void config_defaults(struct script_config *config);
/* Applies the script's config block. 0 or -EINVAL with diagnostics. */
int config_apply(struct diag *diag, const struct ast *ast, struct script_config *config);
/* Limits that code generation relies on. 0 or -EINVAL. */
int config_check(struct diag *diag, const struct script_config *config);

#endif
