/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel.h"

int sys_bpf(int cmd, union bpf_attr *attr, unsigned int size)
{
	u32 attempts = 5;
	long rc;

	/* EAGAIN: the verifier was interrupted by a signal. */
	do
		rc = syscall(SYS_bpf, cmd, attr, size);
	while (rc < 0 && errno == EAGAIN && cmd == BPF_PROG_LOAD && --attempts);
	return rc < 0 ? -errno : (int)rc;
}

int sys_bpf_info(int fd, void *info, u32 size)
{
	union bpf_attr attr = {0};

	attr.info.bpf_fd = (u32)fd;
	attr.info.info_len = size;
	attr.info.info = (u64)(uintptr_t)info;
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

int sys_bpf_iterator(int link)
{
	union bpf_attr attr = {.iter_create.link_fd = (u32)link};

	return sys_bpf(BPF_ITER_CREATE, &attr, sizeof(attr));
}
