/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/sandbox/filter.h"

#define BIT_PERFMON 38
#define BIT_BPF	    39
#define BIT_RESTORE 40

const struct sandbox_capability sandbox_capabilities[] = {
	{BIT_BPF, "CAP_BPF", 0, "read maps"},
	{BIT_PERFMON, "CAP_PERFMON", 0, "run end probes"},
	{CAP_SYSLOG, "CAP_SYSLOG", SANDBOX_KERNEL_NAMES,
	 "names that ftrace prints for addresses of the kernel"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", SANDBOX_USER_FILES | SANDBOX_PROGRAMS,
	 "what other users' processes map"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", SANDBOX_USER_FILES | SANDBOX_PROGRAMS,
	 "symbols of other users' programs, paths of cgroups, cat()"},
	{CAP_KILL, "CAP_KILL", SANDBOX_CHILD | SANDBOX_PROGRAMS, "end the command of -c"},
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", SANDBOX_WRITES | SANDBOX_PROGRAMS | SANDBOX_TRACEFS,
	 "files that are made meanwhile; tracefs; sockets of instrumented programs"},
	{CAP_CHOWN, "CAP_CHOWN", SANDBOX_PROGRAMS, "rings belong to the programs that write them"},
	{CAP_FOWNER, "CAP_FOWNER", SANDBOX_PROGRAMS, "the same"},
	{BIT_RESTORE, "CAP_CHECKPOINT_RESTORE", SANDBOX_PROGRAMS,
	 "the files that programs map, by mapping"},
	{CAP_SYS_NICE, "CAP_SYS_NICE", SANDBOX_PROGRAMS, "a recorder goes before what it records"},
	{0},
};

static int keep_capabilities(u32 needs)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	u64 keep = 0, held;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (const struct sandbox_capability *c = sandbox_capabilities; c->name; c++)
		if (!c->needs || c->needs & needs)
			keep |= 1ULL << c->bit;
	held = data[0].permitted | (u64)data[1].permitted << 32;
	keep &= held;
	for (u32 i = 0; i < 2; i++) {
		data[i].effective = data[i].permitted = (u32)(keep >> 32 * i);
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int sandbox_enter(u32 needs)
{
	const bool filtered = !(needs & (SANDBOX_WRITES | SANDBOX_PROGRAMS | SANDBOX_TRACEFS));
	int err = keep_capabilities(needs);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !err)
		err = -errno;
	if (filtered && !err)
		err = sandbox_filter();
	return err;
}
