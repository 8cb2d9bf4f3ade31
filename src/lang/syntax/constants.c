/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/constants.h"

#include "arch/arch.h"

#include "lang/syntax/constant_headers.h"

/* Values come from the headers of the architecture that this is built for. */
#define C(name)                    \
	{                          \
#name, (s64)(name) \
	}

static const struct constant {
	const char *name;
	s64 value;
} constants[] = {
#include "system_constants.h"
	/* of enumerations */
	C(IPPROTO_MAX),
	C(TCP_CLOSE),
	C(TCP_CLOSE_WAIT),
	C(TCP_CLOSING),
	C(TCP_ESTABLISHED),
	C(TCP_FIN_WAIT1),
	C(TCP_FIN_WAIT2),
	C(TCP_LAST_ACK),
	C(TCP_LISTEN),
	C(TCP_SYN_RECV),
	C(TCP_SYN_SENT),
	C(TCP_TIME_WAIT),
	/*
	 * Of the kernel's own headers, which user space has no copy of: values that have been the
	 * same since before BPF (include/linux/sched.h; include/linux/mm_types.h and
	 * include/linux/gfp_types.h keep theirs in BTF).
	 */
	{"TASK_RUNNING", 0x0},
	{"TASK_INTERRUPTIBLE", 0x1},
	{"TASK_UNINTERRUPTIBLE", 0x2},
	{"EXIT_DEAD", 0x10},
	{"EXIT_ZOMBIE", 0x20},
	{"EXIT_TRACE", 0x30},
	{"PF_EXITING", 0x4},
	{"PF_FORKNOEXEC", 0x40},
	{"PF_SUPERPRIV", 0x100},
	{"PF_SIGNALED", 0x400},
	{"PF_MEMALLOC", 0x800},
	{"PF_KTHREAD", 0x200000},
	{"PF_RANDOMIZE", 0x400000},
	{"MAX_RT_PRIO", 100},
	{"MAX_PRIO", 140},
	{"DEFAULT_PRIO", 120},
	{"TASK_COMM_LEN", 16},
	{"MINORBITS", 20},
};

/* __NR_openat, SYS_openat: <sys/syscall.h>. */
static bool find_syscall(const char *name, s64 *ret_value)
{
	const int nr = str_starts(name, "__NR_")  ? arch_syscall_number(name + 5)
		       : str_starts(name, "SYS_") ? arch_syscall_number(name + 4)
						  : -1;

	if (nr >= 0)
		*ret_value = nr;
	return nr >= 0;
}

bool constant_find(const char *name, s64 *ret_value)
{
	if (find_syscall(name, ret_value))
		return true;
	/* Only names in capitals: cheap to tell from the others. */
	if (*name < 'A' || *name > 'Z')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		if (!str_eq(constants[i].name, name))
			continue;
		*ret_value = constants[i].value;
		return true;
	}
	return false;
}
