/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/buffer_size.h"

#include "base/file.h"

/* proc(5), /proc/meminfo */
u64 available_kb(void)
{
	const char *at;
	u64 kb = 0;
	char *text;

	if (file_read("/proc/meminfo", 1 << 16, &text, NULL))
		return 0;
	at = strstr(text, "MemAvailable:");
	if (at)
		kb = strtoull(at + strlen("MemAvailable:"), NULL, 10);
	free(text);
	return kb;
}

/*
 * KiB per CPU: room for a tenth of a second at four million events a second, as a reader may have
 * to wait that long for a CPU; at most a quarter of a gigabyte and an eighth of the free memory for
 * all CPUs, but never less than the kernel's default.
 */
u64 buffer_default_kb(struct kernel *k)
{
	const u32 *cpus;
	const u32 count = MAX(kernel_online_cpus(k, &cpus), 1u);
	const u64 share = MIN((u64)256 << 10, available_kb() / 8) / count;

	return MAX(MIN(share, (u64)16384), (u64)1408);
}

/*
 * The kernel allocates page by page until there is none left: the machine would first swap, or kill
 * programs.
 */
int buffer_check(struct kernel *k, struct diag *d, u64 kb)
{
	const u32 *cpus;
	const u32 count = kernel_online_cpus(k, &cpus);
	const u64 available = available_kb();

	if (!available || kb * MAX(count, 1u) < available)
		return 0;
	diag_error(d, NO_SPAN,
		   "%" PRIu64 " KB for each of %u CPUs are more than the %" PRIu64
		   " KB of memory that are free",
		   kb, count, available);
	diag_hint(d, "a smaller buffer (-b) may do: what it has no room for is counted");
	return -ENOMEM;
}
