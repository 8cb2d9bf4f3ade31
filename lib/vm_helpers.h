/* SPDX-License-Identifier: MIT */
/*
 * The helper functions that a program may call (vm_check.c lists them), and the memory that they
 * and it may touch. For vm.c alone, where they are inlined: a call of another file makes a counted
 * event 4 to 6 ns dearer (bench/user/counted.sh).
 */
#ifndef PANTRACE_LIB_VM_HELPERS_H
#define PANTRACE_LIB_VM_HELPERS_H

#include "aggregate.h"
#include "vm_internal.h"
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK 512 /* bytes */

/* All that a program may touch. */
struct memory {
	const unsigned char *record;
	size_t record_size;
	const struct pt_vm_view *view;
	bool has_context; /* else context and texts are yet to be made */
	uint64_t context[PT_VM_SLOTS];
	unsigned char stack[STACK] __attribute__((aligned(8)));
	unsigned char scratch[PT_VM_SCRATCH] __attribute__((aligned(8)));
	size_t scratch_size;
	struct pt_tables *tables; /* NULL: a filter */
	char texts[PT_VM_TEXTS];
};

/* Whether the N bytes at ADDRESS are among the SIZE bytes FROM. */
static bool within(uint64_t address, size_t n, const void *from, size_t size)
{
	const uint64_t offset = address - (uint64_t)(uintptr_t)from;

	return offset <= size && n <= size - offset;
}

/* Whether a program may write, and read, N bytes at ADDRESS. */
static bool may_write(const struct memory *m, uint64_t address, size_t n)
{
	return within(address, n, m->stack, STACK) ||
	       within(address, n, m->scratch, m->scratch_size);
}

static bool may_read(const struct memory *m, uint64_t address, size_t n)
{
	return may_write(m, address, n) || within(address, n, m->record, m->record_size) ||
	       (m->has_context && (within(address, n, m->context, sizeof(m->context)) ||
				   within(address, n, m->texts, sizeof(m->texts))));
}

/* How many bytes from ADDRESS on may be read. */
static size_t readable(const struct memory *m, uint64_t address)
{
	const struct {
		const void *from;
		size_t size;
	} places[] = {
		{m->record, m->record_size},
		{m->scratch, m->scratch_size},
		{m->stack, STACK},
		{m->texts, m->has_context ? sizeof(m->texts) : 0},
		{m->context, m->has_context ? sizeof(m->context) : 0},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (within(address, 1, places[i].from, places[i].size))
			return places[i].size - (address - (uint64_t)(uintptr_t)places[i].from);
	return 0;
}

/* The text of a record ends with it. */
static uint64_t copy_string(struct memory *m, uint64_t to, uint64_t size, uint64_t from)
{
	const size_t room = readable(m, from);
	char *const begin = (char *)(uintptr_t)to;
	size_t n;

	if (!size || size > PT_VM_SCRATCH || !may_write(m, to, size) || !room)
		return (uint64_t)-14; /* EFAULT */
	n = strnlen((const char *)(uintptr_t)from, room < size - 1 ? room : size - 1);
	memmove(begin, (const char *)(uintptr_t)from, n);
	begin[n] = 0;
	return n + 1;
}

/*
 * Fills in who runs the program. In an instrumented process this is known (context.c): an event
 * makes no system call. The tool, which tries programs out, makes them.
 */
static void who_runs(struct pt_vm_who *who)
{
	if (pt_thread_who) {
		pt_thread_who(who);
		return;
	}
	*who = (struct pt_vm_who){
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.uid = getuid(),
		.gid = getgid(),
		.cpu = (uint32_t)sched_getcpu(),
	};
	prctl(PR_GET_NAME, who->name);
}

/* Bucket numbers of hist(n, bits), as the language has them (src/lang/builtin/aggregate.c). */
static uint64_t bucket_of(uint64_t n, uint64_t bits)
{
	unsigned int above;

	if ((int64_t)n < 0 || bits > 5)
		return 0;
	if (n < 1ull << bits)
		return 1 + n;
	above = 63 - (unsigned int)__builtin_clzll(n) - (unsigned int)bits;
	return 1 + ((uint64_t)(above + 1) << bits) + ((n >> above) & ((1ull << bits) - 1));
}

/*
 * Calls HELPER with the arguments R[1] to R[5] and returns its result. If they point to memory that
 * the program may not touch, *BAD is set and the run must end.
 */
static uint64_t call(struct memory *m, int64_t helper, const uint64_t *r, bool *bad)
{
	struct pt_vm_who who;
	struct timespec now;

	switch (helper) {
	case BPF_FUNC_map_lookup_elem: /* of map 0, whose key is 0 */
		return (uint64_t)(uintptr_t)m->scratch;
	case BPF_FUNC_ktime_get_ns:
		clock_gettime(CLOCK_MONOTONIC, &now);
		return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	case BPF_FUNC_get_smp_processor_id:
		who_runs(&who);
		return who.cpu;
	case BPF_FUNC_get_current_pid_tgid:
		who_runs(&who);
		return (uint64_t)who.pid << 32 | who.tid;
	case BPF_FUNC_get_current_uid_gid:
		who_runs(&who);
		return (uint64_t)who.gid << 32 | who.uid;
	case BPF_FUNC_get_current_comm:
		if (!r[2] || !may_write(m, r[1], r[2]))
			break;
		who_runs(&who);
		memset((void *)(uintptr_t)r[1], 0, r[2]);
		memcpy((void *)(uintptr_t)r[1], who.name, r[2] < 16 ? r[2] : 16);
		((char *)(uintptr_t)r[1])[r[2] - 1] = 0;
		return 0;
	case BPF_FUNC_probe_read:
	case BPF_FUNC_probe_read_user:
	case BPF_FUNC_probe_read_kernel:
		if (!may_write(m, r[1], r[2]))
			break;
		if (!may_read(m, r[3], r[2])) {
			memset((void *)(uintptr_t)r[1], 0, r[2]);
			return (uint64_t)-14;
		}
		memmove((void *)(uintptr_t)r[1], (const void *)(uintptr_t)r[3], r[2]);
		return 0;
	case BPF_FUNC_probe_read_str:
	case BPF_FUNC_probe_read_user_str:
	case BPF_FUNC_probe_read_kernel_str:
		return copy_string(m, r[1], r[2], r[3]);
	case PT_VM_BUCKET:
		return bucket_of(r[1], r[2]);
	case PT_VM_COUNT:
		if (!m->tables || !may_read(m, r[2], pt_tables_key_size(m->tables, r[1])))
			break;
		pt_tables_add(m->tables, r[1], (const void *)(uintptr_t)r[2], r[3]);
		return 0;
	case BPF_FUNC_strncmp:
		if (r[2] > PT_VM_SCRATCH || !may_read(m, r[1], r[2]) || !may_read(m, r[3], r[2]))
			break;
		return (uint64_t)(int64_t)strncmp((const char *)(uintptr_t)r[1],
						  (const char *)(uintptr_t)r[3], r[2]);
	}
	*bad = true;
	return 0;
}

#endif
