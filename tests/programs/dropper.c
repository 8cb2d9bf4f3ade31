/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracer that takes events from all others: its BPF program on a tracepoint returns 0, and perf
 * neither counts nor records what that has seen. Until it is killed.
 *	dropper ID	of the tracepoint, as its file `id` has it
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = (__u64)(unsigned long)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (__u64)(unsigned long)"GPL",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
	};
	const int event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0), program = load();

	if (event < 0 || program < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program)) {
		perror("dropper");
		return 1;
	}
	puts("attached");
	fflush(stdout);
	for (;;)
		pause();
}
