/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel functions: kprobe, kretprobe, fentry, fexit, attached for real. Skipped where the kernel
 * has none. */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel/features/traceable.h"
#include "probe/provider.h"
#include "probe_fixture.h"
#include "tap.h"

static void now(struct timespec *t)
{
	clock_gettime(CLOCK_MONOTONIC, t);
}

static double since(const struct timespec *start)
{
	struct timespec t;

	now(&t);
	return (double)(t.tv_sec - start->tv_sec) * 1e3 +
	       (double)(t.tv_nsec - start->tv_nsec) / 1e6;
}

/* Expands, loads a counter that looks for `value` in argument or return value, and attaches. */
static bool attach(struct fixture *f, const char *text, bool filter, s32 value)
{
	const struct probe_provider *p;
	const char *error = expand(f, text);
	const struct location *l;
	struct timespec start;
	int at = -1;

	if (*error)
		return ok(0, "%s: %s (%s)", text, error, hint(f));
	p = f->targets.list.items[0]->provider;
	if (p->describe(&f->env, f->targets.list.items[0], &probe_use_all, NO_SPAN, &f->context))
		return ok(0, "%s is described", text);
	if (filter) {
		l = f->context.is_return ? &f->context.retval_location : &f->context.argn[2];
		at = l->kind == LOCATION_NONE ? -1 : l->offset;
		ok(at >= 0, "  the value can be found");
	}
	f->map = new_map();
	f->program = new_program(&f->context, f->map, at, value);
	if (f->program < 0)
		return ok(0, "a program for %s: %s", text, strerror(-f->program));
	now(&start);
	p->attach(&f->env, f->program, &f->context, f->targets.list.items, (u32)f->targets.list.len,
		  &f->attachments);
	for (size_t i = 0; i < f->diag.messages.len; i++)
		printf("# %s\n", f->diag.messages.items[i].text);
	printf("# %.1f ms, %u skipped, %u failed\n", since(&start), f->targets.skipped,
	       f->attachments.failed);
	return ok(f->attachments.attached + f->attachments.failed == f->targets.list.len &&
			  f->attachments.attached,
		  "%s: %u of %zu attached by %zu links", text, f->attachments.attached,
		  f->targets.list.len, f->attachments.list.len);
}

static void detach(struct fixture *f)
{
	struct timespec start;

	now(&start);
	probe_detach_all(&f->attachments);
	printf("# detached in %.1f ms\n", since(&start));
	close(f->program);
	close(f->map);
}

static void reads(void)
{
	static char buffer[1000];
	FILE *zero = fopen("/dev/zero", "r");

	if (!zero)
		return;
	for (int i = 0; i < 100; i++)
		if (read(fileno(zero), buffer, 777) != 777)
			break;
	fclose(zero);
}

static void counts_reads(struct fixture *f, const char *text)
{
	if (attach(f, text, true, 777)) {
		reads();
		is_int((long long)counted(f), 100, "  100 reads of 777 bytes");
	}
	detach(f);
}

static void test_kprobes(struct fixture *f)
{
	const char *text;

	counts_reads(f, "kprobe:vfs_read");
	ok(f->context.args || btf_available(f->env.btf), "kprobe:vfs_read is typed by BTF");
	counts_reads(f, "k:vmlinux:vfs_read");
	counts_reads(f, "kretprobe:vfs_read");
	counts_reads(f, "kprobe:vfs_rea[d]");
	if (attach(f, "kprobe:vfs_*", false, 0)) {
		reads();
		ok(counted(f) >= 100, "  a wildcard counts");
		ok(f->attachments.list.len < f->targets.list.len ||
			   !f->context.expected_attach_type,
		   "  by fewer links than functions");
	}
	detach(f);
	if (attach(f, "kretprobe:vfs_*", false, 0)) {
		reads();
		ok(counted(f) >= 100, "  returns of a wildcard count");
	}
	detach(f);
	if (attach(f, "kprobe:tcp_*", false, 0))
		ok(f->targets.list.len > 100, "  many functions");
	detach(f);

	text = expand(f, "kprobe:vfs_raed");
	is_str(text, "No matches for kprobe vfs_raed.", "an unknown function");
	ok(strstr(hint(f), "vfs_read") != NULL, "  nearest: %s", hint(f));
	text = expand(f, "kprobe:vfs_zz*");
	is_str(text, "No matches for kprobe vfs_zz*.", "a wildcard without a match");
	text = expand(f, "kprobe:int3_magic");
	printf("# %s / %s\n", text, hint(f));
	text = expand(f, "kprobe:exc_int3");
	ok(strstr(text, "blacklist") != NULL ||
		   !kernel_function_blacklisted(f->env.kernel, "exc_int3", 0),
	   "blacklisted: %s", text);
}

static void test_fentry(struct fixture *f)
{
	counts_reads(f, "fentry:vfs_read");
	counts_reads(f, "kretfunc:vfs_read");
	expand(f, "fentry:vfs_*");
	ok(f->targets.list.len > 20, "fentry:vfs_* finds %zu functions", f->targets.list.len);
	expand(f, "fentry:vfs_raed");
	ok(strstr(hint(f), "vfs_read") != NULL, "nearest: %s", hint(f));
}

int main(void)
{
	struct fixture f;

	setup(&f);
	if (kernel_ask(f.env.kernel, KERNEL_KPROBES)->yes)
		test_kprobes(&f);
	else
		tap_skip("kprobes", kernel_ask(f.env.kernel, KERNEL_KPROBES)->why);
	if (kernel_ask(f.env.kernel, KERNEL_FENTRY)->yes && !btf_available(f.env.btf))
		test_fentry(&f);
	else
		tap_skip("fentry", kernel_ask(f.env.kernel, KERNEL_FENTRY)->why);
	teardown(&f);
	return tap_done();
}
