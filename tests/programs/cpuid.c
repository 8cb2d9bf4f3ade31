/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuid: in a virtual machine, asks again and again for a leaf that nobody has, which its
 * hypervisor answers (kvm:kvm_cpuid with function 0x4badf00d and index N), between two system
 * calls: getppid with the arguments N and 0, then N and 1.
 */
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	for (unsigned n = 0;; n++) {
		unsigned a, b, c, d;

		syscall(SYS_getppid, n, 0);
		__cpuid_count(0x4badf00d, n, a, b, c, d);
		syscall(SYS_getppid, n, 1);
		usleep(2000);
	}
}
