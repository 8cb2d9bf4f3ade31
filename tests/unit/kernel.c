/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel offers: symbols against /proc/kallsyms itself, events against tracefs. */
#include "kernel/kernel.h"
#include "kernel/symbols/ksyms.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kernel/tracefs/tracefs.h"
#include "tap.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int count_function(void *arg, const struct kernel_function *f)
{
	++*(u32 *)arg;
	return 0;
}

static int count_event(void *arg, const char *category, const char *event)
{
	++*(u32 *)arg;
	return 0;
}

/* Every 97th line: its symbol by address has this address, by name this or a namesake's. */
static void compare_symbols(struct kernel *k)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	u32 lines = 0, checked = 0, wrong = 0, unnamed = 0;
	char line[1024];

	while (in && fgets(line, sizeof(line), in)) {
		char name[512], kind;
		struct kernel_symbol s;
		u64 address;

		if (lines++ % 97 ||
		    sscanf(line, "%" SCNx64 " %c %511s", &address, &kind, name) != 3)
			continue;
		if (!(address >> 63)) /* an offset in the per-CPU area */
			continue;
		checked++;
		if (!kernel_symbol_at(k, address, &s) || s.address != address)
			wrong++;
		if (checked % 20 == 0 && !kernel_symbol_address(k, name))
			unnamed++;
	}
	if (in)
		fclose(in);
	ok(checked > 500 && !wrong, "%u symbols by their addresses", checked);
	is_int(unnamed, 0, "symbols by their names");
}

static void test_symbols(struct kernel *k)
{
	struct kernel_symbol s, again;
	double start = now_ms();
	u32 n = 0;
	u64 address;

	if (!kernel_ask(k, KERNEL_KALLSYMS_ADDRESSES)->yes) {
		tap_skip("symbols", kernel_ask(k, KERNEL_KALLSYMS_ADDRESSES)->why);
		return;
	}
	address = kernel_symbol_address(k, "vfs_read");
	printf("# first symbol by name in %.2f ms\n", now_ms() - start);
	ok(address != 0, "vfs_read has an address");
	start = now_ms();
	ok(kernel_symbol_at(k, address + 5, &s) && s.address == address, "an address inside of it");
	printf("# first symbol by address in %.2f ms\n", now_ms() - start);
	is_str(s.name, "vfs_read", "its name");
	is_str(s.module, NULL, "in vmlinux");
	ok(!kernel_symbol_address(k, "no_such_symbol") && !kernel_symbol_address(k, "") &&
		   !kernel_symbol_address(k, "vfs_rea"),
	   "no such symbol");
	ok(!kernel_symbol_at(k, 1, &again), "no symbol below the first");
	compare_symbols(k);
	start = now_ms();
	ksyms_each_function(kernel_ksyms(k), NULL, count_function, &n);
	printf("# %u functions in %.2f ms\n", n, now_ms() - start);
	ok(n > 10000, "all functions");
}

static void test_events(struct kernel *k)
{
	double start = now_ms();
	u32 n = 0;
	char *text;

	if (!kernel_ask(k, KERNEL_TRACEFS)->yes) {
		tap_skip("events", kernel_ask(k, KERNEL_TRACEFS)->why);
		return;
	}
	tracefs_each_event(k, "*", "*", count_event, &n);
	printf("# %u events in %.2f ms\n", n, now_ms() - start);
	ok(n > 500, "all events");
	n = 0;
	tracefs_each_event(k, "sched", "sched_*", count_event, &n);
	ok(n > 5 && n < 100, "events that match a glob");
	n = 0;
	tracefs_each_event(k, "sched", "sched_switch", count_event, &n);
	is_int(n, 1, "one event by its name");
	n = 0;
	tracefs_each_event(k, "..", "sched_switch", count_event, &n);
	tracefs_each_event(k, "sched", "", count_event, &n);
	tracefs_each_event(k, "no_such", "event", count_event, &n);
	is_int(n, 0, "names that are no events");
	ok(tracefs_event_id(k, "sched", "sched_switch") > 0, "number of an event");
	is_int(tracefs_event_id(k, "sched", "no_such"), -ENOENT, "of one that is not there");
	ok(!tracefs_event_format(k, "sched", "sched_switch", &text) && strstr(text, "prev_comm"),
	   "format of an event");
	free(text);
}

static void test_features(void)
{
	struct kernel *k = kernel_new();
	const struct kernel_features *f;
	double start = now_ms();

	f = kernel_features(k);
	printf("# features in %.2f ms: bpf_loop %d for_each_map %d attach_cookie %d get_func_ip %d "
	       "percpu_lookup %d atomic_fetch %d cpu_v4 %d no_prealloc_safe %d ktime_tai %d "
	       "d_path %d strncmp %d loads %d\n",
	       now_ms() - start, f->bpf_loop, f->for_each_map, f->attach_cookie, f->get_func_ip,
	       f->percpu_lookup, f->atomic_fetch, f->cpu_v4, f->no_prealloc_safe, f->ktime_tai,
	       f->d_path, f->strncmp, f->loads);
	if (!kernel_ask(k, KERNEL_BPF)->yes)
		tap_skip("features", kernel_ask(k, KERNEL_BPF)->why);
	else
		ok(f->loads, "programs can be loaded");
	kernel_release(k);
}

int main(void)
{
	struct kernel *k = kernel_new();
	const u32 *cpus;
	u32 n;

	test_features();
	for (u32 c = 0; c < KERNEL_CAPABILITY_COUNT; c++) {
		double start = now_ms();
		const struct kernel_answer *a = kernel_ask(k, (enum kernel_capability)c);

		ok(a->yes || (a->why && a->error > 0), "%s: %s",
		   kernel_capability_name((enum kernel_capability)c), a->yes ? "yes" : a->why);
		printf("# %.2f ms, %s, %s\n", now_ms() - start, a->error ? strerror(a->error) : "-",
		       a->hint ? a->hint : "-");
	}
	n = kernel_online_cpus(k, &cpus);
	is_int(n, sysconf(_SC_NPROCESSORS_ONLN), "online CPUs");
	ok(kernel_possible_cpus(k) > cpus[n - 1], "possible CPUs");
	ok(strchr("ymn?", kernel_config(k, "CONFIG_BPF_SYSCALL")) != NULL, "configuration");
	ok(strchr("n?", kernel_config(k, "NO_SUCH_OPTION")) != NULL, "an option that is not there");
	ok(kernel_pmu_type("no_such_pmu") < 0, "no such PMU");
	test_symbols(k);
	test_events(k);
	kernel_release(k);
	return tap_done();
}
