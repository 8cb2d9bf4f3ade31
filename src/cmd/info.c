/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --info: what this kernel offers, in the lines of bpftrace's own report (its test suite and other
 * programs search them); `pantrace doctor` is the readable one. Of a recording: its machines.
 */
#include <stdio.h>
#include <sys/utsname.h>

#include "base/options.h"
#include "cmd/machines.h"
#include "cmd/run/run.h"
#include "kernel/kernel.h"

static void line(const char *name, bool yes)
{
	printf("  %s: %s\n", name, yes ? "yes" : "no");
}

static void print_helpers(const struct kernel_features *f)
{
	printf("\nKernel helpers\n");
	line("probe_read", true);
	line("probe_read_str", true);
	line("probe_read_user", true);
	line("probe_read_user_str", true);
	line("probe_read_kernel", true);
	line("probe_read_kernel_str", true);
	line("get_current_cgroup_id", true);
	line("send_signal", true);
	line("get_boot_ns", true);
	line("dpath", f->d_path);
	line("skboutput", true);
	line("get_tai_ns", f->ktime_tai);
	line("get_func_ip", f->get_func_ip);
	line("jiffies64", true);
	line("lookup_percpu_elem", f->percpu_lookup);
	line("get_ktime_ns", true);
	line("loop", f->bpf_loop);
}

static void print_features(struct kernel *k)
{
	printf("\nKernel features\n");
	printf("  Instruction limit: %d\n", 1000000);
	line("Loop support", true);
	line("btf", kernel_ask(k, KERNEL_BTF)->yes);
	line("map batch", true);
	line("uprobe refcount", kernel_ask(k, KERNEL_USDT_SEMAPHORE)->yes);
}

static void print_probes(struct kernel *k)
{
	static const struct {
		const char *name;
		enum kernel_capability what;
	} rows[] = {
		{"kprobe", KERNEL_KPROBES},
		{"tracepoint", KERNEL_TRACEPOINTS},
		{"perf_event", KERNEL_PERF_SOFTWARE},
		{"fentry", KERNEL_FENTRY},
		{"kprobe_multi", KERNEL_KPROBE_MULTI},
		{"uprobe_multi", KERNEL_UPROBE_MULTI},
		{"kprobe_session", KERNEL_KPROBE_SESSION},
		{"raw_tp_special", KERNEL_RAW_TRACEPOINT},
		{"iter", KERNEL_ITERATORS},
	};

	printf("\nProbe types\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		line(rows[i].name, kernel_ask(k, rows[i].what)->yes);
}

struct arguments {
	bool json;
};

int cmd_info(int argc, char **argv)
{
	static const struct option_spec options[] = {
		{0, "json", NULL, "of a recording: an object for each machine", OPTION_FLAG,
		 offsetof(struct arguments, json)},
		{0},
	};
	static const struct command_spec spec = {
		.name = "info",
		.synopsis = "[RECORDING]",
		.summary = "what the kernel and this build offer, as bpftrace --info says it; of a "
			   "recording: how well the clocks of its machines are known",
		.examples =
			"pantrace info | grep -i multi   # has the kernel multi-links?\n"
			"pantrace doctor                 # the same in words, with what to do\n"
			"pantrace info trace             # a recording with --guest: its clocks\n",
		.details =
			"Of a recording with --guest, for each of the other machines: how often "
			"clocks were compared, how many of these comparisons the offset of the "
			"guest's TSC and PTP_KVM made closer than messages are, whether the "
			"machine's stood still or was set meanwhile (a jump), how fast the two "
			"drift apart at least, and how far its times may be off when they are put "
			"beside those of the host: at the best of these comparisons, and at most, "
			"from the first of them to the last.",
		.options = options,
	};
	struct arguments a = {0};
	const struct kernel_features *f;
	struct utsname u = {0};
	struct kernel *k;
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&spec, "one recording: what is '%s'?", argv[first + 1]);
	if (first < argc)
		return machines_print(argv[first], a.json);
	if (a.json)
		return options_usage_error(&spec, "--json is of a RECORDING; of this machine "
						  "`pantrace doctor --json` says what it offers");
	k = kernel_new();
	f = kernel_features(k);
	uname(&u);
	printf("System\n  OS: %s %s %s\n  Arch: %s\n", u.sysname, u.release, u.version, u.machine);
	printf("\nBuild\n  version: %s\n", PANTRACE_VERSION);
	line("LLVM", false);
	line("bfd", false);
	line("bcc library path resolution", true);
	line("libdw (DWARF support)", true);
	line("dwunwind (DWARF stack unwinding)", true);
	line("blazesym (advanced symbolization)", false);
	print_helpers(f);
	print_features(k);
	print_probes(k);
	kernel_release(k);
	return EXIT_OK;
}
