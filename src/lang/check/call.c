/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and bare builtins: which row, how many arguments, where it may stand. */
#include "lang/check/internal.h"
#include "lang/builtin/kernel_call.h"

static bool check_count(struct check *c, struct expr *call, const struct builtin *b)
{
	const u32 n = call->nargs, limit = n < b->min_args ? b->min_args : b->max_args;
	const char *how = b->min_args == b->max_args ? "requires"
			  : n < b->min_args	     ? "requires at least"
						     : "takes up to";

	if (n >= b->min_args && (n <= b->max_args || b->max_args == 255))
		return true;
	if (limit < 2)
		check_error(c, call->span, "%s() %s %s (%u provided)", b->name, how,
			    limit ? "one argument" : "no arguments", n);
	else
		check_error(c, call->span, "%s() %s %u arguments (%u provided)", b->name, how,
			    limit, n);
	check_hint(c, "%s", b->signature);
	return false;
}

static void check_unknown_function(struct check *c, struct expr *call)
{
	const struct ast *ast = &c->script->ast;
	VECTOR(const char *) names = {0};
	const char *const *builtins;
	size_t n;

	check_error(c, call->span, "Unknown function: '%s'", call->name);
	/* The names of the script's macros and functions, and of the builtins. */
	for (u32 i = 0; i < ast->nmacros; i++)
		vector_push(&names, ast->macros[i].name);
	builtins = builtin_names(&n);
	for (size_t i = 0; i < n; i++)
		vector_push(&names, builtins[i]);
	check_hint_nearest(c, call->name, names.items, names.len);
	vector_free(&names);
	for (u32 i = 0; i < call->nargs; i++)
		check_expr(c, call->args[i]);
}

static void note_use(struct unit *u, const char *name)
{
	if (str_eq(name, "probe"))
		u->uses_probe = true;
	else if (str_eq(name, "func"))
		u->uses_function = true;
	else if (str_eq(name, "kstack") || str_eq(name, "ustack"))
		u->uses_stack = true;
	else if (str_eq(name, "args"))
		u->uses_args = true;
}

/* What a recording does not hold is refused, as it would be invented. */
static void check_recorded(struct check *c, const struct expr *e, const struct builtin *b)
{
	const bool is_live = c->options->env->recorded->is_live;

	if (b->flags & BUILTIN_LIVE || (b->flags & BUILTIN_MACHINE && !is_live)) {
		check_error(c, e->span, "%s: a recording does not hold this", b->name);
		check_hint(c, "it holds the fields of its events (args), pid, tid, comm, cpu, "
			      "stacks if they were taken, and the times");
	} else if (is_live && str_eq(b->name, "ustack")) {
		check_error(c, e->span, "ustack: a trace buffer does not hold stacks of programs");
		check_hint(c, "its events have the kernel's: kstack; `pantrace record -g` takes "
			      "those of programs, which a script reads with --from");
	} else if (b->flags & BUILTIN_OF_THREAD && c->unit->context.kind != CONTEXT_TRACEPOINT &&
		   c->unit->context.kind != CONTEXT_REGISTERS) {
		check_error(c, e->span, "%s: over a recording, %s has no thread and no CPU",
			    b->name, unit_provider(c->unit)->name);
	}
}

void check_call(struct check *c, struct expr *e)
{
	const struct builtin *b = builtin_find(e->name);
	struct map_symbol *assign = c->assign_map;

	if (!b) {
		if (!kernel_call_check(c, e))
			check_unknown_function(c, e);
		return;
	}
	if (e->kind == EXPR_NAME && !(b->flags & BUILTIN_VARIABLE)) {
		check_error(c, e->span, "%s() is a function: it needs parentheses", b->name);
		return;
	}
	if (e->kind == EXPR_CALL && !(b->flags & BUILTIN_CALL) && e->nargs) {
		check_unknown_function(c, e);
		return;
	}
	e->builtin = b;
	note_use(c->unit, b->name);
	if ((b->flags & BUILTIN_UNSAFE) && !c->options->unsafe) {
		check_error(c, e->span,
			    b->flags & BUILTIN_LIBRARY
				    ? "%s() is unsafe. To use you need the --unsafe flag"
				    : "%s() is an unsafe function being used in safe mode",
			    b->name);
		check_hint(c, "--unsafe allows it");
	}
	if (c->options->recorded)
		check_recorded(c, e, b);
	if ((b->flags & BUILTIN_AGGREGATION) && !assign) {
		check_error(c, e->span, "%s() must be assigned directly to a map", b->name);
		return;
	}
	if (e->kind == EXPR_CALL && !check_count(c, e, b)) {
		return;
	}
	c->assign_map = NULL;
	if (!(b->flags & BUILTIN_RAW_ARGS))
		for (u32 i = 0; i < e->nargs; i++)
			check_expr(c, e->args[i]);
	c->assign_map = assign;
	b->check(c, e);
	if (!e->type)
		e->type = type_none();
}
