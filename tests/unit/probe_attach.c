/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in user programs, and attaching for real: a program that counts, on each kind of event
 * that is here. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/provider.h"
#include "probe_fixture.h"
#include "tap.h"

/* Arguments by number only: no format is read. */
static const struct probe_use use = {.record = true, .names = true};

/* ---- what is probed: this program itself ---- */

int probe_test_function(int a, int b);
void probe_test_event(int first, long second);

unsigned short probe_test_semaphore __attribute__((section(".probes"), used));

__attribute__((noinline, used)) int probe_test_function(int a, int b)
{
	__asm__ volatile("" : "+r"(a), "+r"(b));
	return a + b;
}

/* A USDT site as <sys/sdt.h> makes it: two arguments, guarded by a semaphore. */
__attribute__((noinline, used)) void probe_test_event(int first, long second)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte probe_test_semaphore\n"
			 ".asciz \"pantrace_test\"\n"
			 ".asciz \"event\"\n"
			 ".asciz \"-4@%%edi 8@%%rsi\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 :
			 : "D"(first), "S"(second));
}

static void refuses(struct fixture *f, const char *text, const char *error)
{
	is_str(expand(f, text), error, text);
}

/* ---- a program that counts its runs in map[0] ---- */

static bool attach(struct fixture *f, const char *text, pid_t pid, bool raw)
{
	const struct probe_provider *p;
	const char *error = expand_pid(f, text, pid);

	if (*error)
		return ok(0, "%s: %s", text, error);
	p = f->targets.list.items[0]->provider;
	if (p->describe(&f->env, f->targets.list.items[0], &use, NO_SPAN, &f->context))
		return ok(0, "%s is described", text);
	if (raw)
		f->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	f->map = new_map();
	f->program = new_program(&f->context, f->map, -1, 0);
	if (f->program < 0)
		return ok(0, "a program for %s: %s", text, strerror(-f->program));
	p->attach(&f->env, f->program, &f->context, f->targets.list.items, (u32)f->targets.list.len,
		  &f->attachments);
	for (size_t i = 0; i < f->diag.messages.len; i++)
		printf("# %s\n", f->diag.messages.items[i].text);
	return ok(f->attachments.attached == f->targets.list.len && !f->attachments.failed,
		  "%s%s: %u of %zu attached by %zu links", text, raw ? " (raw)" : "",
		  f->attachments.attached, f->targets.list.len, f->attachments.list.len);
}

static void detach(struct fixture *f, void (*work)(void))
{
	u64 before;

	probe_detach_all(&f->attachments);
	before = counted(f);
	if (work) {
		work();
		ok(counted(f) == before, "  nothing counts after detaching");
	}
	close(f->program);
	close(f->map);
}

/* ---- work ---- */

static void system_calls(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getpriority, 0, 0);
}

static void calls(void)
{
	for (int i = 0; i < 100; i++)
		probe_test_function(i, 1);
}

static void events(void)
{
	for (int i = 0; i < 100; i++)
		probe_test_event(i, 1);
}

static void faults(void)
{
	char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, 64 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < 64; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, 64 * 4096);
}

/* Works for 300 ms of this clock. */
static void spin_by(clockid_t clock)
{
	struct timespec start, now;

	clock_gettime(clock, &start);
	do
		clock_gettime(clock, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 300000000);
}

static void spin(void)
{
	spin_by(CLOCK_MONOTONIC);
}

/* However little of a busy machine this process gets. */
static void spin_itself(void)
{
	spin_by(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- truth from readelf ---- */

static u64 shell_number(const char *command)
{
	char line[64] = "";
	FILE *p = popen(command, "r");

	if (p && !fgets(line, sizeof(line), p))
		line[0] = '\0';
	if (p)
		pclose(p);
	return strtoull(line, NULL, 16);
}

/* Offsets are taken where objdump sees an instruction begin, and refused elsewhere. */
static void test_boundaries(struct fixture *f, u64 address, u64 offset)
{
	char command[128], line[256], text[64];
	u32 begins = 0, taken = 0, added = 0;
	FILE *p;

	snprintf(command, sizeof(command),
		 "objdump -d --start-address=%llu --stop-address=%llu /bin/bash 2>/dev/null",
		 (unsigned long long)address, (unsigned long long)address + 20);
	p = popen(command, "r");
	while (p && fgets(line, sizeof(line), p)) {
		char *end;
		const u64 at = strtoull(line, &end, 16) - address;

		if (*end == ':' && line[0] == ' ' && at > 0 && at < 16)
			begins |= 1u << at;
	}
	if (p)
		pclose(p);
	for (u32 i = 1; i < 16; i++) {
		snprintf(text, sizeof(text), "u:bash:readline+%u", i);
		if (*expand(f, text))
			continue;
		taken |= 1u << i;
		added += f->targets.list.items[0]->address == offset + i;
	}
	is_int(taken, begins, "offsets are taken where instructions begin");
	is_int(added, __builtin_popcount(begins), "  and added to the function's file offset");
	ok(str_starts(expand(f, "u:bash:readline+1"),
		      "Could not add uprobe into middle of instruction"),
	   "  else refused");
}

static void test_symbols(struct fixture *f)
{
	const u64 address = shell_number("readelf -W --dyn-syms /bin/bash 2>/dev/null | awk '$8 == "
					 "\"readline\" { print $2 }'");
	const u64 load = shell_number(
		"readelf -lW /bin/bash 2>/dev/null | awk '$1 == \"LOAD\" && /R E/ { print $2 }'");
	const u64 base = shell_number(
		"readelf -lW /bin/bash 2>/dev/null | awk '$1 == \"LOAD\" && /R E/ { print $3 }'");
	struct probe_context c;
	char text[128];
	size_t n;

	if (!address) {
		tap_skip("bash:readline", "no readelf or no such symbol");
		return;
	}
	is_str(expand(f, "uprobe:/bin/bash:readline"), "", "uprobe:/bin/bash:readline");
	is_str(f->targets.list.items[0]->name, "uprobe:/bin/bash:readline", "  its name");
	is_int((long long)f->targets.list.items[0]->address, (long long)(address - base + load),
	       "  its file offset as readelf says");
	ok(!f->targets.list.items[0]->provider->describe(&f->env, f->targets.list.items[0], &use,
							 NO_SPAN, &c) &&
		   c.kind == CONTEXT_REGISTERS && c.space == SPACE_USER && c.argn_count == 12 &&
		   c.argn[0].kind == LOCATION_REGISTER && c.argn[6].kind == LOCATION_MEMORY,
	   "  arguments in registers, then on the stack");
	test_boundaries(f, address, address - base + load);
	snprintf(text, sizeof(text), "uprobe:/bin/bash:0x%llx", (unsigned long long)address);
	is_str(expand(f, text), "", text);
	is_int((long long)f->targets.list.items[0]->address, (long long)(address - base + load),
	       "  an address");
	is_str(expand(f, "uretprobe:/bin/bash:*read*line*"), "", "a wildcard");
	n = f->targets.list.len;
	ok(n > 5, "  finds %zu functions", n);
	ok(!f->targets.list.items[0]->provider->describe(&f->env, f->targets.list.items[0], &use,
							 NO_SPAN, &c) &&
		   c.is_return && c.retval_location.kind == LOCATION_REGISTER && !c.argn_count,
	   "  with a return value");
	refuses(f, "uprobe:/bin/bash:readlin", "No matches for uprobe /bin/bash:readlin.");
	is_str(hint(f), "did you mean 'readline'?", "  nearest symbol");
	ok(str_starts(expand(f, "uprobe:/bin/bash:readline+100000"),
		      "Offset outside the function bounds ('readline' size is"),
	   "an offset behind the function");
	refuses(f, "uretprobe:/bin/bash:readline+4", "Offset not allowed");
	refuses(f, "uprobe:/bin/bash:10", "Could not resolve address: /bin/bash:0xa");
	refuses(f, "uprobe:/bin/bash:zz_*", "No matches for uprobe /bin/bash:zz_*.");
}

static void test_files(struct fixture *f)
{
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	refuses(f, "uprobe:/etc/passwd:x", "/etc/passwd is not an ELF executable or library");
	refuses(f, "uprobe:/no/such/file:x", "No such file or library: /no/such/file");
	refuses(f, "uprobe:/no/such/*:x", "No file matches /no/such/*");
	refuses(f, "uprobe:/bin/bash", "uprobe probe type requires 2 or 3 arguments, found 1");
	ok(str_starts(expand_pid(f, "uprobe:/bin/bash:readline", gone), "process "),
	   "a process that is gone: %s", expand_pid(f, "uprobe:/bin/bash:readline", gone));
	is_str(expand(f, "uprobe:libc:fread"), "", "a library by its stem");
	is_str(expand(f, "uprobe:libc.so.6:fread"), "", "a library by its soname");
	is_str(expand_pid(f, "uprobe:probe_test_function", getpid()), "",
	       "-p: the file may be left out");
	is_str(expand(f, "usdt:/bin/true:nothing"), "No matches for usdt /bin/true:*:nothing.",
	       "no such USDT probe");
}

static void test_usdt(struct fixture *f, const char *self)
{
	struct probe_context c;
	const struct probe_target *t;
	char text[600];

	snprintf(text, sizeof(text), "usdt:%s:pantrace_test:event", self);
	if (!ok(!*expand(f, text), "usdt: own event"))
		return;
	t = f->targets.list.items[0];
	is_str(t->name, text, "  its name");
	ok(t->semaphore != 0, "  it has a semaphore");
	ok(!t->provider->describe(&f->env, t, &use, NO_SPAN, &c) && c.argn_count == 2,
	   "  two arguments");
	ok(c.argn[0].kind == LOCATION_REGISTER && c.argn[0].size == 4 && c.argn[0].is_signed &&
		   c.argn[1].size == 8 && !c.argn[1].is_signed,
	   "  of the right sizes and signs");
	snprintf(text, sizeof(text), "usdt:%s:ev*", self);
	is_str(expand(f, text), "", "  a wildcard, any provider");
	snprintf(text, sizeof(text), "usdt:%s:evnt", self);
	expand(f, text);
	is_str(hint(f), "did you mean 'event'?", "  nearest event");
}

static void test_attach(struct fixture *f, const char *self)
{
	char text[600];

	if (attach(f, "tracepoint:syscalls:sys_enter_getpriority", 0, false)) {
		system_calls();
		ok(counted(f) >= 100, "  100 calls are counted (%llu)",
		   (unsigned long long)counted(f));
	}
	detach(f, system_calls);
	if (attach(f, "tracepoint:raw_syscalls:sys_enter", 0, true)) {
		system_calls();
		ok(counted(f) >= 100, "  100 calls are counted");
	}
	detach(f, NULL);
	if (attach(f, "rawtracepoint:sys_enter", 0, false)) {
		system_calls();
		ok(counted(f) >= 100, "  100 calls are counted");
	}
	detach(f, NULL);
	if (attach(f, "tracepoint:syscalls:sys_enter_get*", 0, false)) {
		system_calls();
		ok(counted(f) >= 100, "  100 calls are counted");
	}
	detach(f, system_calls);
	if (attach(f, "software:page-faults:1", getpid(), false)) {
		faults();
		ok(counted(f) >= 64, "  64 faults are counted (%llu)",
		   (unsigned long long)counted(f));
	}
	detach(f, faults);
	if (attach(f, "profile:hz:100", 0, false)) {
		spin();
		ok(counted(f) >= 10, "  it ticks (%llu in 300 ms)", (unsigned long long)counted(f));
	}
	detach(f, spin);
	if (attach(f, "profile:hz:100", getpid(), false)) {
		spin_itself();
		ok(counted(f) >= 5, "  it ticks in this process (%llu)",
		   (unsigned long long)counted(f));
	}
	detach(f, NULL);
	if (attach(f, "interval:ms:10", 0, false)) {
		spin();
		ok(counted(f) >= 10 && counted(f) <= 60, "  it ticks on one CPU (%llu in 300 ms)",
		   (unsigned long long)counted(f));
	}
	detach(f, spin);
	snprintf(text, sizeof(text), "uprobe:%s:probe_test_function", self);
	if (attach(f, text, 0, false)) {
		calls();
		is_int((long long)counted(f), 100, "  100 calls are counted, no more");
	}
	detach(f, calls);
	snprintf(text, sizeof(text), "uretprobe:%s:probe_test_function", self);
	if (attach(f, text, getpid(), false)) {
		calls();
		is_int((long long)counted(f), 100, "  100 returns are counted, no more");
	}
	detach(f, calls);
	snprintf(text, sizeof(text), "uprobe:%s:probe_*", self);
	if (attach(f, text, 0, false)) {
		calls();
		ok(counted(f) >= 100, "  100 calls are counted");
	}
	detach(f, calls);
	snprintf(text, sizeof(text), "usdt:%s:event", self);
	if (attach(f, text, 0, false)) {
		ok(*(volatile unsigned short *)&probe_test_semaphore > 0, "  the semaphore is up");
		events();
		is_int((long long)counted(f), 100, "  100 events are counted");
	}
	detach(f, events);
	is_int(*(volatile unsigned short *)&probe_test_semaphore, 0,
	       "  the semaphore is down again");
}

static void test_watchpoint(struct fixture *f)
{
	static volatile u64 watched;
	char text[64];
	int i;

	snprintf(text, sizeof(text), "watchpoint:0x%llx:8:w",
		 (unsigned long long)(uintptr_t)&watched);
	if (!kernel_ask(f->env.kernel, KERNEL_WATCHPOINT)->yes) {
		tap_skip("watchpoint", "no debug registers here");
		return;
	}
	if (attach(f, text, getpid(), false)) {
		for (i = 0; i < 10; i++)
			watched = (u64)i;
		is_int((long long)counted(f), 10, "  10 writes are counted");
	}
	detach(f, NULL);
}

int main(void)
{
	struct fixture f;
	char self[512] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	setup(&f);
	if (n < 0 || geteuid() || !kernel_ask(f.env.kernel, KERNEL_BPF)->yes ||
	    !kernel_ask(f.env.kernel, KERNEL_UPROBES)->yes) {
		tap_skip("attaching", "needs root and BPF");
	} else {
		test_symbols(&f);
		test_files(&f);
		test_usdt(&f, self);
		test_attach(&f, self);
		test_watchpoint(&f);
	}
	teardown(&f);
	return tap_done();
}
