/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that the engine fires itself, by running the program with BPF_PROG_TEST_RUN: begin, end,
 * self:signal, test, bench. A raw tracepoint program is the kind that the kernel test-runs in the
 * caller's own context (5.10), so pid, comm and the stacks are those of the tracer.
 */
#include <signal.h>
#include <strings.h>

#include "probe/provider.h"
#include "base/nearest.h"

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	*ret = (struct probe_context){
		.kind = CONTEXT_NONE,
		.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.space = SPACE_UNKNOWN,
		.layout_key = "special",
	};
	return 0;
}

static int expand_plain(struct probe_env *env, const struct probe_request *r,
			struct probe_targets *out, const struct probe_provider *p)
{
	const bool starred = r->count == 2 && str_eq(r->parts[1], "*");

	if (!starred && probe_check_parts(env, r, p, 0, 0))
		return -EINVAL;
	/* As written: scripts of the older spelling print BEGIN. */
	probe_add_target(env, out, p, r, arena_strdup(env->arena, r->parts[0]));
	return 0;
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},   {"SIGHUP", SIGHUP},
	{"SIGQUIT", SIGQUIT}, {"SIGWINCH", SIGWINCH},
};

static int expand_self(struct probe_env *env, const struct probe_request *r,
		       struct probe_targets *out, const struct probe_provider *p)
{
	const char *names[ARRAY_SIZE(signals)];
	bool any = false;

	if (probe_check_parts(env, r, p, 2, 2))
		return -EINVAL;
	if (!str_eq(r->parts[1], "signal")) {
		diag_error(env->diag, r->span, "%s is not a supported trigger", r->parts[1]);
		diag_hint(env->diag, "the form is %s", p->form);
		return -EINVAL;
	}
	for (u32 i = 0; i < ARRAY_SIZE(signals); i++) {
		names[i] = signals[i].name;
		if (!glob_match(r->parts[2], signals[i].name))
			continue;
		probe_add_target(env, out, p, r,
				 arena_printf(env->arena, "self:signal:%s", signals[i].name))
			->config = (u64)signals[i].number;
		any = true;
	}
	if (any)
		return 0;
	diag_error(env->diag, r->span, "%s is not a supported signal", r->parts[2]);
	diag_hint_nearest(env->diag, r->parts[2], names, ARRAY_SIZE(names));
	return -EINVAL;
}

static int expand_named(struct probe_env *env, const struct probe_request *r,
			struct probe_targets *out, const struct probe_provider *p)
{
	if (probe_check_parts(env, r, p, 1, 1))
		return -EINVAL;
	if (!*r->parts[1]) {
		diag_error(env->diag, r->span, "%s probes must have a name", p->name);
		return -EINVAL;
	}
	probe_add_target(env, out, p, r, arena_printf(env->arena, "%s:%s", p->name, r->parts[1]))
		->function = arena_strdup(env->arena, r->parts[1]);
	return 0;
}

static int each_plain(const struct probe_listing *l)
{
	return probe_offer(l, l->provider->name);
}

static int each_self(const struct probe_listing *l)
{
	for (u32 i = 0; i < ARRAY_SIZE(signals); i++) {
		char name[64];
		int err;

		snprintf(name, sizeof(name), "self:signal:%s", signals[i].name);
		err = probe_offer(l, name);
		if (err)
			return err;
	}
	return 0;
}

const struct probe_provider probe_begin = {
	.name = "begin",
	.form = "begin",
	.doc = "once, before anything else is attached",
	.type = "special",
	.runner = PROBE_AT_BEGIN,
	.runs_once = true,
	.is_recorded = true,
	.is_always_kept = true,
	.expand = expand_plain,
	.describe = describe,
	.each = each_plain,
};

const struct probe_provider probe_end = {
	.name = "end",
	.form = "end",
	.doc = "once, after everything else is detached",
	.type = "special",
	.runner = PROBE_AT_END,
	.runs_once = true,
	.is_recorded = true,
	.is_always_kept = true,
	.expand = expand_plain,
	.describe = describe,
	.each = each_plain,
};

const struct probe_provider probe_self = {
	.name = "self",
	.form = "self:signal:SIGUSR1",
	.doc = "when the tracer itself gets a signal",
	.type = "special",
	.runner = PROBE_BY_SIGNAL,
	.is_always_kept = true,
	.expand = expand_self,
	.describe = describe,
	.each = each_self,
};

const struct probe_provider probe_test = {
	.name = "test",
	.form = "test:NAME",
	.doc = "run by --test; what it returns is the verdict",
	.runner = PROBE_AS_TEST,
	.returns_value = true,
	.takes_any_name = true,
	.is_always_kept = true,
	.expand = expand_named,
	.describe = describe,
};

const struct probe_provider probe_bench = {
	.name = "bench",
	.form = "bench:NAME",
	.doc = "run by --bench; its cost is measured",
	.runner = PROBE_AS_BENCH,
	.returns_value = true,
	.takes_any_name = true,
	.is_always_kept = true,
	.expand = expand_named,
	.describe = describe,
};
