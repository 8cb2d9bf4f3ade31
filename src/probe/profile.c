/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile (on every CPU) and interval (on one): perf's cpu-clock, a high-resolution timer per event
 * that also fires on idle CPUs. target.config is nanoseconds, or Hz with is_frequency.
 */
#include <stdio.h>

#include "base/file.h"
#include "probe/provider.h"

#define MIN_PERIOD_NS	 1000
#define KERNEL_PERIOD_NS 10000 /* perf_swevent_start_hrtimer() never fires more often */

static const struct {
	const char *unit;
	u64 ns; /* 0 = the number is a frequency */
} units[] = {{"hz", 0}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};

static int bad_rate(struct probe_env *env, const struct probe_request *r, const char *provider,
		    const char *why, const char *word)
{
	diag_error(env->diag, r->span, "Invalid rate of %s probe: %s: %s", provider, why, word);
	diag_hint(env->diag, "write %s:hz:99, %s:s:1, %s:ms:100, %s:us:500 or %s:10ms", provider,
		  provider, provider, provider, provider);
	return -EINVAL;
}

/* profile:hz:99 */
static int parse_pair(struct probe_env *env, const struct probe_request *r, const char *provider,
		      u64 *ret, bool *ret_hz)
{
	u64 value;

	for (u32 i = 0; i < ARRAY_SIZE(units); i++) {
		if (!str_eq(units[i].unit, r->parts[1]))
			continue;
		if (!probe_parse_number(r->parts[2], &value))
			return bad_rate(env, r, provider, "not a number", r->parts[2]);
		if (!value)
			return bad_rate(env, r, provider, "it must be greater than 0", r->parts[2]);
		*ret_hz = !units[i].ns;
		if (__builtin_mul_overflow(value, units[i].ns ? units[i].ns : 1, ret) ||
		    *ret > INT64_MAX)
			return bad_rate(env, r, provider, "too large", r->parts[2]);
		return 0;
	}
	diag_error(env->diag, r->span, "%s is not an accepted unit of %s probe", r->parts[1],
		   provider);
	diag_hint(env->diag, "units are hz, s, ms, us and ns");
	return -EINVAL;
}

static int expand_rate(struct probe_env *env, const struct probe_request *r,
		       struct probe_targets *out, const struct probe_provider *p)
{
	struct probe_target *t;
	u64 value = 0;
	bool hz = false;
	int err = probe_check_parts(env, r, p, 1, 2);

	if (err)
		return err;
	if (r->count == 3)
		err = parse_pair(env, r, p->name, &value, &hz);
	else if (!probe_parse_duration(r->parts[1], &value) &&
		 !probe_parse_number(r->parts[1], &value))
		err = bad_rate(env, r, p->name, "not a duration", r->parts[1]);
	if (err)
		return err;
	if (!hz && (value < MIN_PERIOD_NS || value > INT64_MAX)) {
		diag_error(env->diag, r->span,
			   "Invalid rate of %s probe. Minimum is 1000 or 1us. Found: %" PRIu64
			   " nanoseconds",
			   p->name, value);
		return -EINVAL;
	}
	err = env->recorded ? 0 : probe_require(env, r->span, KERNEL_PERF_SOFTWARE, p->name);
	if (err)
		return err;
	if (hz ? value > 1000000000ull / KERNEL_PERIOD_NS : value < KERNEL_PERIOD_NS)
		diag_warning(env->diag, r->span,
			     "the kernel fires %s probes every 10 microseconds at most", p->name);
	/* A duration is known by its microseconds, however it was written. */
	t = probe_add_target(
		env, out, p, r,
		r->count == 3
			? arena_printf(env->arena, "%s:%s:%s", p->name, r->parts[1], r->parts[2])
			: arena_printf(env->arena, "%s:us:%" PRIu64, p->name, value / 1000));
	t->perf_type = PERF_TYPE_SOFTWARE;
	t->config = value;
	t->is_frequency = hz;
	return 0;
}

static struct perf_event_attr clock_attr(const struct probe_target *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = t->is_frequency,
	};

	attr.sample_period = t->config; /* the same field as sample_freq */
	return attr;
}

/* A frequency above the system's limit is EINVAL, which says nothing. */
static bool rate_allowed(struct probe_env *env, const struct probe_target *t,
			 struct probe_attachments *out)
{
	u64 limit = 0;
	char *text;
	size_t len;

	if (!t->is_frequency ||
	    file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, &len))
		return true;
	limit = strtoull(text, NULL, 10);
	free(text);
	if (!limit || t->config <= limit)
		return true;
	out->failed++;
	diag_error(env->diag, NO_SPAN,
		   "Unable to attach probe: %s: the kernel allows %" PRIu64 " Hz at most", t->name,
		   limit);
	diag_hint(env->diag, "raise it: sysctl kernel.perf_event_max_sample_rate=%" PRIu64,
		  t->config);
	return false;
}

static int attach_profile(struct probe_env *env, int prog_fd, const struct probe_context *context,
			  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	int ret = n ? -EIO : 0;

	for (u32 i = 0; i < n; i++) {
		struct perf_event_attr attr = clock_attr(targets[i]);

		if (rate_allowed(env, targets[i], out) &&
		    !attach_sampling(env, prog_fd, targets[i], &attr, out))
			ret = 0;
	}
	return ret;
}

static int open_interval(const struct probe_target *t, void *arg)
{
	struct perf_event_attr attr = clock_attr(t);

	return perf_event_open_fd(&attr, -1, *(const int *)arg, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_interval(struct probe_env *env, int prog_fd, const struct probe_context *context,
			   struct probe_target *const *targets, u32 n,
			   struct probe_attachments *out)
{
	const u32 *cpus;
	int cpu = kernel_online_cpus(env->kernel, &cpus) ? (int)cpus[0] : 0;

	for (u32 i = 0; i < n; i++)
		if (!rate_allowed(env, targets[i], out))
			return -EINVAL;
	return attach_perf_events(env, prog_fd, targets, n, open_interval, &cpu, out);
}

static int each_rate(const struct probe_listing *l)
{
	static const char *const forms[] = {"hz:", "ms:", "s:", "us:"};

	for (u32 i = 0; i < ARRAY_SIZE(forms); i++) {
		char name[32];
		int err;

		snprintf(name, sizeof(name), "%s:%s", l->provider->name, forms[i]);
		err = probe_offer(l, name);
		if (err)
			return err;
	}
	return 0;
}

const struct probe_provider probe_profile = {
	.name = "profile",
	.aliases = {"p"},
	.form = "profile:hz|s|ms|us|ns:N or profile:10ms",
	.doc = "at a fixed rate on every CPU, or on every thread of -p PID",
	.needs = KERNEL_PERF_SOFTWARE,
	.is_timer = true,
	.ends_in_count = true,
	.expand = expand_rate,
	.describe = probe_describe_sampled,
	.attach = attach_profile,
	.asks = true,
	.each = each_rate,
};

const struct probe_provider probe_interval = {
	.name = "interval",
	.aliases = {"i"},
	.form = "interval:hz|s|ms|us|ns:N or interval:10ms",
	.doc = "at a fixed rate on one CPU",
	.needs = KERNEL_PERF_SOFTWARE,
	.is_timer = true,
	.is_slow = true,
	.is_recorded = true,
	.ends_in_count = true,
	.expand = expand_rate,
	.describe = probe_describe_sampled,
	.attach = attach_interval,
	.each = each_rate,
};
