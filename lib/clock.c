// SPDX-License-Identifier: MIT
/*
 * The rate of the time stamp counter and its place on the system's clocks. The kernel publishes the
 * conversion it uses itself in the page of any perf event (linux/perf_event.h, cap_user_time);
 * where that is denied, the counter is compared with CLOCK_MONOTONIC_RAW for 2 ms.
 */
#include "clock.h"
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define CALIBRATION_NS 2000000ull
#define READINGS       200

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static uint64_t rate_of_kernel(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const long page_size = sysconf(_SC_PAGESIZE);
	const struct perf_event_mmap_page *page;
	uint64_t rate = 0;
	/*
	 * an event of a CPU at once; the first one of a task makes the kernel patch itself for 10
	 * ms
	 */
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	page = mmap(NULL, (size_t)page_size, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		/* ns = (ticks * time_mult) >> time_shift */
		if (page->cap_user_time && page->time_mult)
			rate = (uint64_t)(((unsigned __int128)1000000000ull << page->time_shift) /
					  page->time_mult);
		munmap((void *)page, (size_t)page_size);
	}
	close(fd);
	return rate;
}

struct pair {
	uint64_t tsc, ns;
};

/* Both at one moment: the shortest of several readings, as an interrupt in one would shift them. */
static struct pair pair_read(void)
{
	struct pair ret = {0};
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = __rdtsc(), ns = now_ns(CLOCK_MONOTONIC_RAW);
		const uint64_t took = __rdtsc() - before;

		if (took >= best)
			continue;
		best = took;
		ret = (struct pair){before + took / 2, ns};
	}
	return ret;
}

static uint64_t rate_by_comparison(void)
{
	const struct pair from = pair_read();
	struct pair to;

	do
		to = pair_read();
	while (to.ns - from.ns < CALIBRATION_NS);
	return (uint64_t)((unsigned __int128)(to.tsc - from.tsc) * 1000000000ull /
			  (to.ns - from.ns));
}

void pt_clock_read(struct pt_clock *ret, bool may_ask)
{
	uint64_t best = UINT64_MAX;

	ret->tsc_hz = may_ask ? rate_of_kernel() : 0;
	if (!ret->tsc_hz)
		ret->tsc_hz = rate_by_comparison();
	/* the shortest of several readings: an interrupt between the two clocks would shift them */
	for (int i = 0; i < 5; i++) {
		const uint64_t before = __rdtsc();
		const uint64_t monotonic = now_ns(CLOCK_MONOTONIC);
		const uint64_t realtime = now_ns(CLOCK_REALTIME);
		const uint64_t after = __rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		ret->tsc = before + best / 2;
		ret->monotonic_ns = monotonic;
		ret->realtime_ns = realtime;
	}
}

/* The ticks of the fastest of several readings of the clock. */
static uint64_t reading_ticks(bool by_system_call)
{
	uint64_t best = UINT64_MAX;
	struct timespec now;

	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = __rdtsc();
		uint64_t ticks;

		if (by_system_call)
			syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
		else
			clock_gettime(CLOCK_MONOTONIC, &now);
		ticks = __rdtsc() - before;
		best = ticks < best ? ticks : best;
	}
	return best;
}

/*
 * If the vDSO cannot read the clock, clock_gettime() makes that very system call and takes longer
 * than it.
 */
static bool reading_is_free(void)
{
	return reading_ticks(false) * 4 < reading_ticks(true) * 3;
}

/* Clock sources that the kernel lets programs read (arch/x86: VDSO_CLOCKMODE_*). */
static bool source_is_free(void)
{
	static const char *const sources[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
	char name[64];
	ssize_t n;
	int fd;

	if (!getauxval(AT_SYSINFO_EHDR))
		return false;
	fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return reading_is_free();
	name[name[n - 1] == '\n' ? n - 1 : n] = 0;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (!strcmp(name, sources[i]))
			return true;
	return false;
}

bool pt_clock_is_free(void)
{
	static int known; /* 1: it is, 2: it is not */

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED))
		__atomic_store_n(&known, source_is_free() ? 1 : 2, __ATOMIC_RELAXED);
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 1;
}
