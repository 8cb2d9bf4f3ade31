/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm OUTS [USLEEP]: a virtual machine of a few instructions in real mode, which writes OUTS times
 * to a port and halts. Each write is an exit that this program handles; with USLEEP it sleeps that
 * long, in microseconds, before the machine goes on.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int must(int rc, const char *what)
{
	if (rc >= 0)
		return rc;
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	const unsigned outs = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const unsigned pause = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	/* mov cx, OUTS; again: out 0x10, al; loop again; hlt */
	const unsigned char code[] = {0xb9, outs & 255, outs >> 8, 0xe6, 0x10, 0xe2, 0xfc, 0xf4};
	const int kvm = must(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	const int vm = must(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	unsigned char *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct kvm_userspace_memory_region region = {.guest_phys_addr = 0x1000,
							   .memory_size = 4096,
							   .userspace_addr = (unsigned long)memory};
	const int cpu = must(ioctl(vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	const int size = must(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
	struct kvm_run *run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	struct kvm_sregs segments;
	struct kvm_regs registers = {.rip = 0x1000, .rflags = 2};
	unsigned seen = 0;

	memcpy(memory, code, sizeof(code));
	must(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	must(ioctl(cpu, KVM_GET_SREGS, &segments), "KVM_GET_SREGS");
	segments.cs.base = segments.cs.selector = 0;
	must(ioctl(cpu, KVM_SET_SREGS, &segments), "KVM_SET_SREGS");
	must(ioctl(cpu, KVM_SET_REGS, &registers), "KVM_SET_REGS");
	for (;;) {
		must(ioctl(cpu, KVM_RUN, 0), "KVM_RUN");
		if (run->exit_reason != KVM_EXIT_IO)
			break;
		seen++;
		if (pause)
			usleep(pause);
	}
	printf("%u writes, then %s\n", seen,
	       run->exit_reason == KVM_EXIT_HLT ? "halt" : "something else");
	return run->exit_reason != KVM_EXIT_HLT;
}
