/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/ftrace/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/tracefs/instance.h"
#include "trace/ring/raw_buffer.h"

#define MARKERS 64

struct look {
	u64 before, after; /* CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC */
};

bool trace_clock_is_ns(const char *clock)
{
	static const char *const others[] = {"x86-tsc", "counter", "uptime"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (str_eq(clock, others[i]))
			return false;
	return true;
}

static int write_markers(const struct instance *in, clockid_t id, struct look *looks)
{
	const int fd = instance_open_file(in, "trace_marker", O_WRONLY);
	int err = fd < 0 ? fd : 0;

	for (u32 i = 0; i < MARKERS && !err; i++) {
		looks[i].before = clock_now_ns(id);
		if (write(fd, "x", 1) != 1)
			err = -errno;
		looks[i].after = clock_now_ns(id);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* The marker between the two nearest looks. */
static int compare(struct raw_buffer *buffer, const struct look *looks,
		   struct trace_clock_place *ret)
{
	struct raw_event e;
	u32 i = 0;

	ret->within_ns = UINT64_MAX;
	for (; i < MARKERS && raw_buffer_next(buffer, UINT64_MAX, &e); i++) {
		const u64 half = (looks[i].after - looks[i].before + 1) / 2;

		if (half >= ret->within_ns)
			continue;
		ret->within_ns = half;
		ret->monotonic_ns = (s64)(looks[i].before + half - e.event.time);
	}
	return i == MARKERS ? 0 : -EIO;
}

static int measure(struct instance *in, clockid_t id, struct trace_clock_place *ret)
{
	struct look looks[MARKERS];
	struct raw_buffer *buffer;
	int err = write_markers(in, id, looks);

	if (!err)
		err = instance_write(in, "tracing_on", "0");
	if (!err)
		err = raw_buffer_open(instance_directory(in), &buffer);
	if (err)
		return err;
	err = raw_buffer_drain_all(buffer);
	if (!err)
		err = compare(buffer, looks, ret);
	raw_buffer_close(buffer);
	return err;
}

/* On one CPU, so that the markers are in the order in which they were written. */
static int measure_here(struct instance *in, clockid_t id, struct trace_clock_place *ret)
{
	const int cpu = sched_getcpu();
	cpu_set_t before, one;
	int err;

	CPU_ZERO(&one);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before))
		return measure(in, id, ret);
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	err = measure(in, id, ret);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

static bool is_steered(void)
{
	struct timex t = {0};

	return adjtimex(&t) < 0 || t.freq || !(t.status & STA_UNSYNC);
}

int trace_clock_place(struct kernel *k, struct diag *d, const char *clock, bool of_boot,
		      struct trace_clock_place *ret)
{
	const s64 apart = clock_distance_ns(CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC);
	const clockid_t id = of_boot && is_steered() ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
	struct instance *in;
	int err = instance_open(k, d, INSTANCE_ANY_CLOCK, &in);

	if (!err)
		err = instance_set_clock(in, clock);
	if (!err)
		err = instance_set_option(in, "markers", true);
	if (!err)
		err = measure_here(in, id, ret);
	instance_close(in);
	if (err && !d->errors)
		diag_error(d, NO_SPAN, "the clock %s cannot be compared with CLOCK_MONOTONIC: %s",
			   clock, strerror(-err));
	if (!err && of_boot)
		ret->within_ns += (u64)(apart < 0 ? -apart : apart);
	return err;
}
