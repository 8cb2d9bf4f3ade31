/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the BPF helpers by number, as the kernel's header lists them. */
#include "lang/bpf/emit.h"

#define NAME(helper) [BPF_FUNC_##helper] = #helper

static const char *const helper_names[] = {__BPF_FUNC_MAPPER(NAME)};

const char *bpf_helper_name(u32 helper)
{
	return helper < ARRAY_SIZE(helper_names) ? helper_names[helper] : NULL;
}
