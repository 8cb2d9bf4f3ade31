/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The privileges that a script still needs when everything is attached. */
#include "engine/in_process_maps.h"
#include "engine/engine.h"

#include "kernel/symbols/ksyms.h"
#include "kernel/sandbox/sandbox.h"

#define KIND(k) (1ULL << TYPE_##k)

static bool has_action(const struct script *s, enum action_kind kind)
{
	for (size_t i = 0; i < s->actions.len; i++)
		if (s->actions.items[i].kind == kind)
			return true;
	return false;
}

/*
 * Commands of system() are the user's own, with the user's privileges; programs that start later
 * are attached to as others were.
 */
static bool needs_all(struct engine *e)
{
	return has_action(e->script, ACTION_SYSTEM) || e->aggregates || probe_later_fd(e->env) >= 0;
}

void engine_read_kernel_names(struct engine *e)
{
	struct kernel_symbol symbol;

	if (!e->options->keep_privileges && engine_prints(e, KIND(KSTACK) | KIND(KSYM)))
		kernel_symbol_at(e->env->kernel, 0, &symbol);
}

void engine_drop_privileges(struct engine *e)
{
	const struct script *s = e->script;
	u32 needs = 0;
	int err;

	if (e->options->keep_privileges || needs_all(e))
		return;
	if (engine_prints(e, KIND(USTACK) | KIND(USYM) | KIND(CGROUP_PATH)) ||
	    has_action(s, ACTION_CAT))
		needs |= SANDBOX_USER_FILES;
	if (e->env->recorded) /* live: --engine user */
		needs |= SANDBOX_TRACEFS;
	if (e->child)
		needs |= SANDBOX_CHILD;
	if (has_action(s, ACTION_SKBOUTPUT) || e->options->reporter)
		needs |= SANDBOX_WRITES;
	err = sandbox_enter(needs);
	if (err && e->options->verbose)
		diag_warning(
			e->env->diag, NO_SPAN,
			"privileges that are not needed any more could not all be given up: %s",
			strerror(-err));
}
