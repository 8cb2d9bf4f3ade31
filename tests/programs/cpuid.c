/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuid COUNT: in a guest, each round asks the host for something that it can trace (kvm:kvm_cpuid
 * of function 0x4badf00d, index: the round), between two system calls that the guest can trace.
 */
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const unsigned int count = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	unsigned int a, b, c, d;

	for (unsigned int i = 0; i < count; i++) {
		syscall(SYS_getppid);
		__cpuid_count(0x4badf00d, i, a, b, c, d);
	}
	syscall(SYS_getppid);
	printf("%u rounds\n", count);
	return 0;
}
