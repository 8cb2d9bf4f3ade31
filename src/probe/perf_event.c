/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * software:EVENT[:COUNT] and hardware:EVENT[:COUNT]: the kernel's generalised perf events. The
 * program runs each time the counter has advanced by COUNT, on every CPU or on every thread of -p
 * PID.
 */
#include <stdio.h>

#include "probe/provider.h"
#include "base/nearest.h"

struct perf_row {
	const char *name, *alias;
	u32 config;
	u64 period; /* when the script gives none */
};

static const struct perf_row software[] = {
	{"alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
	{"bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, 1},
	{"cgroup-switches", NULL, 11 /* PERF_COUNT_SW_CGROUP_SWITCHES, 5.13 */, 1},
	{"context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
	{"cpu-clock", "cpu", PERF_COUNT_SW_CPU_CLOCK, 1000000},
	{"cpu-migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
	{"dummy", NULL, PERF_COUNT_SW_DUMMY, 1},
	{"emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, 1},
	{"major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
	{"minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
	{"page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, 100},
	{"task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, 1000000},
	{NULL, NULL, 0, 0},
};

static const struct perf_row hardware[] = {
	{"backend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
	{"branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
	{"branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, 100000},
	{"bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, 100000},
	{"cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, 1000000},
	{"cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
	{"cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000},
	{"frontend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
	{"instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, 1000000},
	{"ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
	{NULL, NULL, 0, 0},
};

static void add(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		const struct probe_provider *p, const struct perf_row *row, bool hw, u64 period)
{
	const char *const event =
		row->alias && str_eq(r->parts[1], row->alias) ? row->alias : row->name;
	const char *name =
		r->count == 3 && !str_eq(r->parts[2], "*")
			? arena_printf(env->arena, "%s:%s:%s", p->name, event, r->parts[2])
			: arena_printf(env->arena, "%s:%s:", p->name, event);
	struct probe_target *t = probe_add_target(env, out, p, r, name);

	t->function = row->name;
	t->perf_type = hw ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	t->mode = row->config;
	t->config = period ? period : row->period;
}

static const struct perf_row *rows_of(const struct probe_provider *p)
{
	return p == &probe_hardware ? hardware : software;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	const bool hw = p == &probe_hardware;
	const char *names[32];
	size_t n = 0;
	u64 period = 0;
	bool any = false;
	int err = probe_check_parts(env, r, p, 1, 2);

	if (err)
		return err;
	if (r->count == 3 && *r->parts[2] && !str_eq(r->parts[2], "*") &&
	    (!probe_parse_number(r->parts[2], &period) || !period || period > INT64_MAX)) {
		diag_error(env->diag, r->span, "Invalid count for %s probe: %s", p->name,
			   r->parts[2]);
		diag_hint(
			env->diag,
			"the count is a positive integer: the program runs once in so many events");
		return -EINVAL;
	}
	err = probe_require(env, r->span, (enum kernel_capability)p->needs, p->name);
	if (err)
		return err;
	for (const struct perf_row *row = rows_of(p); row->name; row++) {
		names[n++] = row->name;
		if (!glob_match(r->parts[1], row->name) &&
		    !(row->alias && str_eq(r->parts[1], row->alias)))
			continue;
		add(env, r, out, p, row, hw, period);
		any = true;
	}
	if (any)
		return 0;
	diag_error(env->diag, r->span, "%s is not a %s probe", r->parts[1], p->name);
	diag_hint_nearest(env->diag, r->parts[1], names, n);
	return -EINVAL;
}

static int count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){.type = t->perf_type, .config = t->mode};
	return 0;
}

static int each(const struct probe_listing *l)
{
	for (const struct perf_row *row = rows_of(l->provider); row->name; row++) {
		const char *const names[] = {row->name, row->alias};

		for (u32 i = 0; i < 2 && names[i]; i++) {
			char name[64];
			int err;

			snprintf(name, sizeof(name), "%s:%s:", l->provider->name, names[i]);
			err = probe_offer(l, name);
			if (err)
				return err;
		}
	}
	return 0;
}

const struct probe_provider probe_software = {
	.name = "software",
	.aliases = {"s"},
	.form = "software:EVENT[:COUNT]",
	.doc = "the kernel's own counters: context switches, page faults ...",
	.needs = KERNEL_PERF_SOFTWARE,
	.ends_in_count = true,
	.expand = expand,
	.describe = probe_describe_sampled,
	.attach = attach_counting,
	.asks = true,
	.count = count,
	.each = each,
};

const struct probe_provider probe_hardware = {
	.name = "hardware",
	.aliases = {"h"},
	.form = "hardware:EVENT[:COUNT]",
	.doc = "counters of the processor: cycles, cache misses ...",
	.needs = KERNEL_PERF_HARDWARE,
	.ends_in_count = true,
	.expand = expand,
	.describe = probe_describe_sampled,
	.attach = attach_counting,
	.asks = true,
	.count = count,
	.each = each,
};
