/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/steal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

#define STAT_MOST ((size_t)16 << 20)

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" */
void steal_parse(struct steal *ret, const char *text)
{
	const u64 tick_ns = 1000000000ull / (u64)sysconf(_SC_CLK_TCK);

	*ret = (struct steal){0};
	for (const char *at = text; at; at = strchr(at, '\n')) {
		u64 ticks;
		u32 cpu;

		at += *at == '\n';
		if (!str_starts(at, "cpu") || !isdigit((unsigned char)at[3])) /* "cpu ": of all */
			continue;
		if (sscanf(at, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu, &ticks) != 2 ||
		    cpu >= STEAL_CPUS)
			continue;
		ret->ns[cpu] = ticks * tick_ns;
		ret->count = MAX(ret->count, cpu + 1);
	}
}

void steal_read(struct steal *ret)
{
	char *text = NULL;
	size_t n;

	if (file_read("/proc/stat", STAT_MOST, &text, &n))
		*ret = (struct steal){0};
	else
		steal_parse(ret, text);
	free(text);
}
