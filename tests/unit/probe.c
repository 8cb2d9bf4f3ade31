/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Providers without the kernel's help: names, aliases, numbers, forms, refusals. Attaching is in
 * probe_attach.c. */
#include <glob.h>
#include <unistd.h>

#include "probe/provider.h"
#include "probe_fixture.h"
#include "tap.h"

static void expands(struct fixture *f, const char *text, const char *name)
{
	is_str(expand(f, text), "", text);
	is_str(f->targets.list.len ? f->targets.list.items[0]->name : NULL, name, name);
}

static void refuses(struct fixture *f, const char *text, const char *error)
{
	is_str(expand(f, text), error, text);
	is_int((long long)f->targets.list.len, 0, "  and no target");
}

static void test_names(void)
{
	static const struct {
		const char *word, *provider;
	} rows[] = {
		{"BEGIN", "begin"},  {"End", "end"},
		{"t", "tracepoint"}, {"rt", "rawtracepoint"},
		{"k", "kprobe"},     {"kr", "kretprobe"},
		{"f", "fentry"},     {"fr", "fexit"},
		{"kfunc", "fentry"}, {"kretfunc", "fexit"},
		{"u", "uprobe"},     {"ur", "uretprobe"},
		{"U", "usdt"},	     {"p", "profile"},
		{"i", "interval"},   {"s", "software"},
		{"h", "hardware"},   {"w", "watchpoint"},
		{"it", "iter"},	     {"Tracepoint", "tracepoint"},
		{"KFUNC", "fentry"}, {"asyncwatchpoint", "watchpoint"},
		{"self", "self"},    {"bench", "bench"},
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct probe_provider *p = probe_find_provider(rows[i].word);

		is_str(p ? p->name : NULL, rows[i].provider, rows[i].word);
	}
	ok(!probe_find_provider("nonsense"), "an unknown provider");
	ok(!probe_find_provider(""), "an empty one");
}

static void test_numbers(void)
{
	u64 v = 0;

	ok(probe_parse_number("42", &v) && v == 42, "decimal");
	ok(probe_parse_number("0x2a", &v) && v == 42, "hexadecimal");
	ok(probe_parse_number("1_000", &v) && v == 1000, "underscores");
	ok(probe_parse_number("1e6", &v) && v == 1000000, "exponent");
	ok(!probe_parse_number("", &v) && !probe_parse_number("x", &v) &&
		   !probe_parse_number("1x", &v) && !probe_parse_number("0x", &v) &&
		   !probe_parse_number("-1", &v),
	   "what is no number");
	ok(!probe_parse_number("18446744073709551616", &v), "2^64 is too large");
	ok(probe_parse_number("18446744073709551615", &v) && v == UINT64_MAX, "2^64 - 1 is not");
	ok(!probe_parse_number("1e40", &v), "1e40 is too large");
	ok(probe_parse_duration("10ms", &v) && v == 10000000, "10ms");
	ok(probe_parse_duration("1s", &v) && v == 1000000000, "1s");
	ok(!probe_parse_duration("1", &v) && !probe_parse_duration("ms", &v) &&
		   !probe_parse_duration("1x", &v),
	   "what is no duration");
}

static void test_special(struct fixture *f)
{
	struct probe_context c;

	expands(f, "begin", "begin");
	expands(f, "BEGIN", "BEGIN");
	ok(!f->targets.list.items[0]->provider->describe(&f->env, f->targets.list.items[0],
							 &probe_use_all, NO_SPAN, &c) &&
		   c.kind == CONTEXT_NONE && c.program_type == BPF_PROG_TYPE_RAW_TRACEPOINT &&
		   !c.args,
	   "begin has nothing to read");
	expands(f, "end", "end");
	expands(f, "self:signal:SIGUSR1", "self:signal:SIGUSR1");
	expands(f, "test:one", "test:one");
	expands(f, "bench:one", "bench:one");
	refuses(f, "begin:x", "begin probe type requires 0 arguments, found 1");
	refuses(f, "self:signal:SIGUSR9", "SIGUSR9 is not a supported signal");
	is_str(hint(f), "did you mean 'SIGUSR1' or 'SIGUSR2'?", "  nearest signals");
	refuses(f, "self:keys:x", "keys is not a supported trigger");
	refuses(f, "test:", "test probes must have a name");
	refuses(f, "", "Invalid attachpoint definition");
	refuses(f, "tracepont:sched:sched_switch", "Invalid probe type: tracepont");
	is_str(hint(f), "did you mean 'tracepoint'?", "  nearest provider");
}

static void test_rates(struct fixture *f)
{
	const struct probe_target *t;

	expands(f, "profile:hz:99", "profile:hz:99");
	t = f->targets.list.items[0];
	ok(t->is_frequency && t->config == 99, "99 Hz");
	expands(f, "p:ms:10", "profile:ms:10");
	t = f->targets.list.items[0];
	ok(!t->is_frequency && t->config == 10000000, "10 ms");
	expands(f, "interval:1s", "interval:us:1000000");
	ok(f->targets.list.items[0]->config == 1000000000, "1 s");
	expands(f, "i:s:1", "interval:s:1");
	expands(f, "profile:1000000", "profile:us:1000");
	ok(f->targets.list.items[0]->config == 1000000, "a bare number is nanoseconds");
	refuses(f, "profile", "profile probe type requires 1 or 2 arguments, found 0");
	refuses(f, "profile:hz:0", "Invalid rate of profile probe: it must be greater than 0: 0");
	refuses(f, "profile:hz:x", "Invalid rate of profile probe: not a number: x");
	refuses(f, "profile:days:1", "days is not an accepted unit of profile probe");
	refuses(f, "interval:ns:10",
		"Invalid rate of interval probe. Minimum is 1000 or 1us. Found: 10 nanoseconds");
	refuses(f, "profile:s:99999999999999999",
		"Invalid rate of profile probe: too large: 99999999999999999");
	refuses(f, "interval:1y", "Invalid rate of interval probe: not a duration: 1y");
}

static void test_perf(struct fixture *f)
{
	expands(f, "software:faults:10", "software:faults:10");
	ok(f->targets.list.items[0]->config == 10 &&
		   f->targets.list.items[0]->mode == PERF_COUNT_SW_PAGE_FAULTS,
	   "alias and count");
	expands(f, "s:cs", "software:cs:");
	ok(f->targets.list.items[0]->config == 1000, "default count");
	is_str(expand(f, "software:*faults"), "", "wildcard");
	is_int((long long)f->targets.list.len, 5, "  five kinds of faults");
	refuses(f, "software:page-fault", "page-fault is not a software probe");
	is_str(hint(f), "did you mean 'page-faults'?", "  nearest event");
	refuses(f, "software:cpu:0", "Invalid count for software probe: 0");
	if (!kernel_ask(f->env.kernel, KERNEL_PERF_HARDWARE)->yes) {
		ok(str_starts(expand(f, "hardware:cycles:1e6"), "hardware cannot be used here: "),
		   "hardware is refused: %s", expand(f, "hardware:cycles:1e6"));
		is_int(diag_exit_code(&f->diag), EXIT_UNSUPPORTED, "  with exit code 5");
	} else {
		expands(f, "hardware:cycles:1e6", "hardware:cpu-cycles:1e6");
	}
}

static void test_watchpoint(struct fixture *f)
{
	refuses(f, "watchpoint:0x1000:8:w",
		"-p PID or -c CMD is required to watch a user-space address");
	refuses(f, "watchpoint:0:8:w", "watchpoint must be attached to a non-zero address");
	refuses(f, "watchpoint:0x1000:3:w", "watchpoint length must be one of (1,2,4,8)");
	refuses(f, "watchpoint:0x1000:8:z", "watchpoint mode must be combination of (r,w,x)");
	refuses(f, "watchpoint:0x1000:8:r", "invalid watchpoint mode: r");
	refuses(f, "watchpoint:0x1001:8:w",
		"watchpoint address 0x1001 is not aligned to its length 8");
	refuses(f, "watchpoint:0x1000:8", "watchpoint probe type requires 3 arguments, found 2");
}

static size_t count_files(const char *pattern)
{
	glob_t g;
	size_t n = 0;

	if (!glob(pattern, GLOB_NOSORT, NULL, &g))
		n = g.gl_pathc;
	globfree(&g);
	return n;
}

static void test_tracepoint(struct fixture *f)
{
	struct probe_context c;
	const struct probe_target *t;
	const struct type_member *m;
	const char *tracefs = kernel_tracefs(f->env.kernel);
	char pattern[300];
	u32 offset;

	if (!tracefs || !kernel_ask(f->env.kernel, KERNEL_TRACEPOINTS)->yes) {
		tap_skip("tracepoints", "no tracefs here");
		return;
	}
	expands(f, "t:sched:sched_switch", "tracepoint:sched:sched_switch");
	t = f->targets.list.items[0];
	ok(!t->provider->describe(&f->env, t, &probe_use_all, NO_SPAN, &c) &&
		   c.kind == CONTEXT_TRACEPOINT && c.program_type == BPF_PROG_TYPE_TRACEPOINT &&
		   c.args,
	   "sched_switch has fields");
	m = c.args ? type_find_member(&f->types, c.args, "prev_pid", &offset) : NULL;
	ok(m && m->type->size == 4 && m->type->is_signed && offset >= 8,
	   "prev_pid is an int of the record");
	ok(c.args && !type_find_member(&f->types, c.args, "common_type", &offset),
	   "the unreadable head is left out");
	is_str(c.raw_tracepoint, "sched_switch", "it may be attached raw");
	is_str(expand(f, "tracepoint:syscalls:sys_enter_openat"), "", "a system call");
	t = f->targets.list.items[0];
	ok(!t->provider->describe(&f->env, t, &probe_use_all, NO_SPAN, &c) && !c.raw_tracepoint,
	   "  may not");
	ok(!t->provider->describe(&f->env, t, &(struct probe_use){.record = true}, NO_SPAN, &c) &&
		   !c.args,
	   "  no format is read if no field is used");

	is_str(expand(f, "tracepoint:syscalls:sys_enter_*"), "", "a wildcard");
	snprintf(pattern, sizeof(pattern), "%s/events/syscalls/sys_enter_*", tracefs);
	is_int((long long)f->targets.list.len, (long long)count_files(pattern),
	       "  as many as there are directories");
	is_str(expand(f, "tracepoint:*:sched_*"), "", "a wildcard category");
	snprintf(pattern, sizeof(pattern), "%s/events/*/sched_*/format", tracefs);
	is_int((long long)f->targets.list.len, (long long)count_files(pattern), "  as many");

	refuses(f, "tracepoint:sched:sched_swich", "No matches for tracepoint sched:sched_swich.");
	is_str(hint(f), "did you mean 'sched:sched_switch'?", "  nearest event");
	refuses(f, "tracepoint:shed:sched_switch", "No matches for tracepoint shed:sched_switch.");
	is_str(hint(f), "did you mean 'sched'?", "  nearest category");
	refuses(f, "tracepoint:syscalls:sched_switch",
		"No matches for tracepoint syscalls:sched_switch.");
	is_str(hint(f), "did you mean 'sched:sched_switch'?", "  the right category");
	refuses(f, "tracepoint:sched:nothing_*", "No matches for tracepoint sched:nothing_*.");
	refuses(f, "tracepoint:../x:y", "No matches for tracepoint ../x:y.");
	refuses(f, "tracepoint:sched", "tracepoint probe type requires 2 arguments, found 1");
}

static void test_rawtracepoint(struct fixture *f)
{
	struct probe_context c;
	const struct probe_target *t;

	if (!kernel_ask(f->env.kernel, KERNEL_RAW_TRACEPOINT)->yes) {
		tap_skip("raw tracepoints", "not here");
		return;
	}
	expands(f, "rt:sched_switch", "rawtracepoint:sched_switch");
	t = f->targets.list.items[0];
	ok(!t->provider->describe(&f->env, t, &probe_use_all, NO_SPAN, &c) &&
		   c.kind == CONTEXT_ARGUMENTS,
	   "it has arguments");
	if (btf_available(f->env.btf)) {
		tap_skip("typed arguments", "no BTF");
	} else {
		ok(c.args && c.args->count >= 3 && str_eq(c.args->members[1].name, "prev") &&
			   c.args->members[1].type->kind == TYPE_POINTER,
		   "prev is a pointer");
		ok(c.locations && c.locations[1].kind == LOCATION_CONTEXT &&
			   c.locations[1].offset == 8,
		   "  in the second slot");
	}
	refuses(f, "rawtracepoint:sched_swich", "No matches for rawtracepoint sched_swich.");
	is_str(hint(f), "did you mean 'sched_switch'?", "  nearest event");
	refuses(f, "rawtracepoint:sys_enter_open", "No matches for rawtracepoint sys_enter_open.");
}

static void test_kernel_functions(struct fixture *f)
{
	if (!kernel_ask(f->env.kernel, KERNEL_KPROBES)->yes) {
		const char *text = expand(f, "kprobe:vfs_read");

		ok(str_starts(text, "kprobe cannot be used here: "), "kprobe is refused: %s", text);
		ok(diag_exit_code(&f->diag) == EXIT_UNSUPPORTED ||
			   diag_exit_code(&f->diag) == EXIT_PRIVILEGE,
		   "  with its exit code");
		ok(str_starts(expand(f, "kr:vfs_*"), "kretprobe cannot be used here: "),
		   "kretprobe is refused");
	} else {
		expands(f, "kprobe:vfs_read", "kprobe:vfs_read");
		expands(f, "kprobe:vfs_read+4", "kprobe:vfs_read+4");
		refuses(f, "kprobe:vfs_reed", "No matches for kprobe vfs_reed.");
	}
	if (!kernel_ask(f->env.kernel, KERNEL_FENTRY)->yes) {
		ok(str_starts(expand(f, "fentry:vfs_read"), "fentry cannot be used here: "),
		   "fentry is refused");
		ok(str_starts(expand(f, "kretfunc:vfs_read"), "fexit cannot be used here: "),
		   "kretfunc is refused");
	} else {
		expands(f, "fentry:vfs_read", "fentry:vmlinux:vfs_read");
	}
	refuses(f, "kprobe:0xffffffff81000000", "Probing by address requires --unsafe");
	refuses(f, "kretprobe:vfs_read+4", "Offset not allowed");
	refuses(f, "kprobe:vfs_read+x", "Invalid offset: x");
	refuses(f, "kprobe:nonsense:vfs_read",
		"specified module nonsense in probe kprobe:nonsense:vfs_read is not loaded.");
	refuses(f, "kprobe", "kprobe probe type requires 1 or 2 arguments, found 0");
}

static void test_iter(struct fixture *f)
{
	struct probe_context c;

	refuses(f, "iter:*", "iter probe type does not support wildcards");
	if (!kernel_ask(f->env.kernel, KERNEL_ITERATORS)->yes || btf_available(f->env.btf)) {
		tap_skip("iterators", "not here");
		return;
	}
	expands(f, "iter:task", "iter:task");
	ok(!f->targets.list.items[0]->provider->describe(&f->env, f->targets.list.items[0],
							 &probe_use_all, NO_SPAN, &c) &&
		   c.attach_btf_id && c.args && c.locations,
	   "iter:task has a context");
	refuses(f, "iter:tasks", "iter tasks not available for your kernel version.");
	is_str(hint(f), "did you mean 'task'?", "  nearest iterator");
}

int main(void)
{
	struct fixture f;

	setup(&f);
	test_names();
	test_numbers();
	test_special(&f);
	test_rates(&f);
	test_perf(&f);
	test_watchpoint(&f);
	test_tracepoint(&f);
	test_rawtracepoint(&f);
	test_kernel_functions(&f);
	test_iter(&f);
	teardown(&f);
	return tap_done();
}
