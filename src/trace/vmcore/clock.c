/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the clocks of a dead kernel's buffers stood to its CLOCK_MONOTONIC, by its timekeeper
 * (kernel/time/timekeeping.c), which says how long ago it was set, and what the TSC was then:
 *
 *	boot, tai		apart by what the timekeeper says
 *	mono_raw		as both were when it was last set
 *	local, global, perf	the same, by the TSC; arch/x86/kernel/tsc.c makes them of that
 */
#include "trace/dat/trace_dat.h"
#include "trace/vmcore/state.h"

struct clocks {
	struct dead_kernel *kernel;
	u64 timekeeper;
};

/* Where clock is what `this` clock shows, CLOCK_MONOTONIC was `monotonic`, both in ns. */
struct moment {
	u64 this, monotonic;
};

struct clock_row {
	const char *name;
	int (*find)(const struct clocks *c, u64 argument, struct moment *ret);
	u64 argument;
};

/* The kernel's own copy of its time, in a variable, later behind the one that is used. */
static bool find_timekeeper(struct dead_kernel *k, u64 *ret)
{
	const u64 shadow = dead_symbol(k, "shadow_timekeeper"), data = dead_symbol(k, "tk_core");

	*ret = shadow ?: data + dead_offset(k, F(tk_data, timekeeper));
	return shadow || (data && dead_has(k, F(tk_data, timekeeper)));
}

static int variable(struct dead_kernel *k, const char *name, u64 *ret)
{
	return dead_u64(k, dead_symbol(k, name), ret);
}

/* argument: the member that says how far it is ahead of CLOCK_MONOTONIC. */
static int find_ahead(const struct clocks *c, u64 argument, struct moment *ret)
{
	ret->monotonic = 0;
	return dead_member(c->kernel, c->timekeeper, (enum dead_field)argument, &ret->this);
}

/* What a clock (timekeeper.tkr_mono, .tkr_raw) was when it was last set, in ns. */
static int last_set(const struct clocks *c, enum dead_field clock, u64 *ret)
{
	struct dead_kernel *const k = c->kernel;
	const u64 read_base = c->timekeeper + dead_offset(k, clock);
	u64 shift, fraction;
	int err = dead_member(k, read_base, F(tk_read_base, base), ret);

	if (!err)
		err = dead_member(k, read_base, F(tk_read_base, xtime_nsec), &fraction);
	if (!err)
		err = dead_member(k, read_base, F(tk_read_base, shift), &shift);
	if (!err && shift < 64)
		*ret += fraction >> shift;
	return err ?: shift < 64 ? 0 : -EINVAL;
}

static int find_raw(const struct clocks *c, u64 argument, struct moment *ret)
{
	const int err = last_set(c, F(timekeeper, tkr_raw), &ret->this);

	(void)argument;
	return err ?: last_set(c, F(timekeeper, tkr_mono), &ret->monotonic);
}

/* Does the kernel take the TSC for both its time and its scheduler's clock? */
static bool is_of_tsc(const struct clocks *c)
{
	struct dead_kernel *const k = c->kernel;
	const u64 tsc = dead_symbol(k, "clocksource_tsc"),
		  native = dead_symbol(k, "native_sched_clock");
	u64 source, scheduler;

	return tsc && native &&
	       !dead_member(k, c->timekeeper + dead_offset(k, F(timekeeper, tkr_mono)),
			    F(tk_read_base, clock), &source) &&
	       source == tsc &&
	       (variable(k, "__SCK__pv_sched_clock", &scheduler) || scheduler == native);
}

/* The first CPU's factors; they are the same on all. argument: is a further offset added? */
static int find_scheduler(const struct clocks *c, u64 argument, struct moment *ret)
{
	struct dead_kernel *const k = c->kernel;
	const u64 mono = c->timekeeper + dead_offset(k, F(timekeeper, tkr_mono));
	const u64 factors = dead_of_first_cpu(k, "cyc2ns");
	u64 cycles, factor, shift, offset, further = 0;
	int err = is_of_tsc(c) && factors ? 0 : -EOPNOTSUPP;

	if (!err)
		err = dead_member(k, mono, F(tk_read_base, cycle_last), &cycles);
	if (!err)
		err = dead_member(k, factors, F(cyc2ns_data, cyc2ns_mul), &factor);
	if (!err)
		err = dead_member(k, factors, F(cyc2ns_data, cyc2ns_shift), &shift);
	if (!err)
		err = dead_member(k, factors, F(cyc2ns_data, cyc2ns_offset), &offset);
	if (!err && argument)
		err = variable(k, "__sched_clock_offset", &further);
	if (!err)
		err = shift < 64 ? last_set(c, F(timekeeper, tkr_mono), &ret->monotonic) : -EINVAL;
	if (!err)
		ret->this = (u64)((unsigned __int128)cycles * factor >> shift) + offset + further;
	return err;
}

static const struct clock_row rows[] = {
	{"boot", find_ahead, F(timekeeper, offs_boot)},
	{"tai", find_ahead, F(timekeeper, offs_tai)},
	{"mono_raw", find_raw, 0},
	{"local", find_scheduler, false},
	{"global", find_scheduler, true},
	{"perf", find_scheduler, true},
};

static void say_clock(const struct clocks *c, const char *name, struct strbuf *out)
{
	struct moment m;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(rows[i].name, name) && !rows[i].find(c, rows[i].argument, &m))
			strbuf_addf(out, ", " TRACE_DAT_MONOTONIC, name,
				    (s64)(m.monotonic - m.this));
}

char *dead_clocks_say(struct dead_kernel *k, const struct dat_instance *instances, size_t n)
{
	struct strbuf out = STRBUF_INIT;
	struct clocks c = {.kernel = k};
	u64 realtime;

	strbuf_addstr(&out, "pantrace " PANTRACE_VERSION);
	if (find_timekeeper(k, &c.timekeeper) &&
	    !dead_member(k, c.timekeeper, F(timekeeper, offs_real), &realtime)) {
		strbuf_addf(&out, ", " TRACE_DAT_REALTIME "%" PRId64, (s64)realtime);
		for (size_t i = 0; i < n; i++)
			say_clock(&c, instances[i].clock, &out);
	}
	return strbuf_detach(&out);
}
