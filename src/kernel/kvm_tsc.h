/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How KVM makes the TSC of a guest of ours, as it tells in debugfs. */
#ifndef PANTRACE_KERNEL_KVM_TSC_H
#define PANTRACE_KERNEL_KVM_TSC_H

#include <sys/types.h>

#include "base/base.h"

#define KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* The guest's is (ours * ratio >> bits) + offset. */
struct kvm_tsc {
	u64 offset, ratio; /* both wrap */
	u32 bits;
};

/*
 * Of the guests of this process, in that directory (KVM_DEBUGFS). False: it does not say, or its
 * virtual CPUs have not all the same. One that runs a guest of its own shows that one's: it is left
 * out then.
 */
bool kvm_tsc_read(const char *directory, pid_t process, struct kvm_tsc *ret);
bool kvm_tsc_equal(const struct kvm_tsc *a, const struct kvm_tsc *b);
/* When ours was what the guest read as GUEST. */
u64 kvm_tsc_ours(const struct kvm_tsc *t, u64 guest);

#endif
