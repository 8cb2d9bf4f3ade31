/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The script's settings as a record: config.max_strlen. */
#include "lang/builtin_util.h"
#include "lang/check_internal.h"
#include "lang/config.h"

#define MAX_FIELDS 40

/* The call becomes a record of literals once; what follows sees only those. */
static void check_config(struct check *c, struct expr *call)
{
	struct arena *a = c->arena;
	struct config_field fields[MAX_FIELDS];
	const u32 n = config_fields(&c->script->config, fields, MAX_FIELDS);

	call->args = arena_new_array(a, struct expr *, n);
	call->names = arena_new_array(a, const char *, n);
	for (u32 i = 0; i < n; i++) {
		struct expr *e = call->args[i] = arena_new(a, struct expr);

		e->span = call->span;
		e->kind = fields[i].text      ? EXPR_STRING
			  : fields[i].is_bool ? EXPR_BOOL
					      : EXPR_INTEGER;
		e->integer = (s64)fields[i].number;
		if (fields[i].text) {
			e->string.data = arena_strdup(a, fields[i].text);
			e->string.len = (u32)strlen(fields[i].text);
		}
		call->names[i] = fields[i].name;
	}
	call->nargs = n;
	call->kind = EXPR_RECORD;
	check_expr(c, call);
}

static void lower_config(struct lower *l, struct expr *call, struct value *ret)
{
	lower_error(l, call->span, "config is a record of literals");
	*ret = (struct value){0};
}

const struct builtin builtins_config[] = {
	{"config", "record config",
	 "The script's settings: config.max_strlen, config.missing_probes ... Known when the "
	 "script is compiled.",
	 "", VARIABLE_OR_CALL, 0, 0, check_config, lower_config},
	{0},
};
