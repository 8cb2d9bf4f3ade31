/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why virtual CPUs leave the guest: the names that KVM's events print (uapi/asm/vmx.h, svm.h). */
#include <asm/kvm.h> /* numbers of exceptions, for svm.h */
#include <asm/svm.h>
#include <asm/vmx.h>

#include "arch/arch.h"

struct exit_reason {
	u32 code;
	const char *name;
};

static const struct exit_reason vmx[] = {VMX_EXIT_REASONS}, svm[] = {SVM_EXIT_REASONS};

/* The field `isa` of kvm:kvm_exit. */
enum { ISA_VMX = 1, ISA_SVM = 2 };

#define VMX_BASIC_REASON 0xffffu /* the bits above are flags */

static const char *name_of(const struct exit_reason *rows, size_t n, u32 code)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].code == code)
			return rows[i].name;
	return NULL;
}

const char *arch_kvm_exit_name(u32 isa, u32 reason)
{
	return isa == ISA_VMX	? name_of(vmx, ARRAY_SIZE(vmx), reason & VMX_BASIC_REASON)
	       : isa == ISA_SVM ? name_of(svm, ARRAY_SIZE(svm), reason)
				: NULL;
}

bool arch_kvm_exit_is_halt(u32 isa, u32 reason)
{
	return isa == ISA_VMX ? (reason & VMX_BASIC_REASON) == EXIT_REASON_HLT
			      : isa == ISA_SVM && reason == SVM_EXIT_HLT;
}
