// SPDX-License-Identifier: MIT
/* Cost that each context adds to an event of one int, ns: least of the rounds, rounds interleaved. */
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 15
#define EVENTS 200000

static const struct row {
	const char *name;
	uint64_t contexts;
} rows[] = {
	{ "none", 0 },
	{ "vpid", 1 << PANTRACE_CONTEXT_VPID },
	{ "vtid", 1 << PANTRACE_CONTEXT_VTID },
	{ "procname", 1 << PANTRACE_CONTEXT_PROCNAME },
	{ "cpu_id", 1 << PANTRACE_CONTEXT_CPU_ID },
	{ "context_switches", 1 << PANTRACE_CONTEXT_CONTEXT_SWITCHES },
	{ "page_faults", 1 << PANTRACE_CONTEXT_PAGE_FAULTS },
	{ "ip", 1 << PANTRACE_CONTEXT_IP },
	{ "user_stack (2 frames)", 1 << PANTRACE_CONTEXT_USER_STACK },
	{ "vpid vtid", 3 },
	{ "vpid vtid procname context_switches ip", 7 | 1 << PANTRACE_CONTEXT_CONTEXT_SWITCHES |
							   1 << PANTRACE_CONTEXT_IP },
};

#define NR_ROWS (sizeof(rows) / sizeof(*rows))

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(uint64_t contexts)
{
	const struct pantrace_options options = { .size = sizeof(options), .mode = PANTRACE_OVERWRITE,
						  .sub_size = 64 << 10, .nr_subs = 4,
						  .contexts = contexts };
	double start;

	if (pantrace_start(&options) || pantrace_enable("bench:*") < 0)
		return -1;
	for (int i = 0; i < 40000; i++) /* every page of the rings is touched */
		PANTRACE(bench, one, i);
	start = now();
	for (int i = 0; i < EVENTS; i++)
		PANTRACE(bench, one, i);
	start = (now() - start) / EVENTS;
	pantrace_stop();
	return start;
}

int main(void)
{
	double least[NR_ROWS] = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < NR_ROWS; i++) {
			const double ns = measure(rows[i].contexts);

			if (!round || ns < least[i])
				least[i] = ns;
		}
	printf("%-42s %8s %8s\n", "ns an event", "least", "added");
	for (size_t i = 0; i < NR_ROWS; i++)
		printf("%-42s %8.2f %8.2f\n", rows[i].name, least[i], least[i] - least[0]);
	return 0;
}
