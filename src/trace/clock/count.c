/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/clock/count.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/ptp_clock.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/clock.h"
#include "base/file.h"

#define READINGS    7
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define PTP_CLASS   "/sys/class/ptp"
#define PTP_NAME    "KVM virtual PTP\n"

struct clock_count clock_count(void)
{
	struct clock_count best = {.after = UINT64_MAX};

	for (int i = 0; i < READINGS; i++) {
		struct clock_count c;

		/* neither begins before what stands above it is done */
		_mm_lfence();
		c.before = __rdtsc();
		_mm_lfence();
		c.ns = clock_now_ns(CLOCK_MONOTONIC);
		_mm_lfence();
		c.after = __rdtsc();
		if (c.after - c.before < best.after - best.before)
			best = c;
	}
	return best;
}

static bool has_text(const char *path, const char *wanted)
{
	size_t n;
	char *text = NULL;
	const bool yes = !file_read(path, 256, &text, &n) && str_eq(text, wanted);

	free(text);
	return yes;
}

bool clock_count_is_common(void)
{
	return has_text(CLOCKSOURCE, "tsc\n");
}

/* ---- CLOCK_REALTIME ---- */

void clock_distance_widen(struct clock_distance *d)
{
	struct clock_distance best = {0, INT64_MAX};

	for (int i = 0; i < READINGS; i++) {
		const s64 before = (s64)clock_now_ns(CLOCK_MONOTONIC);
		const s64 realtime = (s64)clock_now_ns(CLOCK_REALTIME);
		const s64 after = (s64)clock_now_ns(CLOCK_MONOTONIC);

		if (after - before < best.most - best.least)
			best = (struct clock_distance){realtime - after, realtime - before};
	}
	d->least = MIN(d->least, best.least);
	d->most = MAX(d->most, best.most);
}

/* ---- PTP_KVM ---- */

int clock_ptp_open(void)
{
	DIR *const dir = opendir(PTP_CLASS);
	struct dirent *e;
	int fd = -ENODEV;

	while (dir && fd == -ENODEV && (e = readdir(dir))) {
		char *const name = xasprintf(PTP_CLASS "/%s/clock_name", e->d_name);
		char *const device = xasprintf("/dev/%s", e->d_name);

		if (has_text(name, PTP_NAME)) {
			fd = open(device, O_RDONLY | O_CLOEXEC);
			fd = fd < 0 ? -errno : fd;
		}
		free(name);
		free(device);
	}
	if (dir)
		closedir(dir);
	return fd;
}

static u64 nanoseconds(const struct ptp_clock_time *t)
{
	return (u64)t->sec * 1000000000u + t->nsec;
}

struct clock_ptp clock_ptp_read(int fd)
{
	struct clock_distance here = CLOCK_DISTANCE_NONE;
	struct ptp_sys_offset_precise p = {0};
	u64 realtime;

	clock_distance_widen(&here);
	if (ioctl(fd, PTP_SYS_OFFSET_PRECISE, &p))
		return (struct clock_ptp){0};
	clock_distance_widen(&here);
	realtime = nanoseconds(&p.sys_realtime);
	return (struct clock_ptp){.realtime = nanoseconds(&p.device),
				  .least_ns = realtime - (u64)here.most,
				  .most_ns = realtime - (u64)here.least};
}
