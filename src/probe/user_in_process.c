/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * user: probes that are compiled for the program itself (lib/vm.h) and never attached: those whose
 * bodies only count, and filters.
 */
#include "probe/user_event.h"

/* ---- counting probes: the engine hands them over ---- */

static int process_describe(struct probe_env *env, const struct probe_target *t,
			    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct user_event *event = t->private;
	const struct location *unused;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = SPACE_USER,
		.in_process = true,
	};
	if (use->arguments)
		ret->args = user_event_args(env, event, false, &unused);
	ret->layout_key = arena_printf(env->arena, "user-process/%" PRIx64, event->hash);
	return 0;
}

const struct probe_provider probe_user_process = {
	.name = "user-process",
	.form = "user:PROVIDER:EVENT",
	.doc = "events of programs that count them themselves",
	.runner = PROBE_IN_PROCESS,
	.has_fields = true,
	.is_user_event = true,
	.describe = process_describe,
};

static struct probe_target *change_provider(struct arena *arena, const struct probe_target *t,
					    const struct probe_provider *provider)
{
	const struct user_event *event = t->private;
	struct probe_target *ret;

	if (!provider || event->site.is_repeated)
		return NULL;
	ret = arena_new(arena, struct probe_target);
	*ret = *t;
	ret->provider = provider;
	return ret;
}

struct probe_target *probe_to_process(struct arena *arena, const struct probe_target *t)
{
	return change_provider(arena, t, t->provider->in_process);
}

struct probe_target *probe_to_filter(struct arena *arena, const struct probe_target *t)
{
	return change_provider(arena, t, t->provider->filter);
}

/* ---- filters ---- */

struct filter_arg {
	const char *provider, *name;
	struct user_event *found;
};

static int filter_find(void *arg, struct user_event *event)
{
	struct filter_arg *a = arg;

	if (!str_eq(a->provider, event->provider) || !str_eq(a->name, event->name))
		return 0;
	a->found = event;
	return 1;
}

static int filter_expand(struct probe_env *env, const struct probe_request *r,
			 struct probe_targets *out, const struct probe_provider *p)
{
	struct filter_arg a;
	struct probe_target *t;
	int err = 0;

	if (probe_check_parts(env, r, &probe_user_filter, 2, 2))
		return -EINVAL;
	a = (struct filter_arg){.provider = r->parts[1], .name = r->parts[2]};
	if (env->announced)
		a.found = (struct user_event *)env->announced;
	else
		err = user_event_each(env->arena, MAX(r->pid, 0), NULL, filter_find, &a, NULL);
	if (err < 0)
		return err;
	if (!a.found) {
		diag_error(env->diag, r->span, "No matches for user:%s:%s.", a.provider, a.name);
		return -ENOENT;
	}
	t = probe_add_target(env, out, &probe_user_filter, r, "user-filter");
	t->private = a.found;
	return 0;
}

static int filter_describe(struct probe_env *env, const struct probe_target *t,
			   const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct location *unused;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = SPACE_USER,
		.args = user_event_args(env, t->private, false, &unused),
		.in_process = true,
		.layout_key = "user-filter",
	};
	return 0;
}

const struct probe_provider probe_user_filter = {
	.name = "user-filter",
	.form = "user-filter:PROVIDER:EVENT",
	.doc = "predicates of `pantrace record --filter`, which run in the program",
	.runner = PROBE_AS_FILTER,
	.returns_value = true,
	.has_fields = true,
	.is_user_event = true,
	.expand = filter_expand,
	.describe = filter_describe,
};
